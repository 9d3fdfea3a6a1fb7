//! The compiled plan as the topology package writes it: plain data, checked here once, so that the rest of the
//! engine can index without asking.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

/// The plan format this engine understands; another one is refused.
pub const FORMAT: u32 = 2;

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
}

impl EventType {
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

    pub fn subtopology(&self, name: &str) -> Result<&Subtopology, String> {
        self.subtopologies
            .iter()
            .find(|s| s.name == name)
            .ok_or_else(|| format!("the plan has no sub-topology `{name}`"))
    }

    /// The types of the slots of a node, in their order; none for a point in time.
    pub fn slot_types(&self, node: usize) -> &[Option<usize>] {
        &self.slots.types[node]
    }

    /// The slots of a node in the order in which their constituents are written: a point in time that an operator makes
    /// stands before its operands.
    pub fn written_order(&self, node: usize) -> &[u16] {
        &self.slots.written[node]
    }

    /// Finds out what stands in the slots of the nodes, each of which reads earlier ones only.
    fn lay_out(&mut self) -> Result<(), String> {
        let mut total = 0;
        for (id, node) in self.nodes.iter().enumerate() {
            let inputs = self.inputs(id);
            ensure(inputs.len() <= MAX_INPUTS && inputs.iter().all(|&input| input < id), "a node's inputs")?;
            let own = node.operator().map_or(0, |operator| operator.slots);
            let width = inputs.iter().map(|&input| self.slot_types(input).len()).sum::<usize>().max(own);
            total += width;
            ensure(width <= MAX_SLOTS && total <= MAX_SLOTS_OF_ALL, "the number of a node's slots")?;
            let types = self.types_in_slots(node, &inputs);
            ensure(types.len() <= MAX_SLOTS, "the number of a node's slots")?;
            let written = self.order_of_slots(node, &inputs, types.len());
            self.slots.types.push(types);
            self.slots.written.push(written);
        }
        Ok(())
    }

    fn types_in_slots(&self, node: &Node, inputs: &[usize]) -> Vec<Option<usize>> {
        match node {
            Node::Source(Source { type_id, .. }) | Node::Fact(Fact { type_id, .. }) => vec![Some(*type_id)],
            Node::Timer(_) => vec![None],
            Node::Change(change) => vec![Some(change.type_id); CHANGE_SLOTS],
            Node::Match(matching) => {
                let of_step = |step: &Step| step.node.map_or(&[None][..], |node| self.slot_types(node));
                matching.steps.iter().flat_map(of_step).copied().collect()
            }
            node => {
                let mut types: Vec<_> =
                    inputs.iter().flat_map(|&input| self.slot_types(input)).copied().collect();
                types.resize(node.operator().map_or(types.len(), |operator| operator.slots), None);
                types
            }
        }
    }

    fn order_of_slots(&self, node: &Node, inputs: &[usize], slots: usize) -> Vec<u16> {
        if node.operator().is_none() {
            return (0..slots as u16).collect();
        }
        let mut operands = Vec::new();
        let mut base = 0;
        for &input in inputs {
            operands.extend(self.written_order(input).iter().map(|slot| base + slot));
            base += self.slot_types(input).len() as u16;
        }
        (base..slots as u16).chain(operands).collect()
    }

    /// The equality parameters of a node: for each, the places that hold its value.
    pub fn parameters(&self, node: usize) -> &[Vec<Place>] {
        match &self.nodes[node] {
            Node::Match(matching) => &matching.parameters,
            node => node.operator().map_or(&[], |operator| &operator.parameters),
        }
    }

    /// What the points in time in a slot of a node carry: the type that is sampled, and its field.
    pub fn sampled(&self, node: usize, slot: usize) -> Option<Place> {
        let (mut node, mut slot) = (node, slot);
        while let Some(operator) = self.nodes[node].operator() {
            let mut base = 0;
            let below = operator.inputs.iter().find(|&&input| {
                let width = self.slot_types(input).len();
                base += width;
                slot < base
            });
            match below {
                Some(&input) => (node, slot) = (input, slot + self.slot_types(input).len() - base),
                None => {
                    let (sample, field) = operator.sample?;
                    return Some((self.slot_types(node).get(sample).copied().flatten()?, field));
                }
            }
        }
        None
    }

