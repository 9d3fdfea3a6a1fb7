//! TESLA's pattern: a terminator, constituents selected from what came before it, and what must not have come, or must
//! not come yet.

mod keeping;

use std::cell::Cell as Once;
use std::ops::Deref;

use smallvec::SmallVec;
use triomphe::Arc;

use super::ahead::{Ahead, Place};
use super::pattern_why::gone;
use super::store::Store;
use crate::aggregate::Function;
use crate::avro::Malformed;
use crate::cache::Shelf;
use crate::cells::Cells;
use crate::event::{Event, Slot, Spares};
use crate::expr::{Env, Expr};
use crate::graph::Moment;
use crate::journal::{Journal, Loss, Reason};
use crate::key::{Key, Probe};
use crate::occurrence::{Item, Occurrence, Sight};
use crate::plan::Select;
use crate::state::{Change, Codec, Entry};
use crate::timers::Timers;
use crate::value::Value;

/// The port under which occurrences that wait for the time ahead are stored.
const PENDING: u8 = u8::MAX;

/// Which events the pattern looks up: by the values they must have, among those that fulfil a condition.
#[derive(Debug)]
pub struct PartShape {
    pub slot: usize,
    /// The types of the events that may be looked up.
    pub types: Vec<u16>,
    pub own_slots: Vec<Slot>,
    /// The (slot, place) each own place must equal.
    pub probe: Vec<(usize, Slot)>,
    pub condition: Option<Expr>,
}

/// Events that the pattern looks up.
pub struct Part {
    pub shape: Arc<PartShape>,
    pub store: Store,
}

impl Deref for Part {
    type Target = PartShape;

    #[inline]
    fn deref(&self) -> &PartShape {
        &self.shape
    }
}

pub struct Constituent {
    pub part: Part,
    pub select: Select,
    pub count: usize,
    pub within_ms: Option<i64>,
    pub from: usize,
}

/// One more bound for a constituent; checked when `ready` is chosen.
pub struct Bound {
    pub slot: usize,
    pub within_ms: Option<i64>,
    pub from: usize,
    pub ready: usize,
}

#[derive(Debug, Clone, Copy)]
pub enum Range {
    Between { first: usize, last: usize },
    Back { within_ms: Option<i64>, from: usize },
    Ahead { within_ms: i64, from: usize },
}

pub struct Negation {
    pub part: Part,
    pub range: Range,
}

pub struct Aggregate {
    pub part: Part,
    pub function: Function,
    pub field: Option<Slot>,
    pub argument: f64,
    pub limit: Option<usize>,
    pub range: Range,
    /// The constituent with which all that it speaks of is chosen.
    pub ready: usize,
}

/// What is to be done about an event that a pattern received.
pub enum Received {
    /// The pattern is to look at it.
    First,
    /// The pattern is to be told when the position is over.
    Touched,
    OneMore,
}

pub struct PatternNode {
    pub constituents: Vec<Constituent>,
    pub bounds: Vec<Bound>,
    pub negations: Vec<Negation>,
    pub aggregates: Vec<Aggregate>,
    pub condition: Option<Expr>,
    pub consuming: Vec<usize>,
    /// Occurrences that wait until nothing forbidden has come, each under its own number.
    pub pending: Option<Box<Cells>>,
    ahead: Box<Ahead>,
    /// What arrived at the position at hand, by the number of the input.
    inbox: Vec<(u8, Arc<Event>)>,
    /// Candidates of the position at hand, kept when it is over.
    incoming: Vec<(usize, Arc<Event>)>,
    /// Whether it will be told when the position is over.
    touched: bool,
    consumed: Vec<Arc<Event>>,
    fingerprint: [u8; 8],
}

/// What is chosen so far, and the candidate at hand.
#[derive(Clone)]
pub(super) struct Choice<'a> {
    pub(super) events: SmallVec<[&'a Arc<Event>; 6]>,
    pub(super) computed: Vec<Value<'a>>,
    candidate: Once<Option<(usize, &'a Event)>>,
}

impl<'a> Env<'a> for Choice<'a> {
    #[inline]
    fn event(&self, slot: usize) -> Option<&'a Event> {
        if let Some((own, event)) = self.candidate.get() {
            if own == slot {
                return Some(event);
            }
        }
        self.events.get(slot).map(|event| &***event)
    }

    fn aggregate(&self, number: usize) -> Value<'a> {
        self.computed.get(number).cloned().unwrap_or(Value::Null)
    }
}

