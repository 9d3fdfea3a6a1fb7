//! Which cells there are: one for each binding of the parameters that was seen, and those that stand for all others.
//!
//! A cell whose binding has any value for some parameter holds what any such binding would hold that was not seen yet. A
//! binding that is seen for the first time begins as a copy of the most special of those that cover it.

use super::parameters::Bound;
use super::shape::LEFT;
use super::{token, OperatorNode};
use crate::avro::Malformed;
use crate::binding::{self, Values};
use crate::graph::Moment;
use crate::key::Key;

impl OperatorNode {
    fn values<'a>(&self, key: &'a [u8]) -> Values<'a> {
        binding::decode(key, self.shape.parameters()).unwrap_or_default()
    }

    /// Makes the cells without which what is signalled could not be told from what holds for other values.
    pub fn prepare(&mut self, bound: &Bound, moment: &mut Moment) {
        self.ensure(&bound.values, moment);
        bound.except.iter().for_each(|other| self.ensure(other, moment));
    }

    fn ensure(&mut self, key: &Key, moment: &mut Moment) {
        if self.cells.get(key).is_some() {
            return;
        }
        let values = self.values(key);
        let known = values.iter().flatten().count();
        if known == values.len() && self.open.is_empty() {
            return;
        }
        let mut made = vec![key.clone()];
        // Operands with different parameters: every cell is to meet the new values too.
        if 0 < known && known < values.len() {
            let cells = self.cells.keys();
            let joined = cells.iter().filter_map(|other| binding::joined(&values, &self.values(other)));
            made.extend(
                joined.filter(|joint| self.shape.are_apart(joint)).map(|joint| binding::encode(&joint)),
            );
            made.sort_unstable();
            made.dedup();
            made.retain(|key| self.cells.get(key).is_none());
        }
        let made: Vec<(Key, Option<Key>)> =
            made.into_iter().map(|key| (key.clone(), self.covering(&key))).collect();
        for (key, source) in made {
            self.make(&key, source.as_ref(), moment);
        }
    }

    /// Makes a cell, as a copy of another.
    fn make(&mut self, key: &Key, source: Option<&Key>, moment: &mut Moment) {
        if self.values(key).iter().any(Option::is_none) {
            self.open.insert(key.clone());
        }
        let Some((source, original)) =
            source.and_then(|source| Some((source, self.cells.get(source)?.clone())))
        else {
            self.cells.entry(key, moment.time).mark();
            return;
        };
        let kept = (0..self.shape.expiring()).flat_map(|list| original.list(list));
        let earliest = kept.map(|kept| kept.occurrence.start).min().unwrap_or(moment.time);
        let mut cell = self.cells.entry(key, earliest);
        cell.copy_from(&original);
        cell.mark();
        if self.shape.is_periodic() {
            for e1 in original.list(LEFT).iter().map(|kept| &kept.occurrence) {
                // A tick that is due right now may be over or still to come.
                let due = if moment.timers.is_set(moment.node, moment.time, &token(e1.seq, source)) {
                    moment.time
                } else {
                    self.shape.next_tick(e1, moment.time.saturating_add(1))
                };
                moment.timers.set(moment.node, due, token(e1.seq, key));
            }
        }
    }

    /// The most special cell that stands for a binding among others.
    fn covering(&self, key: &Key) -> Option<Key> {
        let values = self.values(key);
        let covers = |other: &&Key| *other != key && binding::covers(&self.values(other), &values);
        let known = |other: &&Key| self.values(other).iter().flatten().count();
        self.open.iter().filter(covers).max_by_key(known).cloned()
    }

    /// The cells that stand for some of the bindings a cell would stand for alone.
    pub fn more_special(&self, key: &Key) -> Vec<Key> {
        if !self.open.contains(key) {
            return Vec::new();
        }
        let values = self.values(key);
        let mut keys = self.cells.keys();
        keys.retain(|other| other != key && binding::covers(&values, &self.values(other)));
        keys
    }

    /// The cells that something signalled is for, in order.
    pub fn concerned<'a>(&self, bounds: impl Iterator<Item = &'a Bound>) -> Vec<Key> {
        let mut keys = Vec::new();
        let mut all = None;
        for bound in bounds {
            if bound.complete {
                keys.push(bound.values.clone());
            } else {
                let all = all.get_or_insert_with(|| self.cells.keys());
                keys.extend(all.iter().filter(|key| self.holds_for(bound, key)).cloned());
            }
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Whether what is signalled is for a cell.
    pub fn holds_for(&self, bound: &Bound, key: &Key) -> bool {
        let values = self.values(key);
        let covers = |other: &Key| binding::covers(&self.values(other), &values);
        covers(&bound.values) && !bound.except.iter().any(covers)
    }

    /// Whether a cell says nothing that another one, or none, would not say as well.
    pub fn is_needless(&self, key: &Key) -> bool {
        let Some(cell) = self.cells.get(key) else { return true };
        match self.covering(key).and_then(|other| self.cells.get(&other)) {
            Some(other) => cell.equals(other),
            None => cell.is_empty(),
        }
    }

    pub fn forget(&mut self, key: &Key) {
        self.cells.remove(key);
        self.open.remove(key);
    }

    /// Forgets a cell that has become empty, where no time will do it, or where what holds for any value would go into it
    /// until then; unless another one would speak for it.
    pub fn tidy(&mut self, key: &Key) {
        if self.cells.get(key).is_none_or(|cell| !cell.is_empty()) {
            return;
        }
        if !self.is_needless(key) {
            self.mark(key);
        } else if self.shape.within_ms.is_none() || !self.open.is_empty() || self.cells.shelf.bounded {
            self.forget(key);
        }
    }

    /// A cell that differs from the one that covers it is remembered, even if nothing is in it.
    pub fn mark(&mut self, key: &Key) {
        if let Some(mut cell) = self.cells.get_mut(key) {
            cell.mark();
        }
    }

    /// Takes note of a cell that was loaded.
    pub fn recognize(&mut self, key: &Key) -> Result<(), Malformed> {
        let values = binding::decode(key, self.shape.parameters());
        let values =
            values.ok_or_else(|| Malformed::new("a state entry of other parameters than the node has"))?;
        if values.iter().any(Option::is_none) {
            self.open.insert(key.clone());
        }
        Ok(())
    }
}
