//! Whether the parts of a plan fit together: one that does not is refused, whoever made it.

use super::*;

impl Plan {
    pub(super) fn check(&self) -> Result<(), String> {
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
            let groups = sub.groups.iter().flat_map(|group| group.nodes.iter().chain(&group.subscribers));
            let forwarded = sub.forwards.iter().flat_map(|forward| &forward.nodes);
            for &node in sub.nodes.iter().chain(&sub.subscribers).chain(groups).chain(forwarded) {
                ensure(node < self.nodes.len(), "a node of a sub-topology")?;
            }
            for forward in &sub.forwards {
                let fields = self.types.get(forward.type_id).map(|of| of.fields.len());
                let key = forward.key.unwrap_or_default();
                ensure(fields.is_some_and(|fields| forward.key.is_none() || key < fields), "a forward")?;
            }
        }
        Ok(())
    }

    /// The rows of a type begin like those of the type it extends.
    pub(super) fn check_families(&self) -> Result<(), String> {
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

pub(super) fn ensure(holds: bool, what: &str) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(format!("the plan is inconsistent: {what} is out of range"))
    }
}