impl<'a> Choice<'a> {
    pub(super) fn of(terminator: &'a Arc<Event>) -> Choice<'a> {
        let events = SmallVec::from_iter([terminator]);
        Choice { events, computed: Vec::new(), candidate: Once::new(None) }
    }

    /// What was chosen for an occurrence that waits.
    fn again(waiting: &'a Occurrence) -> Choice<'a> {
        Choice {
            events: waiting.items.iter().map(|item| &item.event).collect(),
            computed: waiting.computed.clone(),
            candidate: Once::new(None),
        }
    }

    /// Puts the candidate at hand away.
    pub(super) fn put_away(&self) {
        self.candidate.set(None);
    }

    fn with_candidate(&self, slot: usize, event: &'a Event) -> &Self {
        self.candidate.set(Some((slot, event)));
        self
    }
}

/// What a terminator finds. Mostly that is one thing, which is seen where it lies.
#[derive(Default)]
pub struct Chosen<'a> {
    pub only: Option<Only<'a>>,
    /// All of it, where it is more.
    pub several: Vec<Occurrence>,
}

/// The one choice there is.
pub struct Only<'a> {
    events: SmallVec<[&'a Arc<Event>; 6]>,
    computed: Vec<Value<'a>>,
    start_seq: u64,
    start: i64,
}

impl<'a> Chosen<'a> {
    #[inline]
    fn push(&mut self, choice: &Choice<'a>) {
        let terminator = choice.events[0];
        let (start_seq, start) =
            choice.events.iter().fold((terminator.seq, terminator.time), |first, event| {
                (event.start_seq.min(first.0), event.start.min(first.1))
            });
        let (events, computed) = (choice.events.clone(), choice.computed.clone());
        let next = Only { events, computed, start_seq, start };
        match self.only.take() {
            None if self.several.is_empty() => self.only = Some(next),
            first => self.several.extend(first.into_iter().chain([next]).map(Only::occurrence)),
        }
    }

    fn is_empty(&self) -> bool {
        self.only.is_none() && self.several.is_empty()
    }

    pub fn occurrences(self) -> impl Iterator<Item = Occurrence> + use<'a> {
        self.only.map(Only::occurrence).into_iter().chain(self.several)
    }
}

impl<'a> Only<'a> {
    pub fn occurrence(self) -> Occurrence {
        let terminator = self.events[0];
        let item = |(slot, event): (usize, &&Arc<Event>)| Item { slot: slot as u16, event: (*event).clone() };
        Occurrence {
            seq: terminator.seq,
            time: terminator.time,
            start_seq: self.start_seq,
            start: self.start,
            end: terminator.time,
            items: self.events.iter().enumerate().map(item).collect(),
            computed: self.computed.into_iter().map(Value::into_owned).collect(),
            binding: None,
        }
    }

    /// How a definition sees it; of a pattern without aggregates.
    #[inline]
    pub fn sight(&self) -> Sight<'a> {
        Sight {
            time: self.events[0].time,
            start: self.start,
            end: self.events[0].time,
            items: self.events.iter().zip(0..).map(|(event, slot)| (slot, &***event)).collect(),
            computed: &[],
            plain: true,
        }
    }
}

impl Part {
    pub(super) fn probe<'a>(&self, choice: &Choice<'a>) -> Option<Probe<'a>> {
        let value = |(slot, at): &(usize, Slot)| choice.event(*slot).map_or(Value::Null, |e| e.value(*at));
        Probe::new(self.probe.iter().map(value))
    }

    fn fits<'a>(&'a self, choice: &Choice<'a>, event: &'a Event) -> bool {
        self.condition
            .as_ref()
            .is_none_or(|condition| condition.holds(choice.with_candidate(self.slot, event)))
    }

    /// The key under which an event is found.
    fn key_of<'a>(&self, event: &'a Event) -> Option<Probe<'a>> {
        Probe::new(self.own_slots.iter().map(|slot| event.value(*slot)))
    }

    /// Keeps an event, and returns the one whose place it takes.
    fn keep(&mut self, event: Arc<Event>) -> Option<Arc<Event>> {
        self.store.insert(event, &self.shape.own_slots)
    }

    fn forget(&mut self, event: &Event) {
        if !self.types.contains(&event.type_id) {
            return;
        }
        if let Some(key) = self.key_of(event) {
            self.store.remove(key.bytes(), event);
        }
    }
}

