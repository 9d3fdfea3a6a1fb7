//! A rule: what is done when something is detected.
//!
//! Events are published as soon as a rule fires, and stand at its position. What is done to facts waits until everything
//! at the position was seen, and is done in order: see `rounds.rs`. Actions on the world outside, and rules coupled
//! otherwise than immediately, are not run here: they are counted.

use triomphe::Arc;

use super::define::{arrange, DefineNode};
use super::emission::Binding;
use super::fact::{Instant, WorkingMemory};
use super::limit::Limit;
use crate::avro::Malformed;
use crate::event::{Event, Origin};
use crate::expr::Expr;
use crate::graph::{Moment, Outbox, Unencodable};
use crate::identity::identity;
use crate::journal::Reason;
use crate::key::key_of;
use crate::occurrence::{Occurrence, Order, Scope, Sight};
use crate::state::{Change, Codec, Entry};

/// A rule that causes itself at one position ends after so many rounds.
pub const MAX_ROUNDS: i32 = 1000;

pub enum Action {
    Publish(Box<Publish>),
    /// Adds a fact; `replace` where one that is there is replaced.
    Add {
        type_id: u16,
        values: Vec<Expr>,
        replace: bool,
    },
    Modify {
        slot: usize,
        values: Vec<(usize, Expr)>,
    },
    Retract {
        slot: usize,
    },
    /// What is done outside, or to other rules.
    Elsewhere,
}

pub struct Publish {
    pub event: DefineNode,
    /// Whether it goes to a topic, or only to other rules.
    pub sent: bool,
}

pub struct RuleNode {
    pub fingerprint: [u8; 8],
    pub rule: String,
    /// The place in the file.
    pub order: usize,
    pub priority: i64,
    pub active: bool,
    /// Whether its actions are part of the detection.
    pub immediate: bool,
    pub condition: Option<Expr>,
    pub bindings: Vec<Binding>,
    pub limit: Option<Limit>,
    pub actions: Vec<Action>,
    /// Whether it matches facts alone: then the same facts can come to match again.
    pub facts_only: bool,
    /// Whether the same constituents can be found at several positions, or several times.
    pub repeats: bool,
    /// Of a pattern or an event expression: the slots of each role; as a definition has them.
    pub places: Vec<Vec<u16>>,
    /// The slots of all constituents, role by role as they are written.
    pub players: Vec<Vec<u16>>,
    /// The position at which it published something last, and how much.
    pub made: (u64, i64),
    /// How often it fired, and how many actions were not run.
    pub fired: u64,
    pub passed_over: u64,
}

/// A rule that fired, and waits for its turn to change facts. In the order of turns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn {
    pub round: i32,
    /// The higher priority first.
    priority: std::cmp::Reverse<i64>,
    order: usize,
    place: Order,
    /// What came first, where nothing else decides.
    number: usize,
}

pub struct Firing {
    pub turn: Turn,
    /// The rule's node.
    pub node: usize,
    pub occurrence: Occurrence,
    label: Vec<u8>,
}

impl RuleNode {
    pub fn handle(
        &mut self,
        arrived: &mut Vec<(u8, Occurrence)>,
        moment: &mut Moment,
        out: &mut Outbox,
        derived: &mut Vec<Arc<Event>>,
        firings: &mut Vec<Firing>,
    ) {
        arrange(arrived, &self.places);
        for (index, (_, occurrence)) in arrived.drain(..).enumerate() {
            if let Err(reason) = self.passes(&occurrence, moment.time) {
                moment.lose(reason, &occurrence);
                continue;
            }
            self.fired += 1;
            moment.journal.found += 1;
            if !self.immediate {
                self.passed_over += self.actions.len() as u64;
                continue;
            }
            let round = if self.facts_only { moment.round } else { occurrence.round() };
            if round >= MAX_ROUNDS {
                let message = format!("{} causes itself again and again at one position", self.rule);
                out.failed.push(Unencodable { message });
                continue;
            }
            let ordinal = if self.facts_only { moment.place } else { index as u64 };
            self.publish(&occurrence, (round, ordinal), moment, out, derived);
            if self.actions.iter().any(|action| !matches!(action, Action::Publish(_) | Action::Elsewhere)) {
                let place = self.repeats.then_some((moment.time, ordinal));
                let label = identity(&self.fingerprint, &Sight::of(&occurrence), place, out.topics);
                let (label, turn) = (label.to_vec(), self.turn(&occurrence, round, firings.len()));
                firings.push(Firing { turn, node: moment.node, occurrence, label });
            }
        }
    }

