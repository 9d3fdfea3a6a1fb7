//! Runs programs: at each position every part is asked once what comes of it there.
//!
//! A part that is started may come true at the very position where it is started; it takes events of later positions
//! only. How several matches of one position follow each other is part of the meaning, as it decides which of them
//! are too many. Recursion goes as deep as the program: what is repeated stands in lists.

use triomphe::Arc;

use super::program::{Number, Op, Program};
use super::run::{Arrived, End, Kind, Now, Out, Run, Start};
use super::taken::{self, Links, Taken, View};
use crate::event::Event;
use crate::journal::{Journal, Reason};
use crate::plan::Take;
use crate::value::Value;

pub struct Machine<'a> {
    pub program: &'a Program,
    pub now: Now<'a>,
    pub parameters: &'a [Value<'static>],
    pub links: &'a mut Links,
    /// The last id that was given to a run.
    pub next: &'a mut u64,
    /// Ids of runs that are no more, and stand in the state.
    pub gone: &'a mut Vec<u64>,
    /// What labels of points in time begin with.
    pub fingerprint: &'a [u8; 8],
    /// Whether something has ended.
    pub ended: bool,
    /// What failed last, for those whose end that is.
    pub failure: Option<(Reason, Option<Arc<Event>>)>,
    pub journal: &'a mut Journal,
}

