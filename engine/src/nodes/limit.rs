//! `at most n per d`: when a definition or rule occurred, for each binding, as long as it counts.

use std::collections::{BTreeMap, VecDeque};

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::avro::Malformed;
use crate::census::ENTRY;
use crate::key::Key;
use crate::plan::Rate;
use crate::state::{self, Change, Entry};

/// The port of the entries of a limit, behind those of any inputs.
const LIMIT: u8 = u8::MAX - 1;

/// The time of a limit is cut into this many spans of expiry: a time outlives it by at most one of them.
const SPANS: i64 = 16;

/// When complex events were emitted, to let no more than so many of a binding pass.
pub struct Limit {
    pub rate: Rate,
    prefix: Vec<u8>,
    times: HashMap<Key, VecDeque<i64>, FxBuildHasher>,
    /// Span of time → bindings to look at when it has passed. One that was undone may stand in several.
    expiry: BTreeMap<i64, Vec<Key>>,
    changed: Vec<Key>,
    /// Bindings of what was written, but may still be undone.
    unconfirmed: Vec<Key>,
}

impl Limit {
    /// The limit of a definition or rule.
    pub fn new(rate: Rate, fingerprint: &[u8]) -> Limit {
        let prefix = [fingerprint, &[LIMIT]].concat();
        let (times, expiry) = (HashMap::default(), BTreeMap::new());
        Limit { rate, prefix, times, expiry, changed: Vec::new(), unconfirmed: Vec::new() }
    }

    pub fn admits(&mut self, key: &Key, time: i64) -> bool {
        let Some(times) = self.times.get_mut(key) else { return self.rate.count > 0 };
        if let Some(per_ms) = self.rate.per_ms {
            while times.front().is_some_and(|first| *first < time.saturating_sub(per_ms)) {
                times.pop_front();
                self.changed.push(key.clone());
            }
        }
        times.len() < self.rate.count
    }

    pub fn note(&mut self, key: Key, time: i64) {
        match self.times.get_mut(&key) {
            Some(times) => times.push_back(time),
            None => {
                self.times.insert(key.clone(), [time].into());
                self.watch(key.clone(), time);
            }
        }
        self.changed.push(key);
    }

    /// How many times are kept, and about how many bytes they take.
    pub fn kept(&self) -> (usize, usize) {
        let times = |times: &VecDeque<i64>| times.len() * std::mem::size_of::<i64>();
        let bytes = self.times.iter().map(|(key, of_key)| ENTRY + key.len() + times(of_key)).sum();
        (self.times.values().map(VecDeque::len).sum(), bytes)
    }

    fn span(per_ms: i64, time: i64) -> i64 {
        time.saturating_add(per_ms).div_euclid(per_ms / SPANS + 1)
    }

    fn watch(&mut self, key: Key, time: i64) {
        if let Some(per_ms) = self.rate.per_ms {
            self.expiry.entry(Limit::span(per_ms, time)).or_default().push(key);
        }
    }

    /// Forgets what limits nothing any more.
    pub fn expire(&mut self, watermark: i64) {
        let Some(per_ms) = self.rate.per_ms else { return };
        let now = Limit::span(per_ms, watermark.saturating_sub(per_ms));
        // Whole spans go at once: when bindings were looked at before makes no difference.
        let oldest = now.saturating_mul(per_ms / SPANS + 1).saturating_sub(per_ms);
        while let Some(first) = self.expiry.first_entry().filter(|first| *first.key() < now) {
            for key in first.remove() {
                let Some(times) = self.times.get(&key) else { continue };
                match times.back().copied() {
                    Some(last) if last >= oldest => self.watch(key, last),
                    _ => {
                        self.times.remove(&key);
                        self.changed.push(key);
                    }
                }
            }
        }
    }

    pub fn changes(&mut self, out: &mut Vec<Change>) {
        self.changed.sort_unstable();
        self.changed.dedup();
        for key in self.changed.drain(..) {
            let times = self.times.get(&key).filter(|times| !times.is_empty());
            let value = times.map(|times| state::encode_numbers(&times.iter().copied().collect::<Vec<_>>()));
            out.push(Change { key: state::keyed(&self.prefix, &key), value });
            self.unconfirmed.push(key);
        }
    }

    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    pub fn confirm(&mut self) {
        self.unconfirmed.clear();
    }

    /// Forgets what is not as it was when last confirmed, and says what is to be loaded instead.
    pub fn undo(&mut self, asked: &mut Vec<Vec<u8>>) {
        let mut keys = std::mem::take(&mut self.unconfirmed);
        keys.append(&mut self.changed);
        keys.sort_unstable();
        keys.dedup();
        for key in &keys {
            self.times.remove(key);
            asked.push(state::keyed(&self.prefix, key));
        }
    }

    pub fn load(&mut self, entry: &Entry) -> Result<bool, Malformed> {
        if !entry.key.starts_with(&self.prefix) {
            return Ok(false);
        }
        let key = Key::from_vec(state::stored_key(entry, self.prefix.len())?);
        let times = state::decode_numbers(entry.value)?;
        self.watch(key.clone(), times.last().copied().unwrap_or(i64::MIN));
        self.times.insert(key, times.into());
        Ok(true)
    }
}
