//! The leaves of the graph: what the sources of the plan let pass, narrowed for a pattern by what its ties say.
//!
//! Where an attribute of one constituent must equal a constant, an attribute of another that is tied to it must, too.
//! With that in its filter, an event that could never be chosen does not reach the pattern: of a thousand rules for a
//! sensor each, it meets those of its own.

use std::collections::HashMap;

use crate::build::{phase_field, Builder};
use crate::census::Place;
use crate::event::Slot;
use crate::expr::{Comparison, Expr};
use crate::filters;
use crate::graph::{Graph, Node, Reader};
use crate::nodes::matching;
use crate::plan::{self, Match};

/// Constants that attributes must equal.
pub type Constants = Vec<(Slot, Expr)>;

struct Leaf {
    /// The node of the plan; none of what a match sees beside its steps.
    planned: Option<usize>,
    types: Vec<usize>,
    filter: Option<Expr>,
    readers: Vec<Reader>,
}

#[derive(Default)]
pub struct Leaves {
    made: Vec<Leaf>,
    /// By the node of the plan, and how it is narrowed.
    known: HashMap<(usize, String), usize>,
}

impl Leaves {
    /// Puts the leaves into the graph.
    pub fn plant(mut self, graph: &mut Graph, plan: &plan::Plan) {
        // The legend tells of those that stand in the plan: they come first.
        self.made.sort_by_key(|leaf| leaf.planned.is_none());
        for (id, leaf) in self.made.into_iter().enumerate() {
            if let Some(planned) = leaf.planned {
                graph.legend.leaves.push(Place::new(plan, planned, None));
                graph.legend.types.push(leaf.types.iter().map(|type_id| *type_id as u16).collect());
            }
            leaf.types.iter().for_each(|type_id| graph.filters[*type_id].add(id, leaf.filter.as_ref()));
            graph.leaf_readers.push(leaf.readers);
        }
    }
}

/// An attribute in one slot of a pattern that equals one in another.
struct Tie {
    one: (usize, Slot),
    other: (usize, Slot),
}

