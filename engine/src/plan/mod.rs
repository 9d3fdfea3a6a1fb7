//! The compiled plan as the topology package writes it: plain data, checked here once, so that the rest of the
//! engine can index without asking.

mod check;
mod shape;

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

/// The plan format this engine understands; another one is refused.
pub const FORMAT: u32 = 3;

/// What the engine's compact forms have room for.
const MAX_TYPES: usize = u16::MAX as usize - 1;
const MAX_FIELDS: usize = 4096;
const MAX_SLOTS: usize = 4096;
/// What is kept for every slot of every node must have room too.
const MAX_SLOTS_OF_ALL: usize = 1 << 24;
const MAX_INPUTS: usize = 250;
const MAX_ANCESTORS: usize = 100;

/// What a change of a fact is made of: the old state, the new one, the event.
pub const CHANGE_SLOTS: usize = 3;
const MAX_PARAMETERS: usize = 32;
/// Programs of matches nest no deeper, so that running them cannot exhaust the stack.
pub const MAX_PROGRAM_DEPTH: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    Boolean,
    Int,
    Long,
    Float,
    Double,
    String,
    Bytes,
    Timestamp,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Field {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: Type,
    pub optional: bool,
    #[serde(default)]
    pub many: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    Input,
    Defined,
}

#[derive(Debug, Clone, Deserialize)]
pub struct EventType {
    pub name: String,
    pub origin: Origin,
    pub fields: Vec<Field>,
    pub topic: String,
    pub key: Option<usize>,
    pub time: Option<usize>,
    pub lateness_ms: i64,
    pub kind: String,
    pub parent: Option<String>,
    pub id: Option<usize>,
    /// How long ids are remembered; without it for ever.
    #[serde(default)]
    pub remember_ms: Option<i64>,
    pub start: Option<usize>,
    /// Another application, whose complex events they are: the keys of their records are their ids.
    #[serde(default)]
    pub application: Option<String>,
    #[serde(default)]
    pub nulls: Nulls,
}

/// What becomes of records without a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Nulls {
    #[default]
    Refuse,
    Ignore,
}

impl EventType {
    /// Whether two records of it may be one event.
    pub fn has_ids(&self) -> bool {
        self.id.is_some() || self.application.is_some()
    }

    pub fn is_fact(&self) -> bool {
        self.kind == "fact"
    }
}

/// An expression as nested arrays; `expr::compile` gives it a meaning.
pub type RawExpr = serde_json::Value;

