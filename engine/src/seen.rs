//! The ids of records that were handled: two records of a type with one id are one event, which is the first.
//!
//! An id is remembered for as long as its type says, counted in event time from the record that is the event; that is
//! exact, whenever it is forgotten. An entry of the state: key `\0id`, the type's name, a zero byte, the id; value:
//! version and the event's time.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::avro::cursor::Cursor;
use crate::avro::{encode, Malformed};
use crate::event::{Event, Layout};
use crate::plan::EventType;
use crate::state::{self, Change, Entry};

pub const PREFIX: &[u8] = b"\0id";

/// Ids are forgotten together with all that were seen in the same of so many parts of the time they are remembered.
const SPANS: i64 = 16;

/// The name of a type, a zero byte, and the id: what an event with an id of its own is labelled by.
type Id = Box<[u8]>;

#[derive(Debug, Default)]
pub struct Seen {
    /// Type → for how long its ids are remembered; the inner none is for ever.
    memories: Vec<Option<Option<i64>>>,
    /// Id → the time of its event.
    times: HashMap<Id, i64, FxBuildHasher>,
    /// (time they are remembered, span of time) → ids to look at when it has passed.
    expiry: BTreeMap<(i64, i64), Vec<Id>>,
    /// Ids that are new, or gone, since the last time.
    changed: Vec<Id>,
    /// Ids of what was written, but may still be undone.
    unconfirmed: Vec<Id>,
}

impl Seen {
    pub fn new(types: &[(EventType, Layout)]) -> Seen {
        let memory =
            |(described, _): &(EventType, Layout)| described.has_ids().then_some(described.remember_ms);
        Seen { memories: types.iter().map(memory).collect(), ..Seen::default() }
    }

    /// Whether events of a type have ids that are remembered.
    #[inline]
    pub fn concerns(&self, event: &Event) -> bool {
        self.memories.get(event.type_id as usize).is_some_and(Option::is_some)
    }

    /// Notes the id of an event; says whether it is another event than all before.
    #[inline]
    pub fn is_new(&mut self, event: &Event) -> bool {
        let memory = self.memories.get(event.type_id as usize).copied().flatten();
        match memory {
            Some(memory) if event.own_id.len > 0 => self.note(event.bytes(event.own_id), event.time, memory),
            _ => true,
        }
    }

    fn note(&mut self, id: &[u8], time: i64, memory: Option<i64>) -> bool {
        if let Some(known) = self.times.get(id) {
            if memory.is_none_or(|memory| time <= known.saturating_add(memory)) {
                return false;
            }
        }
        self.times.insert(id.into(), time);
        self.changed.push(id.into());
        self.watch(id, time, memory);
        true
    }

    fn watch(&mut self, id: &[u8], time: i64, memory: Option<i64>) {
        if let Some(memory) = memory {
            let span = time.saturating_add(memory).div_euclid(memory / SPANS + 1);
            self.expiry.entry((memory, span)).or_default().push(id.into());
        }
    }

    /// Forgets what no later event can be.
    pub fn expire(&mut self, watermark: i64) {
        let mut from = i64::MIN;
        // The first span of each time that ids are remembered.
        while let Some((&(memory, span), _)) = self.expiry.range((from, i64::MIN)..).next() {
            if span >= watermark.div_euclid(memory / SPANS + 1) {
                let Some(next) = memory.checked_add(1) else { return };
                from = next;
                continue;
            }
            for id in self.expiry.remove(&(memory, span)).unwrap_or_default() {
                let due = self.times.get(&id).is_some_and(|time| time.saturating_add(memory) < watermark);
                if due {
                    self.times.remove(&id);
                    self.changed.push(id);
                }
            }
        }
    }

    pub fn changes(&mut self, out: &mut Vec<Change>) {
        self.changed.sort_unstable();
        self.changed.dedup();
        for id in self.changed.drain(..) {
            let value = self.times.get(&id).map(|time| {
                let mut value = Vec::new();
                encode::long(&mut value, state::VERSION);
                encode::long(&mut value, *time);
                value
            });
            out.push(Change { key: [PREFIX, &id].concat(), value });
            self.unconfirmed.push(id);
        }
    }

    pub fn confirm(&mut self) {
        self.unconfirmed.clear();
    }

    /// Forgets what is not as it was when last confirmed, and says what is to be loaded instead.
    pub fn undo(&mut self, asked: &mut Vec<Vec<u8>>) {
        let mut ids = std::mem::take(&mut self.unconfirmed);
        ids.append(&mut self.changed);
        ids.sort_unstable();
        ids.dedup();
        for id in &ids {
            self.times.remove(id);
            asked.push([PREFIX, id].concat());
        }
    }

    /// Takes an entry that `changes` gave, where its type still has ids.
    pub fn load(&mut self, entry: &Entry, types: &[(EventType, Layout)]) -> Result<(), Malformed> {
        let id = entry.key.strip_prefix(PREFIX).unwrap_or_default();
        let mut cursor = Cursor::new(entry.value);
        state::version(&mut cursor)?;
        let time = cursor.long()?;
        let name = id.split(|byte| *byte == 0).next().unwrap_or_default();
        let type_id = types.iter().position(|(described, _)| described.name.as_bytes() == name);
        if let Some(memory) = type_id.and_then(|type_id| self.memories[type_id]) {
            self.times.insert(id.into(), time);
            self.watch(id, time, memory);
        }
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.times.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_forgotten_when_its_time_is_over() {
        let mut seen = Seen::default();
        assert!(seen.note(b"E\0a", 100, Some(50)));
        assert!(seen.note(b"F\0a", 100, None));
        assert!(!seen.note(b"E\0a", 150, Some(50)));
        seen.expire(150);
        assert_eq!(seen.len(), 2);
        assert!(seen.note(b"E\0a", 151, Some(50)));
        seen.expire(190);
        assert_eq!(seen.len(), 2);
        seen.expire(300);
        assert_eq!(seen.len(), 1);
        assert!(!seen.note(b"F\0a", 1_000_000, None));
        let mut changes = Vec::new();
        seen.changes(&mut changes);
        assert_eq!(changes.iter().map(|change| change.value.is_some()).collect::<Vec<_>>(), [false, true]);
    }
}
