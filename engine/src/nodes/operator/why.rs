//! Why an operator found nothing: what its context dropped, what expired, and what a terminator did not find.

use triomphe::Arc;

use super::activation::{Activation, Stored};
use super::shape::{Kind, LEFT, MIDDLE, RIGHT};
use crate::event::Event;
use crate::journal::{Gone, Loss, Reason};
use crate::occurrence::{Items, Occurrence};

impl Activation<'_> {
    /// Whether what is in a list is a partial match: not what only forbids, closes or is collected.
    fn begins(&self, list: usize) -> bool {
        matches!(self.shape.kind, Kind::And | Kind::Any { .. }) || list == LEFT
    }

    /// Notes that something in a list came to nothing.
    pub fn note_lost(&mut self, reason: Reason, at: Stored, by: Option<&Occurrence>) {
        if !self.begins(at.0) {
            return;
        }
        let (seq, time) = self.here;
        if self.journal.losses.listens(seq) {
            let loss = Loss::new(reason, time, self.items(at)).by(by.and_then(last));
            self.journal.losses.note(seq, || loss);
        }
        self.note_gone(reason, at, by.and_then(last));
    }

    /// Notes that something in a list became part of what is passed, and goes out of it.
    pub fn note_used(&mut self, at: Stored) {
        if self.begins(at.0) && self.journal.gone.listens(self.here.0) {
            let by = self.passed.last().and_then(last).cloned();
            self.note_gone(Reason::Context, at, by.as_ref());
        }
    }

    /// NOT: notes that an e1 is forbidden by an e2 beside it.
    pub fn note_excluded(&mut self, e1: &Occurrence, e2: &Occurrence) {
        let (seq, time) = self.here;
        let items = || self.shape.union(&[(LEFT, e1)]).items;
        self.journal.losses.note(seq, || Loss::new(Reason::Negated, time, items()).by(last(e2)));
    }

    pub fn note_overlap(&mut self, found: &Occurrence) {
        let (seq, time) = self.here;
        self.journal.losses.note(seq, || Loss::new(Reason::Overlap, time, found.items.clone()));
    }

    /// Notes what in a list is too old and about to be forgotten.
    pub fn note_expired(&mut self, list: usize, oldest: i64) {
        let old = |index: &usize| self.stored((list, *index)).start < oldest;
        if !self.begins(list) || !(0..self.len(list)).take(1).any(|index| old(&index)) {
            return;
        }
        let old: Vec<usize> = (0..self.len(list)).take_while(old).collect();
        old.into_iter().for_each(|index| self.note_lost(Reason::Expired, (list, index), None));
    }

    fn note_gone(&mut self, reason: Reason, at: Stored, by: Option<&Arc<Event>>) {
        if self.journal.gone.listens(self.here.0) {
            let (items, key) = (self.items(at), self.cell.key().clone());
            self.journal.gone.note(self.here.0, || Gone { reason, items, key, by: by.cloned() });
        }
    }

    fn items(&self, at: Stored) -> Items {
        self.shape.union(&self.parts(&[at], None)).items
    }

    /// Notes what terminators lacked that led to nothing; `others` where there is something for other values of the
    /// parameters.
    pub fn explain(&mut self, signalled: &[Vec<Occurrence>], others: bool) {
        let by = match self.shape.kind {
            Kind::Seq | Kind::Aperiodic { star: false } => MIDDLE,
            Kind::Aperiodic { star: true } | Kind::Periodic { star: true, .. } | Kind::Not => RIGHT,
            _ => return,
        };
        for e in signalled.get(by).into_iter().flatten() {
            if self.journal.losses.listens(self.here.0) {
                let loss = self.lacking(by, e, others);
                self.journal.losses.note(self.here.0, || loss);
            }
        }
    }

    /// Why a terminator found no initiator.
    #[cold]
    fn lacking(&self, by: usize, e: &Occurrence, others: bool) -> Loss {
        let time = self.here.1;
        let with = |e1: usize| self.shape.union(&self.parts(&[(LEFT, e1)], Some((by, e)))).items;
        let before = (0..self.len(LEFT)).rev().filter(|&e1| self.stored((LEFT, e1)).seq < e.seq);
        for e1 in before {
            let first = self.stored((LEFT, e1));
            if !self.fits((LEFT, first), (by, e)) {
                return Loss::new(Reason::Condition, time, with(e1));
            }
            if self.shape.kind == Kind::Not {
                let remembered = || self.forbidding(e1, e).map(|e2| self.stored((MIDDLE, e2)));
                if let Some(e2) = self.excluding(first, e).or_else(remembered) {
                    return Loss::new(Reason::Negated, time, with(e1)).by(last(e2));
                }
            }
        }
        let mut loss = Loss::new(Reason::Missing, time, self.shape.union(&[(by, e)]).items);
        let base = self.shape.places[LEFT].base;
        loss.missing = Some(base);
        let (place, key) = (self.shape.places[LEFT], self.cell.key());
        let like = |gone: &&Gone| gone.key == *key && gone.items.iter().all(|item| place.holds(item.slot));
        match self.journal.gone.iter().find(like) {
            // Both were there, and something between them.
            Some(gone) if gone.reason == Reason::Negated => {
                let items = gone.items.iter().chain(&loss.items).cloned().collect();
                Loss { reason: Reason::Negated, items, missing: None, by: gone.by.clone(), ..loss }
            }
            Some(gone) => {
                let nearest = gone.items.last().map(|item| item.event.clone());
                Loss { reason: gone.reason, nearest, by: gone.by.clone(), ..loss }
            }
            None if others => Loss { reason: Reason::Parameter, ..loss },
            None => loss,
        }
    }
}

/// The last event of an occurrence.
fn last(occurrence: &Occurrence) -> Option<&Arc<Event>> {
    occurrence.items.iter().map(|item| &item.event).max_by_key(|event| event.place())
}
