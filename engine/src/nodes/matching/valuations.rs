//! The equality parameters of a match: which values an event has for them, and the state of each valuation.
//!
//! A match is run for every valuation on its own. An event of a step that mentions only some parameters belongs to all
//! valuations with its values, those to come among them: so there are states for partial valuations too, from which
//! new ones are copied. A valuation without a state of its own behaves like its *representative*: a state stands
//! below the one it was copied from, and from there on the way to a valuation goes to the first that was copied for
//! some of its values.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::run::Run;
use crate::binding::{self, Values};
use crate::event::{Event, Slot, SlotKind};
use crate::key::{self, Key};
use crate::value::Value;

/// Parameters, a bit each.
pub type Set = u32;

/// Which parameters the steps of a match mention, and where their values stand.
pub struct Parameters {
    /// Parameter → the type of its values; numbers of two types are seen as doubles.
    kinds: Vec<SlotKind>,
    /// Slot → parameters and places.
    mentions: Vec<Vec<(usize, Slot)>>,
    /// The sets that steps mention, each once.
    sets: Vec<Set>,
    /// Whether of any two sets one contains the other.
    pub nested: bool,
}

impl Parameters {
    /// For each parameter, the slots and places of its values; `steps` are the slots that events fill.
    pub fn new(places: &[Vec<(usize, Slot)>], steps: &[usize], slots: usize) -> Parameters {
        let mut mentions = vec![Vec::new(); slots];
        let mut kinds = Vec::new();
        for (number, places) in places.iter().enumerate() {
            let doubles = places.iter().any(|(_, at)| at.kind == SlotKind::Double);
            let first = places.first().map_or(SlotKind::Text, |(_, at)| at.kind);
            kinds.push(if doubles { SlotKind::Double } else { first });
            for (slot, at) in places {
                mentions[*slot].push((number, *at));
            }
        }
        let mut parameters = Parameters { kinds, mentions, sets: Vec::new(), nested: true };
        let mut sets: Vec<Set> = steps.iter().map(|slot| parameters.set(*slot)).collect();
        sets.sort_unstable();
        sets.dedup();
        parameters.nested = sets.iter().all(|a| sets.iter().all(|b| a & b == *a || a & b == *b));
        parameters.sets = sets;
        parameters
    }

    pub fn count(&self) -> usize {
        self.kinds.len()
    }

    pub fn all(&self) -> Set {
        (0..self.count()).fold(0, |all, number| all | 1 << number)
    }

    /// The parameters that the step of a slot mentions.
    pub fn set(&self, slot: usize) -> Set {
        self.mentions[slot].iter().fold(0, |set, (number, _)| set | 1 << number)
    }

    /// The valuation that an event in a slot speaks of; nothing where one of its values can equal nothing.
    pub fn valuation(&self, slot: usize, event: &Event) -> Option<Key> {
        let mut values: Vec<Option<Key>> = vec![None; self.count()];
        for (number, at) in &self.mentions[slot] {
            values[*number] = Some(bytes(event.value(*at))?);
        }
        let values: Values = values.iter().map(Option::as_deref).collect();
        Some(binding::encode(&values))
    }

    pub fn decode<'a>(&self, key: &'a [u8]) -> Option<Values<'a>> {
        binding::decode(key, self.count())
    }

    /// The values of a valuation, as expressions see them.
    pub fn values(&self, key: &[u8]) -> Vec<Value<'static>> {
        let values = self.decode(key).unwrap_or_default();
        values.iter().zip(&self.kinds).map(|(bytes, kind)| value(*bytes, *kind)).collect()
    }
}

fn bytes(value: Value) -> Option<Key> {
    match value {
        Value::Text(text) => Some(Key::from_slice(&text)),
        other => key::key_of(std::iter::once(other)),
    }
}

fn value(bytes: Option<&[u8]>, kind: SlotKind) -> Value<'static> {
    let Some(bytes) = bytes else { return Value::Null };
    let number = || key::number(bytes).unwrap_or(Value::Null);
    match kind {
        SlotKind::Boolean => Value::Boolean(bytes == [1]),
        SlotKind::Long => number(),
        SlotKind::Double => number().as_double().map_or(Value::Null, Value::Double),
        SlotKind::Text | SlotKind::Bytes => Value::text(bytes).into_owned(),
        SlotKind::List => Value::Null,
    }
}

