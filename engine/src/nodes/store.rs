//! Events a node keeps for later occurrences: by the values of the equality parameters, in order, until the horizon.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;
use triomphe::Arc;

use crate::avro::Malformed;
use crate::cache::{self, Shelf};
use crate::census::ENTRY;
use crate::event::{Event, Slot};
use crate::key::{Key, Probe};
use crate::state::{self, Change, Codec, Entry};

/// A horizon is cut into this many spans of expiry: an event outlives its horizon by at most one of them.
const SPANS: i64 = 16;

struct Stored {
    event: Arc<Event>,
    /// Whether the entry is in the changelog.
    persisted: bool,
}

struct Cell {
    /// In order. One is the most frequent number of them.
    events: SmallVec<[Stored; 1]>,
    changed: bool,
    /// The span of time after which it is looked at.
    watched: i64,
}

pub struct Store {
    /// Prefix of the store's entries: the node's fingerprint and the port.
    prefix: Vec<u8>,
    /// How long an event may be asked for; none where there is no end to it.
    horizon_ms: Option<i64>,
    /// Only the latest event of a key can be asked for, so only that one is kept.
    only_last: bool,
    cells: HashMap<Key, Cell, FxBuildHasher>,
    /// Span of time → keys to look at when it has passed. A key counts in one span only, that of its oldest event.
    expiry: BTreeMap<i64, Vec<Key>>,
    changed: Vec<Key>,
    deleted: Vec<Vec<u8>>,
    /// Keys of what was written, but may still be undone.
    unconfirmed: Vec<Key>,
    pub shelf: Box<Shelf>,
}

impl Store {
    pub fn new(prefix: Vec<u8>, horizon_ms: Option<i64>, only_last: bool) -> Store {
        Store {
            prefix,
            horizon_ms,
            only_last,
            cells: HashMap::default(),
            expiry: BTreeMap::new(),
            changed: Vec::new(),
            deleted: Vec::new(),
            unconfirmed: Vec::new(),
            shelf: Box::default(),
        }
    }

