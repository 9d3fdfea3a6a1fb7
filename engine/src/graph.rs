//! The event graph of one task, built from the plan: events go in at the leaves, complex events come out at the roots.

use std::collections::HashMap;

use crate::avro::{encode, Malformed};
use crate::event::{Event, Layout, Slot, SlotKind};
use crate::expr::{self, Expr};
use crate::identity::Topics;
use crate::nodes::define::{rule_block, Attribute, Binding, DefineNode, Emitted, Output};
use crate::nodes::pattern::{Constituent, PatternNode};
use crate::nodes::source::SourceNode;
use crate::nodes::store::Store;
use crate::plan::{self, EventType, Plan, Select, Type};
use crate::state::{Change, Entry, Names};

pub enum Node {
    Source(SourceNode),
    Pattern(PatternNode),
    Define(DefineNode),
    /// A node of another sub-topology.
    Elsewhere,
}

/// Where the complex events of one type go, as the worker says.
pub struct Destination {
    pub topic: String,
    pub frame: Vec<u8>,
    pub partitions: i32,
    pub max_bytes: usize,
}

pub struct Graph {
    nodes: Vec<Node>,
    /// Type → its source nodes.
    leaves: Vec<Vec<usize>>,
    patterns: Vec<usize>,
    /// The source nodes the event at hand passed; kept to spare an allocation an event.
    passed: Vec<usize>,
}

/// A complex event that could not be encoded, and why.
pub struct Unencodable {
    pub message: String,
}

pub fn slot_kind(kind: Type) -> SlotKind {
    match kind {
        Type::Boolean => SlotKind::Boolean,
        Type::Int | Type::Long | Type::Timestamp => SlotKind::Long,
        Type::Float | Type::Double => SlotKind::Double,
        Type::String => SlotKind::Text,
    }
}

/// The rows of every type: the attributes some node reads, and the one that carries the event time.
pub fn layouts(plan: &Plan, nodes: &[usize]) -> Vec<Layout> {
    let mut needed: Vec<Vec<bool>> = plan.types.iter().map(|t| vec![false; t.fields.len()]).collect();
    for (event_type, fields) in plan.types.iter().zip(&mut needed) {
        if let Some(time) = event_type.time {
            fields[time] = true;
        }
    }
    for &id in nodes {
        for (type_id, field) in fields_read(plan, id) {
            if let Some(flag) = needed[type_id].get_mut(field) {
                *flag = true;
            }
        }
    }
    plan.types
        .iter()
        .zip(needed)
        .map(|(event_type, flags)| {
            let kinds: Vec<_> = event_type.fields.iter().map(|f| slot_kind(f.kind)).zip(flags).collect();
            Layout::new(&kinds)
        })
        .collect()
}

/// Types of the constituents of a pattern, the terminator's first.
fn constituent_types(plan: &Plan, pattern: usize) -> Vec<usize> {
    let source_type = |node: usize| match &plan.nodes[node] {
        plan::Node::Source { type_id, .. } => *type_id,
        _ => unreachable!("the plan was checked: a pattern reads sources"),
    };
    match &plan.nodes[pattern] {
        plan::Node::Pattern { terminator, constituents, .. } => std::iter::once(terminator.node)
            .chain(constituents.iter().map(|c| c.node))
            .map(source_type)
            .collect(),
        _ => unreachable!("the plan was checked: a define reads a pattern"),
    }
}

/// Every (type, field) that a node reads.
fn fields_read(plan: &Plan, id: usize) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let types = match &plan.nodes[id] {
        plan::Node::Source { type_id, filter } => {
            filter.iter().for_each(|f| expr::fields(f, &mut found));
            vec![*type_id]
        }
        plan::Node::Pattern { constituents, .. } => {
            for (index, constituent) in constituents.iter().enumerate() {
                constituent.condition.iter().for_each(|c| expr::fields(c, &mut found));
                for tie in &constituent.matches {
                    found.extend([(index + 1, tie.field), tie.equals]);
                }
            }
            constituent_types(plan, id)
        }
        plan::Node::Define { input, values, bindings, .. } => {
            values.iter().for_each(|v| expr::fields(v, &mut found));
            bindings.iter().for_each(|b| expr::fields(&b.value, &mut found));
            constituent_types(plan, *input)
        }
    };
    found.into_iter().filter_map(|(constituent, field)| Some((*types.get(constituent)?, field))).collect()
}

impl Graph {
    pub fn build(
        plan: &Plan,
        nodes: &[usize],
        types: &[(EventType, Layout)],
        destinations: &HashMap<String, Destination>,
        topics: &[String],
        own_partition: i32,
    ) -> Result<Graph, String> {
        let builder = Builder { plan, types, destinations, topics, own_partition };
        let mut graph = Graph {
            nodes: plan.nodes.iter().map(|_| Node::Elsewhere).collect(),
            leaves: vec![Vec::new(); plan.types.len()],
            patterns: Vec::new(),
            passed: Vec::new(),
        };
        for &id in nodes {
            graph.nodes[id] = builder.node(id)?;
            graph.connect(plan, id)?;
        }
        Ok(graph)
    }

