//! The conditions of a join, and how matches are found among what fulfils them.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::Range;

use smallvec::SmallVec;
use triomphe::Arc;

use super::pool::{Candidate, Id, Pool};
use super::route::{Probe, Route, Step};
use crate::event::{Event, Slot};
use crate::expr::{Env, Expr};
use crate::graph::Moment;
use crate::key::key_of;
use crate::occurrence::{Item, Occurrence};
use crate::value::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Fact,
    Event,
    /// Its slots are the old state, the new one and the event.
    Change,
}

pub struct Condition {
    pub kind: Kind,
    pub negated: bool,
    /// The first of its slots.
    pub slot: usize,
    /// The types of what fulfils it.
    pub types: Vec<u16>,
    /// Of facts and changes: where their attributes stand.
    pub attributes: Vec<Slot>,
    pub pool: Pool,
    pub horizon_ms: Option<i64>,
    /// How to get from something new here to a match.
    pub route: Route,
    /// Where it is negated: how to find what is denied in a match, and what it must fulfil.
    pub probe: Probe,
    pub tests: Vec<Expr>,
}

impl Condition {
    pub fn width(&self) -> usize {
        if self.kind == Kind::Change {
            3
        } else {
            1
        }
    }

    pub fn is_event(&self) -> bool {
        self.kind != Kind::Fact
    }
}

pub struct Conditions {
    pub all: Vec<Condition>,
    slots: usize,
    /// Whether no event is asked for.
    pub facts_only: bool,
}

/// A match, the places of its constituents, and the candidates it is made of.
pub struct Match {
    occurrence: Occurrence,
    places: SmallVec<[(u64, i64); 4]>,
    ids: SmallVec<[Id; 4]>,
}

/// A match on its way.
pub(super) struct Bound<'a> {
    pub(super) events: SmallVec<[Option<&'a Arc<Event>>; 6]>,
    chosen: SmallVec<[Option<&'a Candidate>; 6]>,
    /// The position of the first event.
    pub(super) first: u64,
    /// The latest position at which a fact got its state.
    pub(super) since: Option<u64>,
}

impl<'a> Env<'a> for Bound<'a> {
    #[inline]
    fn event(&self, slot: usize) -> Option<&'a Event> {
        self.events.get(slot).copied().flatten().map(|event| &**event)
    }
}

impl Conditions {
    pub fn new(all: Vec<Condition>, slots: usize) -> Conditions {
        let facts_only = !all.iter().any(|condition| condition.is_event() && !condition.negated);
        Conditions { all, slots, facts_only }
    }

    /// Finds all matches of a candidate with what is there. One that is denied is no part of them: they are what it
    /// kept from matching.
    pub fn complete(&self, port: usize, candidate: &Candidate, moment: &Moment, matches: &mut Vec<Match>) {
        let condition = &self.all[port];
        let mut bound = self.bound(port, candidate);
        if condition.route.tests.iter().all(|test| test.holds(&bound)) {
            self.extend(&condition.route.steps, &mut bound, &mut |bound| {
                let kept = (bound.events[condition.slot], bound.chosen[port]);
                if condition.negated {
                    (bound.events[condition.slot], bound.chosen[port]) = (None, None);
                }
                if !self.denied(bound, moment) {
                    matches.push(self.found(bound, moment));
                }
                (bound.events[condition.slot], bound.chosen[port]) = kept;
            });
        }
    }

