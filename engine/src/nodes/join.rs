//! Facts and events that hold together: RETE's join, from whatever is new to all that it completes.
//!
//! With events a match is found when the last of them comes: each fact must have its state since before the first
//! event, and no fact that is denied may have held between the first and the last. Without events it is found when the
//! facts come to hold together.

use std::collections::VecDeque;

use smallvec::SmallVec;
use triomphe::Arc;

use super::conditions::{Condition, Conditions};
use super::fact::Until;
use super::pool::{state_id, Candidate, Id, Pool};
use crate::avro::Malformed;
use crate::event::Event;
use crate::graph::Moment;
use crate::journal::{Journal, Loss, Reason};
use crate::occurrence::{Item, Occurrence};
use crate::residence::Standing;
use crate::state::{Change, Codec, Entry};

/// A fact that began or ended to be as a condition asks.
pub struct FactChange {
    pub port: u8,
    pub began: bool,
    pub state: Arc<Event>,
}

pub struct JoinNode {
    conditions: Conditions,
    fingerprint: [u8; 8],
    /// Whether events are kept: not where each of them completes its matches by itself.
    keeps: bool,
    /// How long ago a state of a denied fact may have ended that still counts.
    reach_ms: Option<i64>,
    /// States that count up to the end of the position at which they ended.
    ending: Vec<(usize, Id)>,
    /// States of denied facts that are over, in the order in which they ended.
    ended: VecDeque<(Until, usize, Id)>,
    /// Denied events that were retracted: at the next change of facts they do not count any more.
    retracted: Vec<(usize, Id)>,
    pub standing: Standing,
}

impl JoinNode {
    pub fn new(conditions: Vec<Condition>, slots: usize, fingerprint: [u8; 8]) -> JoinNode {
        let events: Vec<_> =
            conditions.iter().filter(|c| c.is_event() && !c.negated).map(|c| c.horizon_ms).collect();
        let reach_ms =
            events.iter().try_fold(0, |most: i64, horizon| horizon.map(|horizon| most.max(horizon)));
        JoinNode {
            keeps: events.len() > 1,
            reach_ms,
            conditions: Conditions::new(conditions, slots),
            fingerprint,
            ending: Vec::new(),
            ended: VecDeque::new(),
            retracted: Vec::new(),
            standing: Standing::default(),
        }
    }

    /// Whether any change of facts can let it match, because of events that are denied no more.
    pub fn watches(&self) -> bool {
        self.conditions.facts_only && self.conditions.all.iter().any(Condition::is_event)
    }

    /// Whether a state that ended can still matter to a condition at later positions; if so, for how long.
    pub fn asks_for_ended(&self, port: u8) -> Option<Option<i64>> {
        (self.conditions.all[usize::from(port)].negated && self.keeps).then_some(self.reach_ms)
    }

    // --- what comes -------------------------------------------------------------------------------------------------

    /// Takes in the events of a position: those that are denied first, for they count at their own position.
    pub fn handle(&mut self, arrived: &[(u8, Occurrence)], moment: &mut Moment) {
        self.standing.touch();
        let mut matches = Vec::new();
        for denied in [true, false] {
            for (number, (port, occurrence)) in arrived.iter().enumerate() {
                let port = usize::from(*port);
                if self.conditions.all[port].negated != denied {
                    continue;
                }
                let events = occurrence.items.iter().map(|item| item.event.clone()).collect();
                let candidate = if denied || self.keeps {
                    self.conditions.all[port].pool.push(events, moment.seq)
                } else {
                    Arc::new(Candidate { id: (number as u64, 0, 0), events, until: None })
                };
                if !denied && !self.conditions.facts_only {
                    let before = matches.len();
                    self.conditions.complete(port, &candidate, moment, &mut matches);
                    if matches.len() == before {
                        self.conditions.explain(port, &candidate, !self.keeps, moment);
                    }
                }
            }
        }
        moment.found.extend(self.conditions.in_order(matches));
    }

    /// Takes in what a moment made of the facts.
    pub fn change(&mut self, changes: &[FactChange], moment: &mut Moment) {
        self.standing.touch();
        let mut allowed = self.allowed();
        for change in changes.iter().filter(|change| !change.began) {
            let (port, id) = (usize::from(change.port), state_id(&change.state));
            let until = (moment.seq, moment.time);
            let condition = &mut self.conditions.all[port];
            if self.conditions.facts_only {
                let ended = condition.pool.remove(id);
                allowed.extend(ended.filter(|_| condition.negated).map(|state| (port, state)));
                continue;
            }
            condition.pool.end(id, until);
            if condition.negated && self.keeps {
                self.ended.push_back((until, port, id));
            } else {
                self.ending.push((port, id));
            }
        }
        let mut matches = Vec::new();
        for denied in [true, false] {
            for change in changes.iter().filter(|change| change.began) {
                let port = usize::from(change.port);
                if self.conditions.all[port].negated == denied {
                    let candidate = self.hold(port, &change.state, None);
                    if !denied && self.conditions.facts_only {
                        let before = matches.len();
                        self.conditions.complete(port, &candidate, moment, &mut matches);
                        if matches.len() == before {
                            self.conditions.explain(port, &candidate, false, moment);
                        }
                    }
                }
            }
        }
        for (port, candidate) in &allowed {
            self.conditions.complete(*port, candidate, moment, &mut matches);
        }
        moment.found.extend(self.conditions.in_order(matches));
    }

