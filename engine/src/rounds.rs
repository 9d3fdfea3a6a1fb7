//! What rules do at one position, and what that leads to there: round by round, until nothing changes any more.
//!
//! The actions of a round run when everything was seen that occurs in it: by priority, by the place of the rule in the
//! file, by what made it fire. Conditions on facts alone, and changes of facts, react to them in the next round;
//! conditions with events see the facts as they were before the position. All facts that come from outside with one
//! time change at one position, which stands before the events of that time.

use std::collections::BTreeMap;

use triomphe::Arc;

use crate::avro::Malformed;
use crate::event::Event;
use crate::graph::{Graph, Moment, Node, Outbox};
use crate::nodes::fact::{self, Instant, Transition, WorkingMemory};
use crate::nodes::join::FactChange;
use crate::nodes::rule::Firing;
use crate::state::{Codec, Entry};

#[derive(Default)]
pub struct Rounds {
    pub memory: WorkingMemory,
    /// Type of fact → the nodes that look for its changes.
    pub changing: BTreeMap<u16, Vec<usize>>,
    /// Joins that any change of facts can let match.
    pub watching: Vec<usize>,
    /// The round at hand.
    pub round: i32,
    /// The time of the position at hand, and how many positions of that time there were before.
    time: i64,
    ordinal: u64,
    /// Facts from outside that wait for others of the same time.
    given: Vec<Event>,
    pub firings: Vec<Firing>,
    retracted: Vec<Arc<Event>>,
    /// Joins that want to be told when the position is over.
    unsettled: Vec<usize>,
}

impl Rounds {
    /// A position begins.
    pub fn begin(&mut self, time: i64) {
        self.ordinal = if time == self.time { self.ordinal + 1 } else { 0 };
        (self.time, self.round) = (time, 0);
    }

    /// The time of the position at hand.
    pub fn time(&self) -> i64 {
        self.time
    }

    /// What tells the moment at hand from others of its time.
    pub fn place(&self) -> u64 {
        self.ordinal << 16 | self.round as u64
    }

    /// Forgets the position at hand, if it did not come to its end.
    pub fn undo(&mut self) {
        (self.round, self.time, self.ordinal) = (0, 0, 0);
        self.given.clear();
        self.firings.clear();
        self.retracted.clear();
        self.unsettled.clear();
    }

    /// The firings of the lowest round, in the order of their turns.
    fn next(&mut self) -> Option<Vec<Firing>> {
        let round = self.firings.iter().map(|firing| firing.turn.round).min()?;
        let (mut due, later) =
            std::mem::take(&mut self.firings).into_iter().partition(|f: &Firing| f.turn.round == round);
        self.firings = later;
        due.sort_by(|a: &Firing, b: &Firing| a.turn.cmp(&b.turn));
        self.round = round + 1;
        Some(due)
    }
}

impl Graph {
    /// Takes a fact from outside; it takes effect together with all others of its time.
    pub fn receive(&mut self, event: Event, out: &mut Outbox) {
        if self.rounds.given.first().is_some_and(|first| first.time != event.time) {
            self.settle_given(out);
        }
        self.rounds.given.push(event);
    }

    /// Lets the facts from outside take effect that wait, if their time is before another one.
    pub fn settle_given_before(&mut self, time: i64, out: &mut Outbox) {
        if self.rounds.given.first().is_some_and(|first| first.time < time) {
            self.settle_given(out);
        }
    }

    pub fn settle_given(&mut self, out: &mut Outbox) {
        if self.rounds.given.is_empty() {
            return;
        }
        let given = std::mem::take(&mut self.rounds.given);
        let Some(time) = given.first().map(|first| first.time) else { return };
        self.begin(time);
        let at = Instant { seq: self.seq, time, round: 0 };
        given.iter().for_each(|record| self.rounds.memory.receive(record, at));
        self.react(time, out);
        self.flow(time, out);
    }

    /// Runs the actions of the next round; false where there are none.
    pub fn act(&mut self, time: i64, out: &mut Outbox) -> bool {
        let Some(due) = self.rounds.next() else { return false };
        let Graph { nodes, rounds, seq, .. } = self;
        let at = Instant { seq: *seq, time, round: rounds.round };
        for firing in &due {
            if let Node::Rule(rule) = &nodes[firing.node] {
                rule.act(firing, at, &mut rounds.memory, &mut rounds.retracted);
            }
        }
        self.react(time, out);
        true
    }