/// The parameters that have a value.
pub fn set_of(values: &[Option<&[u8]>]) -> Set {
    values
        .iter()
        .enumerate()
        .filter(|(_, value)| value.is_some())
        .fold(0, |set, (number, _)| set | 1 << number)
}

fn projected(values: &[Option<&[u8]>], set: Set) -> Key {
    let only = values.iter().enumerate().map(|(number, value)| value.filter(|_| set & (1 << number) != 0));
    binding::encode(&only.collect::<Values>())
}

/// What is kept for a valuation.
pub struct State {
    /// Rises from state to state.
    pub number: u64,
    /// What it was copied from; the first was copied from nothing.
    pub above: Option<Key>,
    /// How many were copied from it.
    pub below: usize,
    pub values: Vec<Value<'static>>,
    /// Nothing when it has ended.
    pub root: Option<Run>,
    /// The position before which, or up to which, no further occurrence may begin; 0 for none.
    pub threshold: u64,
    /// When it wants to be woken.
    pub due: i64,
    /// Whether its entry is in the state, and whether that or one of its runs has changed.
    pub stored: bool,
    pub changed: bool,
    pub listed: bool,
}

impl State {
    pub fn new(number: u64, above: Option<Key>, values: Vec<Value<'static>>, root: Option<Run>) -> State {
        State {
            number,
            above,
            below: 0,
            values,
            root,
            threshold: 0,
            due: i64::MAX,
            stored: false,
            changed: true,
            listed: false,
        }
    }
}

/// All states, found by the values they are for.
#[derive(Default)]
pub struct States {
    states: HashMap<Key, State, FxBuildHasher>,
    /// Sets of parameters that states are for → how many are.
    sets: BTreeMap<Set, usize>,
    /// (set of a state, set of a step, values of what both have) → states by their numbers.
    index: HashMap<(Set, Set, Key), BTreeMap<u64, Key>, FxBuildHasher>,
}

impl States {
    pub fn get(&self, key: &[u8]) -> Option<&State> {
        self.states.get(key)
    }

    pub fn get_mut(&mut self, key: &[u8]) -> Option<&mut State> {
        self.states.get_mut(key)
    }

    pub fn iter(&self) -> impl Iterator<Item = &State> {
        self.states.values()
    }

    pub fn insert(&mut self, parameters: &Parameters, key: Key, state: State) {
        let values = parameters.decode(&key).unwrap_or_default();
        let set = set_of(&values);
        *self.sets.entry(set).or_default() += 1;
        for other in indexed(parameters, set) {
            let place = (set, other, projected(&values, set & other));
            self.index.entry(place).or_default().insert(state.number, key.clone());
        }
        if let Some(above) = state.above.as_ref().and_then(|above| self.states.get_mut(above)) {
            above.below += 1;
        }
        drop(values);
        self.states.insert(key, state);
    }

    pub fn remove(&mut self, parameters: &Parameters, key: &Key) -> Option<State> {
        let state = self.states.remove(key)?;
        let values = parameters.decode(key).unwrap_or_default();
        let set = set_of(&values);
        if let Some(count) = self.sets.get_mut(&set) {
            *count -= 1;
            if *count == 0 {
                self.sets.remove(&set);
            }
        }
        for other in indexed(parameters, set) {
            let place = (set, other, projected(&values, set & other));
            if let Some(keys) = self.index.get_mut(&place) {
                keys.remove(&state.number);
                if keys.is_empty() {
                    self.index.remove(&place);
                }
            }
        }
        if let Some(above) = state.above.as_ref().and_then(|above| self.states.get_mut(above)) {
            above.below = above.below.saturating_sub(1);
        }
        Some(state)
    }

    /// The states that agree with the values of an event, each with whether it has all of them.
    pub fn agreeing(&self, values: &[Option<&[u8]>]) -> Vec<(Key, bool)> {
        let set = set_of(values);
        let mut found = Vec::new();
        for own in self.sets.keys() {
            if own & !set == 0 {
                let key = projected(values, *own);
                if self.states.contains_key(&key) {
                    found.push((key, *own == set));
                }
            } else if let Some(keys) = self.index.get(&(*own, set, projected(values, own & set))) {
                found.extend(keys.values().map(|key| (key.clone(), own & set == set)));
            }
        }
        found
    }

