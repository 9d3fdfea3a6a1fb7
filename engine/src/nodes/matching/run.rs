//! Running parts of a program: what was started and may still come true, as a tree.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use triomphe::Arc;

use super::program::Number;
use super::taken::{self, Taken};
use crate::event::Event;
use crate::plan::Take;

/// How a part is started: with what was taken before, and which of the events to come its first step takes.
#[derive(Debug, Clone)]
pub struct Start {
    pub taken: Taken,
    pub take: Take,
    /// The repeat whose condition the first step has to fulfil too, compared with what was taken last.
    pub between: Option<Number>,
}

impl Start {
    pub fn behind(taken: Taken) -> Start {
        Start { taken, take: Take::First, between: None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Through,
    Failed,
}

/// What comes of a part at one position: what was taken each time it came true, and whether it ended.
#[derive(Debug, Default)]
pub struct Out {
    pub matches: Vec<Taken>,
    pub end: Option<End>,
}

impl Out {
    pub fn through(taken: Taken) -> Out {
        Out { matches: vec![taken], end: Some(End::Through) }
    }

    pub fn failed() -> Out {
        Out { matches: Vec::new(), end: Some(End::Failed) }
    }
}

/// What a part waits for, so that everything else passes it by.
#[derive(Debug, Clone, Copy)]
pub struct Wants {
    /// A bit for each slot; slots far apart share them.
    pub slots: u64,
    /// Any event of the stream.
    pub stream: bool,
    pub due: i64,
}

impl Wants {
    pub const NOTHING: Wants = Wants { slots: 0, stream: false, due: i64::MAX };

    fn and(self, other: Wants) -> Wants {
        let (slots, stream) = (self.slots | other.slots, self.stream | other.stream);
        Wants { slots, stream, due: self.due.min(other.due) }
    }
}

#[inline]
pub fn bit(slot: u16) -> u64 {
    1 << (slot % 64)
}

/// An event at the position at hand, and the slots it can fill.
pub struct Arrived {
    pub event: Arc<Event>,
    pub slots: SmallVec<[u16; 4]>,
}

/// The position at hand.
pub struct Now<'a> {
    pub seq: u64,
    pub time: i64,
    /// Whether it is that of the match's timers of this time.
    pub timer: bool,
    pub events: &'a [Arrived],
    pub slots: u64,
}

impl Now<'_> {
    #[inline]
    pub fn meets(&self, wants: &Wants) -> bool {
        self.slots & wants.slots != 0
            || (wants.stream && !self.events.is_empty())
            || (self.timer && wants.due <= self.time)
    }

    /// Whether a time that includes its own position is up.
    pub fn is_over(&self, due: i64) -> bool {
        due < self.time || (self.timer && due == self.time)
    }
}

#[derive(Debug, Clone)]
pub enum Kind {
    Step {
        since: u64,
        start: Start,
    },
    Wait {
        due: i64,
        taken: Taken,
    },
    /// The left part has number 0, what its matches started number 1.
    Then,
    /// Parts by number, and for each what they came true with so far.
    All {
        taken: Taken,
    },
    /// Of `or` and `|`: parts by number.
    Parts,
    Every {
        start: Start,
    },
    Denied,
    AtMost {
        seen: u64,
    },
    While,
    /// Without a deadline, each match has its own.
    Within {
        deadline: Option<i64>,
    },
    Absent {
        due: i64,
        taken: Taken,
    },
    /// Iterations by the number of those before; `matched` tells whether it has ever been true.
    Repeat {
        matched: bool,
    },
    /// The `until` has number 0, the iteration number 1. `base` is what was taken when it was started, `from` when the
    /// iteration was, at position `begun`.
    Collect {
        base: Taken,
        from: Taken,
        taken: Taken,
        count: u64,
        begun: u64,
    },
    /// What a part of an `and` came true with.
    Kept {
        taken: Taken,
    },
    /// An iteration that has ended, while several that it led to go on.
    Ended,
    /// An iteration that is about to be started.
    Pending {
        start: Start,
    },
}

/// Where a run stands in the one above it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Place {
    pub number: u64,
    /// Of an iteration: how deep it lies in the tree of iterations, which are listed parent first; its rank among
    /// those with the same parent; and the parent's id.
    pub depth: u32,
    pub rank: u64,
    pub above: u64,
}

#[derive(Debug)]
pub struct Run {
    pub id: u64,
    pub part: Number,
    pub place: Place,
    pub kind: Kind,
    pub children: Vec<Run>,
    /// When it can no longer come true in time for anyone to see.
    pub expires: i64,
    pub wants: Wants,
    /// How it ended, at the position at hand.
    pub over: Option<End>,
    /// Whether its entry is in the state, whether that has changed, and whether one below it has.
    pub stored: bool,
    pub changed: bool,
    pub below: bool,
}

impl Run {
    pub fn new(id: u64, part: Number, kind: Kind, children: Vec<Run>) -> Run {
        let mut run = Run {
            id,
            part,
            place: Place::default(),
            kind,
            children,
            expires: i64::MAX,
            wants: Wants::NOTHING,
            over: None,
            stored: false,
            changed: true,
            below: true,
        };
        run.refresh();
        run
    }

