//! From the plan to the event graph: rows that hold what is read, leaves with their filters, nodes and edges.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::aggregate::Function;
use crate::avro::encode::{self, Stamp};
use crate::build_leaves::Leaves;
use crate::census::Place;
use crate::event::{Layout, Slot, SlotKind, NO_TYPE};
use crate::expr::{self, Expr};
use crate::filters::Filters;
use crate::graph::{Destination, Graph, Node};
use crate::nodes::define::DefineNode;
use crate::nodes::emission::{rule_block, Attribute, Emission, Output, Shape};
use crate::nodes::fact::WorkingMemory;
use crate::nodes::limit::Limit;
use crate::nodes::matching::MatchingNode;
use crate::nodes::operator::OperatorNode;
use crate::nodes::pattern::{Aggregate, Bound, Constituent, Negation, Part, PartShape, PatternNode, Range};
use crate::nodes::store::Store;
use crate::nodes::timer::TimerNode;
use crate::plan::{self, Context, EventType, Forward, Match, Plan, RawExpr, Select, Type};
use crate::shapes::Shapes;
use crate::timers::Timers;

/// What points in time are called that have no name.
const UNNAMED: [&str; 3] = ["Timer", "plus", "periodic"];

pub fn slot_kind(field: &plan::Field) -> SlotKind {
    match field.kind {
        _ if field.many => SlotKind::List,
        Type::Boolean => SlotKind::Boolean,
        Type::Int | Type::Long | Type::Timestamp => SlotKind::Long,
        Type::Float | Type::Double => SlotKind::Double,
        Type::String => SlotKind::Text,
        Type::Bytes => SlotKind::Bytes,
    }
}

/// The rows of every type: the attributes some node reads, and those that carry time, start and id. What a type has
/// from the one it extends stands at the same place in the rows of both. `told` are the topics of whose bad records the
/// task tells.
pub fn layouts(plan: &Plan, nodes: &[usize], forwards: &[Forward], told: &[String]) -> Vec<Layout> {
    let mut needed: Vec<Vec<bool>> = plan.types.iter().map(|t| vec![false; t.fields.len()]).collect();
    for (event_type, fields) in plan.types.iter().zip(&mut needed) {
        for field in [event_type.time, event_type.start, event_type.id].into_iter().flatten() {
            fields[field] = true;
        }
        // What a fact is, all its attributes say.
        if event_type.is_fact() {
            fields.fill(true);
        }
    }
    for &id in nodes {
        for (type_id, field) in fields_read(plan, id) {
            if let Some(flag) = needed[type_id].get_mut(field) {
                *flag = true;
            }
        }
    }
    // Who tells of bad records must see what is bad for anyone.
    for (type_id, field) in (0..plan.nodes.len()).flat_map(|id| fields_read(plan, id)) {
        if let Some(flag) =
            needed[type_id].get_mut(field).filter(|_| told.contains(&plan.types[type_id].topic))
        {
            *flag = true;
        }
    }
    for (type_id, field) in forwards.iter().filter_map(|forward| Some((forward.type_id, forward.key?))) {
        needed[type_id][field] = true;
    }
    // An attribute that is read of one of a family is held by all of it that have it: their rows begin alike.
    let roots: Vec<usize> = (0..plan.types.len()).map(|id| plan.ancestors(id).last().unwrap_or(id)).collect();
    let mut families: Vec<Vec<usize>> = vec![Vec::new(); plan.types.len()];
    roots.iter().enumerate().for_each(|(id, root)| families[*root].push(id));
    for family in families.iter().filter(|family| family.len() > 1) {
        let mut all = Vec::new();
        for &id in family {
            all.resize(needed[id].len().max(all.len()), false);
            all.iter_mut().zip(&needed[id]).for_each(|(flag, own)| *flag |= *own);
        }
        for &id in family {
            needed[id].iter_mut().zip(&all).for_each(|(own, flag)| *own = *flag);
        }
    }
    let width = |id: &usize| needed[*id].iter().filter(|flag| **flag).count();
    let widths: Vec<usize> =
        families.iter().map(|of| of.iter().map(width).max().unwrap_or_default()).collect();
    let widest = |id: usize| widths[roots[id]];
    plan.types
        .iter()
        .enumerate()
        .map(|(id, event_type)| {
            let kinds = event_type.fields.iter().map(slot_kind);
            Layout::new(&kinds.zip(needed[id].iter().copied()).collect::<Vec<_>>(), widest(id))
        })
        .collect()
}

