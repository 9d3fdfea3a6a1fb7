//! Working memory: every fact in the state it has now, and the states that ended not longer ago than some rule asks for.
//!
//! Facts change at moments: at a position, in a round. What changes in one moment is gathered first; what a fact was
//! before all of it and what it is after is one transition, and the same values are the same state.
//!
//! Entry of a fact. Key: `\0fact`, 0, length (4, big-endian) and name of its type, its key. Value: version and event.
//! Entry of a state that ended. Key: `\0fact`, 1, length and name of the type, then number (8), position (8) and round
//! (4) of the state. Value: version, event, and position and time of its end.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use triomphe::Arc;

use super::pool::{state_id, Id};
use crate::avro::cursor::Cursor;
use crate::avro::{encode, Malformed};
use crate::event::{Event, Layout, Origin, Row, RowWriter, Slot, SlotKind, NO_SOURCE};
use crate::key::Key;
use crate::plan::EventType;
use crate::residence::Standing;
use crate::state::{self, Change, Codec, Entry};
use crate::value::Value;

pub const PREFIX: &[u8] = b"\0fact";
const CURRENT: u8 = 0;
const ENDED: u8 = 1;

/// A point at which facts change.
#[derive(Debug, Clone, Copy)]
pub struct Instant {
    pub seq: u64,
    pub time: i64,
    pub round: i32,
}

/// What a moment made of a fact.
#[derive(Debug, Clone)]
pub struct Transition {
    pub type_id: u16,
    pub before: Option<Arc<Event>>,
    pub after: Option<Arc<Event>>,
}

/// When a state was over: position and time.
pub type Until = (u64, i64);

/// A state that was loaded, and when it ended.
pub type Loaded = (Arc<Event>, Option<Until>);

struct Ended {
    event: Arc<Event>,
    until: Until,
    persisted: bool,
}

/// The facts of one type.
struct Facts {
    name: String,
    layout: Layout,
    /// Place of each attribute, and whether it may be absent.
    attributes: Vec<(Slot, bool)>,
    key: Option<Slot>,
    current: HashMap<Key, Arc<Event>, FxBuildHasher>,
    /// Of facts without a key: how many have the same values.
    alike: HashMap<Vec<u8>, usize, FxBuildHasher>,
    /// How long ago a state may have ended that is asked for; nothing where none is, and then whether there is a bound.
    retention: Option<Option<i64>>,
    ended: VecDeque<Ended>,
}

#[derive(Default)]
pub struct WorkingMemory {
    types: BTreeMap<u16, Facts>,
    /// How many facts have appeared.
    appeared: i64,
    /// What the moment at hand changes, in the order of the first changes: what was there before.
    touched: Vec<(u16, Key)>,
    before: HashMap<(u16, Key), Option<Arc<Event>>, FxBuildHasher>,
    /// Whether anything was done in this moment, be it to no effect.
    stirred: bool,
    changed: BTreeSet<(u16, Key)>,
    deleted: Vec<Vec<u8>>,
    pub standing: Standing,
}

impl WorkingMemory {
    pub fn new(types: &[(EventType, Layout)]) -> WorkingMemory {
        let of = |(id, (described, layout)): (usize, &(EventType, Layout))| {
            let attribute =
                |(index, field): (usize, &crate::plan::Field)| Some((layout.slot(index)?, field.optional));
            let facts = Facts {
                name: described.name.clone(),
                layout: layout.clone(),
                attributes: described.fields.iter().enumerate().filter_map(attribute).collect(),
                key: described.key.and_then(|key| layout.slot(key)),
                current: HashMap::default(),
                alike: HashMap::default(),
                retention: None,
                ended: VecDeque::new(),
            };
            (id as u16, facts)
        };
        let facts = types.iter().enumerate().filter(|(_, (described, _))| described.is_fact()).map(of);
        WorkingMemory { types: facts.collect(), ..WorkingMemory::default() }
    }

    /// Says that states of a type are asked for that ended up to so long ago; without a bound, all of them.
    pub fn retain(&mut self, type_id: u16, horizon_ms: Option<i64>) {
        if let Some(facts) = self.types.get_mut(&type_id) {
            facts.retention = Some(match facts.retention {
                None => horizon_ms,
                Some(known) => known.zip(horizon_ms).map(|(a, b)| a.max(b)),
            });
        }
    }

    // --- changes ----------------------------------------------------------------------------------------------------

