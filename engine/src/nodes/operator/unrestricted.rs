//! §2.2.1, without a context: every combination occurs, and nothing is used up.

use super::activation::{Activation, Stored};
use super::combinations::{each_choice, each_subset};
use super::procedure::Procedure;
use super::shape::{LEFT, MIDDLE, RIGHT};
use crate::occurrence::Occurrence;

pub struct Unrestricted;

impl Procedure for Unrestricted {
    fn and(a: &mut Activation, k: usize, signalled: &[Occurrence]) {
        for e in signalled {
            pass_each(a, 1 - k, k, e);
        }
        signalled.iter().for_each(|e| a.append(k, e));
    }

    /// m occurrences of m distinct operands, in any order.
    fn any(a: &mut Activation, m: usize, k: usize, signalled: &[Occurrence]) {
        let first = a.len(k);
        signalled.iter().for_each(|ek| a.append(k, ek));
        each_choice(a, m, k, first, |a, chosen| a.pass(chosen, None));
    }

    /// m distinct occurrences of the one operand.
    fn any_star(a: &mut Activation, m: usize, signalled: &[Occurrence]) {
        for e in signalled {
            a.append(0, e);
            let last = a.len(0) - 1;
            each_subset(last, m - 1, &mut |others| {
                let chosen: Vec<Stored> = others.iter().chain([&last]).map(|index| (0, *index)).collect();
                a.pass(&chosen, None);
            });
        }
    }

    fn seq_right(a: &mut Activation, signalled: &[Occurrence]) {
        signalled.iter().for_each(|e2| pass_each(a, LEFT, 1, e2));
    }

    /// An e3 in between ends e1 for all that follow: `a_right` deletes it.
    fn a_middle(a: &mut Activation, signalled: &[Occurrence]) {
        signalled.iter().for_each(|e2| pass_each(a, LEFT, MIDDLE, e2));
    }

    fn star_right(a: &mut Activation, signalled: &[Occurrence]) {
        for e3 in signalled {
            for e1 in a.candidates(LEFT, RIGHT, e3) {
                a.pass_interval(e1, e3);
            }
        }
    }

    fn not_right(a: &mut Activation, signalled: &[Occurrence]) {
        for e3 in signalled {
            for e1 in a.candidates(LEFT, RIGHT, e3) {
                if !a.is_forbidden(e1, e3) {
                    a.pass(&[(LEFT, e1)], Some((RIGHT, e3)));
                }
            }
        }
    }

    /// What must not be there is remembered: which of it counts depends on e1 and e3.
    fn not(a: &mut Activation, first: &[Occurrence], middle: &[Occurrence], last: &[Occurrence]) {
        middle.iter().for_each(|e2| a.append(MIDDLE, e2));
        Self::not_right(a, last);
        Self::left(a, first);
    }
}

fn pass_each(a: &mut Activation, list: usize, by: usize, e: &Occurrence) {
    for other in a.candidates(list, by, e) {
        a.pass(&[(list, other)], Some((by, e)));
    }
}