/// Every (type, field) that a node reads.
fn fields_read(plan: &Plan, id: usize) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut read = |expr: &Option<RawExpr>| expr.iter().for_each(|e| expr::fields(e, &mut found));
    match &plan.nodes[id] {
        plan::Node::Source(source) => {
            read(&source.filter);
            if source.phase.is_some() {
                found.extend(phase_field(&plan.types[source.type_id]).map(|field| (0, field)));
            }
        }
        plan::Node::Timer(_) => {}
        // Of facts everything is held.
        plan::Node::Fact(_) | plan::Node::Change(_) => {}
        plan::Node::Join(join) => {
            join.conditions.iter().for_each(|given| read(&given.condition));
            for given in &join.conditions {
                found.extend(given.matches.iter().flat_map(|tie| [(given.slot, tie.field), tie.equals]));
            }
        }
        plan::Node::Rule(rule) => {
            read(&rule.condition);
            rule.bindings.iter().for_each(|binding| expr::fields(&binding.value, &mut found));
            let values = rule.actions.iter().flat_map(|action| &action.values);
            values.for_each(|(_, value)| expr::fields(value, &mut found));
        }
        plan::Node::Pattern(pattern) => {
            pattern.constituents.iter().for_each(|c| read(&c.condition));
            pattern.negations.iter().for_each(|n| read(&n.condition));
            pattern.aggregates.iter().for_each(|a| read(&a.condition));
            read(&pattern.condition);
            let constituents = pattern.constituents.iter().map(|c| &c.matches);
            let negations = pattern.negations.iter().map(|n| &n.matches);
            let aggregates = pattern.aggregates.iter().map(|a| &a.matches);
            for (index, matches) in constituents.chain(negations).chain(aggregates).enumerate() {
                found.extend(matches.iter().flat_map(|tie| [(index + 1, tie.field), tie.equals]));
            }
            let first = 1 + pattern.constituents.len() + pattern.negations.len();
            let fields = pattern.aggregates.iter().enumerate();
            found.extend(fields.filter_map(|(index, aggregate)| Some((first + index, aggregate.field?))));
        }
        plan::Node::Match(matching) => {
            matching.steps.iter().for_each(|step| read(&step.condition));
            matching
                .program
                .conditions()
                .into_iter()
                .for_each(|condition| expr::fields(condition, &mut found));
            found.extend(matching.parameters.iter().flatten().copied());
        }
        plan::Node::Define(define) => {
            read(&define.condition);
            define.values.iter().for_each(|value| expr::fields(value, &mut found));
            define.bindings.iter().for_each(|binding| expr::fields(&binding.value, &mut found));
        }
        node => {
            let operator = node.operator().expect("the other nodes are operators");
            read(&operator.condition);
            found.extend(operator.parameters.iter().flatten().copied());
            found.extend(operator.sample);
        }
    }
    let types = plan.slot_types(id);
    let typed = |(slot, field): (usize, usize)| Some((types.get(slot).copied().flatten()?, field));
    found.into_iter().filter_map(typed).collect()
}

pub fn phase_field(event_type: &EventType) -> Option<usize> {
    event_type.fields.iter().position(|field| field.name == "phase")
}

/// What becomes of what a node finds: all is passed on, or what does not overlap; or it is found for one definition
/// alone, as that says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    Free,
    Disjoint,
    Of(usize),
}

impl Way {
    fn of(disjoint: bool) -> Way {
        if disjoint {
            Way::Disjoint
        } else {
            Way::Free
        }
    }
}

/// A node of the plan in one way it is used: its context, and what becomes of what it finds.
pub type Variant = (usize, Option<Context>, Way);

pub struct Builder<'a> {
    pub plan: &'a Plan,
    pub nodes: &'a [usize],
    /// The definitions and rules that belong to the task; other definitions only make what these read.
    pub subscribers: &'a [usize],
    /// What the task sends on.
    pub forwards: &'a [Forward],
    pub types: &'a [(EventType, Layout)],
    pub destinations: &'a HashMap<String, Destination>,
    pub topics: &'a [String],
    pub own_partition: i32,
    pub parts: Shapes<PartShape>,
    pub emissions: Shapes<Shape>,
}