    /// The state that stands for a valuation; `except` is passed over.
    pub fn representative(
        &self,
        parameters: &Parameters,
        values: &[Option<&[u8]>],
        except: Option<&Key>,
    ) -> Key {
        let set = set_of(values);
        let (mut at, mut key) = (0, projected(values, 0));
        loop {
            let mut next: Option<(u64, Set, Key)> = None;
            for step in parameters.sets.iter().filter(|step| **step & !set == 0 && **step & !at != 0) {
                let candidate = projected(values, at | step);
                let Some(state) = self.states.get(&candidate) else { continue };
                let copied = state.above.as_ref() == Some(&key) && Some(&candidate) != except;
                if copied && next.as_ref().is_none_or(|(number, ..)| state.number < *number) {
                    next = Some((state.number, at | step, candidate));
                }
            }
            match next {
                Some((_, set, candidate)) => (at, key) = (set, candidate),
                None => return key,
            }
        }
    }
}

/// The sets of steps by which states of a set are looked up: those that lack one of its parameters.
fn indexed(parameters: &Parameters, set: Set) -> impl Iterator<Item = Set> + '_ {
    parameters.sets.iter().copied().filter(move |other| set & !other != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps with the sets of parameters they mention; the first of each slot's fields is that of parameter 0.
    fn parameters(sets: &[&[usize]]) -> Parameters {
        let at = |index: u16| Slot { index, at: 1 + 8 * index, kind: SlotKind::Long };
        let mut places = vec![Vec::new(); 2];
        for (slot, set) in sets.iter().enumerate() {
            set.iter().for_each(|number| places[*number].push((slot, at(*number as u16))));
        }
        Parameters::new(&places, &(0..sets.len()).collect::<Vec<_>>(), sets.len())
    }

    fn key(values: [Option<&[u8]>; 2]) -> Key {
        binding::encode(&values)
    }

    fn copied(states: &mut States, parameters: &Parameters, number: u64, values: [Option<&[u8]>; 2]) -> Key {
        let above = (number > 0).then(|| states.representative(parameters, &values, None));
        states.insert(parameters, key(values), State::new(number, above, Vec::new(), None));
        key(values)
    }

    const A: Option<&[u8]> = Some(b"a");
    const B: Option<&[u8]> = Some(b"b");

    #[test]
    fn sets_that_contain_each_other_are_nested() {
        assert!(parameters(&[&[], &[0], &[0, 1]]).nested);
        assert!(!parameters(&[&[0], &[1]]).nested);
    }

    #[test]
    fn the_first_copy_stands_for_what_has_none() {
        let parameters = parameters(&[&[0], &[1], &[0, 1]]);
        let mut states = States::default();
        let base = copied(&mut states, &parameters, 0, [None, None]);
        assert_eq!(states.representative(&parameters, &[A, B], None), base);
        let by_second = copied(&mut states, &parameters, 1, [None, B]);
        let by_first = copied(&mut states, &parameters, 2, [A, None]);
        assert_eq!(states.representative(&parameters, &[A, B], None), by_second);
        assert_eq!(states.representative(&parameters, &[A, None], None), by_first);
        assert_eq!(states.representative(&parameters, &[A, A], None), by_first);
        let both = copied(&mut states, &parameters, 3, [A, B]);
        assert_eq!(states.representative(&parameters, &[A, B], None), both);
        assert_eq!(states.representative(&parameters, &[A, B], Some(&both)), by_second);
    }

    #[test]
    fn an_event_finds_the_states_that_agree_with_it() {
        let parameters = parameters(&[&[0], &[1], &[0, 1]]);
        let mut states = States::default();
        let base = copied(&mut states, &parameters, 0, [None, None]);
        let by_first = copied(&mut states, &parameters, 1, [A, None]);
        let by_second = copied(&mut states, &parameters, 2, [None, B]);
        let both = copied(&mut states, &parameters, 3, [A, B]);
        let found = states.agreeing(&[A, None]);
        let expected = [(base, false), (by_first, true), (by_second, false), (both.clone(), true)];
        assert_eq!(found, expected);
        states.remove(&parameters, &both);
        assert_eq!(states.agreeing(&[A, None]).len(), 3);
        assert_eq!(states.agreeing(&[B, None]).len(), 2);
    }
}