    /// The nodes a node reads.
    pub fn inputs(&self, node: usize) -> Vec<usize> {
        match &self.nodes[node] {
            Node::Source(_) | Node::Timer(_) | Node::Fact(_) | Node::Change(_) => Vec::new(),
            Node::Pattern(pattern) => pattern.inputs(),
            Node::Match(matching) => matching.steps.iter().filter_map(|step| step.node).collect(),
            Node::Join(join) => join.conditions.iter().map(|given| given.node).collect(),
            Node::Define(define) => vec![define.input],
            Node::Rule(rule) => vec![rule.input],
            node => node.operator().map(|operator| operator.inputs.clone()).unwrap_or_default(),
        }
    }

    fn check(&self) -> Result<(), String> {
        ensure(self.types.len() <= MAX_TYPES, "the number of types")?;
        for event_type in &self.types {
            let fields = event_type.fields.len();
            ensure(fields <= MAX_FIELDS, "the number of a type's attributes")?;
            ensure(event_type.lateness_ms >= 0, "a lateness")?;
            ensure(event_type.remember_ms.is_none_or(|ms| ms >= 0), "how long ids are remembered")?;
            let named = [event_type.key, event_type.time, event_type.id, event_type.start];
            for index in named.into_iter().flatten() {
                ensure(index < fields, "a key, id, time or start attribute")?;
            }
        }
        self.check_families()?;
        for (id, node) in self.nodes.iter().enumerate() {
            ensure(node.times().into_iter().all(|time| time >= 0), "a window")?;
            self.check_node(id, node)?;
        }
        for sub in &self.subtopologies {
            ensure(sub.topics.len() <= MAX_TYPES, "the number of a sub-topology's topics")?;
            for &node in &sub.nodes {
                ensure(node < self.nodes.len(), "a node of a sub-topology")?;
            }
        }
        Ok(())
    }

    /// The rows of a type begin like those of the type it extends.
    fn check_families(&self) -> Result<(), String> {
        for (id, event_type) in self.types.iter().enumerate() {
            ensure(self.ancestors(id).count() <= MAX_ANCESTORS, "the number of types that a type extends")?;
            let Some(parent) = self.relations.parents[id].map(|parent| &self.types[parent]) else { continue };
            let pairs = parent.fields.iter().zip(&event_type.fields);
            let alike = |(one, other): (&Field, &Field)| {
                one.name == other.name && one.kind == other.kind && one.many == other.many
            };
            let begins = parent.fields.len() <= event_type.fields.len() && pairs.into_iter().all(alike);
            ensure(begins, "what a type extends")?;
        }
        Ok(())
    }

    /// Finds out once what stands in relation, so that nobody looks through all types or nodes for it.
    fn relate(&mut self) {
        let mut extending = vec![Vec::new(); self.types.len()];
        for id in 0..self.types.len() {
            extending[id].push(id);
            self.ancestors(id).for_each(|parent| extending[parent].push(id));
        }
        let mut subscribers = vec![Vec::new(); self.nodes.len()];
        let mut read = vec![false; self.types.len()];
        for (id, node) in self.nodes.iter().enumerate() {
            let sources = match node {
                Node::Source(source) => std::slice::from_ref(&source.type_id),
                Node::Match(matching) => &matching.stream[..],
                _ => &[],
            };
            sources.iter().for_each(|source| read[*source] = true);
            node.subscription().into_iter().for_each(|(input, ..)| subscribers[input].push(id));
        }
        let is_read = |id: usize| read[id] || self.ancestors(id).any(|parent| read[parent]);
        let read = (0..self.types.len()).map(is_read).collect();
        self.relations = Relations { extending, subscribers, read, ..std::mem::take(&mut self.relations) };
    }