impl Constituent {
    pub(super) fn may_be(&self, candidate: &Event, anchor: &Event) -> bool {
        candidate.seq < anchor.seq && !self.too_old(candidate, anchor)
    }

    fn too_old(&self, candidate: &Event, anchor: &Event) -> bool {
        self.within_ms.is_some_and(|within| candidate.time < anchor.time.saturating_sub(within))
    }
}

impl PatternNode {
    pub fn new(
        constituents: Vec<Constituent>,
        bounds: Vec<Bound>,
        negations: Vec<Negation>,
        aggregates: Vec<Aggregate>,
        condition: Option<Expr>,
        consuming: Vec<usize>,
        fingerprint: [u8; 8],
    ) -> PatternNode {
        let ahead = negations.iter().any(|negation| matches!(negation.range, Range::Ahead { .. }));
        PatternNode {
            ahead: Box::new(Ahead::new(negations.len())),
            constituents,
            bounds,
            negations,
            aggregates,
            condition,
            consuming,
            pending: ahead.then(|| Box::new(Cells::new([&fingerprint[..], &[PENDING]].concat(), 1, None))),
            inbox: Vec::new(),
            incoming: Vec::new(),
            touched: false,
            consumed: Vec::new(),
            fingerprint,
        }
    }

    /// Takes an event from one of its inputs. What can be selected is not looked at before the position is over.
    #[inline]
    pub fn receive(&mut self, port: u8, event: Arc<Event>) -> Received {
        let index = usize::from(port).wrapping_sub(1);
        if index >= self.constituents.len() {
            self.inbox.push((port, event));
            return if self.inbox.len() == 1 { Received::First } else { Received::OneMore };
        }
        self.incoming.push((index, event));
        if std::mem::replace(&mut self.touched, true) {
            Received::OneMore
        } else {
            Received::Touched
        }
    }

    /// Looks at what arrived; true where it wants to be told when the position is over.
    pub fn handle(&mut self, moment: &mut Moment) -> bool {
        self.pending.iter_mut().for_each(|pending| pending.begin(moment.seq));
        let (first_negation, first_aggregate) =
            (1 + self.constituents.len(), 1 + self.constituents.len() + self.negations.len());
        let mut arrived = std::mem::take(&mut self.inbox);
        moment.journal.arrived += arrived.len() as u64;
        for (port, event) in arrived.iter().filter(|(port, _)| usize::from(*port) >= first_negation) {
            let port = usize::from(*port);
            if port >= first_aggregate {
                self.aggregates[port - first_aggregate].part.keep(event.clone());
            } else {
                self.forbid(port - first_negation, event, moment);
                self.negations[port - first_negation].part.keep(event.clone());
            }
        }
        for (_, event) in arrived.drain(..).filter(|(port, _)| *port == 0) {
            self.detect(&event, moment);
        }
        self.inbox = arrived;
        !self.consumed.is_empty() && !std::mem::replace(&mut self.touched, true)
    }

    /// The position is over: what came can be selected from now on, and what was consumed cannot.
    pub fn settle(&mut self, (seq, time): (u64, i64), journal: &mut Journal, spares: &mut Spares) {
        self.touched = false;
        journal.arrived += self.incoming.len() as u64;
        for (index, event) in self.incoming.drain(..) {
            if let Some(replaced) = self.constituents[index].part.keep(event) {
                spares.give(replaced);
            }
        }
        if self.consumed.is_empty() {
            return;
        }
        for event in std::mem::take(&mut self.consumed) {
            for constituent in &mut self.constituents {
                constituent.part.forget(&event);
            }
            if let Some(pending) = &mut self.pending {
                let mut holds = |waiting: &Occurrence| {
                    let over = waiting.items.iter().any(|item| item.event.is(&event));
                    if over {
                        let consumed = || Loss::new(Reason::Consumed, time, waiting.items.clone());
                        journal.losses.note(seq, consumed);
                    }
                    over
                };
                self.ahead.visit_holding(&event, |place| give_up(pending, place, &mut holds));
            }
        }
    }