impl Builder<'_> {
    pub fn build(&self) -> Result<Graph, String> {
        let recursive = self.recursive();
        let variants = self.by_position(self.variants()?, &recursive);
        let ids: BTreeMap<Variant, usize> = variants.iter().copied().zip(0..).collect();
        let mut graph = Graph {
            readers: vec![Vec::new(); variants.len()],
            filters: self.types.iter().map(|_| Filters::default()).collect(),
            ..Graph::default()
        };
        graph.rounds.memory = WorkingMemory::new(self.types);
        let mut leaves = Leaves::default();
        for (id, variant) in variants.iter().enumerate() {
            let mut node = self.node(*variant)?;
            if let (Node::Operator(node), true) = (&mut node, recursive[variant.0]) {
                node.recur();
            }
            self.read_stream(&mut leaves, id, variant.0, &node);
            graph.nodes.push(node);
            graph.legend.nodes.push(Place::new(self.plan, variant.0, variant.1));
            graph.legend.rules.extend(self.named(id, variant.0));
            let inputs = self.plan.inputs(variant.0).into_iter().zip(self.constants(variant.0)?);
            for (port, (input, constants)) in inputs.enumerate() {
                let reader = (id, port as u8);
                if !self.read_leaf(&mut leaves, input, &constants, reader)? {
                    let below = self.below(*variant, input);
                    let input = ids.get(&below).ok_or("the plan is inconsistent: an input is elsewhere")?;
                    graph.readers[*input].push(reader);
                }
            }
        }
        self.read_forwarded(&mut leaves)?;
        leaves.plant(&mut graph, self.plan);
        self.connect_facts(&mut graph, variants.iter().map(|variant| variant.0));
        graph.timers = Timers::new(self.ranks(&variants));
        graph.finish();
        Ok(graph)
    }

    /// The nodes in every way they are used, from the definitions down, in the order of the plan.
    fn variants(&self) -> Result<Vec<Variant>, String> {
        let own: HashSet<usize> = self.nodes.iter().copied().collect();
        let mut found = std::collections::BTreeSet::new();
        let mut open: Vec<Variant> = Vec::new();
        for &id in self.nodes {
            if matches!(self.plan.nodes[id], plan::Node::Define(_) | plan::Node::Rule(_)) {
                open.push((id, None, Way::Free));
            }
        }
        while let Some(variant) = open.pop() {
            if !own.contains(&variant.0) {
                return Err("the plan is inconsistent: a node reads another sub-topology".into());
            }
            let leaf = matches!(self.plan.nodes[variant.0], plan::Node::Source(_) | plan::Node::Fact(_));
            if leaf || !found.insert(variant) {
                continue;
            }
            open.extend(self.plan.inputs(variant.0).into_iter().map(|input| self.below(variant, input)));
        }
        Ok(found.into_iter().collect())
    }

    /// How an input is used by a node that is used in some way.
    pub fn below(&self, (node, context, way): Variant, input: usize) -> Variant {
        match (&self.plan.nodes[node], &self.plan.nodes[input]) {
            (_, plan::Node::Timer(_) | plan::Node::Pattern(_)) => (input, None, Way::Free),
            (_, plan::Node::Change(_) | plan::Node::Join(_)) => (input, None, Way::Free),
            // The timers of two definitions stand at two positions.
            (subscriber, plan::Node::Match(matching)) => {
                let alone = subscriber.skip().is_some() || matching.program.is_timed();
                (input, None, if alone { Way::Of(node) } else { Way::of(subscriber.is_disjoint()) })
            }
            (plan::Node::Rule(rule), _) => {
                (input, Some(rule.context.unwrap_or(Context::Recent)), Way::of(rule.disjoint))
            }
            // Of a point of an occurrence, it is the occurrence that must not overlap.
            (plan::Node::Modified(_), _) => (input, context, way),
            (plan::Node::Define(define), _) => {
                (input, Some(define.context.unwrap_or(Context::Recent)), Way::of(define.disjoint))
            }
            _ => (input, context, Way::Free),
        }
    }

    /// The name of a definition or rule, and its roles.
    fn named(&self, id: usize, planned: usize) -> Option<(usize, String, Vec<String>)> {
        match &self.plan.nodes[planned] {
            plan::Node::Define(define) => Some((id, define.rule.clone(), define.roles.clone())),
            plan::Node::Rule(rule) => Some((id, rule.rule.clone(), rule.roles.clone())),
            _ => None,
        }
    }

    /// Whether an event of a type is one of another type, too.
    pub fn is_one(&self, type_id: usize, of: usize) -> bool {
        type_id == of || self.plan.ancestors(type_id).any(|parent| parent == of)
    }

    fn node(&self, (id, context, way): Variant) -> Result<Node, String> {
        match &self.plan.nodes[id] {
            plan::Node::Timer(timer) => TimerNode::new(timer).map(Box::new).map(Node::Timer),
            plan::Node::Pattern(pattern) => self.pattern(id, pattern).map(Box::new).map(Node::Pattern),
            plan::Node::Match(matching) => {
                MatchingNode::new(self, id, matching, way).map(Box::new).map(Node::Matching)
            }
            plan::Node::Change(change) => self.change(change).map(Node::Change),
            plan::Node::Join(join) => self.join(id, join).map(Box::new).map(Node::Join),
            plan::Node::Define(define) => self.define(id, define).map(Box::new).map(Node::Define),
            plan::Node::Rule(rule) => self.rule(rule).map(Box::new).map(Node::Rule),
            node => {
                let context = context.unwrap_or(Context::Recent);
                let disjoint = way == Way::Disjoint && !matches!(node, plan::Node::Modified(_));
                OperatorNode::new(self, id, node, context, disjoint).map(Box::new).map(Node::Operator)
            }
        }
    }

    /// Where a field of what is in a slot of a node stands; the one field of a tick is what it sampled.
    pub fn place(&self, node: usize, slot: usize, field: usize) -> Option<Slot> {
        match self.plan.sampled(node, slot) {
            Some((type_id, sampled)) if field == 0 => self.slot(&[Some(type_id)], 0, sampled),
            Some(_) => None,
            None => self.slot(self.plan.slot_types(node), slot, field),
        }
    }

    /// An expression of a definition or rule over the occurrences of a node.
    pub fn compile_over(&self, node: usize, json: &RawExpr) -> Result<Expr, String> {
        let written = expr::with_places(json, self.plan.parameters(node));
        expr::compile(&written, &|slot, field| self.place(node, slot, field))
    }

    pub fn optional_over(&self, node: usize, json: &Option<RawExpr>) -> Result<Option<Expr>, String> {
        json.as_ref().map(|json| self.compile_over(node, json)).transpose()
    }

    pub fn compile(&self, json: &RawExpr, types: &[Option<usize>]) -> Result<Expr, String> {
        expr::compile(json, &|slot, field| self.slot(types, slot, field))
    }

    pub fn optional(&self, json: &Option<RawExpr>, types: &[Option<usize>]) -> Result<Option<Expr>, String> {
        json.as_ref().map(|json| self.compile(json, types)).transpose()
    }

    /// Where a field of what is in a slot stands.
    pub fn slot(&self, types: &[Option<usize>], slot: usize, field: usize) -> Option<Slot> {
        let (event_type, layout) = &self.types[(*types.get(slot)?)?];
        if field < event_type.fields.len() {
            layout.slot(field)
        } else {
            None
        }
    }

    fn part(
        &self,
        slot: usize,
        matches: &[Match],
        condition: &Option<RawExpr>,
        types: &[Option<usize>],
        store: Store,
    ) -> Result<Part, String> {
        let unread = || "the plan is inconsistent: a match reads no attribute".to_owned();
        let mut own_slots = Vec::new();
        let mut probe = Vec::new();
        for tie in matches {
            own_slots.push(self.slot(types, slot, tie.field).ok_or_else(unread)?);
            let (other, field) = tie.equals;
            probe.push((other, self.slot(types, other, field).ok_or_else(unread)?));
        }
        let held = types.get(slot).copied().flatten();
        let types_held = held
            .map_or(vec![NO_TYPE], |held| self.plan.extending(held).iter().map(|id| *id as u16).collect());
        // What comes behind it is not known yet when the condition is evaluated.
        let condition = self.optional(condition, &types[..=slot])?;
        let shape = PartShape { slot, types: types_held, own_slots, probe, condition };
        Ok(Part { shape: self.parts.one(shape), store })
    }

    fn pattern(&self, id: usize, raw: &plan::Pattern) -> Result<PatternNode, String> {
        let types = self.plan.slot_types(id);
        let fingerprint = parse_fingerprint(&raw.fingerprint)?;
        let prefix = |slot: usize| [&fingerprint[..], &[slot as u8]].concat();
        let mut constituents = Vec::new();
        for (index, given) in raw.constituents.iter().enumerate() {
            // Where the terminator alone decides, nothing but the last can be selected.
            let only_last = given.select == Select::Last
                && given.count == 1
                && given.condition.is_none()
                && given.from == 0
                && raw.consuming.is_empty();
            let store = Store::new(prefix(index + 1), given.horizon_ms, only_last);
            let part = self.part(index + 1, &given.matches, &given.condition, types, store)?;
            let (select, count, within_ms, from) = (given.select, given.count, given.within_ms, given.from);
            constituents.push(Constituent { part, select, count, within_ms, from });
        }
        let mut slot = 1 + constituents.len();
        let mut negations = Vec::new();
        for given in &raw.negations {
            let store = Store::new(prefix(slot), given.horizon_ms, false);
            let part = self.part(slot, &given.matches, &given.condition, types, store)?;
            negations.push(Negation { part, range: range(given.range, constituents.len())? });
            slot += 1;
        }
        let mut aggregates = Vec::new();
        for given in &raw.aggregates {
            let store = Store::new(prefix(slot), given.horizon_ms, false);
            let part = self.part(slot, &given.matches, &given.condition, types, store)?;
            let function = Function::parse(&given.function);
            let function = function.ok_or_else(|| format!("an unknown aggregate: {}", given.function))?;
            let range = range(given.range, constituents.len())?;
            aggregates.push(Aggregate {
                ready: ready(range, &given.matches, &given.condition, slot),
                part,
                function,
                field: given
                    .field
                    .map(|field| self.slot(types, slot, field).ok_or("an aggregate of nothing"))
                    .transpose()?,
                argument: given.argument.unwrap_or_default(),
                limit: given.limit,
                range,
            });
            slot += 1;
        }
        let bounds = raw.bounds.iter().map(|given| Bound {
            slot: given.constituent,
            within_ms: given.within_ms,
            from: given.from,
            ready: given.constituent.max(given.from),
        });
        let bounds: Vec<Bound> = bounds.collect();
        let chosen = constituents.len();
        if bounds.iter().any(|bound| bound.ready > chosen) || raw.consuming.iter().any(|slot| *slot > chosen)
        {
            return Err("the plan is inconsistent: a bound or `consuming` of no constituent".into());
        }
        let condition = self.optional(&raw.condition, types)?;
        let consuming = raw.consuming.clone();
        Ok(PatternNode::new(constituents, bounds, negations, aggregates, condition, consuming, fingerprint))
    }

    /// Of a definition over a pattern or an event expression, the slots of each role.
    pub fn role_places(&self, input: usize, roles: &[String]) -> Vec<Vec<u16>> {
        match &self.plan.nodes[input] {
            plan::Node::Pattern(_) => self.players(input, roles),
            node if node.operator().is_some() => self.players(input, roles),
            _ => Vec::new(),
        }
    }

    /// The slots of each role that the constituents of a node play, as these are written; points in time without a name
    /// are of one.
    pub fn players(&self, input: usize, roles: &[String]) -> Vec<Vec<u16>> {
        let mut places: Vec<(&str, Vec<u16>)> = Vec::new();
        let types = self.plan.slot_types(input);
        for &slot in self.plan.written_order(input) {
            let Some(role) = roles.get(usize::from(slot)).map(String::as_str) else { continue };
            let unnamed = types[usize::from(slot)].is_none() && UNNAMED.contains(&role);
            let role = if unnamed { "" } else { role };
            match places.iter_mut().find(|(known, _)| *known == role) {
                Some((_, slots)) => slots.push(slot),
                None => places.push((role, vec![slot])),
            }
        }
        places.into_iter().map(|(_, slots)| slots).collect()
    }

    fn define(&self, id: usize, raw: &plan::Define) -> Result<DefineNode, String> {
        let types = self.plan.slot_types(raw.input).to_vec();
        let defined = &self.plan.types[raw.type_id];
        let fingerprint = parse_fingerprint(&raw.fingerprint)?;
        let attributes: Result<Vec<_>, String> = defined
            .fields
            .iter()
            .zip(&raw.values)
            .map(|(field, value)| {
                let value = self.compile_over(raw.input, value)?;
                let (name, kind) = (field.name.clone(), field.kind);
                Ok(Attribute { name, kind, optional: field.optional, many: field.many, value })
            })
            .collect();
        let destination = self
            .destinations
            .get(&defined.name)
            .ok_or_else(|| format!("no destination was given for complex event {}", defined.name))?;
        let topic = self.topics.iter().position(|t| *t == destination.topic).unwrap_or_default();
        let name = |id: &Option<usize>| id.map_or("Timer", |id| self.plan.types[id].name.as_str());
        let places = self.role_places(raw.input, &raw.roles);
        let shape = Shape {
            attributes: attributes?,
            bindings: self.bindings(raw.input, &raw.bindings)?,
            key: defined.key,
            roles: raw
                .roles
                .iter()
                .zip(&types)
                .map(|(role, id)| Stamp::new([encode::as_blob(role), encode::as_blob(name(id))].concat()))
                .collect(),
            distinct: places.iter().all(|place| place.len() == 1),
            places,
            repeats: matches!(self.plan.nodes[raw.input], plan::Node::Match(_)),
        };
        let emission = Emission {
            fingerprint,
            rule: raw.rule.clone().into(),
            rule_block: rule_block(&raw.rule, raw.version, raw.context),
            output: Output {
                topic: topic as u32,
                frame: Stamp::new(destination.frame.clone()),
                partitions: destination.partitions.max(1),
                own_partition: self.own_partition.rem_euclid(destination.partitions.max(1)),
                max_bytes: destination.max_bytes,
            },
            shape: self.emissions.one(shape),
        };
        Ok(DefineNode {
            emission,
            type_id: raw.type_id as u16,
            condition: self.optional_over(raw.input, &raw.condition)?,
            limit: raw.rate.map(|rate| Box::new(Limit::new(rate, &fingerprint))),
            order: raw.order,
            made: (0, 0),
            derives: self.plan.is_read(raw.type_id),
            sent: self.subscribers.contains(&id),
        })
    }
}