impl Machine<'_> {
    pub fn id(&mut self) -> u64 {
        *self.next += 1;
        *self.next
    }

    pub fn run(&mut self, part: Number, kind: Kind, children: Vec<Run>) -> Run {
        let id = self.id();
        Run::new(id, part, kind, children)
    }

    /// Notes that a run is no more, with all below it.
    pub fn bury(&mut self, run: &mut Run) {
        self.ended = true;
        self.note_end(run);
        if std::mem::take(&mut run.stored) {
            self.gone.push(run.id);
        }
        self.bury_all(&mut run.children);
    }

    pub fn bury_all(&mut self, children: &mut Vec<Run>) {
        for mut child in children.drain(..) {
            self.bury(&mut child);
        }
    }

    /// Takes out of a list what ended at this position.
    pub fn clean(children: &mut Vec<Run>) {
        if children.iter().any(|child| child.over.is_some()) {
            children.retain(|child| child.over.is_none());
        }
    }

    /// Starts a part at this position. What has ended already is not there any more.
    pub fn start(&mut self, number: Number, start: Start) -> (Option<Run>, Out) {
        let program = self.program;
        let part = program.part(number);
        match &part.op {
            Op::Step { slot, .. } => {
                let since = self.now.seq;
                (
                    Some(self.run(number, Kind::Step { since, start }, Vec::new()).awaits(*slot)),
                    Out::default(),
                )
            }
            Op::Wait { delay_ms, .. } => {
                let due = self.now.time.saturating_add(*delay_ms);
                self.begin(number, Kind::Wait { due, taken: start.taken }, Vec::new(), Out::default())
            }
            Op::Then { left, right } => self.start_then(number, *left, *right, start),
            Op::All { parts } => self.start_all(number, parts, start),
            Op::OneOf { parts } => self.start_parts(number, parts, start, true),
            Op::Alternatives { parts } => self.start_parts(number, parts, start, false),
            Op::Taking { take, of } => self.start(*of, Start { take: *take, ..start }),
            Op::Every { of } => self.start_every(number, *of, start),
            Op::Denied { .. } if part.silent => (None, Out::through(start.taken)),
            Op::Denied { of } => {
                let here = start.taken.clone();
                let (run, denied) = self.start(*of, start);
                let end = (!denied.matches.is_empty()).then_some(End::Failed);
                self.begin(number, Kind::Denied, Vec::from_iter(run), Out { matches: vec![here], end })
            }
            Op::AtMost { of, .. } => {
                let (run, out) = self.start(*of, start);
                self.begin(number, Kind::AtMost { seen: 0 }, Vec::from_iter(run), out)
            }
            Op::While { of, .. } => {
                let (run, out) = self.start(*of, start);
                self.begin(number, Kind::While, Vec::from_iter(run), out)
            }
            Op::Within { within_ms, since, of } => {
                let origin = self.origin(*since, &start.taken);
                let deadline = origin.map(|origin| origin.saturating_add(*within_ms));
                if deadline.is_some_and(|deadline| deadline < self.now.time) {
                    return (None, Out::failed());
                }
                let (run, out) = self.start(*of, start);
                self.begin(number, Kind::Within { deadline }, Vec::from_iter(run), out)
            }
            Op::Absent { within_ms, since, of } => {
                let taken = start.taken.clone();
                let origin = self.origin(*since, &taken).unwrap_or(self.now.time);
                let due = origin.saturating_add(*within_ms);
                if due < self.now.time {
                    return (None, Out::through(taken));
                }
                let (run, out) = self.start(*of, Start { take: start.take, ..Start::behind(taken.clone()) });
                self.begin(number, Kind::Absent { due, taken }, Vec::from_iter(run), out)
            }
            Op::Repeat { .. } => self.start_repeat(number, start),
            Op::Collect { of, until, .. } => self.start_collect(number, *of, *until, start),
        }
    }

    /// A run of a part with at most one operand, of which this came at once.
    fn begin(&mut self, number: Number, kind: Kind, children: Vec<Run>, out: Out) -> (Option<Run>, Out) {
        let mut run = self.run(number, kind, children);
        let out = if matches!(run.kind, Kind::Denied) { out } else { self.judge(&mut run, out) };
        self.settled(run, out)
    }

    /// What was started, unless it has ended.
    pub fn settled(&mut self, mut run: Run, out: Out) -> (Option<Run>, Out) {
        if out.end.is_some() {
            self.bury(&mut run);
            return (None, out);
        }
        run.refresh();
        (Some(run), out)
    }

    /// Asks a run what comes of it at this position.
    pub fn advance(&mut self, run: &mut Run) -> Out {
        if !self.now.meets(&run.wants) {
            return Out::default();
        }
        let out = match &run.kind {
            Kind::Step { .. } => return self.step(run),
            Kind::Then => self.advance_then(run),
            Kind::All { .. } => self.advance_all(run),
            Kind::Parts => self.advance_parts(run),
            Kind::Every { .. } => self.advance_every(run),
            Kind::Repeat { .. } => self.advance_repeat(run),
            Kind::Collect { .. } => self.advance_collect(run),
            Kind::Kept { .. } | Kind::Ended | Kind::Pending { .. } => Out::default(),
            _ => {
                let out = self.operand(&mut run.children);
                self.judge(run, out)
            }
        };
        if out.end.is_none() {
            run.refresh();
        }
        out
    }

    /// What comes of the only operand, which is gone when it has ended.
    fn operand(&mut self, children: &mut Vec<Run>) -> Out {
        let Some(operand) = children.first_mut() else { return Out::default() };
        let out = self.advance(operand);
        if out.end.is_some() {
            self.bury_all(children);
        }
        out
    }

    /// What a part makes of what its operand came to.
    fn judge(&mut self, run: &mut Run, mut out: Out) -> Out {
        let program = self.program;
        match (&mut run.kind, &program.part(run.part).op) {
            (Kind::Wait { due, taken }, Op::Wait { slot, .. }) if self.now.is_over(*due) => {
                let taken = match slot {
                    Some(slot) => {
                        let point = self.point(*slot);
                        self.links.push(taken, *slot, &point)
                    }
                    None => taken.clone(),
                };
                Out::through(taken)
            }
            (Kind::Denied, _) => {
                if out.matches.is_empty() {
                    Out::default()
                } else {
                    self.fail(Reason::Negated, out.matches.first())
                }
            }
            (Kind::AtMost { seen }, Op::AtMost { count, .. }) => {
                let room = usize::try_from(count.saturating_sub(*seen)).unwrap_or(usize::MAX);
                if out.matches.len() > room {
                    self.note_cut(Reason::TooMany, &out.matches[room]);
                    out.matches.truncate(room);
                    out.end = Some(End::Failed);
                }
                *seen += out.matches.len() as u64;
                run.changed |= !out.matches.is_empty();
                out
            }
            (Kind::While, Op::While { condition, .. }) => {
                let holds = |taken: &Taken| {
                    let parameters = self.parameters;
                    condition.holds(&View { own: None, taken, parameters, previous: None })
                };
                if let Some(wrong) = out.matches.iter().position(|taken| !holds(taken)) {
                    self.note_cut(Reason::While, &out.matches[wrong]);
                    out.matches.truncate(wrong);
                    out.end = Some(End::Failed);
                }
                out
            }
            (Kind::Within { deadline: Some(deadline) }, _) => {
                if out.end.is_none() && self.now.is_over(*deadline) {
                    self.journal.expired += 1;
                    self.fail(Reason::Expired, None);
                    out.end = Some(End::Failed);
                }
                out
            }
            (Kind::Within { deadline: None }, Op::Within { within_ms, since: Some(slot), .. }) => {
                let now = self.now.time;
                let last = |taken: &Taken| Some(taken::first_time(taken, *slot)?.saturating_add(*within_ms));
                let in_time = |taken: &Taken| last(taken).is_none_or(|last| now <= last);
                out.matches.iter().filter(|taken| !in_time(taken)).for_each(|taken| self.note_late(taken));
                out.matches.retain(in_time);
                out
            }
            (Kind::Absent { due, taken }, _) => {
                if !out.matches.is_empty() {
                    self.fail(Reason::Negated, out.matches.first())
                } else if self.now.is_over(*due) {
                    Out::through(taken.clone())
                } else {
                    Out::default()
                }
            }
            _ => out,
        }
    }

    /// Where a time is counted from: now, or when the first event in a slot occurred, if there is one.
    fn origin(&self, since: Option<u16>, taken: &Taken) -> Option<i64> {
        since.map_or(Some(self.now.time), |slot| taken::first_time(taken, slot))
    }

    /// This point in time.
    fn point(&self, slot: u16) -> Arc<Event> {
        let text = [&self.fingerprint[..], &slot.to_le_bytes(), &self.now.time.to_le_bytes()].concat();
        Arc::new(Event::point(self.now.time, self.now.seq, &blake3::hash(&text).as_bytes()[..16]))
    }

    // --- events

    fn step(&mut self, run: &Run) -> Out {
        let program = self.program;
        let (Kind::Step { since, start }, Op::Step { slot, .. }) = (&run.kind, &program.part(run.part).op)
        else {
            return Out::default();
        };
        if *since >= self.now.seq {
            return Out::default();
        }
        let events = self.now.events;
        match start.take {
            Take::First => match events.iter().find(|arrived| self.fits(arrived, run.part, *slot, start)) {
                Some(arrived) => Out::through(self.links.push(&start.taken, *slot, &arrived.event)),
                None => Out::default(),
            },
            Take::Each => {
                let mut out = Out::default();
                for arrived in events {
                    if self.fits(arrived, run.part, *slot, start) {
                        out.matches.push(self.links.push(&start.taken, *slot, &arrived.event));
                    }
                }
                out
            }
            Take::Next => match events.first() {
                None => Out::default(),
                Some(arrived) if self.fits(arrived, run.part, *slot, start) => {
                    Out::through(self.links.push(&start.taken, *slot, &arrived.event))
                }
                Some(arrived) => self.fail_by(Reason::Violated, &arrived.event),
            },
        }
    }

    /// Whether a step can take an event: its conditions, and that of the repeat it begins an iteration of.
    fn fits(&self, arrived: &Arrived, part: Number, slot: u16, start: &Start) -> bool {
        if !arrived.slots.contains(&slot) {
            return false;
        }
        let between = start.between.and_then(|repeat| self.program.between(repeat));
        let own = match &self.program.part(part).op {
            Op::Step { condition, .. } => condition.as_ref(),
            _ => None,
        };
        let view = View {
            own: Some((slot, &arrived.event)),
            taken: &start.taken,
            parameters: self.parameters,
            previous: between.and_then(|_| taken::last(&start.taken)),
        };
        own.into_iter().chain(between).all(|condition| condition.holds(&view))
    }

    /// How long something that took this can still come true in time for anyone to see.
    pub fn expiry(&self, part: Number, taken: &Taken) -> i64 {
        let bounds = self.program.part(part).bounds.iter();
        let ends = bounds.filter_map(|(slot, ms)| Some(taken::first_time(taken, *slot)?.saturating_add(*ms)));
        ends.min().unwrap_or(i64::MAX)
    }
}