    /// Whether what is chosen is found: nothing can come between, nothing is computed or consumed.
    pub fn finds_at_once(&self) -> bool {
        self.pending.is_none() && self.consuming.is_empty() && self.aggregates.is_empty()
    }

    /// Takes an event that is all that happens at its position, and nothing can be found by; returns one that is over. Gives
    /// the event back where it has to be looked at.
    #[inline]
    pub fn keep_alone(
        &mut self,
        port: u8,
        event: Arc<Event>,
        journal: &mut Journal,
    ) -> Result<Option<Arc<Event>>, Arc<Event>> {
        let index = usize::from(port).wrapping_sub(1);
        let part = match self.constituents.get_mut(index) {
            Some(constituent) => &mut constituent.part,
            None if self.pending.is_some() => return Err(event),
            None => match self.negations.get_mut(index.wrapping_sub(self.constituents.len())) {
                Some(negation) => &mut negation.part,
                None => return Err(event),
            },
        };
        journal.arrived += 1;
        Ok(part.keep(event))
    }

    fn detect(&mut self, terminator: &Arc<Event>, moment: &mut Moment) {
        let chosen = self.choices(terminator, moment.seq, moment.journal);
        if self.pending.is_none() && self.consuming.is_empty() {
            return moment.found.extend(chosen.occurrences());
        }
        let found: Vec<Occurrence> = chosen.occurrences().collect();
        for occurrence in found {
            match self.decided_at(&occurrence) {
                Some(place) if place.due >= moment.time => self.wait(occurrence, place, moment),
                _ => {
                    self.consume(&occurrence, moment);
                    moment.found.push(occurrence);
                }
            }
        }
    }

    /// What there is to a terminator at a position; where that is nothing, the journal may be told why.
    #[inline]
    pub fn choices<'a>(&'a self, terminator: &'a Arc<Event>, seq: u64, journal: &mut Journal) -> Chosen<'a> {
        let mut chosen = Chosen::default();
        self.choose(&mut Choice::of(terminator), &mut chosen);
        if chosen.is_empty() && journal.losses.listens(seq) {
            let loss = self.explain(terminator, &journal.gone);
            journal.losses.note(seq, || loss);
        }
        chosen
    }

    /// Where an occurrence is decided that must not be followed by something: when the last time is up.
    fn decided_at(&self, occurrence: &Occurrence) -> Option<Place> {
        let ahead = self.negations.iter().enumerate().filter_map(|(number, negation)| match negation.range {
            Range::Ahead { within_ms, from } => {
                let anchor = &occurrence.items[from].event;
                Some(Place {
                    due: anchor.time.saturating_add(within_ms),
                    number: number as u32,
                    anchor: anchor.seq,
                })
            }
            _ => None,
        });
        ahead.max()
    }

    fn wait(&mut self, occurrence: Occurrence, place: Place, moment: &mut Moment) {
        self.note(&occurrence, place);
        let Some(pending) = &mut self.pending else { return };
        let token = place.token();
        moment.timers.set(moment.node, place.due, token.clone());
        pending.entry(&Key::from_vec(token), place.due).push(0, occurrence);
    }

    /// Sees to it that what forbids an occurrence that waits finds it.
    fn note(&mut self, waiting: &Occurrence, place: Place) {
        let choice = Choice::again(waiting);
        let ties = self.negations.iter().enumerate().filter_map(|(number, negation)| match negation.range {
            Range::Ahead { .. } => Some((number, Key::from_slice(negation.part.probe(&choice)?.bytes()))),
            _ => None,
        });
        self.ahead.note(place, waiting, ties);
    }