    /// A record of the fact's topic: the fact as it is now, or that it is no more.
    pub fn receive(&mut self, record: &Event, at: Instant) {
        let Some(facts) = self.types.get(&record.type_id) else { return };
        if record.origin == Origin::Retraction {
            return self.set(record.type_id, record.bytes(record.key).into(), None);
        }
        let named = facts.key.and_then(|slot| key_of(&record.value(slot)));
        let given = [record.key, record.own_id].into_iter().find(|range| range.len > 0);
        let key = named.or_else(|| given.map(|range| record.bytes(range).into())).unwrap_or_default();
        let values = facts.attributes.iter().map(|(slot, _)| record.value(*slot)).collect();
        self.put(record.type_id, key, values, record.bytes(record.own_id), at);
    }

    /// Adds a fact; one that is there is replaced, or left as it is. Without a key, equal values are one fact.
    pub fn add(&mut self, type_id: u16, values: Vec<Value>, replace: bool, label: &[u8], at: Instant) {
        let Some(facts) = self.types.get(&type_id) else { return };
        let Some(values) = facts.checked(values) else { return };
        let key = match facts.key {
            Some(slot) => key_of(&values[usize::from(slot.index)]).unwrap_or_default(),
            None => Key::from_slice(label),
        };
        let there = match facts.key {
            Some(_) => facts.current.get(&key).is_some_and(|fact| !replace || facts.has(fact, &values)),
            None => facts.alike.contains_key(&bytes_of(values.iter().cloned())),
        };
        if !there {
            self.put(type_id, key, values, label, at);
        }
    }

    /// Changes some attributes of a fact as it is now; one that is gone stays away.
    pub fn modify(&mut self, matched: &Event, given: Vec<(usize, Value)>, label: &[u8], at: Instant) {
        let Some(facts) = self.types.get(&matched.type_id) else { return };
        let key = Key::from_slice(matched.bytes(matched.key));
        let Some(current) = facts.current.get(&key).cloned() else { return };
        let mut values: Vec<Value> = facts.attributes.iter().map(|(slot, _)| current.value(*slot)).collect();
        for (field, value) in given {
            if let Some(place) = values.get_mut(field) {
                *place = value;
            }
        }
        let Some(values) = facts.checked(values) else { return };
        if !facts.has(&current, &values) {
            self.put(matched.type_id, key, values, label, at);
        }
    }

    /// Takes a fact out, whatever its state is now.
    pub fn retract(&mut self, matched: &Event) {
        self.set(matched.type_id, matched.bytes(matched.key).into(), None);
    }

    /// Says that something was done that changes no fact.
    pub fn stir(&mut self) {
        self.stirred = true;
    }

    fn put(&mut self, type_id: u16, key: Key, values: Vec<Value>, label: &[u8], at: Instant) {
        let place = (type_id, key.clone());
        let was = self.before.get(&place).and_then(Option::as_ref);
        let known = was.or_else(|| self.types.get(&type_id)?.current.get(&key)).map(|fact| fact.offset);
        let number = known.unwrap_or_else(|| {
            self.appeared = self.appeared.wrapping_add(1).max(state::number_from(at.seq) as i64);
            self.appeared
        });
        let Some(facts) = self.types.get(&type_id) else { return };
        let event = facts.event(type_id, &key, &values, label, number, at);
        self.set(type_id, key, Some(Arc::new(event)));
    }

    fn set(&mut self, type_id: u16, key: Key, state: Option<Arc<Event>>) {
        self.stirred = true;
        self.standing.touch();
        let Some(facts) = self.types.get_mut(&type_id) else { return };
        let was = facts.replace(&key, state);
        let place = (type_id, key);
        if !self.before.contains_key(&place) {
            self.before.insert(place.clone(), was);
            self.touched.push(place);
        }
    }

    /// The moment is over: what it made of the facts, and whether anything was done at all.
    pub fn end_moment(&mut self) -> (Vec<Transition>, bool) {
        let mut transitions = Vec::new();
        for place in std::mem::take(&mut self.touched) {
            let before = self.before.remove(&place).flatten();
            let (type_id, key) = (place.0, &place.1);
            let Some(facts) = self.types.get_mut(&type_id) else { continue };
            let after = facts.current.get(key).cloned();
            match (&before, &after) {
                (None, None) => continue,
                (Some(was), Some(is)) if facts.equal(was, is) => {
                    facts.replace(key, before);
                    continue;
                }
                _ => {}
            }
            transitions.push(Transition { type_id, before, after });
            self.changed.insert(place);
        }
        (transitions, std::mem::take(&mut self.stirred))
    }