    fn hold(&mut self, port: usize, state: &Arc<Event>, until: Option<Until>) -> Arc<Candidate> {
        let events = SmallVec::from_iter([state.clone()]);
        self.conditions.all[port].pool.insert(Candidate { id: state_id(state), events, until })
    }

    /// Takes out the denied events that were retracted, and returns them.
    fn allowed(&mut self) -> Vec<(usize, Arc<Candidate>)> {
        let retracted = std::mem::take(&mut self.retracted);
        retracted
            .into_iter()
            .filter_map(|(port, id)| Some((port, self.conditions.all[port].pool.remove(id)?)))
            .collect()
    }

    /// An event was retracted: it counts no more, from the next position on.
    pub fn forget(&mut self, port: u8, event: &Event, until: Until) {
        let port = usize::from(port);
        let condition = &mut self.conditions.all[port];
        let Some(id) = condition.pool.find(event) else { return };
        self.standing.touch();
        if self.conditions.facts_only {
            if condition.pool.get(id).is_some_and(|candidate| candidate.until.is_none()) {
                condition.pool.end(id, until);
                self.retracted.push((port, id));
            }
        } else {
            condition.pool.remove(id);
        }
    }

    /// The position is over.
    pub fn settle(&mut self) {
        for (port, id) in self.ending.drain(..) {
            self.conditions.all[port].pool.remove(id);
        }
    }

    // --- state ------------------------------------------------------------------------------------------------------

    /// Forgets what no later event can reach.
    pub fn expire(&mut self, (seq, watermark): (u64, i64), journal: &mut Journal) {
        for condition in self.conditions.all.iter_mut().filter(|condition| condition.is_event()) {
            let Some(horizon) = condition.horizon_ms else { continue };
            let oldest = watermark.saturating_sub(horizon);
            let old =
                |pool: &Pool| pool.first().filter(|first| first.event().time < oldest).map(|first| first.id);
            while let Some(id) = old(&condition.pool) {
                self.standing.touch();
                let Some(old) = condition.pool.remove(id) else { continue };
                journal.expired += 1;
                if !condition.negated {
                    let items = old.events.iter().zip(condition.slot as u16..);
                    let items = || items.map(|(event, slot)| Item { slot, event: event.clone() }).collect();
                    journal.losses.note(seq, || Loss::new(Reason::Expired, watermark, items()));
                }
            }
        }
        let Some(reach) = self.reach_ms else { return };
        let oldest = watermark.saturating_sub(reach);
        while let Some((_, port, id)) = self.ended.front().copied().filter(|(until, ..)| until.1 < oldest) {
            self.standing.touch();
            self.ended.pop_front();
            self.conditions.all[port].pool.remove(id);
        }
    }

    pub fn changes(&mut self, codec: &Codec, out: &mut Vec<Change>) {
        self.standing.write();
        for condition in self.conditions.all.iter_mut().filter(|condition| condition.is_event()) {
            let prefix = [&self.fingerprint[..], &[condition.slot as u8]].concat();
            condition.pool.changes(&prefix, codec, out);
        }
    }

    /// What its entries begin with.
    pub fn fingerprint(&self) -> [u8; 8] {
        self.fingerprint
    }

    /// Forgets everything.
    pub fn undo(&mut self, asked: &mut Vec<Vec<u8>>) {
        asked.push(self.fingerprint.to_vec());
        self.conditions.all.iter_mut().for_each(|condition| condition.pool.clear());
        self.ending.clear();
        self.ended.clear();
        self.retracted.clear();
        self.standing = Standing::default();
    }

    pub fn load(&mut self, entry: &Entry, codec: &Codec) -> Result<bool, Malformed> {
        let Some(rest) = entry.key.strip_prefix(&self.fingerprint[..]) else { return Ok(false) };
        let (&slot, rest) =
            rest.split_first().ok_or_else(|| Malformed::new("a state entry of a join has a broken key"))?;
        let at = |condition: &Condition| condition.slot == usize::from(slot) && condition.is_event();
        let Some(port) = self.conditions.all.iter().position(at) else {
            return Err(Malformed::new("a state entry of a condition that the join does not have"));
        };
        let condition = &mut self.conditions.all[port];
        let id = condition.pool.load(rest, entry, (condition.width(), &condition.types), codec)?;
        if condition.pool.get(id).is_some_and(|candidate| candidate.until.is_some()) {
            self.retracted.push((port, id));
        }
        Ok(true)
    }

    /// Takes a state of working memory that was loaded.
    pub fn load_state(&mut self, port: u8, state: &Arc<Event>, until: Option<Until>) {
        let port = usize::from(port);
        match until {
            None => drop(self.hold(port, state, None)),
            Some(until) if self.conditions.all[port].negated && self.keeps => {
                self.hold(port, state, Some(until));
                let entry = (until, port, state_id(state));
                let at = self.ended.partition_point(|other| *other < entry);
                self.ended.insert(at, entry);
            }
            Some(_) => {}
        }
    }

    /// About how many bytes its entries take: those of its events. Facts belong to no node.
    pub fn bytes(&self) -> usize {
        let events = self.conditions.all.iter().filter(|condition| condition.is_event());
        events.map(|condition| condition.pool.bytes()).sum()
    }

    /// The first slot of what comes by an input.
    pub fn base(&self, port: u8) -> u16 {
        self.conditions.all.get(usize::from(port)).map_or(0, |condition| condition.slot as u16)
    }

    pub fn stored(&self) -> usize {
        let events = self.conditions.all.iter().filter(|condition| condition.is_event());
        events.map(|condition| condition.pool.len()).sum()
    }
}