    /// The types a type extends, the nearest first.
    pub fn ancestors(&self, type_id: usize) -> impl Iterator<Item = usize> + '_ {
        // A circle ends, as it has more of them than are allowed.
        std::iter::successors(self.relations.parents[type_id], |parent| self.relations.parents[*parent])
            .take(MAX_ANCESTORS + 1)
    }

    /// A type and all that extend it.
    pub fn extending(&self, type_id: usize) -> &[usize] {
        &self.relations.extending[type_id]
    }

    /// The definitions and rules that read a node.
    pub fn subscribers(&self, node: usize) -> &[usize] {
        &self.relations.subscribers[node]
    }

    /// Whether some node reads events of a type.
    pub fn is_read(&self, type_id: usize) -> bool {
        self.relations.read[type_id]
    }

    fn check_node(&self, id: usize, node: &Node) -> Result<(), String> {
        match node {
            Node::Source(source) => ensure(source.type_id < self.types.len(), "a source's type")?,
            Node::Define(define) => {
                let defined = self.types.get(define.type_id).ok_or("a define's type does not exist")?;
                ensure(define.values.len() == defined.fields.len(), "the number of a define's values")?;
                ensure(define.roles.len() == self.slot_types(define.input).len(), "a define's roles")?;
            }
            Node::Pattern(pattern) => self.check_pattern(id, pattern)?,
            Node::Match(matching) => self.check_match(matching)?,
            Node::Fact(Fact { type_id, .. }) | Node::Change(FactChange { type_id, .. }) => {
                let known = self.types.get(*type_id).is_some_and(EventType::is_fact);
                ensure(known, "the type of a fact")?;
            }
            Node::Join(join) => self.check_join(id, join)?,
            Node::Rule(rule) => self.check_rule(rule)?,
            _ => {}
        }
        Ok(())
    }

    fn check_join(&self, id: usize, join: &Join) -> Result<(), String> {
        let types = self.slot_types(id);
        ensure(
            join.slots == types.len() && join.slots <= usize::from(u8::MAX),
            "the number of a join's slots",
        )?;
        ensure(join.conditions.iter().any(|given| !given.negated), "the number of a join's conditions")?;
        let mut next = 0;
        for given in &join.conditions {
            ensure(given.slot == next, "the slot of a condition")?;
            let leaf = &self.nodes[given.node];
            ensure(matches!(leaf, Node::Source(_) | Node::Fact(_) | Node::Change(_)), "a condition")?;
            ensure(!given.negated || !matches!(leaf, Node::Change(_)), "a negated condition")?;
            next += self.slot_types(given.node).len();
            for tie in &given.matches {
                let known = |(slot, field): Place| {
                    let fields = types.get(slot).copied().flatten().map(|id| self.types[id].fields.len());
                    ensure(fields.is_some_and(|fields| field < fields), "a match")
                };
                known((given.slot, tie.field))?;
                known(tie.equals)?;
                ensure(tie.equals.0 < given.slot, "a match")?;
            }
        }
        Ok(())
    }

    fn check_rule(&self, rule: &Rule) -> Result<(), String> {
        let types = self.slot_types(rule.input);
        ensure(rule.roles.len() == types.len(), "a rule's roles")?;
        for action in &rule.actions {
            let of_slot = action.slot.map(|slot| types.get(slot).copied().flatten());
            ensure(
                of_slot.is_none_or(|id| id.is_some() || action.kind == "retract"),
                "the slot of an action",
            )?;
            let type_id = action.type_id.or(of_slot.flatten());
            ensure(type_id.is_none_or(|id| id < self.types.len()), "the type of an action")?;
            let fields = type_id.map_or(0, |id| self.types[id].fields.len());
            ensure(action.values.iter().all(|(field, _)| *field < fields), "a value of an action")?;
        }
        Ok(())
    }

    fn check_match(&self, matching: &Matching) -> Result<(), String> {
        let steps = &matching.steps;
        for node in steps.iter().filter_map(|step| step.node) {
            ensure(matches!(self.nodes[node], Node::Source(_)), "a step's node")?;
        }
        for (slot, field) in matching.parameters.iter().flatten() {
            let node = steps.get(*slot).and_then(|step| step.node);
            let fields = node.and_then(|node| self.slot_types(node)[0]).map(|id| self.types[id].fields.len());
            ensure(fields.is_some_and(|fields| *field < fields), "a parameter's place")?;
        }
        ensure(matching.parameters.len() <= MAX_PARAMETERS, "the number of a match's parameters")?;
        ensure(matching.stream.iter().all(|type_id| *type_id < self.types.len()), "a match's stream")?;
        let made: Vec<bool> = steps.iter().map(|step| step.node.is_none()).collect();
        check_program(&matching.program, &made, 0)
    }

    fn check_pattern(&self, id: usize, pattern: &Pattern) -> Result<(), String> {
        let types = self.slot_types(id);
        let known = |(slot, field): Place| {
            let fields = types.get(slot).copied().flatten().map(|id| self.types[id].fields.len());
            ensure(fields.is_some_and(|fields| field < fields), "a match")
        };
        for (index, constituent) in pattern.constituents.iter().enumerate() {
            ensure(constituent.from <= index, "`from` of a constituent")?;
        }
        let ties = pattern.constituents.iter().map(|c| &c.matches).enumerate();
        let ties =
            ties.chain((pattern.constituents.len()..).zip(pattern.negations.iter().map(|n| &n.matches)));
        let aggregates = pattern.constituents.len() + pattern.negations.len();
        let ties = ties.chain((aggregates..).zip(pattern.aggregates.iter().map(|a| &a.matches)));
        for (index, matches) in ties {
            for tie in matches {
                known((index + 1, tie.field))?;
                known(tie.equals)?;
                ensure(tie.equals.0 <= index, "a match")?;
            }
        }
        Ok(())
    }
}

