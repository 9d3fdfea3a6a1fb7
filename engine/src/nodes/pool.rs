//! Candidates for one condition of a join: in the order in which they came, and by the values that tie them to others.
//!
//! Entry of an event that is kept. Key: the join's fingerprint (8), the slot (1) and the candidate's number (8,
//! big-endian). Value: version, number of events and each of them, position and time of its end (both 0 for none).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;
use triomphe::Arc;

use super::fact::Until;
use crate::avro::cursor::Cursor;
use crate::avro::{encode, Malformed};
use crate::census::ENTRY;
use crate::event::{Event, Slot};
use crate::key::{key_of, Key};
use crate::state::{self, Change, Codec, Entry};

/// What tells candidates of a condition apart, and orders them: of events their number, of facts that of the fact in
/// the order of appearance, then position and round of the state.
pub type Id = (u64, u64, i32);

/// The id of a fact in one of its states.
pub fn state_id(event: &Event) -> Id {
    (event.offset as u64, event.seq, event.partition)
}

/// What fills the slots of a condition: an event, a fact, or the old state, the new one and the event of a change.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub id: Id,
    pub events: SmallVec<[Arc<Event>; 1]>,
    /// When it was over, if it is.
    pub until: Option<Until>,
}

impl Candidate {
    /// The event itself: of a change the last of three.
    pub fn event(&self) -> &Arc<Event> {
        self.events.last().expect("a candidate has an event")
    }
}

/// Candidates by the values of some places: (which of its events, where in that).
#[derive(Debug)]
struct Index {
    places: Vec<(usize, Slot)>,
    cells: HashMap<Key, VecDeque<Arc<Candidate>>, FxBuildHasher>,
}

#[derive(Debug, Default)]
pub struct Pool {
    all: BTreeMap<Id, Arc<Candidate>>,
    indexes: Vec<Index>,
    /// Whether something is there that ends before its own time: the begin of an interval.
    ends_early: bool,
    next: u64,
    /// Candidates with smaller numbers are in the changelog.
    written: u64,
    /// Those of them that are not any more as they were written.
    altered: BTreeSet<Id>,
    deleted: Vec<Id>,
}

impl Pool {
    /// The index over some places, made if need be; called before anything is put in.
    pub fn index(&mut self, places: &[(usize, Slot)]) -> usize {
        self.indexes.iter().position(|index| index.places == places).unwrap_or_else(|| {
            self.indexes.push(Index { places: places.to_vec(), cells: HashMap::default() });
            self.indexes.len() - 1
        })
    }

    /// Puts in an event, or a change, that just came.
    pub fn push(&mut self, events: SmallVec<[Arc<Event>; 1]>, seq: u64) -> Arc<Candidate> {
        self.next = self.next.max(state::number_from(seq));
        let id = (self.next, 0, 0);
        self.next = self.next.wrapping_add(1);
        self.insert(Candidate { id, events, until: None })
    }

    pub fn insert(&mut self, candidate: Candidate) -> Arc<Candidate> {
        self.ends_early |= candidate.event().end < candidate.event().time;
        let candidate = Arc::new(candidate);
        for index in &mut self.indexes {
            let Some(key) = index.key(&candidate) else { continue };
            let cell = index.cells.entry(key).or_default();
            let at = cell.partition_point(|other| other.id < candidate.id);
            cell.insert(at, candidate.clone());
        }
        self.all.insert(candidate.id, candidate.clone());
        candidate
    }

    pub fn get(&self, id: Id) -> Option<&Arc<Candidate>> {
        self.all.get(&id)
    }

    pub fn remove(&mut self, id: Id) -> Option<Arc<Candidate>> {
        let candidate = self.all.remove(&id)?;
        for index in &mut self.indexes {
            let Some(key) = index.key(&candidate) else { continue };
            let Some(cell) = index.cells.get_mut(&key) else { continue };
            if let Ok(at) = cell.binary_search_by(|other| other.id.cmp(&id)) {
                cell.remove(at);
            }
            if cell.is_empty() {
                index.cells.remove(&key);
            }
        }
        self.altered.remove(&id);
        if id.0 < self.written {
            self.deleted.push(id);
        }
        Some(candidate)
    }

    /// Notes that a candidate is over.
    pub fn end(&mut self, id: Id, until: Until) {
        let Some(known) = self.all.get(&id) else { return };
        let ended = Candidate { until: Some(until), ..(**known).clone() };
        let written = id.0 < self.written;
        let deleted = self.deleted.len();
        self.remove(id);
        self.deleted.truncate(deleted);
        self.insert(ended);
        if written {
            self.altered.insert(id);
        }
    }

    /// The candidate that an event is, if it can be found by any of its values.
    pub fn find(&self, event: &Event) -> Option<Id> {
        self.indexes.iter().find_map(|index| {
            let cell = index.cells.get(&key_of(index.places.iter().map(|(_, at)| event.value(*at)))?)?;
            // Events stand in the order of their positions.
            let first = cell.partition_point(|other| other.event().seq < event.seq);
            cell.range(first..)
                .take_while(|other| other.event().seq == event.seq)
                .find(|other| other.event().is(event))
                .map(|found| found.id)
        })
    }

    /// The candidates with some values, in order.
    #[inline]
    pub fn cell(&self, index: usize, key: &[u8]) -> Option<&VecDeque<Arc<Candidate>>> {
        self.indexes[index].cells.get(key)
    }

