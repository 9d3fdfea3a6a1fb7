//! The filters of all leaves of an event type, through an index: an event costs about what it satisfies.
//!
//! A filter is taken apart into the conditions that must all hold. One of them is looked up: an equality with a
//! constant by hash, else a bound by its place among the bounds of the other leaves. The rest is evaluated for those
//! that the look-up finds. Filters with neither are evaluated one by one; equal ones are one leaf already.

use std::num::NonZeroU32;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use crate::event::{Event, Slot};
use crate::expr::{Comparison, Expr};
use crate::key::{Key, Probe};
use crate::value::Value;

/// A leaf, and which of the rests must hold beside what was looked up. Small: there are as many as rules.
#[derive(Debug, Clone, Copy)]
struct Leaf {
    id: u32,
    rest: Option<NonZeroU32>,
}

/// Leaves by the constant that an attribute must equal.
#[derive(Debug)]
struct Equalities {
    slot: Slot,
    leaves: HashMap<Key, SmallVec<[Leaf; 2]>, FxBuildHasher>,
}

/// Leaves by a bound of an attribute, in the order of the bounds.
#[derive(Debug)]
struct Bounds {
    slot: Slot,
    comparison: Comparison,
    leaves: Vec<(f64, Leaf)>,
}

#[derive(Debug, Default)]
pub struct Filters {
    always: Vec<usize>,
    equalities: Vec<Equalities>,
    bounds: Vec<Bounds>,
    others: Vec<Leaf>,
    /// What must hold beside what is looked up: of many rules the same. Numbered from 1.
    rests: Vec<Expr>,
    numbers: HashMap<String, NonZeroU32>,
}

impl Filters {
    pub fn add(&mut self, id: usize, filter: Option<&Expr>) {
        let Some(filter) = filter else { return self.always.push(id) };
        let mut conditions = Vec::new();
        conjuncts(filter, &mut conditions);
        if let Some((at, slot, key)) = find(&conditions, equality) {
            let leaf = self.leaf(id, without(&conditions, at));
            let known = self.equalities.iter().position(|e| e.slot == slot).unwrap_or_else(|| {
                self.equalities.push(Equalities { slot, leaves: HashMap::default() });
                self.equalities.len() - 1
            });
            self.equalities[known].leaves.entry(key).or_default().push(leaf);
        } else if let Some((at, (slot, comparison), bound)) = find(&conditions, bound) {
            let leaf = self.leaf(id, without(&conditions, at));
            let same = |b: &Bounds| b.slot == slot && b.comparison == comparison;
            let known = self.bounds.iter().position(same).unwrap_or_else(|| {
                self.bounds.push(Bounds { slot, comparison, leaves: Vec::new() });
                self.bounds.len() - 1
            });
            let leaves = &mut self.bounds[known].leaves;
            let place = leaves.partition_point(|(other, _)| *other < bound);
            leaves.insert(place, (bound, leaf));
        } else {
            let leaf = self.leaf(id, Some(filter.clone()));
            self.others.push(leaf);
        }
    }

    fn leaf(&mut self, id: usize, rest: Option<Expr>) -> Leaf {
        let rest = rest.and_then(|rest| {
            let next = NonZeroU32::new(self.rests.len() as u32 + 1)?;
            let number = *self.numbers.entry(format!("{rest:?}")).or_insert(next);
            if number == next {
                self.rests.push(rest);
            }
            Some(number)
        });
        Leaf { id: id as u32, rest }
    }

    #[inline]
    fn passes(&self, leaf: &Leaf, event: &Event) -> bool {
        leaf.rest.is_none_or(|rest| self.rests[rest.get() as usize - 1].holds(&event))
    }

    /// Calls `each` for every leaf the event passes.
    #[inline]
    pub fn visit(&self, event: &Event, mut each: impl FnMut(usize)) {
        self.always.iter().for_each(|id| each(*id));
        for index in &self.equalities {
            let Some(probe) = Probe::new(std::iter::once(event.value(index.slot))) else { continue };
            let found = index.leaves.get(probe.bytes()).into_iter().flatten();
            found.filter(|leaf| self.passes(leaf, event)).for_each(|leaf| each(leaf.id as usize));
        }
        for index in &self.bounds {
            let within = index.within(event).iter().map(|(_, leaf)| leaf);
            within.filter(|leaf| self.passes(leaf, event)).for_each(|leaf| each(leaf.id as usize));
        }
        self.others.iter().filter(|leaf| self.passes(leaf, event)).for_each(|leaf| each(leaf.id as usize));
    }
}