/// A slot and one of its fields.
pub type Place = (usize, usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Context {
    Unrestricted,
    Recent,
    Chronicle,
    Continuous,
    Cumulative,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Select {
    Each,
    Last,
    First,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Match {
    pub field: usize,
    /// (slot, field) of an earlier constituent.
    pub equals: Place,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Terminator {
    pub node: usize,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Constituent {
    pub node: usize,
    pub select: Select,
    pub count: usize,
    pub within_ms: Option<i64>,
    pub from: usize,
    #[serde(rename = "match")]
    pub matches: Vec<Match>,
    #[serde(rename = "where")]
    pub condition: Option<RawExpr>,
    pub horizon_ms: Option<i64>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Bound {
    pub constituent: usize,
    pub within_ms: Option<i64>,
    pub from: usize,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Range {
    Between { first: usize, last: usize },
    Back { within_ms: Option<i64>, from: usize },
    Ahead { within_ms: i64, from: usize },
}

#[derive(Debug, Clone, Deserialize)]
pub struct Negation {
    pub node: usize,
    pub range: Range,
    #[serde(rename = "match")]
    pub matches: Vec<Match>,
    #[serde(rename = "where")]
    pub condition: Option<RawExpr>,
    pub horizon_ms: Option<i64>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Aggregate {
    pub function: String,
    pub node: usize,
    pub field: Option<usize>,
    pub argument: Option<f64>,
    pub limit: Option<usize>,
    pub range: Range,
    #[serde(rename = "match")]
    pub matches: Vec<Match>,
    #[serde(rename = "where")]
    pub condition: Option<RawExpr>,
    pub horizon_ms: Option<i64>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Pattern {
    pub terminator: Terminator,
    pub constituents: Vec<Constituent>,
    pub bounds: Vec<Bound>,
    pub negations: Vec<Negation>,
    pub aggregates: Vec<Aggregate>,
    #[serde(rename = "where")]
    pub condition: Option<RawExpr>,
    pub consuming: Vec<usize>,
    pub fingerprint: String,
}

/// An operator of the event algebra.
#[derive(Debug, Clone, Deserialize)]
pub struct Operator {
    pub inputs: Vec<usize>,
    pub slots: usize,
    #[serde(default)]
    pub count: usize,
    #[serde(default)]
    pub star: bool,
    #[serde(default)]
    pub every_ms: i64,
    #[serde(default)]
    pub delay_ms: i64,
    #[serde(default)]
    pub modifier: Option<String>,
    /// Of a periodic event: the slot and field it samples at each tick.
    #[serde(default)]
    pub sample: Option<Place>,
    /// Equality parameters: for each, the places that hold its value.
    pub parameters: Vec<Vec<Place>>,
    #[serde(rename = "where")]
    pub condition: Option<RawExpr>,
    /// Those of the parameters of which no two have one value.
    #[serde(default)]
    pub apart: Vec<usize>,
    /// For each of the conditions in `where`, the slot whose events it is a condition of.
    #[serde(default)]
    pub of: Vec<usize>,
    pub within_ms: Option<i64>,
    pub fingerprint: String,
}

/// An event that a match asks for; without a node it is a point in time that the match makes itself.
#[derive(Debug, Clone, Deserialize)]
pub struct Step {
    pub node: Option<usize>,
    #[serde(rename = "where")]
    pub condition: Option<RawExpr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Take {
    First,
    Each,
    Next,
}

/// What a match looks for; slots are those of its steps.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Program {
    Step {
        slot: usize,
    },
    Wait {
        delay_ms: i64,
        slot: usize,
    },
    Then {
        of: Vec<Program>,
    },
    And {
        of: Vec<Program>,
    },
    Or {
        of: Vec<Program>,
    },
    Alternatives {
        of: Vec<Program>,
    },
    Taking {
        take: Take,
        of: Box<Program>,
    },
    Every {
        of: Box<Program>,
    },
    Not {
        of: Box<Program>,
    },
    AtMost {
        count: u64,
        of: Box<Program>,
    },
    While {
        #[serde(rename = "where")]
        condition: RawExpr,
        of: Box<Program>,
    },
    Within {
        within_ms: i64,
        since: Option<usize>,
        of: Box<Program>,
    },
    Absent {
        within_ms: i64,
        since: Option<usize>,
        of: Box<Program>,
    },
    Repeat {
        low: u64,
        high: Option<u64>,
        take: Take,
        #[serde(rename = "where")]
        condition: Option<RawExpr>,
        until: Option<Box<Program>>,
        of: Box<Program>,
    },
}

#[derive(Debug, Clone, Deserialize)]
pub struct Matching {
    pub steps: Vec<Step>,
    pub program: Program,
    /// The types whose every event it sees.
    pub stream: Vec<usize>,
    /// Equality parameters: for each, the places that hold its value.
    pub parameters: Vec<Vec<Place>>,
    pub fingerprint: String,
}

/// At which event the search goes on behind an occurrence of a match.
#[derive(Debug, Clone, Deserialize)]
pub struct Skip {
    pub to: SkipTo,
    pub role: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SkipTo {
    Next,
    First,
    Last,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Binding {
    pub name: String,
    pub value: RawExpr,
    pub equality: bool,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Rate {
    pub count: usize,
    pub per_ms: Option<i64>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Define {
    pub input: usize,
    #[serde(rename = "type")]
    pub type_id: usize,
    pub rule: String,
    /// Its place among the definitions and rules of the file.
    #[serde(default)]
    pub order: usize,
    pub version: i32,
    pub values: Vec<RawExpr>,
    pub roles: Vec<String>,
    pub bindings: Vec<Binding>,
    pub condition: Option<RawExpr>,
    pub rate: Option<Rate>,
    pub context: Option<Context>,
    pub disjoint: bool,
    #[serde(default)]
    pub skip: Option<Skip>,
    pub fingerprint: String,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Source {
    #[serde(rename = "type")]
    pub type_id: usize,
    pub filter: Option<RawExpr>,
    pub phase: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Timer {
    pub pattern: BTreeMap<String, Option<i64>>,
    pub zone: String,
    pub fingerprint: String,
}

/// The facts of one type that pass a filter.
#[derive(Debug, Clone, Deserialize)]
pub struct Fact {
    #[serde(rename = "type")]
    pub type_id: usize,
    pub filter: Option<RawExpr>,
}

/// The changes of a fact; slots: the old state, the new one, the event.
#[derive(Debug, Clone, Deserialize)]
pub struct FactChange {
    #[serde(rename = "type")]
    pub type_id: usize,
    pub before: Option<RawExpr>,
    pub after: Option<RawExpr>,
    pub event: Option<RawExpr>,
}

/// A fact, an event or a change in a join.
#[derive(Debug, Clone, Deserialize)]
pub struct Condition {
    pub node: usize,
    /// Its first slot in the join.
    pub slot: usize,
    pub negated: bool,
    #[serde(rename = "match")]
    pub matches: Vec<Match>,
    #[serde(rename = "where")]
    pub condition: Option<RawExpr>,
    pub horizon_ms: Option<i64>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Join {
    pub conditions: Vec<Condition>,
    pub slots: usize,
    pub fingerprint: String,
}

/// Something a rule does: with a type, with what a slot holds, or with something outside.
#[derive(Debug, Clone, Deserialize)]
pub struct Action {
    #[serde(rename = "do")]
    pub kind: String,
    #[serde(default, rename = "type")]
    pub type_id: Option<usize>,
    #[serde(default)]
    pub slot: Option<usize>,
    #[serde(default)]
    pub values: Vec<(usize, RawExpr)>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Rule {
    pub input: usize,
    pub rule: String,
    pub order: usize,
    pub version: i32,
    pub roles: Vec<String>,
    pub bindings: Vec<Binding>,
    pub condition: Option<RawExpr>,
    pub rate: Option<Rate>,
    pub context: Option<Context>,
    pub disjoint: bool,
    #[serde(default)]
    pub skip: Option<Skip>,
    pub actions: Vec<Action>,
    pub coupling: String,
    pub priority: i64,
    pub active: bool,
    pub fingerprint: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Node {
    Source(Source),
    Timer(Timer),
    Or(Operator),
    And(Operator),
    Seq(Operator),
    Any(Operator),
    Aperiodic(Operator),
    Periodic(Operator),
    Not(Operator),
    Plus(Operator),
    Modified(Operator),
    Pattern(Pattern),
    Match(Matching),
    Fact(Fact),
    Change(FactChange),
    Join(Join),
    Define(Define),
    Rule(Rule),
}

#[derive(Debug, Clone, Deserialize)]
pub struct Subtopology {
    pub name: String,
    pub topics: Vec<String>,
    pub nodes: Vec<usize>,
    pub subscribers: Vec<usize>,
    pub forwards: Vec<Forward>,
    pub groups: Vec<Group>,
}

/// What some leaves let pass, sent on once: by the value of a field, or to where global rules run.
#[derive(Debug, Clone, Deserialize)]
pub struct Forward {
    #[serde(rename = "type")]
    pub type_id: usize,
    pub nodes: Vec<usize>,
    pub key: Option<usize>,
    pub topic: String,
}

/// Global rules that run in one partition, and all they rest on.
#[derive(Debug, Clone, Deserialize)]
pub struct Group {
    pub subscribers: Vec<usize>,
    pub nodes: Vec<usize>,
}

impl Subtopology {
    /// The nodes of one of its tasks, and the definitions and rules among them that belong to it.
    pub fn task(&self, partition: i32) -> Result<(&[usize], &[usize]), String> {
        if self.groups.is_empty() {
            return Ok((&self.nodes, &self.subscribers));
        }
        let group = usize::try_from(partition).ok().and_then(|number| self.groups.get(number));
        let group = group.ok_or_else(|| format!("no rules of {} are in partition {partition}", self.name))?;
        Ok((&group.nodes, &group.subscribers))
    }
}

#[derive(Debug, Clone, Deserialize)]
pub struct Plan {
    pub app: String,
    pub types: Vec<EventType>,
    pub nodes: Vec<Node>,
    pub subtopologies: Vec<Subtopology>,
    #[serde(skip)]
    slots: Slots,
    #[serde(skip)]
    relations: Relations,
}

/// Who extends whom, and who reads what.
#[derive(Debug, Clone, Default)]
struct Relations {
    parents: Vec<Option<usize>>,
    extending: Vec<Vec<usize>>,
    subscribers: Vec<Vec<usize>>,
    read: Vec<bool>,
}

/// What stands in the slots of each node, and in which order they are written; found out once.
#[derive(Debug, Clone, Default)]
struct Slots {
    types: Vec<Vec<Option<usize>>>,
    written: Vec<Vec<u16>>,
}

#[derive(Deserialize)]
struct Header {
    format: u32,
}

impl Plan {
    pub fn parse(json: &str) -> Result<Plan, String> {
        let header: Header = serde_json::from_str(json).map_err(|e| format!("not a plan: {e}"))?;
        if header.format != FORMAT {
            return Err(format!(
                "the plan has format {}, this engine understands format {FORMAT}: upgrade the older side",
                header.format
            ));
        }
        let mut plan: Plan = serde_json::from_str(json).map_err(|e| format!("not a plan: {e}"))?;
        let named: HashMap<&str, usize> = plan.types.iter().map(|t| t.name.as_str()).zip(0..).collect();
        let parent = |event_type: &EventType| named.get(event_type.parent.as_deref()?).copied();
        plan.relations.parents = plan.types.iter().map(parent).collect();
        plan.lay_out()?;
        plan.check()?;
        plan.relate();
        Ok(plan)
    }

    /// The first sub-topology that reads a topic.
    pub fn first_reader(&self, topic: &str) -> Option<&str> {
        let reads = |sub: &&Subtopology| sub.topics.iter().any(|read| read == topic);
        self.subtopologies.iter().find(reads).map(|sub| sub.name.as_str())
    }

    pub fn subtopology(&self, name: &str) -> Result<&Subtopology, String> {
        self.subtopologies
            .iter()
            .find(|s| s.name == name)
            .ok_or_else(|| format!("the plan has no sub-topology `{name}`"))
    }
}