    /// Keeps a state that is over.
    pub fn keep_ended(&mut self, event: &Arc<Event>, until: Until) {
        if let Some(facts) = self.types.get_mut(&event.type_id).filter(|facts| facts.retention.is_some()) {
            facts.ended.push_back(Ended { event: event.clone(), until, persisted: false });
        }
    }

    /// Forgets the states that ended before all that a later event can ask for.
    pub fn expire(&mut self, watermark: i64) {
        for facts in self.types.values_mut() {
            let Some(Some(horizon)) = facts.retention else { continue };
            let oldest = watermark.saturating_sub(horizon);
            while facts.ended.front().is_some_and(|ended| ended.until.1 < oldest) {
                let ended = facts.ended.pop_front().expect("a first one was seen");
                self.standing.touch();
                if ended.persisted {
                    self.deleted.push(ended_key(&facts.name, state_id(&ended.event)));
                }
            }
        }
    }

    pub fn stored(&self) -> usize {
        self.types.values().map(|facts| facts.current.len() + facts.ended.len()).sum()
    }

    // --- state ------------------------------------------------------------------------------------------------------

    pub fn changes(&mut self, codec: &Codec, out: &mut Vec<Change>) {
        self.standing.write();
        out.extend(self.deleted.drain(..).map(|key| Change { key, value: None }));
        for (type_id, key) in std::mem::take(&mut self.changed) {
            let Some(facts) = self.types.get(&type_id) else { continue };
            let value = facts.current.get(&key).map(|event| codec.encode_event(event));
            out.push(Change { key: current_key(&facts.name, &key), value });
        }
        for facts in self.types.values_mut() {
            for ended in facts.ended.iter_mut().rev().take_while(|ended| !ended.persisted) {
                ended.persisted = true;
                let mut value = codec.encode_event(&ended.event);
                encode::long(&mut value, ended.until.0 as i64);
                encode::long(&mut value, ended.until.1);
                out.push(Change { key: ended_key(&facts.name, state_id(&ended.event)), value: Some(value) });
            }
        }
    }

    /// Forgets everything.
    pub fn undo(&mut self, asked: &mut Vec<Vec<u8>>) {
        asked.push(PREFIX.to_vec());
        for facts in self.types.values_mut() {
            facts.current.clear();
            facts.alike.clear();
            facts.ended.clear();
        }
        let types = std::mem::take(&mut self.types);
        *self = WorkingMemory { types, ..WorkingMemory::default() };
    }

    /// Takes an entry of working memory; says which state it is, and when it ended. An entry of a type of fact that
    /// the rules do not have any more is passed over.
    pub fn load(&mut self, entry: &Entry, codec: &Codec) -> Result<Option<Loaded>, Malformed> {
        let torn = || Malformed::new("a state entry of a fact has a key that is too short");
        let rest = entry.key.strip_prefix(PREFIX).ok_or_else(torn)?;
        let (&kind, rest) = rest.split_first().ok_or_else(torn)?;
        let (length, rest) = rest.split_at_checked(4).ok_or_else(torn)?;
        let length = u32::from_be_bytes(length.try_into().expect("4 bytes were taken")) as usize;
        let (name, _) = rest.split_at_checked(length).ok_or_else(torn)?;
        let known = codec.names.get(name);
        let Some((type_id, facts)) = known.and_then(|id| Some((id, self.types.get_mut(id)?))) else {
            return Ok(None);
        };
        let mut cursor = Cursor::new(entry.value);
        state::version(&mut cursor)?;
        let event = codec.read_event(&mut cursor)?;
        if event.type_id != *type_id || event.origin != Origin::Fact {
            return Err(Malformed::new("a stored fact of another type than its entry says"));
        }
        self.appeared = self.appeared.max(event.offset);
        let event = Arc::new(event);
        match kind {
            CURRENT => {
                facts.replace(&event.bytes(event.key).into(), Some(event.clone()));
                Ok(Some((event, None)))
            }
            ENDED => {
                let until = (cursor.long()? as u64, cursor.long()?);
                let at = facts.ended.partition_point(|other| other.until <= until);
                facts.ended.insert(at, Ended { event: event.clone(), until, persisted: true });
                Ok(Some((event, Some(until))))
            }
            _ => Err(Malformed::new("a state entry of a fact of an unknown kind")),
        }
    }
}

