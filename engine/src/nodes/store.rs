//! Events a node keeps for later occurrences: by the values of the equality parameters, in order, until the horizon.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use crate::event::{Event, Slot, Value};
use crate::state::{self, Change, Entry, Names};

/// The encoded values of the parameters that tie a stored event to others.
pub type Key = SmallVec<[u8; 24]>;

/// A horizon is cut into this many spans of expiry: an event outlives its horizon by at most one of them.
const SPANS: i64 = 16;

struct Stored {
    event: Event,
    /// Whether the entry is in the changelog.
    persisted: bool,
}

#[derive(Default)]
struct Cell {
    /// In order. One is the most frequent number of them.
    events: SmallVec<[Stored; 1]>,
    changed: bool,
}

pub struct Store {
    /// Prefix of the store's entries: the node's fingerprint and the port.
    prefix: Vec<u8>,
    horizon_ms: i64,
    /// Only the latest event of a key can be asked for, so only that one is kept.
    only_last: bool,
    cells: HashMap<Key, Cell, FxBuildHasher>,
    /// Span of time → keys to look at when it has passed. A key stands in one span only, that of its oldest event.
    expiry: BTreeMap<i64, Vec<Key>>,
    changed: Vec<Key>,
    deleted: Vec<Vec<u8>>,
}

/// A key to look for: most have one parameter, a text, which is its own key.
pub enum Probe<'a> {
    Text(&'a [u8]),
    Built(Key),
}

impl<'a> Probe<'a> {
    /// The key of some parameter values; nothing where one of them can equal nothing.
    #[inline]
    pub fn new(mut values: impl ExactSizeIterator<Item = Value<'a>>) -> Option<Probe<'a>> {
        let single = values.len() == 1;
        let mut key = Key::new();
        for value in &mut values {
            match value {
                Value::Null => return None,
                Value::Double(x) if x.is_nan() => return None,
                Value::Boolean(b) => key.push(u8::from(b)),
                Value::Long(n) => key.extend_from_slice(&n.to_le_bytes()),
                // Adding zero makes the two zeros one.
                Value::Double(x) => key.extend_from_slice(&(x + 0.0).to_bits().to_le_bytes()),
                Value::Text(s) if single => return Some(Probe::Text(s)),
                Value::Text(s) => {
                    key.extend_from_slice(&(s.len() as u32).to_le_bytes());
                    key.extend_from_slice(s);
                }
            }
        }
        Some(Probe::Built(key))
    }

    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Probe::Text(s) => s,
            Probe::Built(key) => key,
        }
    }
}

impl Store {
    pub fn new(prefix: Vec<u8>, horizon_ms: i64, only_last: bool) -> Store {
        Store {
            prefix,
            horizon_ms,
            only_last,
            cells: HashMap::default(),
            expiry: BTreeMap::new(),
            changed: Vec::new(),
            deleted: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.cells.values().map(|cell| cell.events.len()).sum()
    }

    fn span(&self, time: i64) -> i64 {
        time.saturating_add(self.horizon_ms).div_euclid(self.horizon_ms / SPANS + 1)
    }

    pub fn insert(&mut self, key: &[u8], event: &Event) {
        let Some(cell) = self.cells.get_mut(key) else { return self.insert_first(key, event) };
        if !cell.changed {
            cell.changed = true;
            self.changed.push(key.into());
        }
        match cell.events.last_mut() {
            Some(last) if self.only_last => {
                last.event.clone_from(event);
                last.persisted = false;
            }
            _ => cell.events.push(Stored { event: event.clone(), persisted: false }),
        }
    }

    fn insert_first(&mut self, key: &[u8], event: &Event) {
        let span = self.span(event.time);
        self.expiry.entry(span).or_default().push(key.into());
        self.changed.push(key.into());
        let mut cell = Cell { changed: true, ..Cell::default() };
        cell.events.push(Stored { event: event.clone(), persisted: false });
        self.cells.insert(key.into(), cell);
    }

    /// The events of a key, latest first.
    #[inline]
    pub fn latest_first<'a>(&'a self, key: &[u8]) -> impl Iterator<Item = &'a Event> + 'a {
        let events = self.cells.get(key).map_or(&[][..], |cell| &cell.events);
        events.iter().rev().map(|stored| &stored.event)
    }

    /// Forgets what no later event can reach: everything older than the horizon before `watermark`.
    pub fn expire(&mut self, watermark: i64, names: &Names) {
        let now = self.span(watermark.saturating_sub(self.horizon_ms));
        while self.expiry.first_key_value().is_some_and(|(span, _)| *span < now) {
            let (_, keys) = self.expiry.pop_first().expect("a first span was seen");
            for key in keys {
                self.expire_key(key, watermark, names);
            }
        }
    }

    fn expire_key(&mut self, key: Key, watermark: i64, names: &Names) {
        let oldest_needed = watermark.saturating_sub(self.horizon_ms);
        let Some(cell) = self.cells.get_mut(&key) else { return };
        let expired = cell.events.iter().take_while(|stored| stored.event.time < oldest_needed).count();
        for stored in cell.events.drain(..expired).filter(|stored| stored.persisted) {
            self.deleted.push(state::entry_key(&self.prefix, &key, &stored.event, self.only_last, names));
        }
        match cell.events.first().map(|stored| stored.event.time) {
            Some(time) => {
                let span = self.span(time);
                self.expiry.entry(span).or_default().push(key);
            }
            None => {
                // What replaced a persisted event and expired before a commit leaves that entry behind.
                if self.only_last && cell.changed {
                    self.deleted.push(state::keyed(&self.prefix, &key));
                }
                self.cells.remove(&key);
            }
        }
    }

    /// What changed since the last time, as entries to write and to delete.
    pub fn changes(&mut self, fields: &[(String, Slot)], names: &Names, out: &mut Vec<Change>) {
        out.extend(self.deleted.drain(..).map(|key| Change { key, value: None }));
        for key in self.changed.drain(..) {
            let Some(cell) = self.cells.get_mut(&key) else { continue };
            cell.changed = false;
            for stored in cell.events.iter_mut().rev().take_while(|stored| !stored.persisted) {
                stored.persisted = true;
                out.push(Change {
                    key: state::entry_key(&self.prefix, &key, &stored.event, self.only_last, names),
                    value: Some(state::encode_event(&stored.event, fields, names)),
                });
            }
        }
    }

    /// Takes an entry that `changes` gave, when it is of this store.
    pub fn load(&mut self, entry: &Entry, key: Key, event: Event) -> bool {
        if entry.key.get(..self.prefix.len()) != Some(&self.prefix[..]) {
            return false;
        }
        let span = self.span(event.time);
        let cell = self.cells.entry(key.clone()).or_default();
        let at = cell.events.partition_point(|stored| stored.event.order(&event).is_le());
        if cell.events.is_empty() {
            self.expiry.entry(span).or_default().push(key);
        }
        cell.events.insert(at, Stored { event, persisted: true });
        true
    }
}