    fn connect(&mut self, plan: &Plan, id: usize) -> Result<(), String> {
        match &plan.nodes[id] {
            plan::Node::Source { type_id, .. } => self.leaves[*type_id].push(id),
            plan::Node::Pattern { terminator, constituents, .. } => {
                self.patterns.push(id);
                let inputs = std::iter::once(terminator.node).chain(constituents.iter().map(|c| c.node));
                for (port, input) in inputs.enumerate() {
                    match &mut self.nodes[input] {
                        Node::Source(source) => source.readers.push((id, port)),
                        _ => {
                            return Err(
                                "the plan is inconsistent: a pattern reads another sub-topology".into()
                            )
                        }
                    }
                }
            }
            plan::Node::Define { input, .. } => match &mut self.nodes[*input] {
                Node::Pattern(pattern) => pattern.outputs.push(id),
                _ => return Err("the plan is inconsistent: a define reads another sub-topology".into()),
            },
        }
        Ok(())
    }

    /// Whether any node wants the event.
    pub fn wants(&self, event: &Event) -> bool {
        self.leaves[event.type_id as usize].iter().any(|&leaf| self.source(leaf).passes(event))
    }

    fn source(&self, id: usize) -> &SourceNode {
        match &self.nodes[id] {
            Node::Source(source) => source,
            _ => unreachable!("leaves are sources"),
        }
    }

    /// Handles one event at its place in the total order: what it ends is detected first, then it is kept, so that
    /// an event never combines with itself.
    pub fn handle(
        &mut self,
        event: &Event,
        topics: &Topics,
        out: &mut Emitted,
        failed: &mut Vec<Unencodable>,
    ) {
        let mut passed = std::mem::take(&mut self.passed);
        passed.clear();
        passed.extend(
            self.leaves[event.type_id as usize]
                .iter()
                .copied()
                .filter(|&leaf| self.source(leaf).passes(event)),
        );
        for &leaf in &passed {
            for &(reader, port) in &self.source(leaf).readers {
                if port == 0 {
                    self.detect(reader, event, topics, out, failed);
                }
            }
        }
        for &leaf in &passed {
            for index in 0..self.source(leaf).readers.len() {
                let (reader, port) = self.source(leaf).readers[index];
                if port > 0 {
                    if let Node::Pattern(pattern) = &mut self.nodes[reader] {
                        pattern.keep(port, event);
                    }
                }
            }
        }
        self.passed = passed;
    }

    fn detect(
        &self,
        pattern: usize,
        event: &Event,
        topics: &Topics,
        out: &mut Emitted,
        failed: &mut Vec<Unencodable>,
    ) {
        let Node::Pattern(pattern) = &self.nodes[pattern] else { return };
        let Some(bound) = pattern.detect(event) else { return };
        for &output in &pattern.outputs {
            if let Node::Define(define) = &self.nodes[output] {
                if let Err(message) = define.emit(&bound, topics, out) {
                    failed.push(Unencodable { message });
                }
            }
        }
    }

    pub fn expire(&mut self, watermark: i64, names: &Names) {
        for &id in &self.patterns {
            if let Node::Pattern(pattern) = &mut self.nodes[id] {
                pattern.expire(watermark, names);
            }
        }
    }

    pub fn changes(&mut self, names: &Names, out: &mut Vec<Change>) {
        for &id in &self.patterns {
            if let Node::Pattern(pattern) = &mut self.nodes[id] {
                pattern.changes(names, out);
            }
        }
    }