impl Node {
    /// What of a match a definition or rule passes over.
    pub fn skip(&self) -> Option<&Skip> {
        match self {
            Node::Define(define) => define.skip.as_ref(),
            Node::Rule(rule) => rule.skip.as_ref(),
            _ => None,
        }
    }

    /// Whether a definition or rule wants no two occurrences that overlap.
    pub fn is_disjoint(&self) -> bool {
        match self {
            Node::Define(define) => define.disjoint,
            Node::Rule(rule) => rule.disjoint,
            _ => false,
        }
    }

    /// The node a definition or rule reads, and its roles and fingerprint.
    pub fn subscription(&self) -> Option<(usize, &[String], &str)> {
        match self {
            Node::Define(define) => Some((define.input, &define.roles, &define.fingerprint)),
            Node::Rule(rule) => Some((rule.input, &rule.roles, &rule.fingerprint)),
            _ => None,
        }
    }

    /// The lengths of time it speaks of, those of a match aside.
    fn times(&self) -> Vec<i64> {
        let of_range = |range: &Range| match range {
            Range::Between { .. } => None,
            Range::Back { within_ms, .. } => *within_ms,
            Range::Ahead { within_ms, .. } => Some(*within_ms),
        };
        let of_rate = |rate: &Option<Rate>| rate.and_then(|rate| rate.per_ms);
        let times: Vec<Option<i64>> = match self {
            Node::Pattern(pattern) => {
                let constituents = pattern.constituents.iter().flat_map(|c| [c.within_ms, c.horizon_ms]);
                let bounds = pattern.bounds.iter().map(|bound| bound.within_ms);
                let negations = pattern.negations.iter().flat_map(|n| [of_range(&n.range), n.horizon_ms]);
                let aggregates = pattern.aggregates.iter().flat_map(|a| [of_range(&a.range), a.horizon_ms]);
                constituents.chain(bounds).chain(negations).chain(aggregates).collect()
            }
            Node::Join(join) => join.conditions.iter().map(|given| given.horizon_ms).collect(),
            Node::Define(define) => vec![of_rate(&define.rate)],
            Node::Rule(rule) => vec![of_rate(&rule.rate)],
            node => vec![node.operator().and_then(|operator| operator.within_ms)],
        };
        times.into_iter().flatten().collect()
    }

