//! From the plan to the nodes of rules over facts and events.

use crate::avro::encode::{self, Stamp};
use crate::build::{parse_fingerprint, Builder};
use crate::expr::{self, Expr};
use crate::graph::{Graph, Node};
use crate::nodes::change::ChangeNode;
use crate::nodes::conditions::{Condition, Kind};
use crate::nodes::define::DefineNode;
use crate::nodes::emission::{rule_block, Attribute, Binding, Emission, Output, Shape};
use crate::nodes::join::JoinNode;
use crate::nodes::limit::Limit;
use crate::nodes::pool::Pool;
use crate::nodes::route::{End, Map, Probe, Route, Test, Tie};
use crate::nodes::rule::{action_fingerprint, Action, Publish, RuleNode};
use crate::plan::{self, RawExpr};

impl Builder<'_> {
    /// Tells the graph which nodes depend on which facts.
    pub fn connect_facts(&self, graph: &mut Graph, planned: impl Iterator<Item = usize>) {
        let Graph { nodes, rounds, .. } = graph;
        for (id, (node, planned)) in nodes.iter().zip(planned).enumerate() {
            match (node, &self.plan.nodes[planned]) {
                (Node::Change(change), _) => rounds.changing.entry(change.type_id).or_default().push(id),
                (Node::Join(join), plan::Node::Join(raw)) => {
                    if join.watches() {
                        rounds.watching.push(id);
                    }
                    for (port, given) in raw.conditions.iter().enumerate() {
                        if let (plan::Node::Fact(fact), Some(reach_ms)) =
                            (&self.plan.nodes[given.node], join.asks_for_ended(port as u8))
                        {
                            rounds.memory.retain(fact.type_id as u16, reach_ms);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    pub fn change(&self, raw: &plan::FactChange) -> Result<ChangeNode, String> {
        let types = [Some(raw.type_id)];
        Ok(ChangeNode {
            type_id: raw.type_id as u16,
            before: self.optional(&raw.before, &types)?,
            after: self.optional(&raw.after, &types)?,
            event: self.optional(&raw.event, &types)?,
        })
    }

    pub fn join(&self, id: usize, raw: &plan::Join) -> Result<JoinNode, String> {
        let types = self.plan.slot_types(id);
        let slots: Vec<(usize, usize)> =
            raw.conditions.iter().map(|given| (given.slot, self.plan.slot_types(given.node).len())).collect();
        let positive: Vec<bool> = raw.conditions.iter().map(|given| !given.negated).collect();
        let tests = raw.conditions.iter().map(|given| self.tests(&given.condition, types));
        let tests: Vec<Vec<Test>> = tests.collect::<Result<_, _>>()?;
        let mut ties = Vec::new();
        for (condition, given) in raw.conditions.iter().enumerate() {
            for tie in &given.matches {
                let end = |condition: usize, (slot, field): (usize, usize)| {
                    let at = self.slot(types, slot, field);
                    at.map(|at| End { condition, slot, at })
                        .ok_or("the plan is inconsistent: a match reads no attribute")
                };
                let other =
                    slots.iter().position(|(first, count)| (*first..first + count).contains(&tie.equals.0));
                let other = other.ok_or("the plan is inconsistent: a match with no condition")?;
                ties.push(Tie {
                    one: end(condition, (given.slot, tie.field))?,
                    other: end(other, tie.equals)?,
                });
            }
        }
        let asked: Vec<Test> = tests
            .iter()
            .zip(&positive)
            .filter(|(_, positive)| **positive)
            .flat_map(|(t, _)| t.clone())
            .collect();
        let mut conditions: Vec<Condition> = raw
            .conditions
            .iter()
            .map(|given| Condition {
                kind: match &self.plan.nodes[given.node] {
                    plan::Node::Fact(_) => Kind::Fact,
                    plan::Node::Change(_) => Kind::Change,
                    _ => Kind::Event,
                },
                negated: given.negated,
                slot: given.slot,
                types: self.types_of(given.node),
                attributes: match &self.plan.nodes[given.node] {
                    plan::Node::Source(_) => Vec::new(),
                    _ => types[given.slot].map_or(Vec::new(), |id| self.types[id].1.slots().collect()),
                },
                pool: Pool::default(),
                horizon_ms: given.horizon_ms,
                route: Route::default(),
                probe: Probe::default(),
                tests: Vec::new(),
            })
            .collect();
        for start in 0..conditions.len() {
            // What is denied is asked for only where it is the beginning: of what it kept from matching.
            let own = tests[start].iter().filter(|_| !positive[start]);
            let tests: Vec<Test> = asked.iter().chain(own).cloned().collect();
            let map = Map { slots: &slots, positive: &positive, ties: &ties, tests: &tests };
            let mut route = map.route(start);
            for step in &mut route.steps {
                step.probe.index = conditions[step.condition].pool.index(&step.probe.own);
            }
            conditions[start].route = route;
            if !positive[start] {
                let tests: Vec<Expr> = tests[asked.len()..].iter().map(|test| test.expr.clone()).collect();
                let mut probe = map.probe(start, &positive, &tests);
                probe.index = conditions[start].pool.index(&probe.own);
                conditions[start].probe = probe;
            }
        }
        for (condition, tests) in conditions.iter_mut().zip(tests).filter(|(condition, _)| condition.negated)
        {
            condition.tests = tests.into_iter().map(|test| test.expr).collect();
        }
        Ok(JoinNode::new(conditions, raw.slots, parse_fingerprint(&raw.fingerprint)?))
    }

    /// The types of what a leaf lets pass.
    fn types_of(&self, leaf: usize) -> Vec<u16> {
        let read = self.plan.slot_types(leaf).first().copied().flatten();
        let all = read.map_or(&[][..], |read| self.plan.extending(read));
        all.iter().map(|id| *id as u16).collect()
    }

    /// The conditions that must all hold, each with what it speaks of.
    fn tests(&self, raw: &Option<RawExpr>, types: &[Option<usize>]) -> Result<Vec<Test>, String> {
        let mut conjuncts = Vec::new();
        raw.iter().for_each(|raw| expr::conjuncts(raw, &mut conjuncts));
        let test = |raw: &&RawExpr| {
            let mut slots = Vec::new();
            expr::slots(raw, &mut slots);
            Ok(Test { expr: self.compile(raw, types)?, slots })
        };
        conjuncts.iter().map(test).collect()
    }

    pub fn rule(&self, raw: &plan::Rule) -> Result<RuleNode, String> {
        let facts_only = self.facts_only(raw.input);
        let types = self.plan.slot_types(raw.input);
        let fingerprint = parse_fingerprint(&raw.fingerprint)?;
        let hidden = self.hidden(raw.input);
        let actions = raw.actions.iter().enumerate();
        let actions = actions.map(|(number, action)| self.action(raw, number, action, types, &hidden));
        Ok(RuleNode {
            fingerprint,
            rule: raw.rule.clone(),
            order: raw.order,
            priority: raw.priority,
            active: raw.active,
            immediate: raw.coupling == "immediate",
            condition: self.optional_over(raw.input, &raw.condition)?,
            bindings: self.bindings(raw.input, &raw.bindings)?,
            limit: raw.rate.map(|rate| Limit::new(rate, &fingerprint)),
            actions: actions.collect::<Result<_, _>>()?,
            facts_only,
            repeats: self.repeats(raw.input),
            places: self.role_places(raw.input, &raw.roles),
            players: self.players(raw.input, &raw.roles),
            made: (0, 0),
            fired: 0,
            passed_over: 0,
        })
    }

    /// Whether a node asks for facts alone.
    fn facts_only(&self, input: usize) -> bool {
        let plan::Node::Join(join) = &self.plan.nodes[input] else { return false };
        let fact = |given: &plan::Condition| matches!(self.plan.nodes[given.node], plan::Node::Fact(_));
        join.conditions.iter().all(|given| given.negated || fact(given))
    }

    /// Whether a node can find the same constituents at several positions, or several times.
    fn repeats(&self, input: usize) -> bool {
        self.facts_only(input) || matches!(self.plan.nodes[input], plan::Node::Match(_))
    }

    /// The slots of what a fact was before a change: it is no constituent.
    fn hidden(&self, input: usize) -> Vec<usize> {
        let plan::Node::Join(join) = &self.plan.nodes[input] else { return Vec::new() };
        let changes = |given: &&plan::Condition| matches!(self.plan.nodes[given.node], plan::Node::Change(_));
        join.conditions.iter().filter(changes).map(|given| given.slot).collect()
    }

    fn action(
        &self,
        rule: &plan::Rule,
        number: usize,
        raw: &plan::Action,
        types: &[Option<usize>],
        hidden: &[usize],
    ) -> Result<Action, String> {
        let lacking =
            || format!("the plan is inconsistent: `{}` of rule {} lacks something", raw.kind, rule.rule);
        let value = |(field, value): &(usize, RawExpr)| {
            Ok::<_, String>((*field, self.compile_over(rule.input, value)?))
        };
        let values: Vec<_> = raw.values.iter().map(value).collect::<Result<_, _>>()?;
        let all = |type_id: usize| {
            values.iter().map(|(field, _)| *field).eq(0..self.plan.types[type_id].fields.len())
        };
        match raw.kind.as_str() {
            "publish" => {
                let type_id = raw.type_id.filter(|id| all(*id)).ok_or_else(lacking)?;
                let values = values.into_iter().map(|(_, value)| value).collect();
                let publish = self.publish(rule, number, type_id, values, types, hidden)?;
                Ok(Action::Publish(Box::new(publish)))
            }
            "assert" | "update" => {
                let known = |id: &usize| self.plan.types[*id].is_fact() && all(*id);
                let type_id = raw.type_id.filter(known).ok_or_else(lacking)? as u16;
                let values = values.into_iter().map(|(_, value)| value).collect();
                Ok(Action::Add { type_id, values, replace: raw.kind == "update" })
            }
            "modify" => Ok(Action::Modify { slot: raw.slot.ok_or_else(lacking)?, values }),
            "retract" => Ok(Action::Retract { slot: raw.slot.ok_or_else(lacking)? }),
            _ => Ok(Action::Elsewhere),
        }
    }

    fn publish(
        &self,
        rule: &plan::Rule,
        number: usize,
        type_id: usize,
        values: Vec<Expr>,
        types: &[Option<usize>],
        hidden: &[usize],
    ) -> Result<Publish, String> {
        let published = &self.plan.types[type_id];
        let attribute = |(field, value): (&plan::Field, Expr)| Attribute {
            name: field.name.clone(),
            kind: field.kind,
            optional: field.optional,
            many: field.many,
            value,
        };
        let name = |id: &Option<usize>| id.map_or("Timer", |id| self.plan.types[id].name.as_str());
        let role = |(slot, (role, id)): (usize, (&String, &Option<usize>))| match hidden.contains(&slot) {
            true => Stamp::new(Vec::new()),
            false => Stamp::new([encode::as_blob(role), encode::as_blob(name(id))].concat()),
        };
        let destination = self.destinations.get(&published.name);
        let shape = Shape {
            attributes: published.fields.iter().zip(values).map(attribute).collect(),
            bindings: self.bindings(rule.input, &rule.bindings)?,
            key: published.key,
            roles: rule.roles.iter().zip(types).enumerate().map(role).collect(),
            distinct: hidden.is_empty(),
            places: Vec::new(),
            repeats: self.repeats(rule.input),
        };
        let emission = Emission {
            fingerprint: action_fingerprint(parse_fingerprint(&rule.fingerprint)?, number),
            rule: rule.rule.clone().into(),
            rule_block: rule_block(&rule.rule, rule.version, rule.context),
            output: Output {
                topic: destination.map_or(0, |to| self.topic_number(&to.topic)),
                frame: Stamp::new(destination.map_or(Vec::new(), |to| to.frame.clone())),
                partitions: destination.map_or(1, |to| to.partitions.max(1)),
                own_partition: destination
                    .map_or(0, |to| self.own_partition.rem_euclid(to.partitions.max(1))),
                max_bytes: destination.map_or(usize::MAX, |to| to.max_bytes),
            },
            shape: self.emissions.one(shape),
        };
        let event = DefineNode {
            emission,
            type_id: type_id as u16,
            condition: None,
            limit: None,
            order: rule.order,
            made: (0, 0),
            derives: self.plan.is_read(type_id),
            sent: true,
        };
        Ok(Publish { event, sent: destination.is_some() })
    }

    pub fn bindings(&self, input: usize, raw: &[plan::Binding]) -> Result<Vec<Binding>, String> {
        raw.iter()
            .map(|binding| {
                let value = self.compile_over(input, &binding.value)?;
                Ok(Binding {
                    name: Stamp::new(encode::as_blob(&binding.name)),
                    value,
                    equality: binding.equality,
                })
            })
            .collect()
    }

    fn topic_number(&self, topic: &str) -> u32 {
        self.topics.iter().position(|known| known == topic).unwrap_or_default() as u32
    }
}