    pub fn len(&self) -> usize {
        self.cells.values().map(|cell| cell.events.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// About how many bytes its entries take.
    pub fn bytes(&self) -> usize {
        let of_cell = |(key, cell): (&Key, &Cell)| {
            let events = cell.events.iter();
            events.map(|stored| ENTRY + key.len() + stored.event.size()).sum::<usize>()
        };
        self.cells.iter().map(of_cell).sum()
    }

    fn span(&self, time: i64) -> i64 {
        let horizon = self.horizon_ms.unwrap_or_default();
        time.saturating_add(horizon).div_euclid(horizon / SPANS + 1)
    }

    /// Keeps an event under the values it has in some places, unless one of them can equal nothing; returns the one
    /// whose place it takes.
    pub fn insert(&mut self, event: Arc<Event>, places: &[Slot]) -> Option<Arc<Event>> {
        let probe = Probe::new(places.iter().map(|place| event.value(*place)))?;
        let key = probe.bytes();
        let Some(cell) = self.cells.get_mut(key) else {
            let key = key.into();
            self.insert_first(key, event);
            return None;
        };
        cell.touch(key, &mut self.changed);
        let place = event.place();
        match cell.events.last_mut() {
            Some(last) if self.only_last => {
                if last.event.place() < place {
                    last.persisted = false;
                    return Some(std::mem::replace(&mut last.event, event));
                }
            }
            // Almost always it comes last.
            last => {
                let behind = last.is_none_or(|last| last.event.place() < place);
                let at = if behind { cell.events.len() } else { cell.place(place) };
                cell.events.insert(at, Stored { event, persisted: false });
            }
        }
        None
    }

    fn insert_first(&mut self, key: Key, event: Arc<Event>) {
        let time = event.time;
        self.changed.push(key.clone());
        let mut cell = Cell { changed: true, ..Cell::new() };
        cell.events.push(Stored { event, persisted: false });
        self.cells.insert(key.clone(), cell);
        self.watch(key, time);
    }

    fn watch(&mut self, key: Key, time: i64) {
        // With a bound, what has expired is found by those who sweep through the store.
        if self.horizon_ms.is_some() && !self.shelf.bounded {
            let span = self.span(time);
            if let Some(cell) = self.cells.get_mut(&key).filter(|cell| span < cell.watched) {
                cell.watched = span;
                self.expiry.entry(span).or_default().push(key);
            }
        }
    }

    /// The events of a key, in order.
    #[inline]
    pub fn events<'a>(&'a self, key: &[u8]) -> impl DoubleEndedIterator<Item = &'a Arc<Event>> + 'a {
        let events = self.cells.get(key).map_or(&[][..], |cell| &cell.events);
        events.iter().map(|stored| &stored.event)
    }

    /// Forgets one event.
    pub fn remove(&mut self, key: &[u8], event: &Event) {
        let Some(cell) = self.cells.get_mut(key) else { return };
        let Some(at) = cell.events.iter().position(|stored| stored.event.is(event)) else { return };
        let stored = cell.events.remove(at);
        cell.touch(key, &mut self.changed);
        if stored.persisted {
            self.deleted.push(state::entry_key(&self.prefix, key, &stored.event, self.only_last));
        }
        if cell.events.is_empty() {
            self.cells.remove(key);
            self.shelf.leave(key);
        }
    }

    /// The current span, and the earliest time that counts, seen from `watermark`. Whole spans go at once: when keys
    /// were looked at before makes no difference.
    fn oldest(&self, watermark: i64) -> Option<(i64, i64)> {
        let horizon = self.horizon_ms?;
        let now = self.span(watermark.saturating_sub(horizon));
        Some((now, now.saturating_mul(horizon / SPANS + 1).saturating_sub(horizon)))
    }

    /// Forgets what no later event can reach: everything older than the horizon before `watermark`.
    pub fn expire(&mut self, watermark: i64, gone: &mut impl FnMut(Arc<Event>)) {
        let Some((now, oldest_needed)) = self.oldest(watermark) else { return };
        while self.expiry.first_key_value().is_some_and(|(span, _)| *span < now) {
            let (span, keys) = self.expiry.pop_first().expect("a first span was seen");
            for key in keys {
                if self.cells.get(&key).is_some_and(|cell| cell.watched == span) {
                    self.expire_key(key, oldest_needed, gone);
                }
            }
        }
    }

    fn expire_key(&mut self, key: Key, oldest_needed: i64, gone: &mut impl FnMut(Arc<Event>)) {
        let Some(cell) = self.cells.get_mut(&key) else { return };
        cell.watched = i64::MAX;
        let expired = cell.events.iter().take_while(|stored| stored.event.time < oldest_needed).count();
        let replaced = cell.changed;
        if expired > 0 {
            cell.touch(&key, &mut self.changed);
        }
        for stored in cell.events.drain(..expired) {
            if stored.persisted {
                self.deleted.push(state::entry_key(&self.prefix, &key, &stored.event, self.only_last));
            }
            gone(stored.event);
        }
        match cell.events.first().map(|stored| stored.event.time) {
            Some(time) => self.watch(key, time),
            None => {
                // What replaced a persisted event and expired before a commit leaves that entry behind.
                if self.only_last && replaced {
                    self.deleted.push(state::keyed(&self.prefix, &key));
                }
                self.cells.remove(&key);
                self.shelf.leave(&key);
            }
        }
    }

    /// What changed since the last time, as entries to write and to delete.
    pub fn changes(&mut self, codec: &Codec, out: &mut Vec<Change>) {
        self.shelf.write();
        out.extend(self.deleted.drain(..).map(|key| Change { key, value: None }));
        for key in self.changed.drain(..) {
            self.unconfirmed.push(key);
            let key = self.unconfirmed.last().expect("one was pushed");
            let Some(cell) = self.cells.get_mut(key) else {
                self.shelf.note(key, None);
                continue;
            };
            cell.changed = false;
            // What is new stands at the end, where all of a position comes between two commits.
            for stored in cell.events.iter_mut().rev().take_while(|stored| !stored.persisted) {
                stored.persisted = true;
                out.push(Change {
                    key: state::entry_key(&self.prefix, key, &stored.event, self.only_last),
                    value: Some(codec.encode_event(&stored.event)),
                });
            }
            if self.shelf.bounded {
                self.shelf.note(key, Some(cell.weight()));
            }
        }
    }

    /// What was written stands.
    pub fn confirm(&mut self) {
        self.unconfirmed.clear();
        self.shelf.confirm();
    }

    /// Lets go of what was used no later than in some turn, while it is too much; says how much is still too much.
    pub fn evict(&mut self, turn: u64, mut too_much: usize) -> usize {
        while too_much > 0 {
            let Some((key, bytes)) = self.shelf.pop(turn) else { break };
            // What changed since is not committed; it comes to the end of the queue with its next commit.
            if self.cells.get(&key).is_none_or(|cell| cell.changed) {
                continue;
            }
            too_much = too_much.saturating_sub(bytes);
            self.cells.remove(&key);
            self.shelf.partial = true;
        }
        too_much
    }

    /// Lets go of all of it.
    pub fn let_go(&mut self) {
        self.cells.clear();
        self.shelf.let_go();
    }

    /// Says what is to be loaded for a key, where it may be away.
    pub fn ask(&mut self, key: &[u8], asked: &mut Vec<Vec<u8>>) {
        if !self.cells.contains_key(key) && self.shelf.ask(key) {
            asked.push(state::keyed(&self.prefix, key));
        }
    }

    /// What all entries begin with.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// Forgets a stored entry of this store that no later event can reach.
    pub fn sweep(
        &mut self,
        entry: &Entry,
        watermark: i64,
        gone: &mut impl FnMut(Arc<Event>),
    ) -> Result<(), Malformed> {
        let key = Key::from_vec(state::stored_key(entry, self.prefix.len())?);
        self.shelf.see(&key);
        let Some((_, oldest_needed)) = self.oldest(watermark) else { return Ok(()) };
        if state::decode_time(entry.value)? >= oldest_needed {
            return Ok(());
        }
        if self.cells.contains_key(&key) {
            self.expire_key(key, oldest_needed, gone);
        } else if !self.shelf.knows(&key) {
            self.deleted.push(entry.key.to_vec());
        }
        Ok(())
    }

    /// Forgets the keys that are not as they were when last confirmed, and says which.
    pub fn undo(&mut self, asked: &mut Vec<Vec<u8>>) {
        self.deleted.clear();
        let mut keys = std::mem::take(&mut self.unconfirmed);
        keys.append(&mut self.changed);
        keys.append(&mut self.shelf.undo());
        keys.sort_unstable();
        keys.dedup();
        for key in &keys {
            self.cells.remove(key);
            self.shelf.note(key, None);
            asked.push(state::keyed(&self.prefix, key));
        }
    }

    /// Takes an entry that `changes` gave, when it is of this store.
    pub fn load(&mut self, entry: &Entry, codec: &Codec) -> Result<bool, Malformed> {
        if !entry.key.starts_with(&self.prefix) {
            return Ok(false);
        }
        let event = codec.decode_event(entry.value)?;
        let key = Key::from_vec(state::stored_key(entry, self.prefix.len())?);
        let time = event.time;
        self.shelf.add(&key, cache::slot::<Cell>(), size_of::<Stored>() + cache::weight(&event));
        let cell = self.cells.entry_ref(&key[..]).or_insert_with(Cell::new);
        let at = cell.place(event.place());
        cell.events.insert(at, Stored { event: Arc::new(event), persisted: true });
        if at == 0 {
            self.watch(key, time);
        }
        Ok(true)
    }
}

impl Cell {
    /// About how many bytes it takes.
    fn weight(&self) -> usize {
        let events = self.events.iter().map(|stored| size_of::<Stored>() + cache::weight(&stored.event));
        cache::slot::<Cell>() + events.sum::<usize>()
    }

    fn new() -> Cell {
        Cell { events: SmallVec::new(), changed: false, watched: i64::MAX }
    }

    /// Notes that it is not any more as it was written.
    #[inline]
    fn touch(&mut self, key: &[u8], changed: &mut Vec<Key>) {
        if !self.changed {
            self.changed = true;
            changed.push(key.into());
        }
    }

    /// Where an event of some place belongs.
    fn place(&self, place: (u64, i64)) -> usize {
        self.events.partition_point(|stored| stored.event.place() <= place)
    }
}
