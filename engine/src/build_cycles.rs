//! Recursion: definitions that use, of earlier positions, what they lead to themselves.
//!
//! The plan has a definition behind what it uses at its own position; what it uses of earlier positions only may be
//! made behind it. A node that such a thing reaches takes in what can only begin an occurrence when the position is
//! over, and stands behind all that makes the rest.

use std::collections::{BTreeMap, BTreeSet};

use crate::build::{Builder, Variant};
use crate::plan;

impl Builder<'_> {
    /// Whether each node may get something that is made behind it.
    pub fn recursive(&self) -> Vec<bool> {
        let mut makers = vec![0; self.plan.types.len()];
        for (id, node) in self.plan.nodes.iter().enumerate() {
            self.made_by(node).into_iter().for_each(|type_id| makers[type_id] = id);
        }
        let mut last: Vec<usize> = Vec::with_capacity(self.plan.nodes.len());
        for (id, node) in self.plan.nodes.iter().enumerate() {
            let found = match node {
                plan::Node::Source(source) => makers[source.type_id],
                _ => self.plan.inputs(id).into_iter().map(|input| last[input]).max().unwrap_or_default(),
            };
            last.push(found);
        }
        last.into_iter().enumerate().map(|(id, maker)| maker > id).collect()
    }

    /// The nodes, each behind those of which it uses something at the same position; else in the order of the plan.
    pub fn by_position(&self, variants: Vec<Variant>, recursive: &[bool]) -> Vec<Variant> {
        let loops =
            |variant: &Variant| recursive[variant.0] && self.plan.nodes[variant.0].operator().is_some();
        if !variants.iter().any(loops) {
            return variants;
        }
        let mut needs = self.needs(&variants, recursive);
        let mut left: BTreeSet<usize> = (0..variants.len()).collect();
        let mut ordered = Vec::with_capacity(variants.len());
        while let Some(&first) = left.first() {
            // Where all of them need another, what is left of the loop is not of one position.
            let free = left.iter().copied().find(|number| needs[*number].is_disjoint(&left)).unwrap_or(first);
            left.remove(&free);
            needs[free].clear();
            ordered.push(variants[free]);
        }
        ordered
    }

    /// For each node, those of which it uses something at the same position.
    fn needs(&self, variants: &[Variant], recursive: &[bool]) -> Vec<BTreeSet<usize>> {
        let numbers: BTreeMap<Variant, usize> = variants.iter().copied().zip(0..).collect();
        let mut makers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (number, variant) in variants.iter().enumerate() {
            for type_id in self.made_by(&self.plan.nodes[variant.0]) {
                makers.entry(type_id).or_default().push(number);
            }
        }
        let needed = |variant: &Variant| {
            let mut found = BTreeSet::new();
            for (port, input) in self.plan.inputs(variant.0).into_iter().enumerate() {
                if recursive[variant.0] && begins_only(&self.plan.nodes[variant.0], port) {
                    continue;
                }
                match &self.plan.nodes[input] {
                    plan::Node::Source(source) => {
                        found.extend(makers.get(&source.type_id).into_iter().flatten())
                    }
                    _ => found.extend(numbers.get(&self.below(*variant, input))),
                }
            }
            found
        };
        variants.iter().map(needed).collect()
    }

    /// The types of what a definition or a rule makes, with those that they extend.
    fn made_by(&self, node: &plan::Node) -> Vec<usize> {
        let made: Vec<usize> = match node {
            plan::Node::Define(define) => vec![define.type_id],
            plan::Node::Rule(rule) => {
                let published = rule.actions.iter().filter(|action| action.kind == "publish");
                published.filter_map(|action| action.type_id).collect()
            }
            _ => Vec::new(),
        };
        let known = made.into_iter().filter(|made| *made < self.plan.types.len());
        known.flat_map(|made| self.plan.ancestors(made).chain([made])).collect()
    }
}

/// Whether what comes in by an input takes part in later occurrences only, or ends what began.
fn begins_only(node: &plan::Node, port: usize) -> bool {
    match node {
        plan::Node::Seq(_) | plan::Node::Not(_) => port == 0,
        plan::Node::Aperiodic(operator) => port == 0 || (port == 2 && !operator.star),
        plan::Node::Periodic(operator) => port == 0 || port == 2 || !operator.star,
        plan::Node::Plus(_) => true,
        plan::Node::Pattern(pattern) => (1..=pattern.constituents.len()).contains(&port),
        _ => false,
    }
}