impl Facts {
    /// The values as they are declared; nothing where one is absent that must be there.
    fn checked<'a>(&self, values: Vec<Value<'a>>) -> Option<Vec<Value<'a>>> {
        let declared = |((slot, optional), value): (&(Slot, bool), Value<'a>)| match (value, slot.kind) {
            (Value::Long(n), SlotKind::Double) => Some(Value::Double(n as f64)),
            (value, _) => (*optional || !value.is_null()).then_some(value),
        };
        self.attributes.iter().zip(values).map(declared).collect()
    }

    fn has(&self, fact: &Event, values: &[Value]) -> bool {
        self.attributes.iter().zip(values).all(|((slot, _), value)| is_same(&fact.value(*slot), value))
    }

    fn equal(&self, one: &Event, other: &Event) -> bool {
        self.attributes.iter().all(|(slot, _)| is_same(&one.value(*slot), &other.value(*slot)))
    }

    fn event(
        &self,
        type_id: u16,
        key: &[u8],
        values: &[Value],
        label: &[u8],
        number: i64,
        at: Instant,
    ) -> Event {
        let mut row = Vec::new();
        self.layout.start_row(&mut row);
        for ((slot, _), value) in self.attributes.iter().zip(values) {
            row.put_value(*slot, value);
        }
        let (key, own_id) = (row.push_tail(key), row.push_tail(label));
        Event {
            time: at.time,
            start: at.time,
            end: at.time,
            seq: at.seq,
            start_seq: at.seq,
            origin: Origin::Fact,
            offset: number,
            partition: at.round,
            type_id,
            source: NO_SOURCE,
            key,
            own_id,
            row: Row::from_vec(row),
        }
    }

    /// Puts a fact into another state, and returns the one it had.
    fn replace(&mut self, key: &Key, state: Option<Arc<Event>>) -> Option<Arc<Event>> {
        let values = state.as_ref().filter(|_| self.key.is_none()).map(|fact| self.values(fact));
        if let Some(values) = values {
            *self.alike.entry(values).or_default() += 1;
        }
        let was = match state {
            Some(state) => self.current.insert(key.clone(), state),
            None => self.current.remove(key),
        };
        let values = was.as_ref().filter(|_| self.key.is_none()).map(|fact| self.values(fact));
        if let Some(values) = values {
            match self.alike.get_mut(&values) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(self.alike.remove(&values)),
            }
        }
        was
    }

    fn values(&self, fact: &Event) -> Vec<u8> {
        bytes_of(self.attributes.iter().map(|(slot, _)| fact.value(*slot)))
    }
}

/// The key of a fact as the key of a record would have it.
fn key_of(value: &Value) -> Option<Key> {
    match value {
        Value::Text(text) => Some(Key::from_slice(text)),
        Value::Long(n) => Some(Key::from_slice(n.to_string().as_bytes())),
        Value::Double(x) => Some(Key::from_slice(x.to_string().as_bytes())),
        Value::Boolean(b) => Some(Key::from_slice(if *b { b"true" } else { b"false" })),
        Value::Null | Value::List(_) => None,
    }
}

/// Whether a fact is as it was: what is not a number equals nothing, and yet has not changed.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Double(a), Value::Double(b)) => a == b || a.is_nan() && b.is_nan(),
        _ => one == other,
    }
}

/// Values as bytes: equal ones have equal bytes.
fn bytes_of<'a>(values: impl Iterator<Item = Value<'a>>) -> Vec<u8> {
    let mut out = Vec::new();
    for value in values {
        match value {
            // Adding zero makes the two zeros one.
            Value::Double(x) => state::write_value(&Value::Double(x + 0.0), &mut out),
            value => state::write_value(&value, &mut out),
        }
    }
    out
}

fn named(kind: u8, name: &str) -> Vec<u8> {
    let mut key = PREFIX.to_vec();
    key.push(kind);
    key.extend_from_slice(&(name.len() as u32).to_be_bytes());
    key.extend_from_slice(name.as_bytes());
    key
}

fn current_key(name: &str, key: &[u8]) -> Vec<u8> {
    let mut out = named(CURRENT, name);
    out.extend_from_slice(key);
    out
}

