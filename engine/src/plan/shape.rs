//! What follows from a plan and is asked for again and again: what stands in the slots of its nodes, who reads whom.

use super::check::ensure;
use super::*;

impl Plan {
    /// The types of the slots of a node, in their order; none for a point in time.
    pub fn slot_types(&self, node: usize) -> &[Option<usize>] {
        &self.slots.types[node]
    }

    /// The slots that have constituents, in the order in which these are written: a point in time that an operator makes
    /// stands before its operands. What is absent or only looked at is no constituent.
    pub fn written_order(&self, node: usize) -> &[u16] {
        &self.slots.written[node]
    }

    /// Finds out what stands in the slots of the nodes, each of which reads earlier ones only.
    pub(super) fn lay_out(&mut self) -> Result<(), String> {
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
        match node {
            Node::Match(matching) => return matching.program.taken(),
            Node::Pattern(pattern) => return (0..=pattern.constituents.len() as u16).collect(),
            Node::Join(join) => return self.taken_by(join),
            _ => {}
        }
        let Some(operator) = node.operator() else { return (0..slots as u16).collect() };
        let is_taken = |number: usize| match node {
            Node::Not(_) => number != 1,
            Node::Aperiodic(_) => operator.star || number < 2,
            Node::Periodic(_) => number == 0 || (operator.star && number == 1),
            _ => true,
        };
        let mut operands = Vec::new();
        let mut base = 0;
        for (number, &input) in inputs.iter().enumerate() {
            if is_taken(number) {
                operands.extend(self.written_order(input).iter().map(|slot| base + slot));
            }
            base += self.slot_types(input).len() as u16;
        }
        (base..slots as u16).chain(operands).collect()
    }

    /// The slots of the facts and events of a join. What a fact was before a change stands in the first of its slots.
    fn taken_by(&self, join: &Join) -> Vec<u16> {
        let slots = |given: &Condition| match self.nodes.get(given.node) {
            Some(Node::Change(_)) => given.slot + 1..given.slot + CHANGE_SLOTS,
            _ => given.slot..given.slot + 1,
        };
        let taken = join.conditions.iter().filter(|given| !given.negated);
        taken.flat_map(slots).map(|slot| slot as u16).collect()
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

    /// Finds out once what stands in relation, so that nobody looks through all types or nodes for it.
    pub(super) fn relate(&mut self) {
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

    /// The slots of what it takes, in the order in which it is written.
    fn taken(&self) -> Vec<u16> {
        match self {
            Program::Step { slot } | Program::Wait { slot, .. } => vec![*slot as u16],
            Program::Not { .. } | Program::Absent { .. } => Vec::new(),
            _ => self.parts().into_iter().flat_map(Program::taken).collect(),
        }
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
