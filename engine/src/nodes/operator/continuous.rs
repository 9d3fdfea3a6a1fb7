//! §6.1.3, the continuous context: each initiator starts an occurrence, and a terminator ends all that were started.
//!
//! Terminators that an operand signals at one position each pair with all initiators, and the list is flushed behind
//! them.

use super::activation::{Activation, Picked};
use super::combinations::each_choice;
use super::procedure::Procedure;
use super::shape::{LEFT, MIDDLE, RIGHT};
use crate::occurrence::Occurrence;

pub struct Continuous;

impl Procedure for Continuous {
    /// If the other list is not empty, pass <other, e> for every other and FLUSH it; else append e.
    fn and(a: &mut Activation, k: usize, signalled: &[Occurrence]) {
        let mut used = Picked::new();
        for e in signalled {
            let others = pass_each(a, 1 - k, k, e);
            if others.is_empty() {
                a.append(k, e);
            }
            used.extend(others);
        }
        a.delete(1 - k, &used);
    }

    /// Append ek; if there are m, pass all tuples of m distinct occurrences and FLUSH all buffers.
    fn any(a: &mut Activation, m: usize, k: usize, signalled: &[Occurrence]) {
        let first = a.len(k);
        signalled.iter().for_each(|ek| a.append(k, ek));
        let mut used = vec![Picked::new(); a.shape.operands()];
        each_choice(a, m, k, first, |a, chosen| {
            a.pass(chosen, None);
            chosen.iter().for_each(|&(list, index)| used[list].push(index));
        });
        used.iter_mut().enumerate().for_each(|(list, used)| {
            used.sort_unstable();
            used.dedup();
            a.delete(list, used);
        });
    }

    /// For every e1 in E1's list, pass <e1, e2>; FLUSH E1's list.
    fn seq_right(a: &mut Activation, signalled: &[Occurrence]) {
        end_all(a, 1, signalled);
    }

    /// For every e1 in E1's list, pass <e1, e2>.
    fn a_middle(a: &mut Activation, signalled: &[Occurrence]) {
        for e2 in signalled {
            pass_each(a, LEFT, MIDDLE, e2);
        }
    }

    /// For each e1, pass <e1, all e2 later than e1, e3>; FLUSH E1's and E2's buffers.
    fn star_right(a: &mut Activation, signalled: &[Occurrence]) {
        let mut used = Picked::new();
        for e3 in signalled {
            let ended = a.candidates(LEFT, RIGHT, e3);
            ended.iter().for_each(|&e1| a.pass_interval(e1, e3));
            used.extend(ended);
        }
        delete_used(a, used);
        if !signalled.is_empty() {
            a.drop_orphans();
        }
    }

    /// For each e1, pass <e1, e3>; FLUSH E1's buffer.
    fn not_right(a: &mut Activation, signalled: &[Occurrence]) {
        end_all(a, RIGHT, signalled);
    }
}

fn pass_each(a: &mut Activation, list: usize, by: usize, e: &Occurrence) -> Picked {
    let others = a.candidates(list, by, e);
    others.iter().for_each(|&other| a.pass(&[(list, other)], Some((by, e))));
    others
}

fn end_all(a: &mut Activation, by: usize, signalled: &[Occurrence]) {
    let mut used = Picked::new();
    for e in signalled {
        used.extend(pass_each(a, LEFT, by, e));
    }
    delete_used(a, used);
}

fn delete_used(a: &mut Activation, mut used: Picked) {
    used.sort_unstable();
    used.dedup();
    if used.len() == a.len(LEFT) {
        a.delete_all(LEFT);
    } else {
        a.delete(LEFT, &used);
    }
}