    /// Whether an occurrence fulfils the condition, and is not one too many.
    fn passes(&mut self, occurrence: &Occurrence, time: i64) -> Result<(), Reason> {
        let scope = Scope::of(occurrence);
        if !self.active {
            return Err(Reason::Inactive);
        }
        if self.condition.as_ref().is_some_and(|condition| !condition.holds(&scope)) {
            return Err(Reason::If);
        }
        let Some(limit) = &mut self.limit else { return Ok(()) };
        let equalities = self.bindings.iter().filter(|binding| binding.equality);
        let Some(key) = key_of(equalities.map(|binding| binding.value.eval(&scope))) else { return Ok(()) };
        if !limit.admits(&key, time) {
            return Err(Reason::Rate);
        }
        limit.note(key, time);
        Ok(())
    }

    fn publish(
        &mut self,
        occurrence: &Occurrence,
        (round, ordinal): (i32, u64),
        moment: &mut Moment,
        out: &mut Outbox,
        derived: &mut Vec<Arc<Event>>,
    ) {
        let mut point = None;
        for action in &self.actions {
            let Action::Publish(publish) = action else {
                self.passed_over += u64::from(matches!(action, Action::Elsewhere));
                continue;
            };
            // A published event is a point, whatever it was that made the rule fire.
            let (start, end, start_seq) = (moment.time, moment.time, moment.seq);
            let point =
                point.get_or_insert_with(|| Occurrence { start, end, start_seq, ..occurrence.clone() });
            let sight = Sight::of(point);
            match publish.event.emission.emit(&sight, ordinal as usize, out.topics, out.emitted) {
                Ok(identity) => {
                    if !publish.sent {
                        out.emitted.take_back();
                    }
                    if publish.event.derives {
                        let layout = &out.types[publish.event.type_id as usize].1;
                        let event = publish.event.derive(point, &identity, layout);
                        // All that it publishes at a position stands in one order, whatever the action.
                        let count = if self.made.0 == moment.seq { self.made.1 + 1 } else { 0 };
                        self.made = (moment.seq, count);
                        let offset = ((self.order as i64) << 32) + count;
                        derived.push(Arc::new(Event { partition: round + 1, offset, ..event }));
                    }
                }
                Err(message) => {
                    moment.lose(Reason::NoValue, occurrence);
                    out.failed.push(Unencodable { message });
                }
            }
        }
    }

    fn turn(&self, occurrence: &Occurrence, round: i32, number: usize) -> Turn {
        let place = occurrence.order(&self.players);
        Turn { round, priority: std::cmp::Reverse(self.priority), order: self.order, place, number }
    }

    /// Changes facts, and says which events are retracted.
    pub fn act(
        &self,
        firing: &Firing,
        at: Instant,
        memory: &mut WorkingMemory,
        retracted: &mut Vec<Arc<Event>>,
    ) {
        let scope = Scope::of(&firing.occurrence);
        for (number, action) in self.actions.iter().enumerate() {
            let label = [&firing.label[..], b"/", number.to_string().as_bytes()].concat();
            let player = |slot: usize| firing.occurrence.events(slot as u16).next_back();
            match action {
                Action::Publish(_) | Action::Elsewhere => {}
                Action::Add { type_id, values, replace } => {
                    let values = values.iter().map(|value| value.eval(&scope)).collect();
                    memory.add(*type_id, values, *replace, &label, at);
                }
                Action::Modify { slot, values } => {
                    let Some(fact) = player(*slot) else { continue };
                    let values = values.iter().map(|(field, value)| (*field, value.eval(&scope))).collect();
                    memory.modify(fact, values, &label, at);
                }
                Action::Retract { slot } => match player(*slot) {
                    Some(fact) if fact.origin == Origin::Fact => memory.retract(fact),
                    Some(event) => {
                        memory.stir();
                        retracted.push(event.clone());
                    }
                    None => {}
                },
            }
        }
    }

    pub fn expire(&mut self, watermark: i64) {
        if let Some(limit) = &mut self.limit {
            limit.expire(watermark);
        }
    }

    pub fn changes(&mut self, _codec: &Codec, out: &mut Vec<Change>) {
        if let Some(limit) = &mut self.limit {
            limit.changes(out);
        }
    }

    pub fn load(&mut self, entry: &Entry, _codec: &Codec) -> Result<bool, Malformed> {
        self.limit.as_mut().map_or(Ok(false), |limit| limit.load(entry))
    }
}

/// The fingerprint of what an action of a rule makes.
pub fn action_fingerprint(rule: [u8; 8], action: usize) -> [u8; 8] {
    u64::from_be_bytes(rule).wrapping_add(1 + action as u64).to_be_bytes()
}