impl Bounds {
    /// The leaves whose bound the event keeps.
    #[inline]
    fn within(&self, event: &Event) -> &[(f64, Leaf)] {
        // Numbers beyond 2^53 lie between doubles: such bounds are not in the index, and such a value is compared
        // as the double next to it, which keeps its order to every bound that is.
        let Some(value) = event.value(self.slot).as_double().filter(|value| !value.is_nan()) else {
            return &[];
        };
        match self.comparison {
            Comparison::Gt => &self.leaves[..self.leaves.partition_point(|(bound, _)| *bound < value)],
            Comparison::Ge => &self.leaves[..self.leaves.partition_point(|(bound, _)| *bound <= value)],
            Comparison::Lt => &self.leaves[self.leaves.partition_point(|(bound, _)| *bound <= value)..],
            Comparison::Le => &self.leaves[self.leaves.partition_point(|(bound, _)| *bound < value)..],
            Comparison::Eq | Comparison::Ne => &[],
        }
    }
}

fn conjuncts<'a>(expr: &'a Expr, found: &mut Vec<&'a Expr>) {
    match expr {
        Expr::And(args) => args.iter().for_each(|arg| conjuncts(arg, found)),
        other => found.push(other),
    }
}

/// The first condition that can be looked up, with what it is looked up by.
fn find<A, B>(conditions: &[&Expr], of: impl Fn(&Expr) -> Option<(A, B)>) -> Option<(usize, A, B)> {
    conditions.iter().enumerate().find_map(|(at, condition)| of(condition).map(|(a, b)| (at, a, b)))
}

fn equality(condition: &Expr) -> Option<(Slot, Key)> {
    let Expr::Compare(Comparison::Eq, args) = condition else { return None };
    let (slot, constant) = match &**args {
        [Expr::Field { at, .. }, constant] | [constant, Expr::Field { at, .. }] => (*at, constant),
        _ => return None,
    };
    Probe::new(std::iter::once(literal(constant)?)).map(|probe| (slot, Key::from_slice(probe.bytes())))
}

/// The constants that attributes must equal for a filter to let pass.
pub fn constants(filter: &Expr) -> Vec<(Slot, Expr)> {
    let mut conditions = Vec::new();
    conjuncts(filter, &mut conditions);
    let constant = |condition: &&Expr| match condition {
        Expr::Compare(Comparison::Eq, args) => match &**args {
            [Expr::Field { at, .. }, constant @ (Expr::Text(_) | Expr::Long(_) | Expr::Boolean(_))]
            | [constant @ (Expr::Text(_) | Expr::Long(_) | Expr::Boolean(_)), Expr::Field { at, .. }] => {
                Some((*at, constant.clone()))
            }
            _ => None,
        },
        _ => None,
    };
    conditions.iter().filter_map(constant).collect()
}

/// The largest magnitude up to which every whole number is a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

fn bound(condition: &Expr) -> Option<((Slot, Comparison), f64)> {
    let Expr::Compare(comparison, args) = condition else { return None };
    let (slot, comparison, constant) = match &**args {
        [Expr::Field { at, .. }, constant] => (*at, *comparison, constant),
        [constant, Expr::Field { at, .. }] => (*at, comparison.mirrored(), constant),
        _ => return None,
    };
    let ordered = !matches!(comparison, Comparison::Eq | Comparison::Ne);
    let number = literal(constant)?.as_double().filter(|number| number.abs() < EXACT)?;
    ordered.then_some(((slot, comparison), number))
}

fn literal(expr: &Expr) -> Option<Value<'_>> {
    match expr {
        Expr::Boolean(b) => Some(Value::Boolean(*b)),
        Expr::Long(n) => Some(Value::Long(*n)),
        Expr::Double(x) => Some(Value::Double(*x)),
        Expr::Text(s) => Some(Value::text(s)),
        _ => None,
    }
}

/// The conditions but one, joined again.
fn without(conditions: &[&Expr], at: usize) -> Option<Expr> {
    let rest = conditions.iter().enumerate().filter(|(index, _)| *index != at).map(|(_, c)| (*c).clone());
    rest.reduce(|all, condition| Expr::And(Box::new([all, condition])))
}