    /// Something came that must not follow: what waits for it to stay away is over.
    fn forbid(&mut self, number: usize, event: &Arc<Event>, moment: &mut Moment) {
        let (Some(pending), negation) = (&mut self.pending, &self.negations[number]) else { return };
        let Range::Ahead { within_ms, from } = negation.range else { return };
        let Some(key) = negation.part.key_of(event) else { return };
        let mut forbidden = |waiting: &Occurrence| {
            let anchor = &waiting.items[from].event;
            if event.seq <= anchor.seq || event.time > anchor.time.saturating_add(within_ms) {
                return false;
            }
            let choice = Choice::again(waiting);
            let tied = negation.part.probe(&choice).is_some_and(|other| other.bytes() == key.bytes());
            let forbidden = tied && negation.part.fits(&choice, event);
            if forbidden {
                let (items, time) = (&waiting.items, moment.time);
                let negated = || Loss::new(Reason::Negated, time, items.clone()).by(Some(event));
                moment.journal.losses.note(moment.seq, negated);
            }
            forbidden
        };
        self.ahead.visit_tied(number, key.bytes(), |place| give_up(pending, place, &mut forbidden));
    }

    /// Whether something still waits for a point in time.
    pub fn awaits(&self, token: &[u8]) -> bool {
        let cell = self.pending.as_ref().and_then(|pending| pending.get(&Key::from_slice(token)));
        cell.is_some_and(|cell| !cell.list(0).is_empty())
    }

    /// The time is up for everything that waited for one point in time: it is simultaneous.
    pub fn wake(&mut self, token: &[u8], moment: &mut Moment, spares: &mut Spares) {
        let Some(pending) = &mut self.pending else { return };
        let key = Key::from_slice(token);
        let Some(mut cell) = pending.get_mut(&key) else { return };
        let mut waited = Vec::new();
        while let Some(occurrence) = cell.take(0, 0) {
            waited.push(occurrence);
        }
        pending.remove(&key);
        for mut occurrence in waited {
            (occurrence.seq, occurrence.time, occurrence.end) = (moment.seq, moment.time, moment.time);
            self.consume(&occurrence, moment);
            moment.found.push(occurrence);
        }
        self.settle((moment.seq, moment.time), moment.journal, spares);
    }

    fn consume(&mut self, occurrence: &Occurrence, moment: &mut Moment) {
        for slot in &self.consuming {
            self.consumed.push(occurrence.items[*slot].event.clone());
            self.note_use(*slot, occurrence, moment);
        }
    }

    /// Goes on with the next constituent, in every way there is.
    fn choose<'a>(&'a self, choice: &mut Choice<'a>, found: &mut Chosen<'a>) {
        let chosen = choice.events.len() - 1;
        let computed = choice.computed.len();
        if self.prepare(chosen, choice) {
            match self.constituents.get(chosen) {
                None => self.finish(choice, found),
                Some(constituent) => self.select(constituent, choice, found),
            }
        }
        choice.computed.truncate(computed);
    }

    /// Computes what is ready once `chosen` is, and checks the bounds.
    pub(super) fn prepare<'a>(&'a self, chosen: usize, choice: &mut Choice<'a>) -> bool {
        let bounds = self.bounds.iter().filter(|bound| bound.ready == chosen);
        for bound in bounds {
            let (event, anchor) = (choice.events[bound.slot], choice.events[bound.from]);
            let early = bound.within_ms.is_some_and(|within| event.time < anchor.time.saturating_sub(within));
            if event.seq >= anchor.seq || early {
                return false;
            }
        }
        while let Some(aggregate) = self.aggregates.get(choice.computed.len()).filter(|a| a.ready <= chosen) {
            let value = aggregate.value(choice);
            choice.computed.push(value);
        }
        true
    }

    fn select<'a>(&'a self, constituent: &'a Constituent, choice: &mut Choice<'a>, found: &mut Chosen<'a>) {
        for candidate in self.selected(constituent, choice) {
            choice.events.push(candidate);
            self.choose(choice, found);
            choice.events.pop();
        }
    }

    /// The candidates that are taken.
    #[inline]
    pub(super) fn selected<'a>(
        &'a self,
        constituent: &'a Constituent,
        choice: &Choice<'a>,
    ) -> SmallVec<[&'a Arc<Event>; 4]> {
        let anchor = choice.events[constituent.from];
        let Some(key) = constituent.part.probe(choice) else { return SmallVec::new() };
        let candidates = constituent.part.store.events(key.bytes());
        let take = |choice: &Choice<'a>, candidate: &'a Arc<Event>| {
            constituent.may_be(candidate, anchor) && constituent.part.fits(choice, candidate)
        };
        let taken: SmallVec<[&'a Arc<Event>; 4]> = match constituent.select {
            Select::Each => candidates.filter(|candidate| take(choice, candidate)).collect(),
            Select::First => {
                candidates.filter(|candidate| take(choice, candidate)).take(constituent.count).collect()
            }
            Select::Last => {
                let recent = candidates.rev().take_while(|candidate| !constituent.too_old(candidate, anchor));
                let mut last: SmallVec<[&Arc<Event>; 4]> =
                    recent.filter(|candidate| take(choice, candidate)).take(constituent.count).collect();
                last.reverse();
                last
            }
        };
        choice.put_away();
        taken
    }

    fn finish<'a>(&'a self, choice: &mut Choice<'a>, found: &mut Chosen<'a>) {
        let forbidden = self.negations.iter().any(|negation| negation.found(choice).is_some());
        choice.put_away();
        if forbidden || self.condition.as_ref().is_some_and(|condition| !condition.holds(choice)) {
            return;
        }
        found.push(choice);
    }

    fn parts(&mut self) -> impl Iterator<Item = &mut Part> {
        let constituents = self.constituents.iter_mut().map(|constituent| &mut constituent.part);
        let negations = self.negations.iter_mut().map(|negation| &mut negation.part);
        let aggregates = self.aggregates.iter_mut().map(|aggregate| &mut aggregate.part);
        constituents.chain(negations).chain(aggregates)
    }
}

