//! What happened at a node, for people: how much came, was found and expired, and the last partial matches that came
//! to nothing.
//!
//! A journal begins with the task and lives in memory only: it is no state, and an aborted transaction does not undo
//! it. To note something costs an `Arc` or two, and where there is too much to note, most is let go: a ring takes in at
//! once what it has room for, then one of what comes within some positions.

use smallvec::SmallVec;
use triomphe::Arc;

use crate::event::Event;
use crate::key::Key;
use crate::occurrence::{Item, Items};

/// The most that one ring keeps, and about the most that all rings of a task keep together.
const ROOM: usize = 64;
const ROOM_OF_ALL: usize = 16_384;
const LEAST_ROOM: usize = 4;

/// A ring that is full takes in one thing for each so many positions.
const STRIDE: u64 = 256;

/// What ended a partial match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// An event of the right type that a filter did not let pass.
    Filter,
    /// It came when its time was already handled.
    Late,
    /// Nothing was there that could play a role.
    Missing,
    /// What was there has other values for the parameters.
    Parameter,
    /// What was there does not fulfil a condition, or does not stand in the right order.
    Condition,
    /// Something occurred that must not.
    Negated,
    /// It was consumed by an occurrence.
    Consumed,
    /// The context let something else take its place, used it for something else, or closed it.
    Context,
    /// Its time was over.
    Expired,
    /// Another event came than the one that had to come next.
    Violated,
    /// `while` does not hold any more.
    While,
    /// It came true once too often.
    TooMany,
    /// It overlaps, or begins before, one that was passed on.
    Overlap,
    /// The `if` of the rule does not hold.
    If,
    /// An attribute that needs a value has none, or it is too large to be written.
    NoValue,
    /// There were as many already as the rule lets pass.
    Rate,
    /// The rule is not active.
    Inactive,
}

impl Reason {
    pub fn name(self) -> &'static str {
        match self {
            Reason::Filter => "filter",
            Reason::Late => "late",
            Reason::Missing => "missing",
            Reason::Parameter => "parameter",
            Reason::Condition => "condition",
            Reason::Negated => "negated",
            Reason::Consumed => "consumed",
            Reason::Context => "context",
            Reason::Expired => "expired",
            Reason::Violated => "violated",
            Reason::While => "while",
            Reason::TooMany => "too many",
            Reason::Overlap => "overlap",
            Reason::If => "if",
            Reason::NoValue => "no value",
            Reason::Rate => "rate",
            Reason::Inactive => "inactive",
        }
    }
}

/// A partial match that came to nothing, and what ended it.
#[derive(Debug, Clone)]
pub struct Loss {
    pub time: i64,
    pub reason: Reason,
    /// The constituents so far.
    pub items: Items,
    /// The slot that stayed empty.
    pub missing: Option<u16>,
    /// What came nearest to filling it.
    pub nearest: Option<Arc<Event>>,
    /// The event that ended it.
    pub by: Option<Arc<Event>>,
}

impl Loss {
    pub fn new(reason: Reason, time: i64, items: Items) -> Loss {
        Loss { time, reason, items, missing: None, nearest: None, by: None }
    }

    pub fn of(reason: Reason, time: i64, slot: u16, event: Arc<Event>) -> Loss {
        Loss::new(reason, time, SmallVec::from_iter([Item { slot, event }]))
    }

    pub fn by(self, event: Option<&Arc<Event>>) -> Loss {
        Loss { by: event.cloned(), ..self }
    }
}

/// What is not kept any more, and could have been part of something.
#[derive(Debug, Clone)]
pub struct Gone {
    pub reason: Reason,
    pub items: Items,
    /// What it was kept under.
    pub key: Key,
    /// The event that took it.
    pub by: Option<Arc<Event>>,
}

/// The last things noted.
#[derive(Debug)]
pub struct Ring<T> {
    kept: Vec<T>,
    room: usize,
    next: usize,
    /// Up to where positions are spent: each thing that is taken in costs some.
    spent: u64,
}

impl<T> Default for Ring<T> {
    fn default() -> Ring<T> {
        Ring { kept: Vec::new(), room: ROOM, next: 0, spent: 0 }
    }
}

impl<T> Ring<T> {
    /// Whether something at a position is taken in.
    #[inline]
    pub fn listens(&self, at: u64) -> bool {
        self.spent <= at.saturating_add(STRIDE * self.room as u64)
    }

    /// Notes something that happens at a position.
    #[inline]
    pub fn note(&mut self, at: u64, thing: impl FnOnce() -> T) {
        if self.listens(at) {
            self.push(at, thing());
        }
    }

    #[cold]
    fn push(&mut self, at: u64, thing: T) {
        self.spent = self.spent.max(at).saturating_add(STRIDE);
        if self.kept.len() < self.room {
            self.kept.push(thing);
        } else {
            self.kept[self.next] = thing;
            self.next = (self.next + 1) % self.room;
        }
    }

    /// What is kept, the last first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let (behind, before) = self.kept.split_at(self.next);
        behind.iter().rev().chain(before.iter().rev())
    }
}

#[derive(Debug, Default)]
pub struct Journal {
    pub arrived: u64,
    pub found: u64,
    pub expired: u64,
    pub losses: Ring<Loss>,
    pub gone: Ring<Gone>,
}

impl Journal {
    /// Journals for so many nodes: the more there are, the less each of them keeps.
    pub fn of_all(nodes: usize) -> Vec<Journal> {
        let room = (ROOM_OF_ALL / nodes.max(1)).clamp(LEAST_ROOM, ROOM);
        let empty = || Journal {
            losses: Ring { room, ..Ring::default() },
            gone: Ring { room, ..Ring::default() },
            ..Journal::default()
        };
        (0..nodes).map(|_| empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(ring: &Ring<u64>) -> Vec<u64> {
        ring.iter().copied().collect()
    }

    #[test]
    fn the_last_ones_are_kept() {
        let mut ring = Ring { room: 3, ..Ring::default() };
        for at in 0..5 {
            ring.note(at * STRIDE, || at);
        }
        assert_eq!(kept(&ring), [4, 3, 2]);
    }

    #[test]
    fn of_many_at_once_most_are_let_go() {
        let mut ring = Ring { room: 2, ..Ring::default() };
        for number in 0..100 {
            ring.note(1000, || number);
        }
        assert!(kept(&ring).iter().all(|number| *number < 5), "{ring:?}");
        assert!(!ring.listens(1000));
        ring.note(1000 + 3 * STRIDE, || 100);
        assert_eq!(kept(&ring)[0], 100);
    }
}
