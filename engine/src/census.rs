//! How much goes through the nodes of the graph, and how much each of them keeps; counted while it runs, added up when
//! someone asks.
//!
//! Counts begin with the task: they do not survive a restart, and what an aborted transaction undoes stays counted.

use std::collections::BTreeSet;

use triomphe::Arc;

use crate::event::Event;
use crate::graph::{Graph, Node};
use crate::journal::Ring;
use crate::plan::{self, Context};

/// What came of one type.
#[derive(Debug, Default)]
pub struct Seen {
    pub count: u64,
    /// Some of the last ones, whether or not anyone wanted them.
    pub recent: Ring<Arc<Event>>,
    /// Those that came too late.
    pub late: Ring<Arc<Event>>,
}

impl Seen {
    #[inline]
    pub fn note(&mut self, event: &Arc<Event>) {
        self.count += 1;
        self.recent.note(self.count, || event.clone());
    }
}

/// What the nodes of the graph are in the plan.
#[derive(Debug, Default)]
pub struct Legend {
    pub nodes: Vec<Place>,
    pub leaves: Vec<Place>,
    /// Leaf → the types of what it may let pass.
    pub types: Vec<Vec<u16>>,
    /// The definitions and rules: node, name, and the role of each slot.
    pub rules: Vec<(usize, String, Vec<String>)>,
}

#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// The number of the node in the plan.
    pub planned: usize,
    pub kind: &'static str,
    pub context: Option<Context>,
}

impl Place {
    pub fn new(plan: &plan::Plan, planned: usize, context: Option<Context>) -> Place {
        let node = &plan.nodes[planned];
        Place { planned, kind: kind(node), context: context.filter(|_| node.operator().is_some()) }
    }
}

/// One node in one context, or one leaf.
pub struct Count {
    pub place: Place,
    /// What came: of a leaf, all events of its types.
    pub arrived: u64,
    /// What is kept now.
    pub stored: usize,
    /// What it found or let pass, and of a definition what it emitted.
    pub found: u64,
    /// What it forgot because its time was over.
    pub expired: u64,
    /// About how much its entries take in the changelog.
    pub bytes: usize,
    /// The rules that use it.
    pub rules: Vec<String>,
}

impl Graph {
    /// Lets go of an event that no leaf wants.
    #[inline]
    pub fn pass_by(&mut self, event: &Event) {
        let seen = &mut self.seen[usize::from(event.type_id)];
        seen.count += 1;
        seen.recent.note(seen.count, || Arc::new(event.clone()));
    }

    /// Takes note of an event that takes no part because it is late.
    pub fn come_late(&mut self, event: &Event) {
        let seen = &mut self.seen[usize::from(event.type_id)];
        seen.late.note(seen.count, || Arc::new(event.clone()));
    }

    /// All leaves, then all nodes in the order of the plan.
    pub fn census(&self) -> Vec<Count> {
        let rules = self.rules_of_nodes();
        let names = |of: &BTreeSet<usize>| of.iter().map(|rule| self.legend.rules[*rule].1.clone()).collect();
        let mut counts = Vec::with_capacity(self.legend.leaves.len() + self.nodes.len());
        for (leaf, place) in self.legend.leaves.iter().enumerate() {
            let readers = self.leaf_readers[leaf].iter();
            // A leaf that nobody reads belongs to another task.
            if readers.len() == 0 {
                continue;
            }
            let types = self.legend.types[leaf].iter();
            counts.push(Count {
                place: *place,
                arrived: types.map(|type_id| self.seen[usize::from(*type_id)].count).sum(),
                stored: 0,
                found: self.passed[leaf],
                expired: 0,
                bytes: 0,
                rules: names(&readers.flat_map(|(reader, _)| &rules[*reader]).copied().collect()),
            });
        }
        for (id, node) in self.nodes.iter().enumerate() {
            let journal = &self.journals[id];
            let (stored, bytes) = node.kept();
            counts.push(Count {
                place: self.legend.nodes[id],
                arrived: journal.arrived,
                stored,
                found: journal.found,
                expired: journal.expired,
                bytes,
                rules: names(&rules[id]),
            });
        }
        counts
    }

    /// For each node the rules above it, by their place in the legend.
    fn rules_of_nodes(&self) -> Vec<BTreeSet<usize>> {
        let mut rules: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); self.nodes.len()];
        for (number, (node, ..)) in self.legend.rules.iter().enumerate() {
            rules[*node].insert(number);
        }
        // Who reads a node stands behind it.
        for id in (0..self.nodes.len()).rev() {
            for &(reader, _) in &self.readers[id] {
                let above: Vec<usize> = rules[reader].iter().copied().collect();
                rules[id].extend(above);
            }
        }
        rules
    }
}

impl Node {
    /// How much a node keeps, and about how many bytes that is.
    fn kept(&self) -> (usize, usize) {
        match self {
            Node::Timer(_) | Node::Change(_) => (0, 0),
            Node::Operator(node) => (node.stored(), node.bytes()),
            Node::Pattern(node) => (node.stored(), node.bytes()),
            Node::Matching(node) => (node.stored(), node.bytes()),
            Node::Join(node) => (node.stored(), node.bytes()),
            Node::Define(node) => node.limit.as_ref().map_or((0, 0), |limit| limit.kept()),
            Node::Rule(node) => node.limit.as_ref().map_or((0, 0), |limit| limit.kept()),
        }
    }
}

/// About how many bytes an entry takes beside what it is found by and what it holds: prefix, lengths, numbers.
pub const ENTRY: usize = 24;

impl Event {
    /// About how many bytes it takes in an entry.
    pub fn size(&self) -> usize {
        const PLACE_AND_TIMES: usize = 24;
        self.row.len() + PLACE_AND_TIMES
    }
}

fn kind(node: &plan::Node) -> &'static str {
    match node {
        plan::Node::Source(_) => "source",
        plan::Node::Timer(_) => "timer",
        plan::Node::Or(_) => "or",
        plan::Node::And(_) => "and",
        plan::Node::Seq(_) => "seq",
        plan::Node::Any(_) => "any",
        plan::Node::Aperiodic(_) => "aperiodic",
        plan::Node::Periodic(_) => "periodic",
        plan::Node::Not(_) => "not",
        plan::Node::Plus(_) => "plus",
        plan::Node::Modified(_) => "modified",
        plan::Node::Pattern(_) => "pattern",
        plan::Node::Match(_) => "match",
        plan::Node::Fact(_) => "fact",
        plan::Node::Change(_) => "change",
        plan::Node::Join(_) => "join",
        plan::Node::Define(_) => "define",
        plan::Node::Rule(_) => "rule",
    }
}