/// A range, whose ends are constituents.
fn range(given: plan::Range, constituents: usize) -> Result<Range, String> {
    let ends = match given {
        plan::Range::Between { first, last } => [first, last],
        plan::Range::Back { from, .. } | plan::Range::Ahead { from, .. } => [from, from],
    };
    if ends.iter().any(|end| *end > constituents) {
        return Err("the plan is inconsistent: a range of no constituent".into());
    }
    Ok(match given {
        plan::Range::Between { first, last } => Range::Between { first, last },
        plan::Range::Back { within_ms, from } => Range::Back { within_ms, from },
        plan::Range::Ahead { within_ms, from } => Range::Ahead { within_ms, from },
    })
}

/// The last constituent that an aggregate speaks of.
fn ready(range: Range, matches: &[Match], condition: &Option<RawExpr>, own: usize) -> usize {
    let mut spoken = Vec::new();
    condition.iter().for_each(|condition| expr::slots(condition, &mut spoken));
    let ends = match range {
        Range::Between { first, last } => first.max(last),
        Range::Back { from, .. } | Range::Ahead { from, .. } => from,
    };
    let spoken = spoken.into_iter().filter(|slot| *slot != own);
    spoken.chain(matches.iter().map(|tie| tie.equals.0)).max().unwrap_or_default().max(ends)
}

pub fn parse_fingerprint(hex: &str) -> Result<[u8; 8], String> {
    let number = if hex.len() == 16 { u64::from_str_radix(hex, 16).ok() } else { None };
    number.map(u64::to_be_bytes).ok_or_else(|| format!("the plan is inconsistent: `{hex}` is no fingerprint"))
}
