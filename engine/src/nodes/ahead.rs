//! Where occurrences of a pattern wait that nothing must follow, and how what comes then finds them.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::event::Event;
use crate::key::Key;
use crate::occurrence::Occurrence;

/// A point in time at which the absence of something ahead is decided: several of one time are in the order of the
/// negations, then of what they are counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub due: i64,
    pub number: u32,
    pub anchor: u64,
}

impl Place {
    pub fn token(self) -> Vec<u8> {
        [&self.number.to_be_bytes()[..], &self.anchor.to_be_bytes(), &self.due.to_be_bytes()].concat()
    }

    pub fn read(token: &[u8]) -> Option<Place> {
        let (number, rest) = token.split_first_chunk()?;
        let (anchor, due) = rest.split_first_chunk()?;
        let due = i64::from_be_bytes(due.try_into().ok()?);
        Some(Place { due, number: u32::from_be_bytes(*number), anchor: u64::from_be_bytes(*anchor) })
    }
}

/// Where to look for what waits: by the values that something forbidden would share with it, for each negation, and by
/// the events it holds. Not state, and no more than a hint: nothing need wait there any more.
pub struct Ahead {
    tied: Vec<Index<Key>>,
    holding: Index<(u64, i64)>,
}

impl Ahead {
    pub fn new(negations: usize) -> Ahead {
        Ahead { tied: (0..negations).map(|_| Index::default()).collect(), holding: Index::default() }
    }

    /// Notes what waits at a place, and the values that tie it to something of a negation.
    pub fn note(&mut self, place: Place, waiting: &Occurrence, ties: impl Iterator<Item = (usize, Key)>) {
        ties.for_each(|(negation, key)| self.tied[negation].note(key, place));
        waiting.items.iter().for_each(|item| self.holding.note(item.event.place(), place));
    }

    /// Visits the places of what something of a negation may forbid, in order; one where nothing waits any more, as
    /// `visit` says, is not visited again.
    pub fn visit_tied(&mut self, negation: usize, key: &[u8], visit: impl FnMut(Place) -> bool) {
        self.tied[negation].visit(&Key::from_slice(key), visit);
    }

    /// The same for the places of what holds an event.
    pub fn visit_holding(&mut self, event: &Event, visit: impl FnMut(Place) -> bool) {
        self.holding.visit(&event.place(), visit);
    }

    /// Forgets the places before a time.
    pub fn expire(&mut self, time: i64) {
        self.tied.iter_mut().for_each(|index| index.expire(time));
        self.holding.expire(time);
    }
}

struct Index<K> {
    places: HashMap<K, BTreeSet<Place>, FxBuildHasher>,
    /// Place → under what it was noted.
    keys: BTreeMap<Place, Vec<K>>,
}

impl<K> Default for Index<K> {
    fn default() -> Index<K> {
        Index { places: HashMap::default(), keys: BTreeMap::new() }
    }
}

impl<K: Clone + Eq + Hash> Index<K> {
    fn note(&mut self, key: K, place: Place) {
        if self.places.entry(key.clone()).or_default().insert(place) {
            self.keys.entry(place).or_default().push(key);
        }
    }

    fn visit(&mut self, key: &K, visit: impl FnMut(Place) -> bool) {
        let Some(places) = self.places.get_mut(key) else { return };
        let mut visit = visit;
        places.retain(|place| visit(*place));
        if places.is_empty() {
            self.places.remove(key);
        }
    }

    fn expire(&mut self, time: i64) {
        while let Some(first) = self.keys.first_entry().filter(|first| first.key().due < time) {
            let (place, keys) = first.remove_entry();
            for key in keys {
                if let Some(places) = self.places.get_mut(&key) {
                    places.remove(&place);
                    if places.is_empty() {
                        self.places.remove(&key);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(due: i64) -> Place {
        Place { due, number: 0, anchor: due as u64 }
    }

    fn visited(index: &mut Index<Key>, key: &[u8], stays: bool) -> Vec<i64> {
        let mut found = Vec::new();
        index.visit(&Key::from_slice(key), |place| {
            found.push(place.due);
            stays
        });
        found
    }

    fn index() -> Index<Key> {
        let mut index = Index::default();
        [(1, b"a"), (2, b"b"), (3, b"a"), (3, b"a")]
            .into_iter()
            .for_each(|(due, key)| index.note(Key::from_slice(key), place(due)));
        index
    }

    #[test]
    fn only_the_places_of_a_key_are_visited() {
        let mut index = index();
        assert_eq!(visited(&mut index, b"a", true), [1, 3]);
        assert_eq!(visited(&mut index, b"b", true), [2]);
        assert!(visited(&mut index, b"c", true).is_empty());
    }

    #[test]
    fn a_place_where_nothing_waits_is_not_visited_again() {
        let mut index = index();
        assert_eq!(visited(&mut index, b"a", false), [1, 3]);
        assert!(visited(&mut index, b"a", true).is_empty());
        assert_eq!(visited(&mut index, b"b", true), [2]);
    }

    #[test]
    fn nothing_is_left_when_the_time_is_up() {
        let mut index = index();
        index.expire(3);
        assert_eq!(visited(&mut index, b"a", true), [3]);
        index.expire(4);
        assert!(index.places.is_empty() && index.keys.is_empty());
    }
}