    pub fn first(&self) -> Option<&Arc<Candidate>> {
        self.all.values().next()
    }

    /// Whether all candidates end when they occur.
    pub fn ends_in_time(&self) -> bool {
        !self.ends_early
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// About how many bytes its entries take.
    pub fn bytes(&self) -> usize {
        let events = self.all.values().flat_map(|candidate| &candidate.events);
        self.len() * ENTRY + events.map(|event| event.size()).sum::<usize>()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        let indexes = std::mem::take(&mut self.indexes).into_iter();
        let indexes = indexes.map(|index| Index { cells: HashMap::default(), ..index }).collect();
        *self = Pool { indexes, ..Pool::default() };
    }

    // --- state of events --------------------------------------------------------------------------------------------

    pub fn changes(&mut self, prefix: &[u8], codec: &Codec, out: &mut Vec<Change>) {
        let key = |id: Id| [prefix, &id.0.to_be_bytes()].concat();
        out.extend(self.deleted.drain(..).map(|id| Change { key: key(id), value: None }));
        let altered = std::mem::take(&mut self.altered);
        let altered = altered.iter().filter_map(|id| self.all.get(id));
        for candidate in altered.chain(self.all.range((self.written, 0, 0)..).map(|(_, candidate)| candidate))
        {
            let mut value = Vec::with_capacity(96);
            encode::long(&mut value, state::VERSION);
            encode::long(&mut value, candidate.events.len() as i64);
            candidate.events.iter().for_each(|event| codec.write_event(event, &mut value));
            let (seq, time) = candidate.until.unwrap_or_default();
            encode::long(&mut value, seq as i64);
            encode::long(&mut value, time);
            out.push(Change { key: key(candidate.id), value: Some(value) });
        }
        self.written = self.next;
    }

    /// Takes an entry, of which `rest` is the key behind the prefix; so many events of such
    /// types make a candidate.
    pub fn load(
        &mut self,
        rest: &[u8],
        entry: &Entry,
        (count, types): (usize, &[u16]),
        codec: &Codec,
    ) -> Result<Id, Malformed> {
        let number =
            rest.try_into().map_err(|_| Malformed::new("a state entry of a join has a broken key"))?;
        let number = u64::from_be_bytes(number);
        let mut cursor = Cursor::new(entry.value);
        state::version(&mut cursor)?;
        if cursor.long()? != count as i64 {
            return Err(Malformed::new("a state entry of a join that is not of its condition"));
        }
        let mut events = SmallVec::new();
        for _ in 0..count {
            let event = codec.read_event(&mut cursor)?;
            if !types.contains(&event.type_id) {
                return Err(Malformed::new("a state entry of a join with an event of another type"));
            }
            events.push(Arc::new(event));
        }
        let until = (cursor.long()? as u64, cursor.long()?);
        self.next = self.next.max(number.saturating_add(1));
        self.written = self.next;
        Ok(self.insert(Candidate { id: (number, 0, 0), events, until: (until.0 > 0).then_some(until) }).id)
    }
}

impl Index {
    fn key(&self, candidate: &Candidate) -> Option<Key> {
        key_of(self.places.iter().map(|(event, at)| candidate.events[*event].value(*at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Layout, Row, RowWriter, SlotKind};
    use crate::value::Value;

    fn layout() -> Layout {
        Layout::new(&[(SlotKind::Long, true)], 1)
    }

    fn event(seq: u64, n: Option<i64>) -> Arc<Event> {
        let mut row = Vec::new();
        layout().start_row(&mut row);
        if let Some(n) = n {
            row.put(layout().slot(0).expect("it is held"), n as u64);
        }
        let made = Event::point(seq as i64, seq, format!("e{seq}").as_bytes());
        let own_id = row.push_tail(made.bytes(made.own_id));
        Arc::new(Event { own_id, row: Row::from_vec(row), type_id: 0, ..made })
    }

    fn found(pool: &Pool, index: usize, n: i64) -> Vec<u64> {
        let key = key_of(std::iter::once(Value::Long(n))).expect("a number has a key");
        let cell = pool.cell(index, &key);
        cell.into_iter().flatten().map(|candidate| candidate.event().seq).collect()
    }

    #[test]
    fn candidates_are_found_by_their_values_in_order() {
        let mut pool = Pool::default();
        let index = pool.index(&[(0, layout().slot(0).expect("it is held"))]);
        let all = pool.index(&[]);
        for (seq, n) in [(1, Some(5)), (2, Some(7)), (3, Some(5)), (4, None)] {
            pool.push(SmallVec::from_iter([event(seq, n)]), seq);
        }
        assert_eq!(found(&pool, index, 5), [1, 3]);
        assert_eq!(pool.cell(all, &[]).map(VecDeque::len), Some(4));
        let id = pool.find(&event(3, Some(5))).expect("it is there");
        pool.end(id, (9, 9));
        assert_eq!(found(&pool, index, 5), [1, 3]);
        assert_eq!(pool.get(id).and_then(|candidate| candidate.until), Some((9, 9)));
        pool.remove(id);
        assert_eq!(found(&pool, index, 5), [1]);
        assert!(pool.find(&event(3, Some(5))).is_none());
        assert!(pool.find(&event(4, None)).is_some(), "what has no value is found among all");
    }
}