impl Builder<'_> {
    /// Lets a node read one of its inputs, when that is a leaf; false where it is none.
    pub fn read_leaf(
        &self,
        leaves: &mut Leaves,
        input: usize,
        constants: &[(Slot, Expr)],
        reader: Reader,
    ) -> Result<bool, String> {
        let (type_id, filter) = match &self.plan.nodes[input] {
            plan::Node::Source(source) => (source.type_id, self.filter(source)?),
            plan::Node::Fact(fact) => (fact.type_id, self.optional(&fact.filter, &[Some(fact.type_id)])?),
            _ => return Ok(false),
        };
        let Leaves { made, known } = leaves;
        let leaf = *known.entry((input, format!("{constants:?}"))).or_insert_with(|| {
            let narrowed = constants.iter().map(|(at, constant)| equals(*at, constant.clone()));
            let filter = narrowed.chain(filter).reduce(|all, one| Expr::And(Box::new([all, one])));
            let types = self.plan.extending(type_id).to_vec();
            made.push(Leaf { planned: Some(input), types, filter, readers: Vec::new() });
            made.len() - 1
        });
        made[leaf].readers.push(reader);
        Ok(true)
    }

    /// Makes a leaf for each type and node of what is sent on, in the order of the forwards.
    pub fn read_forwarded(&self, leaves: &mut Leaves) -> Result<(), String> {
        for forward in self.forwards {
            for &node in &forward.nodes {
                let filter = match &self.plan.nodes[node] {
                    plan::Node::Source(source) => self.filter(source)?,
                    _ => None,
                };
                let (planned, types) = (Some(node), vec![forward.type_id]);
                leaves.made.push(Leaf { planned, types, filter, readers: Vec::new() });
            }
        }
        Ok(())
    }

    /// Lets a match that looks at every event of its types have them, whatever its steps ask for.
    pub fn read_stream(&self, leaves: &mut Leaves, id: usize, planned: usize, node: &Node) {
        let plan::Node::Match(matching) = &self.plan.nodes[planned] else { return };
        if matches!(node, Node::Matching(node) if node.streams()) {
            let readers = vec![(id, matching::STREAM)];
            leaves.made.push(Leaf { planned: None, types: matching.stream.clone(), filter: None, readers });
        }
    }

    /// For each input of a node what must hold beside its filter for anything to come of it.
    pub fn constants(&self, planned: usize) -> Result<Vec<Constants>, String> {
        let inputs = self.plan.inputs(planned);
        let plan::Node::Pattern(pattern) = &self.plan.nodes[planned] else {
            return Ok(inputs.iter().map(|_| Constants::new()).collect());
        };
        let own = |input: &usize| match &self.plan.nodes[*input] {
            plan::Node::Source(source) => {
                Ok(self.filter(source)?.map_or(Constants::new(), |filter| filters::constants(&filter)))
            }
            _ => Ok(Constants::new()),
        };
        let own: Vec<Constants> = inputs.iter().map(own).collect::<Result<_, String>>()?;
        let mut known = own.clone();
        let ties = self.ties(planned, pattern);
        // What is chosen must fulfil every tie; what is counted or forbidden says nothing of what is chosen.
        let chosen = 1 + pattern.constituents.len();
        let mut grows = true;
        while grows {
            grows = false;
            for tie in &ties {
                grows |= learn(&mut known, tie.one, tie.other);
                grows |= tie.one.0 < chosen && learn(&mut known, tie.other, tie.one);
            }
        }
        for (known, own) in known.iter_mut().zip(&own) {
            known.retain(|(at, _)| own.iter().all(|(other, _)| other != at));
        }
        Ok(known)
    }

    fn ties(&self, planned: usize, pattern: &plan::Pattern) -> Vec<Tie> {
        let types = self.plan.slot_types(planned);
        let constituents = pattern.constituents.iter().map(|given| &given.matches);
        let negations = pattern.negations.iter().map(|given| &given.matches);
        let aggregates = pattern.aggregates.iter().map(|given| &given.matches);
        let all = constituents.chain(negations).chain(aggregates).zip(1..);
        let tie = |(slot, tie): (usize, &Match)| {
            let one = (slot, self.slot(types, slot, tie.field)?);
            Some(Tie { one, other: (tie.equals.0, self.slot(types, tie.equals.0, tie.equals.1)?) })
        };
        all.flat_map(|(matches, slot)| matches.iter().map(move |tie| (slot, tie))).filter_map(tie).collect()
    }

    fn filter(&self, source: &plan::Source) -> Result<Option<Expr>, String> {
        let filter = self.optional(&source.filter, &[Some(source.type_id)])?;
        let (event_type, layout) = &self.types[source.type_id];
        let Some(phase) = &source.phase else { return Ok(filter) };
        let at = phase_field(event_type).and_then(|field| layout.slot(field));
        let at = at.ok_or("the plan is inconsistent: a phase of an event that has none")?;
        let is_phase = equals(at, Expr::Text(phase.as_bytes().into()));
        Ok(Some(match filter {
            Some(filter) => Expr::And(Box::new([is_phase, filter])),
            None => is_phase,
        }))
    }
}

fn equals(at: Slot, constant: Expr) -> Expr {
    Expr::Compare(Comparison::Eq, Box::new([Expr::Field { slot: 0, at }, constant]))
}

/// Notes for one attribute the constant that another one, which it equals, must equal; false where that is no news.
fn learn(known: &mut [Constants], (slot, at): (usize, Slot), (other, there): (usize, Slot)) -> bool {
    let find = |slot: usize, at: Slot| {
        let (_, constant) = known.get(slot)?.iter().find(|(place, _)| *place == at)?;
        Some(constant.clone())
    };
    if at.kind != there.kind || find(slot, at).is_some() {
        return false;
    }
    let found = find(other, there);
    let news = found.is_some();
    if let Some(known) = known.get_mut(slot) {
        known.extend(found.map(|constant| (at, constant)));
    }
    news
}
