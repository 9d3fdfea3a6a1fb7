//! An operator node of the event graph for one binding of its parameters, while its operands signal something.
//!
//! Where conditions tie the operands, "E1's list" of the printed procedures is read as those in the list that fit what
//! was signalled: only they are candidates, and only they are flushed.

use smallvec::SmallVec;

use super::shape::{Kind, Part, Parts, Shape, LEFT, MIDDLE, RIGHT, SAMPLE};
use crate::cells::CellMut;
use crate::identity::Topics;
use crate::journal::{Journal, Reason};
use crate::occurrence::Occurrence;
use crate::plan::Context;

/// Places in a list, the first one first.
pub type Picked = SmallVec<[usize; 8]>;
/// A list and a place in it.
pub type Stored = (usize, usize);

pub struct Activation<'a> {
    pub shape: &'a Shape,
    pub cell: CellMut<'a>,
    pub topics: &'a Topics,
    /// NOT: the middle events of the position at hand.
    pub beside: &'a [Occurrence],
    /// What is passed to the parent.
    pub passed: Vec<Occurrence>,
    /// The position at hand.
    pub here: (u64, i64),
    pub journal: &'a mut Journal,
}

impl Activation<'_> {
    pub fn len(&self, list: usize) -> usize {
        self.cell.list(list).len()
    }

    pub fn stored(&self, (list, index): Stored) -> &Occurrence {
        &self.cell.list(list)[index].occurrence
    }

    // --- candidates -----------------------------------------------------------------------------------------

    /// What a list holds for an event that operand `by` signals.
    pub fn candidates(&self, list: usize, by: usize, e: &Occurrence) -> Picked {
        (0..self.len(list)).filter(|&index| self.is_candidate((list, index), by, e)).collect()
    }

    /// The first of them.
    pub fn head(&self, list: usize, by: usize, e: &Occurrence) -> Option<usize> {
        (0..self.len(list)).find(|&index| self.is_candidate((list, index), by, e))
    }

    fn is_candidate(&self, at: Stored, by: usize, e: &Occurrence) -> bool {
        let stored = self.stored(at);
        self.fits((at.0, stored), (by, e))
            && !stored.same_events(e)
            && !(self.shape.kind == Kind::Not && by == RIGHT && self.is_excluded(stored, e))
    }

    /// Whether the conditions between two operands hold; a tick goes with its own initiator only.
    pub fn fits(&self, stored: Part, by: Part) -> bool {
        if self.shape.is_periodic() && by.0 == MIDDLE {
            return self.shape.is_tick_of(by.1, stored.1, self.topics);
        }
        self.shape.fits(stored, by)
    }

    /// NOT: whether an e2 at this very position, other than `e`, forbids e1.
    pub fn is_excluded(&self, e1: &Occurrence, e: &Occurrence) -> bool {
        self.excluding(e1, e).is_some()
    }

    /// NOT: that e2.
    pub fn excluding(&self, e1: &Occurrence, e: &Occurrence) -> Option<&Occurrence> {
        self.beside.iter().find(|e2| !e2.same_events(e) && self.fits((LEFT, e1), (MIDDLE, e2)))
    }

    /// NOT without a context: whether an e2 that is remembered lies between e1 and e3.
    pub fn is_forbidden(&self, e1: usize, e3: &Occurrence) -> bool {
        self.forbidding(e1, e3).is_some()
    }

    /// NOT without a context: the place of that e2.
    pub fn forbidding(&self, e1: usize, e3: &Occurrence) -> Option<usize> {
        let first = self.stored((LEFT, e1));
        (0..self.len(MIDDLE)).find(|&index| {
            let e2 = self.stored((MIDDLE, index));
            first.seq <= e2.seq
                && e2.seq <= e3.seq
                && !e2.same_events(first)
                && !e2.same_events(e3)
                && self.shape.all_fit(&self.parts(&[(LEFT, e1), (MIDDLE, index)], Some((RIGHT, e3))))
        })
    }

    /// Whether these are distinct occurrences and all conditions among them hold.
    pub fn are_together(&self, chosen: &[Stored]) -> bool {
        let parts = self.parts(chosen, None);
        let distinct = |n: usize| parts[..n].iter().all(|(_, other)| !other.same_events(parts[n].1));
        (1..parts.len()).all(distinct) && self.shape.all_fit(&parts)
    }

    // --- lists ----------------------------------------------------------------------------------------------

    pub fn append(&mut self, list: usize, e: &Occurrence) {
        self.cell.push(list, kept(e));
    }

    pub fn replace(&mut self, list: usize, e: &Occurrence) {
        (0..self.len(list)).for_each(|index| self.note_lost(Reason::Context, (list, index), Some(e)));
        self.cell.clear(list);
        self.append(list, e);
    }

    /// Deletes from a list what became part of what is passed.
    pub fn delete(&mut self, list: usize, used: &[usize]) {
        used.iter().for_each(|&index| self.note_used((list, index)));
        self.take_out(list, used);
    }

    /// Deletes everything in a list, all of which became part of what is passed.
    pub fn delete_all(&mut self, list: usize) {
        (0..self.len(list)).for_each(|index| self.note_used((list, index)));
        self.cell.clear(list);
    }

    /// Deletes from a list what an event ends.
    pub fn flush(&mut self, list: usize, ended: &[usize], by: &Occurrence) {
        let reason = if self.shape.kind == Kind::Not { Reason::Negated } else { Reason::Context };
        ended.iter().for_each(|&index| self.note_lost(reason, (list, index), Some(by)));
        self.take_out(list, ended);
    }

    fn take_out(&mut self, list: usize, used: &[usize]) {
        if let [index] = used {
            self.cell.take(list, *index);
        } else if !used.is_empty() {
            let mut index = 0..;
            self.cell.retain(list, |_| index.next().is_none_or(|index| !used.contains(&index)));
        }
    }

    pub fn parts<'b>(&'b self, stored: &[Stored], e: Option<Part<'b>>) -> Parts<'b> {
        stored.iter().map(|&at| (at.0, self.stored(at))).chain(e).collect()
    }

    /// Passes what these make together to the parent.
    pub fn pass(&mut self, stored: &[Stored], e: Option<(usize, &Occurrence)>) {
        let whole = self.shape.union(&self.parts(stored, e));
        self.passed.push(whole);
    }

    // --- A* and P* ------------------------------------------------------------------------------------------

    /// Passes <e1, all e2, e3>, or <e1, e3> where there is no e2.
    pub fn pass_interval(&mut self, e1: usize, e3: &Occurrence) {
        let mut chosen: SmallVec<[Stored; 8]> = SmallVec::new();
        chosen.push((LEFT, e1));
        chosen.extend((0..self.len(MIDDLE)).filter(|&e2| self.is_between(e1, e2, e3)).map(|e2| (MIDDLE, e2)));
        self.pass(&chosen, Some((RIGHT, e3)));
    }

    /// Whether an e2 belongs to e1 and e3: behind e1, or a tick of its own.
    fn is_between(&self, e1: usize, e2: usize, e3: &Occurrence) -> bool {
        let tied = !self.shape.is_periodic() && self.shape.has_conditions();
        self.is_behind(self.stored((LEFT, e1)), self.stored((MIDDLE, e2)))
            && (!tied || self.shape.all_fit(&self.parts(&[(LEFT, e1), (MIDDLE, e2)], Some((RIGHT, e3)))))
    }

    fn is_behind(&self, e1: &Occurrence, e2: &Occurrence) -> bool {
        e1.seq < e2.seq && self.fits((LEFT, e1), (MIDDLE, e2))
    }

    /// Deletes from E2's list what is not behind any e1 any more.
    pub fn drop_orphans(&mut self) {
        if self.shape.is_periodic() || self.shape.has_conditions() {
            let has_e1 =
                |e2: &Occurrence| self.cell.list(LEFT).iter().any(|e1| self.is_behind(&e1.occurrence, e2));
            let orphans: Vec<usize> =
                (0..self.len(MIDDLE)).filter(|&e2| !has_e1(self.stored((MIDDLE, e2)))).collect();
            self.take_out(MIDDLE, &orphans);
        } else {
            let first = self.cell.list(LEFT).front().map_or(u64::MAX, |e1| e1.occurrence.seq);
            self.cell.pop_while(MIDDLE, |e2| e2.seq <= first);
        }
    }

    // --- time -----------------------------------------------------------------------------------------------

    /// `within`: what started too long ago is gone from every list.
    pub fn purge(&mut self, oldest: i64, context: Context) {
        let collects = matches!(self.shape.kind, Kind::Aperiodic { .. } | Kind::Periodic { .. });
        let before = if collects { self.len(LEFT) } else { 0 };
        let mut gone = 0;
        for list in 0..self.shape.expiring() {
            self.note_expired(list, oldest);
            // Without a context nothing is flushed: what lies in an interval counts however early it began itself.
            let inside = list == MIDDLE && matches!(self.shape.kind, Kind::Aperiodic { .. } | Kind::Not);
            gone += if inside && context == Context::Unrestricted {
                self.cell.pop_while(list, |e2| e2.time < oldest)
            } else {
                self.cell.purge(list, oldest)
            };
        }
        if collects && self.len(LEFT) < before {
            self.drop_orphans();
        }
        self.journal.expired += gone as u64;
    }

    /// P, P*: the ticks at this position, each counted from an e1 of a position.
    pub fn ticks(&self, of: u64, at: (u64, i64)) -> Vec<Occurrence> {
        let sample = (self.shape.operands() > SAMPLE).then(|| self.cell.list(SAMPLE).back()).flatten();
        let sample = sample.and_then(|kept| kept.occurrence.items.first()).map(|item| &*item.event);
        let initiators = self.cell.list(LEFT).iter().map(|kept| &kept.occurrence);
        let striking = initiators.filter(|e1| e1.seq == of && self.shape.strikes(e1, at.1));
        striking.map(|e1| Occurrence::of(self.shape.point(e1, sample, at, self.topics).into())).collect()
    }
}

/// What is kept of an occurrence: what it holds for is the binding it is kept under.
fn kept(e: &Occurrence) -> Occurrence {
    Occurrence { binding: None, ..e.clone() }
}
