//! TESLA's pattern: a terminator, and constituents selected from what came before it.

use smallvec::SmallVec;

use super::store::{Key, Probe, Store};
use crate::avro::Malformed;
use crate::event::{Event, Layout, Slot};
use crate::expr::Expr;
use crate::identity::Topics;
use crate::plan::Select;
use crate::state::{self, Change, Entry, Names};

/// Prefix of an entry: fingerprint and port.
const PREFIX: usize = 9;

pub type Bound<'a> = SmallVec<[&'a Event; 6]>;

pub struct Constituent {
    pub select: Select,
    pub within_ms: i64,
    pub from: usize,
    pub own_slots: Vec<Slot>,
    /// The (constituent, slot) each own slot must equal.
    pub probe: Vec<(usize, Slot)>,
    pub condition: Option<Expr>,
    pub type_id: u16,
    /// The attributes that some node reads, by name: what an entry holds.
    pub fields: Vec<(String, Slot)>,
    pub store: Store,
}

pub struct PatternNode {
    pub fingerprint: [u8; 8],
    pub constituents: Vec<Constituent>,
    /// The define nodes this one feeds.
    pub outputs: Vec<usize>,
}

impl PatternNode {
    pub fn prefix(fingerprint: [u8; 8], port: usize) -> Vec<u8> {
        [&fingerprint[..], &[port as u8]].concat()
    }

    /// The constituents of the occurrence that `terminator` ends, itself first; nothing where there is none.
    pub fn detect<'a>(&'a self, terminator: &'a Event) -> Option<Bound<'a>> {
        let mut bound = Bound::new();
        bound.push(terminator);
        for constituent in &self.constituents {
            let selected = match constituent.select {
                Select::Last => constituent.last(&mut bound)?,
            };
            bound.push(selected);
        }
        Some(bound)
    }

    /// Keeps `event` as a candidate for constituent `port` of later occurrences.
    pub fn keep(&mut self, port: usize, event: &Event) {
        let constituent = &mut self.constituents[port - 1];
        if let Some(key) = Probe::new(constituent.own_slots.iter().map(|slot| event.value(*slot))) {
            constituent.store.insert(key.bytes(), event);
        }
    }

    pub fn expire(&mut self, watermark: i64, names: &Names) {
        for constituent in &mut self.constituents {
            constituent.store.expire(watermark, names);
        }
    }

    pub fn changes(&mut self, names: &Names, out: &mut Vec<Change>) {
        for constituent in &mut self.constituents {
            constituent.store.changes(&constituent.fields, names, out);
        }
    }

    /// Takes an entry when it is of this node.
    pub fn load(&mut self, entry: &Entry, layouts: &[&Layout], topics: &Topics) -> Result<bool, Malformed> {
        if entry.key.len() < PREFIX || entry.key[..8] != self.fingerprint {
            return Ok(false);
        }
        let port = usize::from(entry.key[8]);
        let Some(constituent) = port.checked_sub(1).and_then(|index| self.constituents.get_mut(index)) else {
            return Err(Malformed::new("a state entry of a constituent the rule does not have"));
        };
        let layout = layouts[constituent.type_id as usize];
        let event =
            state::decode_event(entry.value, constituent.type_id, &constituent.fields, layout, topics)?;
        let key = Key::from_vec(state::stored_key(entry, PREFIX)?);
        Ok(constituent.store.load(entry, key, event))
    }

    pub fn stored(&self) -> usize {
        self.constituents.iter().map(|constituent| constituent.store.len()).sum()
    }
}

impl Constituent {
    /// The last event before constituent `from`, within the window, that the parameters and the condition accept.
    fn last<'a>(&'a self, bound: &mut Bound<'a>) -> Option<&'a Event> {
        let from = bound[self.from];
        let key = Probe::new(self.probe.iter().map(|(other, slot)| bound[*other].value(*slot)))?;
        let earliest = from.time.saturating_sub(self.within_ms);
        for candidate in self.store.latest_first(key.bytes()) {
            if candidate.time < earliest {
                return None;
            }
            if candidate.order(from).is_ge() {
                continue;
            }
            let Some(condition) = &self.condition else { return Some(candidate) };
            bound.push(candidate);
            let holds = condition.holds(bound);
            bound.pop();
            if holds {
                return Some(candidate);
            }
        }
        None
    }
}