    pub fn at(self, number: u64) -> Run {
        Run { place: Place { number, ..self.place }, ..self }
    }

    /// Finds out again what it waits for, once it or something below has changed.
    pub fn refresh(&mut self) {
        let own = match &self.kind {
            Kind::Step { start, .. } if start.take == Take::Next => Wants { stream: true, ..Wants::NOTHING },
            Kind::Wait { due, .. } | Kind::Absent { due, .. } => Wants { due: *due, ..Wants::NOTHING },
            Kind::Within { deadline: Some(due) } => Wants { due: *due, ..Wants::NOTHING },
            // Of any other step, the slot is put in by `awaits`.
            _ => Wants::NOTHING,
        };
        let slots = if matches!(self.kind, Kind::Step { .. }) { self.wants.slots } else { 0 };
        let mut wants = Wants { slots, due: own.due.min(self.expires), ..own };
        for child in &self.children {
            wants = wants.and(child.wants);
            self.below |= child.changed | child.below;
        }
        self.wants = wants;
    }

    /// Says which slot a step fills, unless it takes whatever comes next.
    pub fn awaits(mut self, slot: u16) -> Run {
        if !self.wants.stream {
            self.wants.slots = bit(slot);
        }
        self
    }

    pub fn expires_at(mut self, expires: i64) -> Run {
        self.expires = expires;
        self.wants.due = self.wants.due.min(expires);
        self
    }

    /// How many runs the tree has.
    pub fn size(&self) -> usize {
        1 + self.children.iter().map(Run::size).sum::<usize>()
    }

    /// A copy with ids of its own.
    pub fn copied(&self, next: &mut u64) -> Run {
        *next += 1;
        let id = *next;
        let mut children: Vec<Run> = self.children.iter().map(|child| child.copied(next)).collect();
        if matches!(self.kind, Kind::Repeat { .. }) {
            // Iterations name their parents by id.
            let ids = self.children.iter().zip(&children).map(|(old, new)| (old.id, new.id));
            let ids: FxHashMap<u64, u64> = ids.collect();
            for child in &mut children {
                child.place.above = ids.get(&child.place.above).copied().unwrap_or_default();
            }
        }
        Run {
            id,
            part: self.part,
            place: self.place,
            kind: self.kind.clone(),
            children,
            expires: self.expires,
            wants: self.wants,
            over: None,
            stored: false,
            changed: true,
            below: true,
        }
    }

    /// Whether the same can come of both from now on.
    pub fn is_like(&self, other: &Run) -> bool {
        self.part == other.part
            && self.place.number == other.place.number
            && self.place.depth == other.place.depth
            && self.expires == other.expires
            && self.children.len() == other.children.len()
            && self.kind.is_like(&other.kind)
            && self.children.iter().zip(&other.children).all(|(one, other)| one.is_like(other))
    }

    /// Whether nothing was taken yet, anywhere in it.
    pub fn is_bare(&self) -> bool {
        let bare = match &self.kind {
            Kind::Step { start, .. } | Kind::Every { start } | Kind::Pending { start } => {
                start.taken.is_none()
            }
            Kind::Wait { taken, .. }
            | Kind::All { taken }
            | Kind::Absent { taken, .. }
            | Kind::Kept { taken } => taken.is_none(),
            Kind::Collect { taken, .. } => taken.is_none(),
            _ => true,
        };
        bare && self.children.iter().all(Run::is_bare)
    }
}

impl Kind {
    /// Positions in the past make no difference.
    fn is_like(&self, other: &Kind) -> bool {
        use Kind::{Absent, All, AtMost, Collect, Every, Kept, Repeat, Step, Wait, Within};
        match (self, other) {
            (Step { start: one, .. }, Step { start: other, .. })
            | (Every { start: one }, Every { start: other }) => one.is_like(other),
            (Wait { due: one, taken: a }, Wait { due: other, taken: b })
            | (Absent { due: one, taken: a }, Absent { due: other, taken: b }) => {
                one == other && taken::same(a, b)
            }
            (All { taken: a }, All { taken: b }) | (Kept { taken: a }, Kept { taken: b }) => {
                taken::same(a, b)
            }
            (AtMost { seen: one }, AtMost { seen: other }) => one == other,
            (Within { deadline: one }, Within { deadline: other }) => one == other,
            (Repeat { matched: one }, Repeat { matched: other }) => one == other,
            (
                Collect { base, from, taken, count, .. },
                Collect { base: base_b, from: from_b, taken: taken_b, count: count_b, .. },
            ) => {
                count == count_b
                    && taken::same(base, base_b)
                    && taken::same(from, from_b)
                    && taken::same(taken, taken_b)
            }
            (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
        }
    }
}

impl Start {
    fn is_like(&self, other: &Start) -> bool {
        self.take == other.take && self.between == other.between && taken::same(&self.taken, &other.taken)
    }
}
