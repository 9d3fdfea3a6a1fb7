//! Why a rule did not detect something: the partial matches its nodes remember, those that came furthest first, and the
//! events that did not even get to a node.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use triomphe::Arc;

use crate::census::Place;
use crate::event::{Event, Layout, Origin, NO_TYPE};
use crate::graph::{Graph, Node};
use crate::identity::Topics;
use crate::journal::{Loss, Reason};
use crate::occurrence::Items;
use crate::plan::EventType;
use crate::value::Value;

/// What someone wants to know.
pub struct Question<'a> {
    pub rule: &'a str,
    /// Values that attributes of the constituents must have, where they have such an attribute.
    pub key: Vec<(String, Value<'static>)>,
    /// The times that count: from the first constituent to the end.
    pub from: i64,
    pub to: i64,
}

/// An event in an answer.
#[derive(Debug, Clone)]
pub struct Participant {
    /// What it plays, if anything.
    pub role: Option<String>,
    pub type_name: String,
    pub time: i64,
    pub topic: String,
    pub partition: i32,
    pub offset: i64,
    pub label: String,
}

/// A partial match, and what ended it.
pub struct Ending {
    pub time: i64,
    pub reason: Reason,
    /// Where it ended.
    pub place: Place,
    pub constituents: Vec<Participant>,
    /// The role that nothing played, and what came nearest to it.
    pub missing: Option<String>,
    pub nearest: Option<Participant>,
    /// The event that ended it.
    pub by: Option<Participant>,
}

/// One rule, as it is asked about: its roles, and the first of its slots that each node below it fills.
struct Subject<'a> {
    roles: &'a [String],
    bases: BTreeMap<usize, u16>,
    types: &'a [(EventType, Layout)],
    topics: &'a Topics,
    question: &'a Question<'a>,
}

impl Graph {
    /// Answers a question; an error says that there is no such rule.
    pub fn why_not(
        &self,
        question: &Question,
        types: &[(EventType, Layout)],
        topics: &Topics,
    ) -> Result<Vec<Ending>, String> {
        let mut endings = Vec::new();
        let mut known = false;
        for (node, name, roles) in &self.legend.rules {
            if name != question.rule {
                continue;
            }
            known = true;
            let subject = Subject { roles, bases: self.bases(*node), types, topics, question };
            for (&id, &base) in &subject.bases {
                let losses = self.journals[id].losses.iter().filter(|loss| subject.concerns(loss));
                endings.extend(losses.map(|loss| subject.ending(loss, base, self.legend.nodes[id])));
            }
            self.turned_away(&subject, &mut endings);
        }
        if !known {
            return Err(format!("the task has no rule `{}`", question.rule));
        }
        endings.sort_by_key(|ending| Reverse((ending.constituents.len(), ending.time)));
        Ok(endings)
    }

    /// The nodes below a rule, its own among them, and the first of its slots that each of them fills.
    fn bases(&self, rule: usize) -> BTreeMap<usize, u16> {
        let mut bases = BTreeMap::from([(rule, 0)]);
        // Who reads a node stands behind it.
        for id in (0..rule).rev() {
            let above = self.readers[id]
                .iter()
                .find_map(|(reader, port)| Some(bases.get(reader)? + self.nodes[*reader].slot_of(*port)));
            bases.extend(above.map(|base| (id, base)));
        }
        bases
    }

    /// Events that came too late for a rule, or that its filters did not let pass.
    fn turned_away(&self, subject: &Subject, endings: &mut Vec<Ending>) {
        for (leaf, place) in self.legend.leaves.iter().enumerate() {
            let mut readers = self.leaf_readers[leaf].iter();
            let slot = readers.find_map(|(reader, port)| {
                Some(subject.bases.get(reader)? + self.nodes[*reader].slot_of(*port))
            });
            let Some(slot) = slot else { continue };
            for &type_id in &self.legend.types[leaf] {
                let passes = |event: &Event| {
                    let mut passes = false;
                    self.filters[usize::from(type_id)].visit(event, |other| passes |= other == leaf);
                    passes
                };
                let seen = &self.seen[usize::from(type_id)];
                let late = seen.late.iter().filter(|event| passes(event)).map(|event| (Reason::Late, event));
                let unfit = seen.recent.iter().filter(|event| !passes(event));
                for (reason, event) in late.chain(unfit.map(|event| (Reason::Filter, event))) {
                    let mut loss = Loss::new(reason, event.time, Items::new());
                    (loss.missing, loss.nearest) = (Some(slot), Some(event.clone()));
                    if subject.concerns(&loss) {
                        endings.push(subject.ending(&loss, 0, *place));
                    }
                }
            }
        }
    }
}