fn ended_key(name: &str, (number, seq, round): Id) -> Vec<u8> {
    let mut out = named(ENDED, name);
    out.extend_from_slice(&number.to_be_bytes());
    out.extend_from_slice(&seq.to_be_bytes());
    out.extend_from_slice(&round.to_be_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    fn memory(key: &str) -> WorkingMemory {
        let fields = r#"[{"name": "id", "type": "string", "optional": false}, {"name": "n", "type": "long", "optional": true}]"#;
        let json = format!(
            r#"{{"format": {}, "app": "t", "nodes": [], "subtopologies": [], "types": [{{"name": "F", "origin": "input",
                "fields": {fields}, "topic": "f", "key": {key}, "time": null, "lateness_ms": 0, "kind": "fact",
                "parent": null, "id": null, "start": null}}]}}"#,
            crate::plan::FORMAT
        );
        let plan = Plan::parse(&json).expect("a good plan");
        let layouts = crate::build::layouts(&plan, &[], &[], &[]);
        WorkingMemory::new(&plan.types.into_iter().zip(layouts).collect::<Vec<_>>())
    }

    fn values(id: &'static str, n: i64) -> Vec<Value<'static>> {
        vec![Value::text(id.as_bytes()), Value::Long(n)]
    }

    fn at(seq: u64) -> Instant {
        Instant { seq, time: 1000 + seq as i64, round: 1 }
    }

    /// What a moment made of the facts, as (n before, n after).
    fn made(memory: &mut WorkingMemory) -> Vec<(Option<i64>, Option<i64>)> {
        let n = |state: &Option<Arc<Event>>| {
            let value = |fact: &Arc<Event>| match fact.value(Slot { index: 1, at: 9, kind: SlotKind::Long }) {
                Value::Long(n) => n,
                _ => i64::MIN,
            };
            state.as_ref().map(value)
        };
        memory.end_moment().0.iter().map(|one| (n(&one.before), n(&one.after))).collect()
    }

    #[test]
    fn what_one_moment_does_to_a_fact_is_one_transition() {
        let mut memory = memory("0");
        memory.add(0, values("a", 1), false, b"x", at(1));
        memory.add(0, values("a", 2), true, b"y", at(1));
        assert_eq!(made(&mut memory), [(None, Some(2))]);
        memory.add(0, values("a", 3), true, b"x", at(2));
        memory.add(0, values("a", 2), true, b"y", at(2));
        assert_eq!(made(&mut memory), [], "it is again what it was");
        memory.add(0, values("a", 3), false, b"x", at(3));
        assert!(!memory.end_moment().1, "what is there is left as it is");
    }

    #[test]
    fn a_fact_that_is_as_it_was_keeps_its_state() {
        let mut memory = memory("0");
        memory.add(0, values("a", 1), false, b"x", at(1));
        let first = memory.end_moment().0[0].after.clone().expect("it is there");
        memory.retract(&first);
        memory.add(0, values("a", 1), false, b"y", at(2));
        assert_eq!(made(&mut memory), []);
        memory.retract(&first);
        let ended = memory.end_moment().0[0].before.clone().expect("it was there");
        assert!(Arc::ptr_eq(&first, &ended));
    }

    #[test]
    fn without_a_key_equal_values_are_one_fact() {
        let mut memory = memory("null");
        memory.add(0, values("a", 1), false, b"x", at(1));
        memory.add(0, values("a", 1), true, b"y", at(1));
        memory.add(0, values("a", 2), true, b"z", at(1));
        let (transitions, _) = memory.end_moment();
        assert_eq!(transitions.len(), 2);
        memory.retract(transitions[0].after.as_ref().expect("it is there"));
        memory.add(0, values("a", 1), false, b"w", at(2));
        assert_eq!(made(&mut memory), [(Some(1), None), (None, Some(1))]);
    }

    #[test]
    fn only_a_fact_that_is_there_is_modified_and_only_as_declared() {
        let mut memory = memory("0");
        memory.add(0, values("a", 1), false, b"x", at(1));
        let fact = memory.end_moment().0[0].after.clone().expect("it is there");
        memory.modify(&fact, vec![(0, Value::Null)], b"y", at(2));
        assert_eq!(made(&mut memory), [], "what must have a value would have none");
        memory.modify(&fact, vec![(1, Value::Long(7))], b"y", at(2));
        assert_eq!(made(&mut memory), [(Some(1), Some(7))]);
        memory.retract(&fact);
        memory.modify(&fact, vec![(1, Value::Long(8))], b"y", at(3));
        assert_eq!(made(&mut memory), [(Some(7), None)]);
    }
}
