//! Why a join found nothing: how far something new came, and what was lacking there.

use super::conditions::{values, Bound, Conditions};
use super::pool::Candidate;
use super::route::Step;
use crate::graph::Moment;
use crate::journal::{Loss, Reason};
use crate::occurrence::{Item, Items};

impl Conditions {
    /// Notes why a candidate completes nothing. One that is not the `last` that can come still waits for others:
    /// then it matters only what it found and could not go with.
    pub(super) fn explain(&self, port: usize, candidate: &Candidate, last: bool, moment: &mut Moment) {
        if !moment.journal.losses.listens(moment.seq) {
            return;
        }
        let mut bound = self.bound(port, candidate);
        let mut furthest = None;
        if self.all[port].route.tests.iter().all(|test| test.holds(&bound)) {
            self.explore(&self.all[port].route.steps, &mut bound, moment, &mut furthest);
        } else {
            furthest = Some(loss_of(Reason::Condition, &bound, moment));
        }
        let waits = |loss: &Loss| !last && matches!(loss.reason, Reason::Missing | Reason::Parameter);
        if let Some(loss) = furthest.filter(|loss| !waits(loss)) {
            moment.journal.losses.note(moment.seq, || loss);
        }
    }

    fn explore<'a>(
        &'a self,
        steps: &'a [Step],
        bound: &mut Bound<'a>,
        moment: &Moment,
        furthest: &mut Option<Loss>,
    ) {
        let Some((step, steps)) = steps.split_first() else {
            let denied = self.denying(bound, moment);
            return keep(loss_of(Reason::Negated, bound, moment).by(denied), furthest);
        };
        let condition = &self.all[step.condition];
        let cell =
            values(&step.probe.others, bound).and_then(|key| condition.pool.cell(step.probe.index, &key));
        let mut lacking =
            Loss { missing: Some(condition.slot as u16), ..loss_of(Reason::Missing, bound, moment) };
        let Some(cell) = cell else {
            let reason = if condition.pool.len() == 0 { Reason::Missing } else { Reason::Parameter };
            return keep(Loss { reason, ..lacking }, furthest);
        };
        let known = (bound.first, bound.since);
        let mut found = false;
        for candidate in cell.range(condition.window(&step.probe, cell, bound)) {
            self.bind(step.condition, candidate, bound);
            if self.is_visible(bound) && step.tests.iter().all(|test| test.holds(bound)) {
                found = true;
                self.explore(steps, bound, moment, furthest);
            }
            (bound.first, bound.since) = known;
        }
        bound.events[condition.slot..condition.slot + condition.width()].fill(None);
        if !found {
            lacking.nearest = cell.back().map(|candidate| candidate.event().clone());
            keep(Loss { reason: Reason::Condition, ..lacking }, furthest);
        }
    }
}

/// Keeps a loss, if it came further than the one known.
fn keep(loss: Loss, furthest: &mut Option<Loss>) {
    if furthest.as_ref().is_none_or(|known| known.items.len() < loss.items.len()) {
        *furthest = Some(loss);
    }
}

fn loss_of(reason: Reason, bound: &Bound, moment: &Moment) -> Loss {
    let events = bound.events.iter().zip(0..).filter_map(|(event, slot)| Some((slot, (*event)?)));
    let items = events.map(|(slot, event)| Item { slot, event: event.clone() });
    Loss::new(reason, moment.time, items.collect::<Items>())
}
