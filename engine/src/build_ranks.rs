//! The order of what is due at one time: by definition and rule, then by the place in there, as it is written.

use std::collections::BTreeMap;

use crate::build::{Builder, Variant, Way};
use crate::plan;

impl Builder<'_> {
    /// For each node as it is used, what decides between its alarms and those of others.
    pub fn ranks(&self, variants: &[Variant]) -> Vec<u64> {
        let mut roots: Vec<(usize, usize)> =
            self.nodes.iter().filter_map(|&id| Some((self.order(id)?, id))).collect();
        roots.sort_unstable();
        let mut ranks: BTreeMap<Variant, u64> = BTreeMap::new();
        for (order, id) in roots {
            let nodes = self.written(id, false).into_iter().filter(|variant| !self.is_calendar(variant.0));
            // The points of the calendar are counted on their own, whatever operators stand around them.
            let calendar = self.written(id, true).into_iter().filter(|variant| self.is_calendar(variant.0));
            let numbered = (0..).zip(nodes).chain((0..).zip(calendar));
            numbered.for_each(|(number, variant)| {
                ranks.entry(variant).or_insert((order as u64) << 32 | number);
            });
        }
        variants.iter().map(|variant| ranks.get(variant).copied().unwrap_or(u64::MAX)).collect()
    }

    fn order(&self, id: usize) -> Option<usize> {
        match &self.plan.nodes[id] {
            plan::Node::Define(define) => Some(define.order),
            plan::Node::Rule(rule) => Some(rule.order),
            _ => None,
        }
    }

    fn is_calendar(&self, id: usize) -> bool {
        matches!(self.plan.nodes[id], plan::Node::Timer(_))
    }

    /// The nodes below a definition or rule, each before its operands; of NOT the absent event comes first in the text.
    fn written(&self, id: usize, as_text: bool) -> Vec<Variant> {
        let mut found = Vec::new();
        let root = (id, None, Way::Free);
        let mut open: Vec<Variant> =
            self.plan.inputs(id).into_iter().map(|input| self.below(root, input)).collect();
        while let Some(variant) = open.pop() {
            found.push(variant);
            let node = &self.plan.nodes[variant.0];
            let mut inputs = self.plan.inputs(variant.0);
            if let (plan::Node::Not(_), true, [first, absent, _]) = (node, as_text, &mut inputs[..]) {
                std::mem::swap(first, absent);
            }
            let leaf = |input: &usize| matches!(self.plan.nodes[*input], plan::Node::Source(_));
            // `begin A` is one with its event.
            if !matches!(node, plan::Node::Modified(_)) || !inputs.iter().all(leaf) {
                open.extend(inputs.into_iter().rev().map(|input| self.below(variant, input)));
            }
        }
        found
    }
}