    /// Tells everyone what a moment made of the facts.
    fn react(&mut self, time: i64, out: &mut Outbox) {
        let (transitions, stirred) = self.rounds.memory.end_moment();
        let mut changes: BTreeMap<usize, Vec<FactChange>> = BTreeMap::new();
        if stirred {
            changes.extend(self.rounds.watching.iter().map(|id| (*id, Vec::new())));
        }
        for transition in &transitions {
            self.gather(transition, time, &mut changes);
        }
        for (id, changes) in changes {
            self.rounds.unsettled.push(id);
            self.at_moment(id, time, out, |node, moment| {
                if let Node::Join(join) = node {
                    join.change(&changes, moment);
                }
            });
        }
        for transition in &transitions {
            for id in self.rounds.changing.get(&transition.type_id).cloned().unwrap_or_default() {
                self.at_moment(id, time, out, |node, moment| {
                    if let Node::Change(change) = node {
                        change.handle(transition, moment);
                    }
                });
            }
        }
    }

    /// Notes for each join what a transition is to it, and keeps the old state if one of them asks for it later.
    fn gather(&mut self, transition: &Transition, time: i64, changes: &mut BTreeMap<usize, Vec<FactChange>>) {
        let Graph { nodes, filters, leaf_readers, rounds, seq, passed, seen, journals, .. } = self;
        transition.after.iter().for_each(|state| seen[usize::from(transition.type_id)].note(state));
        let mut asked_for = false;
        for (state, began) in [(&transition.before, false), (&transition.after, true)] {
            let Some(state) = state else { continue };
            filters[usize::from(transition.type_id)].visit(state, |leaf| {
                passed[leaf] += u64::from(began);
                for &(reader, port) in &leaf_readers[leaf] {
                    journals[reader].arrived += u64::from(began);
                    changes.entry(reader).or_default().push(FactChange { port, began, state: state.clone() });
                    let asks =
                        matches!(&nodes[reader], Node::Join(join) if join.asks_for_ended(port).is_some());
                    asked_for |= asks && !began;
                }
            });
        }
        if let Some(state) = transition.before.as_ref().filter(|_| asked_for) {
            rounds.memory.keep_ended(state, (*seq, time));
        }
    }

    /// Lets a node do something at the moment at hand, and passes on what it finds.
    fn at_moment(&mut self, id: usize, time: i64, out: &Outbox, work: impl FnOnce(&mut Node, &mut Moment)) {
        let mut moment = Moment {
            seq: self.seq,
            time,
            round: self.rounds.round,
            place: self.rounds.place(),
            node: id,
            timers: &mut self.timers,
            topics: out.topics,
            found: &mut self.found,
            journal: &mut self.journals[id],
        };
        work(&mut self.nodes[id], &mut moment);
        self.pass_on(id);
    }

    /// The position is over: what ended at it does not count any more, nor what was retracted.
    pub fn settle_rounds(&mut self, time: i64) {
        let Graph { nodes, filters, leaf_readers, rounds, seq, .. } = self;
        for id in rounds.unsettled.drain(..) {
            if let Node::Join(join) = &mut nodes[id] {
                join.settle();
            }
        }
        for event in rounds.retracted.drain(..) {
            filters[usize::from(event.type_id)].visit(&event, |leaf| {
                for &(reader, port) in &leaf_readers[leaf] {
                    if let Node::Join(join) = &mut nodes[reader] {
                        join.forget(port, &event, (*seq, time));
                    }
                }
            });
        }
    }

    /// Takes an entry of working memory, when it is one, and gives the state to those who ask for it.
    pub fn load_fact(&mut self, entry: &Entry, codec: &Codec) -> Result<bool, Malformed> {
        if !entry.key.starts_with(fact::PREFIX) {
            return Ok(false);
        }
        let Graph { nodes, filters, leaf_readers, rounds, .. } = self;
        let Some((state, until)) = rounds.memory.load(entry, codec)? else { return Ok(true) };
        filters[usize::from(state.type_id)].visit(&state, |leaf| {
            for &(reader, port) in &leaf_readers[leaf] {
                if let Node::Join(join) = &mut nodes[reader] {
                    join.load_state(port, &state, until);
                }
            }
        });
        Ok(true)
    }
}