    /// Gives an entry to the node it is of; false where the rules have none such any more.
    pub fn load(&mut self, entry: &Entry, layouts: &[&Layout], topics: &Topics) -> Result<bool, Malformed> {
        for &id in &self.patterns {
            if let Node::Pattern(pattern) = &mut self.nodes[id] {
                if pattern.load(entry, layouts, topics)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    pub fn stored(&self) -> usize {
        let count = |id: &usize| match &self.nodes[*id] {
            Node::Pattern(pattern) => pattern.stored(),
            _ => 0,
        };
        self.patterns.iter().map(count).sum()
    }
}

struct Builder<'a> {
    plan: &'a Plan,
    types: &'a [(EventType, Layout)],
    destinations: &'a HashMap<String, Destination>,
    topics: &'a [String],
    own_partition: i32,
}

impl Builder<'_> {
    fn node(&self, id: usize) -> Result<Node, String> {
        match &self.plan.nodes[id] {
            plan::Node::Source { type_id, filter } => {
                let filter = filter.as_ref().map(|f| self.compile(f, &[*type_id])).transpose()?;
                Ok(Node::Source(SourceNode { filter, readers: Vec::new() }))
            }
            plan::Node::Pattern { constituents, fingerprint, .. } => {
                let fingerprint = parse_fingerprint(fingerprint)?;
                let types = constituent_types(self.plan, id);
                let constituents: Result<Vec<_>, _> = constituents
                    .iter()
                    .enumerate()
                    .map(|(index, c)| self.constituent(c, index + 1, &types, fingerprint))
                    .collect();
                Ok(Node::Pattern(PatternNode {
                    fingerprint,
                    constituents: constituents?,
                    outputs: Vec::new(),
                }))
            }
            plan::Node::Define { .. } => self.define(id),
        }
    }

    fn compile(&self, json: &plan::RawExpr, types: &[usize]) -> Result<Expr, String> {
        expr::compile(json, &|constituent, field| self.slot(types, constituent, field))
    }

    fn slot(&self, types: &[usize], constituent: usize, field: usize) -> Option<Slot> {
        let (event_type, layout) = &self.types[*types.get(constituent)?];
        if field < event_type.fields.len() {
            layout.slot(field)
        } else {
            None
        }
    }

    fn constituent(
        &self,
        raw: &plan::Constituent,
        port: usize,
        types: &[usize],
        fingerprint: [u8; 8],
    ) -> Result<Constituent, String> {
        let unread = || "the plan is inconsistent: a match reads no attribute".to_owned();
        let mut own_slots = Vec::new();
        let mut probe = Vec::new();
        for tie in &raw.matches {
            own_slots.push(self.slot(types, port, tie.field).ok_or_else(unread)?);
            let (other, field) = tie.equals;
            probe.push((other, self.slot(types, other, field).ok_or_else(unread)?));
        }
        let condition = raw.condition.as_ref().map(|c| self.compile(c, &types[..=port])).transpose()?;
        let (event_type, layout) = &self.types[types[port]];
        let named = |(index, field): (usize, &plan::Field)| Some((field.name.clone(), layout.slot(index)?));
        // Where the terminator alone decides, nothing but the last can be selected.
        let only_last = raw.select == Select::Last && condition.is_none() && raw.from == 0;
        Ok(Constituent {
            select: raw.select,
            within_ms: raw.within_ms,
            from: raw.from,
            own_slots,
            probe,
            condition,
            type_id: types[port] as u16,
            fields: event_type.fields.iter().enumerate().filter_map(named).collect(),
            store: Store::new(PatternNode::prefix(fingerprint, port), raw.horizon_ms, only_last),
        })
    }

    fn define(&self, id: usize) -> Result<Node, String> {
        let plan::Node::Define { input, type_id, rule, version, roles, values, bindings, fingerprint } =
            &self.plan.nodes[id]
        else {
            unreachable!("called for define nodes only");
        };
        let types = constituent_types(self.plan, *input);
        let defined = &self.plan.types[*type_id];
        let attributes: Result<Vec<_>, String> = defined
            .fields
            .iter()
            .zip(values)
            .map(|(field, value)| {
                let value = self.compile(value, &types)?;
                Ok(Attribute { name: field.name.clone(), kind: field.kind, optional: field.optional, value })
            })
            .collect();
        let bindings: Result<Vec<_>, String> = bindings
            .iter()
            .map(|b| Ok(Binding { name: encode::as_blob(&b.name), value: self.compile(&b.value, &types)? }))
            .collect();
        let destination = self
            .destinations
            .get(&defined.name)
            .ok_or_else(|| format!("no destination was given for complex event {}", defined.name))?;
        let topic = self.topics.iter().position(|t| *t == destination.topic).unwrap_or_default();
        Ok(Node::Define(DefineNode {
            fingerprint: parse_fingerprint(fingerprint)?,
            rule: rule.clone(),
            rule_block: rule_block(rule, *version),
            attributes: attributes?,
            bindings: bindings?,
            key: defined.key,
            roles: self.roles(roles, *input),
            output: Output {
                topic: topic as u32,
                frame: destination.frame.clone(),
                partitions: destination.partitions.max(1),
                own_partition: self.own_partition.rem_euclid(destination.partitions.max(1)),
                max_bytes: destination.max_bytes,
            },
        }))
    }

    fn roles(&self, roles: &[String], pattern: usize) -> Vec<Vec<u8>> {
        let types = constituent_types(self.plan, pattern);
        roles
            .iter()
            .zip(types)
            .map(|(role, id)| [encode::as_blob(role), encode::as_blob(&self.plan.types[id].name)].concat())
            .collect()
    }
}

fn parse_fingerprint(hex: &str) -> Result<[u8; 8], String> {
    u64::from_str_radix(hex, 16)
        .map(u64::to_be_bytes)
        .map_err(|_| format!("the plan is inconsistent: `{hex}` is no fingerprint"))
}