/// Forgets what waits at a place and is over; says whether something else still waits there.
fn give_up(pending: &mut Cells, place: Place, mut over: impl FnMut(&Occurrence) -> bool) -> bool {
    let key = Key::from_vec(place.token());
    let Some(mut cell) = pending.get_mut(&key) else { return false };
    cell.retain(0, |waiting| !over(waiting));
    let waits = !cell.list(0).is_empty();
    if !waits {
        pending.remove(&key);
    }
    waits
}

impl Negation {
    /// Something that occurred and must not have.
    pub(super) fn found<'a>(&'a self, choice: &Choice<'a>) -> Option<&'a Arc<Event>> {
        let key = self.part.probe(choice)?;
        let within = |event: &Event| match self.range {
            Range::Between { first, last } => {
                let (first, last) = (choice.events[first], choice.events[last]);
                first.seq < event.seq && event.seq <= last.seq && !event.is(first) && !event.is(last)
            }
            Range::Back { within_ms, from } => {
                let anchor = choice.events[from];
                let early = within_ms.is_some_and(|within| event.time < anchor.time.saturating_sub(within));
                event.seq <= anchor.seq && !early && !event.is(anchor)
            }
            Range::Ahead { within_ms, from } => {
                let anchor = choice.events[from];
                anchor.seq < event.seq && event.time <= anchor.time.saturating_add(within_ms)
            }
        };
        let mut events = self.part.store.events(key.bytes()).rev();
        events.find(|event| within(event) && self.part.fits(choice, event))
    }
}

impl Aggregate {
    fn value<'a>(&'a self, choice: &mut Choice<'a>) -> Value<'a> {
        let within = |event: &Event| match self.range {
            Range::Between { first, last } => {
                choice.events[first].seq <= event.seq && event.seq <= choice.events[last].seq
            }
            Range::Back { within_ms, from } => {
                let anchor = choice.events[from];
                let early = within_ms.is_some_and(|within| event.time < anchor.time.saturating_sub(within));
                event.seq <= anchor.seq && !early
            }
            Range::Ahead { .. } => false,
        };
        let key = self.part.probe(choice);
        let stored = key.iter().flat_map(|key| self.part.store.events(key.bytes()));
        let fitting = stored.filter(|event| within(event) && self.part.fits(choice, event));
        let mut events: Vec<&Arc<Event>> = fitting.collect();
        if let Some(limit) = self.limit {
            events.drain(..events.len().saturating_sub(limit));
        }
        choice.candidate.set(None);
        let value = |event: &&'a Arc<Event>| self.field.map_or(Value::Boolean(true), |at| event.value(at));
        let doubles = self.field.is_some_and(|at| at.kind == crate::event::SlotKind::Double);
        self.function.of(events.iter().map(value).collect(), self.argument, doubles)
    }
}
