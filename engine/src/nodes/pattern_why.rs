//! Why a pattern was not found: how far a terminator came, and what was lacking there.

use smallvec::SmallVec;
use triomphe::Arc;

use super::pattern::{Choice, Constituent, PatternNode};
use crate::event::{Event, Slot};
use crate::graph::Moment;
use crate::journal::{Gone, Loss, Reason, Ring};
use crate::key::{Key, Probe};
use crate::occurrence::{Item, Items, Occurrence};

impl PatternNode {
    /// The furthest that can be chosen for a terminator that finds nothing, and what ends it there.
    #[cold]
    pub(super) fn explain(&self, terminator: &Arc<Event>, kept: &Ring<Gone>) -> Loss {
        let mut furthest = None;
        self.explore(&mut Choice::of(terminator), kept, &mut furthest);
        furthest.unwrap_or_else(|| Loss::of(Reason::Missing, terminator.time, 0, terminator.clone()))
    }

    fn explore<'a>(&'a self, choice: &mut Choice<'a>, kept: &Ring<Gone>, furthest: &mut Option<Loss>) {
        let chosen = choice.events.len() - 1;
        let computed = choice.computed.len();
        let loss = if !self.prepare(chosen, choice) {
            Some(loss_of(Reason::Condition, choice))
        } else if let Some(constituent) = self.constituents.get(chosen) {
            let taken = self.selected(constituent, choice);
            for candidate in &taken {
                choice.events.push(candidate);
                self.explore(choice, kept, furthest);
                choice.events.pop();
            }
            taken.is_empty().then(|| self.lacking(constituent, choice, kept))
        } else {
            let forbidden = self.negations.iter().find_map(|negation| negation.found(choice));
            choice.put_away();
            let reason = if forbidden.is_some() { Reason::Negated } else { Reason::Condition };
            Some(loss_of(reason, choice).by(forbidden))
        };
        choice.computed.truncate(computed);
        let further =
            |loss: &Loss| furthest.as_ref().is_none_or(|known| known.items.len() < loss.items.len());
        if let Some(loss) = loss.filter(further) {
            *furthest = Some(loss);
        }
    }

    /// Why nothing could be selected for a constituent.
    fn lacking<'a>(&'a self, constituent: &'a Constituent, choice: &Choice<'a>, kept: &Ring<Gone>) -> Loss {
        let part = &constituent.part;
        let mut loss = loss_of(Reason::Missing, choice);
        loss.missing = Some(part.slot as u16);
        let Some(key) = part.probe(choice) else {
            return Loss { reason: Reason::Parameter, ..loss };
        };
        let anchor = choice.events[constituent.from];
        let earlier = || part.store.events(key.bytes()).rev().filter(|event| event.seq < anchor.seq);
        if let Some(unfit) = earlier().find(|event| constituent.may_be(event, anchor)) {
            return Loss { reason: Reason::Condition, nearest: Some(unfit.clone()), ..loss };
        }
        let like = |gone: &&Gone| {
            let item = gone.items.iter().find(|item| usize::from(item.slot) == part.slot);
            let earlier = |item: &Item| match gone.reason {
                Reason::Expired => item.event.seq < anchor.seq,
                _ => constituent.may_be(&item.event, anchor),
            };
            gone.key[..] == *key.bytes() && item.is_some_and(earlier)
        };
        let gone = kept.iter().find(like);
        let old = earlier().next().filter(|_| gone.is_none_or(|gone| gone.reason == Reason::Expired));
        if let Some(old) = old {
            return Loss { reason: Reason::Expired, nearest: Some(old.clone()), ..loss };
        }
        if let Some(Gone { reason, items, by, .. }) = gone {
            let nearest = items.first().map(|item| item.event.clone());
            return Loss { reason: *reason, nearest, by: by.clone(), ..loss };
        }
        let reason = if part.store.is_empty() { Reason::Missing } else { Reason::Parameter };
        Loss { reason, ..loss }
    }

    /// Notes that a constituent is consumed.
    pub(super) fn note_use(&self, slot: usize, occurrence: &Occurrence, moment: &mut Moment) {
        let part =
            slot.checked_sub(1).and_then(|index| self.constituents.get(index)).map(|given| &given.part);
        let (Some(part), Some(item)) = (part, occurrence.items.get(slot)) else { return };
        let by = occurrence.items.first().map(|item| &item.event);
        moment.journal.gone.note(moment.seq, || gone(Reason::Consumed, &part.own_slots, item.clone(), by));
    }
}

/// A candidate that is no more.
pub(super) fn gone(reason: Reason, own_slots: &[Slot], item: Item, by: Option<&Arc<Event>>) -> Gone {
    let values = own_slots.iter().map(|at| item.event.value(*at));
    let key = Probe::new(values).map_or(Key::new(), |probe| Key::from_slice(probe.bytes()));
    Gone { reason, key, items: SmallVec::from_iter([item]), by: by.cloned() }
}

fn loss_of(reason: Reason, choice: &Choice) -> Loss {
    let items = choice.events.iter().zip(0..).map(|(event, slot)| Item { slot, event: (*event).clone() });
    Loss::new(reason, choice.events[0].time, items.collect::<Items>())
}
