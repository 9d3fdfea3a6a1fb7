//! Why a match was not found: what failed, and how far it had come.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use triomphe::Arc;

use super::machine::Machine;
use super::run::{End, Kind, Out, Run};
use super::taken::{self, Taken};
use super::MatchingNode;
use crate::census::ENTRY;
use crate::event::Event;
use crate::journal::{Loss, Reason};
use crate::occurrence::{Item, Items};

/// So many of the last events of a match are told.
const TOLD: usize = 16;

impl Machine<'_> {
    /// Says why a part fails: because of what came true with this.
    pub fn fail(&mut self, reason: Reason, because: Option<&Taken>) -> Out {
        if self.journal.losses.listens(self.now.seq) {
            let mut by = None;
            because.into_iter().for_each(|taken| {
                taken::backwards(taken, &None, &mut |_, event| {
                    by = Some(event.clone());
                    false
                });
            });
            self.failure = Some((reason, by));
        }
        Out::failed()
    }

    /// Says that a part fails because of an event.
    pub fn fail_by(&mut self, reason: Reason, event: &Arc<Event>) -> Out {
        self.failure = Some((reason, Some(event.clone())));
        Out::failed()
    }

    /// Notes what became of a run that is over. Where it had taken nothing, the failure is left to the one above it.
    pub fn note_end(&mut self, run: &Run) {
        if run.over != Some(End::Failed) || self.failure.is_none() {
            return;
        }
        let items = reached(run);
        if items.is_empty() {
            return;
        }
        let Some((reason, by)) = self.failure.take() else { return };
        self.note(Loss::new(reason, self.now.time, items).by(by.as_ref()));
    }

    /// Notes that nobody waits any more for a run.
    pub fn note_expired(&mut self, run: &Run) {
        self.journal.expired += 1;
        if self.journal.losses.listens(self.now.seq) {
            let items = reached(run);
            if !items.is_empty() {
                self.note(Loss::new(Reason::Expired, self.now.time, items));
            }
        }
    }

    /// Notes that something was taken too late.
    pub fn note_late(&mut self, taken: &Taken) {
        self.journal.expired += 1;
        self.note_cut(Reason::Expired, taken);
    }

    /// Notes that something came true and does not count.
    pub fn note_cut(&mut self, reason: Reason, taken: &Taken) {
        if self.journal.losses.listens(self.now.seq) {
            self.note(Loss::new(reason, self.now.time, items(taken)));
        }
    }

    fn note(&mut self, loss: Loss) {
        self.journal.losses.note(self.now.seq, || loss);
    }
}

/// What a run and those below it had taken: the most that one of them had, of an `and` all that its parts had.
fn reached(run: &Run) -> Items {
    let mut reached = items(run.taken());
    let all = matches!(run.kind, Kind::All { .. });
    for child in &run.children {
        let below = self::reached(child);
        if all {
            let known =
                |item: &Item| reached.iter().any(|known: &Item| Arc::ptr_eq(&known.event, &item.event));
            let new: Items = below.into_iter().filter(|item| !known(item)).collect();
            reached.extend(new);
        } else if below.len() > reached.len() {
            reached = below;
        }
    }
    reached
}

fn items(taken: &Taken) -> Items {
    let mut found: Items = SmallVec::new();
    taken::backwards(taken, &None, &mut |slot, event| {
        found.push(Item { slot, event: event.clone() });
        found.len() < TOLD
    });
    found.reverse();
    found
}

impl Run {
    /// What it had taken itself.
    fn taken(&self) -> &Taken {
        match &self.kind {
            Kind::Step { start, .. } | Kind::Every { start } | Kind::Pending { start } => &start.taken,
            Kind::Wait { taken, .. }
            | Kind::All { taken }
            | Kind::Absent { taken, .. }
            | Kind::Collect { taken, .. }
            | Kind::Kept { taken } => taken,
            _ => &None,
        }
    }
}

impl MatchingNode {
    /// About how many bytes its entries take: runs, and what they have taken, however many share it.
    pub fn bytes(&self) -> usize {
        let mut seen = FxHashSet::default();
        let mut bytes = 0;
        let mut open: Vec<&Run> = self.states.iter().filter_map(|state| state.root.as_ref()).collect();
        while let Some(run) = open.pop() {
            bytes += ENTRY;
            let mut add = |event: Option<&Event>| bytes += ENTRY + event.map_or(0, Event::size);
            taken::new_links(run.taken(), &mut seen, &mut add);
            open.extend(&run.children);
        }
        bytes
    }
}