impl Node {
    /// The slot, of those of the node, that what comes by an input fills first.
    fn slot_of(&self, port: u8) -> u16 {
        match self {
            Node::Operator(node) => node.base(port),
            Node::Matching(node) => node.base(port),
            Node::Join(node) => node.base(port),
            Node::Pattern(_) => u16::from(port),
            Node::Timer(_) | Node::Change(_) | Node::Define(_) | Node::Rule(_) => 0,
        }
    }
}

impl Subject<'_> {
    /// Whether a loss is one that was asked for.
    fn concerns(&self, loss: &Loss) -> bool {
        let constituents = loss.items.iter().map(|item| &item.event);
        let nearest = loss.nearest.iter().filter(|_| loss.items.is_empty());
        let events: Vec<&Arc<Event>> = constituents.chain(nearest).collect();
        let first = events.iter().map(|event| event.time).min().unwrap_or(loss.time);
        let question = self.question;
        let agrees = |(name, value): &(String, Value<'static>)| {
            let there: Vec<bool> = events.iter().filter_map(|event| self.has(event, name, value)).collect();
            !there.is_empty() && there.iter().all(|equal| *equal)
        };
        first <= question.to && question.from <= loss.time && question.key.iter().all(agrees)
    }

    /// Whether an attribute of an event has a value; nothing where it has no such attribute that is known here.
    fn has(&self, event: &Event, name: &str, value: &Value) -> Option<bool> {
        let (event_type, layout) = self.types.get(usize::from(event.type_id))?;
        let field = event_type.fields.iter().position(|field| field.name == name)?;
        let own = event.value(layout.slot(field)?);
        let as_numbers = || own.as_double()?.partial_cmp(&value.as_double()?);
        Some(own.order(value).or_else(as_numbers) == Some(Ordering::Equal))
    }

    fn ending(&self, loss: &Loss, base: u16, place: Place) -> Ending {
        let role = |slot: u16| self.roles.get(usize::from(base.saturating_add(slot))).cloned();
        let constituents = loss.items.iter().map(|item| self.participant(role(item.slot), &item.event));
        let missing = loss.missing.and_then(role);
        Ending {
            time: loss.time,
            reason: loss.reason,
            place,
            constituents: constituents.collect(),
            nearest: loss.nearest.as_ref().map(|event| self.participant(missing.clone(), event)),
            missing,
            by: loss.by.as_ref().map(|event| self.participant(None, event)),
        }
    }

    fn participant(&self, role: Option<String>, event: &Event) -> Participant {
        let named = self.types.get(usize::from(event.type_id)).filter(|_| event.type_id != NO_TYPE);
        let type_name = named.map_or("Timer", |(event_type, _)| &event_type.name).to_owned();
        let topic = self.topics.get(usize::from(event.source)).filter(|_| event.origin == Origin::Record);
        let own_id = event.bytes(event.own_id);
        let label = match (event.origin, topic) {
            (Origin::Timer, _) => own_id.iter().map(|byte| format!("{byte:02x}")).collect(),
            (Origin::Record, Some(topic)) if own_id.is_empty() => {
                format!("{topic}/{}/{}", event.partition, event.offset)
            }
            _ => String::from_utf8_lossy(own_id).replace('\0', "#"),
        };
        let (partition, offset) = if topic.is_some() { (event.partition, event.offset) } else { (-1, -1) };
        let topic = topic.cloned().unwrap_or_default();
        Participant { role, type_name, time: event.time, topic, partition, offset, label }
    }
}