    /// The operator of the event algebra, if the node is one.
    pub fn operator(&self) -> Option<&Operator> {
        match self {
            Node::Or(operator)
            | Node::And(operator)
            | Node::Seq(operator)
            | Node::Any(operator)
            | Node::Aperiodic(operator)
            | Node::Periodic(operator)
            | Node::Not(operator)
            | Node::Plus(operator)
            | Node::Modified(operator) => Some(operator),
            Node::Source(_) | Node::Timer(_) | Node::Pattern(_) | Node::Match(_) => None,
            Node::Fact(_) | Node::Change(_) | Node::Join(_) | Node::Define(_) | Node::Rule(_) => None,
        }
    }
}

impl Program {
    /// Whether it counts time.
    pub fn is_timed(&self) -> bool {
        let own = matches!(self, Program::Wait { .. } | Program::Within { .. } | Program::Absent { .. });
        own || self.parts().into_iter().any(Program::is_timed)
    }

    /// The conditions at and below it.
    pub fn conditions(&self) -> Vec<&RawExpr> {
        let own = match self {
            Program::While { condition, .. } => Some(condition),
            Program::Repeat { condition, .. } => condition.as_ref(),
            _ => None,
        };
        own.into_iter().chain(self.parts().into_iter().flat_map(Program::conditions)).collect()
    }

    /// Its direct parts, in their order.
    pub fn parts(&self) -> Vec<&Program> {
        match self {
            Program::Step { .. } | Program::Wait { .. } => Vec::new(),
            Program::Then { of }
            | Program::And { of }
            | Program::Or { of }
            | Program::Alternatives { of } => of.iter().collect(),
            Program::Repeat { of, until, .. } => {
                std::iter::once(of).chain(until).map(|part| &**part).collect()
            }
            Program::Taking { of, .. }
            | Program::Every { of }
            | Program::Not { of }
            | Program::AtMost { of, .. }
            | Program::While { of, .. }
            | Program::Within { of, .. }
            | Program::Absent { of, .. } => vec![of],
        }
    }
}

/// `made` says of each slot whether the match makes its event itself, a point in time.
fn check_program(program: &Program, made: &[bool], depth: usize) -> Result<(), String> {
    ensure(depth <= MAX_PROGRAM_DEPTH, "the depth of a match")?;
    match program {
        Program::Step { slot } => ensure(made.get(*slot) == Some(&false), "a step's slot")?,
        Program::Wait { delay_ms, slot } => {
            ensure(*delay_ms >= 0 && made.get(*slot) == Some(&true), "a wait")?;
        }
        Program::Then { of } => ensure(of.len() == 2, "the parts of a `then`")?,
        Program::And { of } | Program::Or { of } | Program::Alternatives { of } => {
            ensure(!of.is_empty() && of.len() <= MAX_SLOTS, "the parts of a match")?;
        }
        Program::Within { within_ms, since, .. } | Program::Absent { within_ms, since, .. } => {
            ensure(*within_ms >= 0 && since.is_none_or(|slot| slot < made.len()), "a time in a match")?;
        }
        _ => {}
    }
    program.parts().into_iter().try_for_each(|part| check_program(part, made, depth + 1))
}

impl Pattern {
    /// The nodes it reads, in the order of the slots.
    pub fn inputs(&self) -> Vec<usize> {
        std::iter::once(self.terminator.node)
            .chain(self.constituents.iter().map(|c| c.node))
            .chain(self.negations.iter().map(|n| n.node))
            .chain(self.aggregates.iter().map(|a| a.node))
            .collect()
    }
}

fn ensure(holds: bool, what: &str) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(format!("the plan is inconsistent: {what} is out of range"))
    }
}
