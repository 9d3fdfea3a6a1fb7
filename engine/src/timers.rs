//! Points in time that nodes asked to be woken at. They are not state of their own: a node that is loaded asks again.

use std::collections::BTreeSet;

/// A point in time, the node to wake, and what it wants to be told.
pub type Alarm = (i64, usize, Vec<u8>);

/// Alarms of one time go by the rank of their nodes, then by the token, which begins with the position of what set
/// them.
#[derive(Debug, Default)]
pub struct Timers {
    /// Node → its place among all that are woken at one time.
    ranks: Vec<u64>,
    alarms: BTreeSet<(i64, u64, Vec<u8>, usize)>,
}

impl Timers {
    pub fn new(ranks: Vec<u64>) -> Timers {
        Timers { ranks, alarms: BTreeSet::new() }
    }

    fn rank(&self, node: usize) -> u64 {
        self.ranks.get(node).copied().unwrap_or(u64::MAX)
    }

    pub fn clear(&mut self) {
        self.alarms.clear();
    }

    pub fn set(&mut self, node: usize, time: i64, token: Vec<u8>) {
        self.alarms.insert((time, self.rank(node), token, node));
    }

    pub fn is_set(&self, node: usize, time: i64, token: &[u8]) -> bool {
        self.alarms.contains(&(time, self.rank(node), token.to_vec(), node))
    }

    /// When the first alarm is due.
    pub fn first(&self) -> Option<i64> {
        self.alarms.first().map(|(due, ..)| *due)
    }

    /// Takes the first alarm, when it is due before a time.
    pub fn pop_before(&mut self, time: i64) -> Option<Alarm> {
        if self.alarms.first().is_some_and(|(due, ..)| *due < time) {
            self.alarms.pop_first().map(|(due, _, token, node)| (due, node, token))
        } else {
            None
        }
    }

    /// Takes one more alarm of a node and a time whose token begins like that.
    pub fn pop_beside(&mut self, node: usize, time: i64, begin: &[u8]) -> Option<Vec<u8>> {
        let first = (time, self.rank(node), begin.to_vec(), 0);
        let behind = self.alarms.range(first..);
        let beside = behind.take_while(|(due, _, token, _)| *due == time && token.starts_with(begin));
        let found = beside.into_iter().find(|(.., other)| *other == node)?.clone();
        self.alarms.remove(&found);
        Some(found.2)
    }
}