    /// A match that has but one candidate.
    pub(super) fn bound<'a>(&self, port: usize, candidate: &'a Candidate) -> Bound<'a> {
        let mut bound = Bound {
            events: SmallVec::from_elem(None, self.slots),
            chosen: SmallVec::from_elem(None, self.all.len()),
            first: u64::MAX,
            since: None,
        };
        self.bind(port, candidate, &mut bound);
        bound
    }

    pub(super) fn bind<'a>(&self, port: usize, candidate: &'a Candidate, bound: &mut Bound<'a>) {
        let condition = &self.all[port];
        for (offset, event) in candidate.events.iter().enumerate() {
            bound.events[condition.slot + offset] = Some(event);
        }
        bound.chosen[port] = Some(candidate);
        if condition.is_event() {
            bound.first = bound.first.min(candidate.event().seq);
        } else {
            bound.since = bound.since.max(Some(candidate.event().seq));
        }
    }

    fn extend<'a>(&'a self, steps: &'a [Step], bound: &mut Bound<'a>, found: &mut dyn FnMut(&mut Bound<'a>)) {
        let Some((step, steps)) = steps.split_first() else { return found(bound) };
        let condition = &self.all[step.condition];
        let Some(cell) =
            values(&step.probe.others, bound).and_then(|key| condition.pool.cell(step.probe.index, &key))
        else {
            return;
        };
        let known = (bound.first, bound.since);
        for candidate in cell.range(condition.window(&step.probe, cell, bound)) {
            self.bind(step.condition, candidate, bound);
            if self.is_visible(bound) && step.tests.iter().all(|test| test.holds(bound)) {
                self.extend(steps, bound, found);
            }
            (bound.first, bound.since) = known;
        }
        bound.events[condition.slot..condition.slot + condition.width()].fill(None);
        bound.chosen[step.condition] = None;
    }

    /// Whether the facts were as they are before the first event.
    pub(super) fn is_visible(&self, bound: &Bound) -> bool {
        self.facts_only || bound.since.is_none_or(|since| since < bound.first)
    }

    /// Whether something is there that must not be.
    fn denied<'a>(&'a self, bound: &mut Bound<'a>, moment: &Moment) -> bool {
        self.denying(bound, moment).is_some()
    }

    /// What is there that must not be.
    pub(super) fn denying<'a>(&'a self, bound: &mut Bound<'a>, moment: &Moment) -> Option<&'a Arc<Event>> {
        self.all.iter().filter(|condition| condition.negated).find_map(|condition| {
            let key = values(&condition.probe.others, bound);
            let cell = key.and_then(|key| condition.pool.cell(condition.probe.index, &key))?;
            let there = cell.range(condition.window(&condition.probe, cell, bound)).find(|candidate| {
                bound.events[condition.slot] = Some(candidate.event());
                let counts =
                    condition.is_event() || self.facts_only || held(candidate, bound.first, moment.seq);
                counts && condition.tests.iter().all(|test| test.holds(bound))
            });
            bound.events[condition.slot] = None;
            there.map(|candidate| candidate.event())
        })
    }

    fn found(&self, bound: &Bound, moment: &Moment) -> Match {
        let mut places = SmallVec::new();
        for (condition, candidate) in self.all.iter().zip(&bound.chosen) {
            // What a fact was before a change is no constituent.
            let skipped = usize::from(condition.kind == Kind::Change);
            let events = candidate.iter().flat_map(|candidate| &candidate.events[skipped..]);
            places.extend(events.map(|event| event.place()));
        }
        let ids = bound.chosen.iter().flatten().map(|candidate| candidate.id).collect();
        Match { occurrence: self.occurrence(bound, moment), places, ids }
    }

    /// The matches of one moment, each once: by initiators, then by the places of their constituents. Facts of one
    /// position stand in the order of their values.
    pub fn in_order(&self, mut matches: Vec<Match>) -> impl Iterator<Item = Occurrence> {
        let place = |one: &Match, other: &Match| {
            let initiated = one.occurrence.start_seq.cmp(&other.occurrence.start_seq);
            initiated.then_with(|| one.places.cmp(&other.places))
        };
        let asked = || self.all.iter().filter(|condition| !condition.negated).enumerate();
        matches.sort_by(|one, other| {
            let by_candidates = || asked().map(|(at, condition)| condition.order(at, one, other));
            place(one, other)
                .then_with(|| by_candidates().find(|order| order.is_ne()).unwrap_or(Ordering::Equal))
        });
        matches.dedup_by(|one, other| one.ids == other.ids);
        matches.into_iter().map(|found| found.occurrence)
    }

    fn occurrence(&self, bound: &Bound, moment: &Moment) -> Occurrence {
        let mut occurrence = Occurrence::at(moment.seq, moment.time);
        for (slot, event) in bound.events.iter().enumerate() {
            occurrence.items.extend(event.map(|event| Item { slot: slot as u16, event: event.clone() }));
        }
        for (condition, candidate) in self.all.iter().zip(&bound.chosen) {
            if let Some(candidate) = candidate.filter(|_| condition.is_event()) {
                occurrence.start = occurrence.start.min(candidate.event().start);
                occurrence.start_seq = occurrence.start_seq.min(candidate.event().start_seq);
            }
        }
        occurrence
    }
}

impl Condition {
    /// The order of two matches by what fulfils this condition, which is the `at`-th of those they are made of.
    fn order(&self, at: usize, one: &Match, other: &Match) -> Ordering {
        let values = |slot: usize| {
            let event = |found: &Match| found.occurrence.events(slot as u16).next().cloned();
            event(one)
                .zip(event(other))
                .map_or(Ordering::Equal, |(one, other)| order_of(&self.attributes, &one, &other))
        };
        match self.kind {
            Kind::Event => Ordering::Equal,
            Kind::Fact => values(self.slot),
            Kind::Change => values(self.slot + 1).then_with(|| values(self.slot)),
        }
        .then_with(|| one.ids[at].cmp(&other.ids[at]))
    }

    /// Where in a cell those lie that fit in time. Facts are in no order of time.
    pub(super) fn window(
        &self,
        probe: &Probe,
        cell: &VecDeque<Arc<Candidate>>,
        bound: &Bound,
    ) -> Range<usize> {
        let mut window = 0..cell.len();
        for given in probe.windows.iter().filter(|_| self.is_event()) {
            let Some(other) = bound.event(given.other) else { continue };
            let (earliest, latest) = given.relation.reach(given.left, (other.start, other.end));
            window.start = window.start.max(cell.partition_point(|c| c.event().time < earliest));
            if self.pool.ends_in_time() {
                window.end = window.end.min(cell.partition_point(|c| c.event().time <= latest));
            }
        }
        window.start..window.end.max(window.start)
    }
}

/// The order of two facts by their values, what is absent first.
fn order_of(attributes: &[Slot], one: &Event, other: &Event) -> Ordering {
    let order = |slot: &Slot| match (one.value(*slot), other.value(*slot)) {
        (Value::Double(one), Value::Double(other)) => one.total_cmp(&other),
        (one, other) => one.order(&other).unwrap_or_else(|| other.is_null().cmp(&one.is_null())),
    };
    attributes.iter().map(order).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// Whether a state held somewhere between the first event and the last.
fn held(state: &Candidate, first: u64, last: u64) -> bool {
    state.event().seq < last && state.until.is_none_or(|(until, _)| first <= until)
}

/// The values at some places, as a key; nothing where one of them can equal nothing.
pub(super) fn values(places: &[(usize, Slot)], bound: &Bound) -> Option<crate::key::Key> {
    key_of(places.iter().map(|(slot, at)| bound.event(*slot).map_or(Value::Null, |event| event.value(*at))))
}
