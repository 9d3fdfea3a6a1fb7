//! The ways through a join: from one condition that something new fulfils to all others, each looked up by the values
//! that tie it to those before, and tested as soon as all is known that a test speaks of.

use crate::event::Slot;
use crate::expr::Expr;

/// Equal values of two conditions.
#[derive(Debug, Clone, Copy)]
pub struct Tie {
    pub one: End,
    pub other: End,
}

/// One side of an equality.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    pub condition: usize,
    /// The slot of the join.
    pub slot: usize,
    pub at: Slot,
}

/// A condition on what fills some slots.
#[derive(Debug, Clone)]
pub struct Test {
    pub expr: Expr,
    pub slots: Vec<usize>,
}

/// What a condition is looked up by: own places, and the slots and places that have the values.
#[derive(Debug, Default)]
pub struct Probe {
    /// The index of the condition's pool.
    pub index: usize,
    pub own: Vec<(usize, Slot)>,
    pub others: Vec<(usize, Slot)>,
    /// Relations in time to what is known, which bound where to look.
    pub windows: Vec<Window>,
}

#[derive(Debug)]
pub struct Step {
    pub condition: usize,
    pub probe: Probe,
    /// Tests that can be made from here on.
    pub tests: Vec<Expr>,
}

/// A relation in time: which of its sides is looked for, and the slot that is the other one.
#[derive(Debug)]
pub struct Window {
    pub relation: crate::relation::Relation,
    pub left: bool,
    pub other: usize,
}

#[derive(Debug, Default)]
pub struct Route {
    /// Tests that can be made at once.
    pub tests: Vec<Expr>,
    pub steps: Vec<Step>,
}

/// What routes are made of: the slots of each condition (first, number), which of them a match is made of, and what is
/// asked of them.
pub struct Map<'a> {
    pub slots: &'a [(usize, usize)],
    pub positive: &'a [bool],
    pub ties: &'a [Tie],
    pub tests: &'a [Test],
}

impl Map<'_> {
    /// The way from a condition to all that a match is made of.
    pub fn route(&self, start: usize) -> Route {
        let mut known = vec![false; self.slots.len()];
        let mut tested: Vec<bool> = self.tests.iter().map(|_| false).collect();
        known[start] = true;
        let mut route =
            Route { tests: self.decidable(&known, &mut tested).cloned().collect(), steps: Vec::new() };
        while let Some(condition) = self.next(&known) {
            let before = known.clone();
            known[condition] = true;
            let tests: Vec<Expr> = self.decidable(&known, &mut tested).cloned().collect();
            let probe = self.probe(condition, &before, &tests);
            route.steps.push(Step { condition, probe, tests });
        }
        route
    }

    /// What a condition is looked up by once others are known, and these tests can be made of it.
    pub fn probe(&self, condition: usize, known: &[bool], tests: &[Expr]) -> Probe {
        let windows = tests.iter().filter_map(|test| self.window(condition, test)).collect();
        let mut probe = Probe { windows, ..Probe::default() };
        for (own, other) in self.ties_of(condition).filter(|(_, other)| known[other.condition]) {
            probe.own.push((own.slot - self.slots[condition].0, own.at));
            probe.others.push((other.slot, other.at));
        }
        probe
    }

    fn ties_of(&self, condition: usize) -> impl Iterator<Item = (End, End)> + '_ {
        let both = self.ties.iter().flat_map(|tie| [(tie.one, tie.other), (tie.other, tie.one)]);
        both.filter(move |(own, _)| own.condition == condition)
    }

    /// The condition that most ties bind to what is known, of several the first.
    fn next(&self, known: &[bool]) -> Option<usize> {
        let bound =
            |condition: usize| self.ties_of(condition).filter(|(_, other)| known[other.condition]).count();
        let open = (0..known.len()).filter(|&condition| self.positive[condition] && !known[condition]);
        open.rev().max_by_key(|&condition| bound(condition))
    }

    fn decidable<'a>(&'a self, known: &[bool], tested: &'a mut [bool]) -> impl Iterator<Item = &'a Expr> {
        let of = |slot: usize| {
            self.slots.iter().position(|(first, count)| (*first..first + count).contains(&slot))
        };
        let ready: Vec<usize> = (0..self.tests.len())
            .filter(|&test| !tested[test])
            .filter(|&test| self.tests[test].slots.iter().all(|slot| of(*slot).is_some_and(|c| known[c])))
            .collect();
        ready.iter().for_each(|test| tested[*test] = true);
        ready.into_iter().map(|test| &self.tests[test].expr)
    }

    fn window(&self, condition: usize, test: &Expr) -> Option<Window> {
        let Expr::Related { relation, left, right } = test else { return None };
        // Of a change it is the event, in the last of its slots, that candidates are in the order of.
        let (first, count) = self.slots[condition];
        let own = |slot: usize| slot + 1 == first + count;
        let known = |slot: usize| !(first..first + count).contains(&slot);
        match (own(*left) && known(*right), own(*right) && known(*left)) {
            (true, false) => Some(Window { relation: relation.clone(), left: true, other: *right }),
            (false, true) => Some(Window { relation: relation.clone(), left: false, other: *left }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::SlotKind;

    fn end(condition: usize) -> End {
        End { condition, slot: condition, at: Slot { index: 0, at: 1, kind: SlotKind::Long } }
    }

    #[test]
    fn a_route_follows_the_ties_and_tests_as_soon_as_it_can() {
        let slots: Vec<(usize, usize)> = (0..4).map(|slot| (slot, 1)).collect();
        let ties = [Tie { one: end(0), other: end(2) }, Tie { one: end(2), other: end(1) }];
        let tests = [
            Test { expr: Expr::Boolean(true), slots: vec![0, 1] },
            Test { expr: Expr::Null, slots: vec![2] },
        ];
        let map = Map { slots: &slots, positive: &[true, true, true, false], ties: &ties, tests: &tests };
        let route = map.route(0);
        let steps: Vec<_> =
            route.steps.iter().map(|step| (step.condition, step.probe.others.len())).collect();
        assert_eq!(steps, [(2, 1), (1, 1)], "what is denied is no part of it");
        assert!(route.tests.is_empty());
        assert_eq!(route.steps.iter().map(|step| step.tests.len()).collect::<Vec<_>>(), [1, 1]);
    }
}
