//! §6.1.2, the chronicle context: the oldest initiator goes with the oldest terminator, and both are used once.

use super::activation::{Activation, Stored};
use super::procedure::Procedure;
use super::shape::{LEFT, MIDDLE, RIGHT};
use crate::occurrence::Occurrence;

pub struct Chronicle;

impl Procedure for Chronicle {
    /// If the other list is not empty, pass <its head, e> and delete the head; else append e.
    fn and(a: &mut Activation, k: usize, signalled: &[Occurrence]) {
        for e in signalled {
            match a.head(1 - k, k, e) {
                Some(head) => use_head(a, 1 - k, head, k, e),
                None => a.append(k, e),
            }
        }
    }

    /// Append ek; if there are m, pass the oldest (heads) of m distinct events and delete them.
    fn any(a: &mut Activation, m: usize, k: usize, signalled: &[Occurrence]) {
        for ek in signalled {
            a.append(k, ek);
            let others = (0..a.shape.operands()).filter(|list| *list != k);
            let mut heads: Vec<Stored> =
                others.filter_map(|list| Some((list, a.head(list, k, ek)?))).collect();
            heads.sort_by_key(|&(list, index)| (a.cell.list(list)[index].occurrence.seq, list));
            let mut chosen = vec![(k, a.len(k) - 1)];
            for head in heads {
                chosen.push(head);
                if chosen.len() > m || !a.are_together(&chosen) {
                    chosen.pop();
                }
            }
            if chosen.len() == m {
                a.pass(&chosen, None);
                chosen.iter().for_each(|&(list, index)| a.delete(list, &[index]));
            }
        }
    }

    /// If E1's list is not empty, pass <E1's head, e2> and delete the head.
    fn seq_right(a: &mut Activation, signalled: &[Occurrence]) {
        with_heads(a, 1, signalled);
    }

    /// If E1's list is not empty, pass <E1's head, e2> and delete the head.
    fn a_middle(a: &mut Activation, signalled: &[Occurrence]) {
        with_heads(a, MIDDLE, signalled);
    }

    /// Pass <E1's head, all e2, e3>; delete the head, and the e2 older than the new one.
    fn star_right(a: &mut Activation, signalled: &[Occurrence]) {
        for e3 in signalled {
            if let Some(head) = a.head(LEFT, RIGHT, e3) {
                a.pass_interval(head, e3);
                a.delete(LEFT, &[head]);
                a.drop_orphans();
            }
        }
    }

    /// If E1's list is not empty, pass <E1's head, e3> and delete the head.
    fn not_right(a: &mut Activation, signalled: &[Occurrence]) {
        with_heads(a, RIGHT, signalled);
    }
}

fn with_heads(a: &mut Activation, by: usize, signalled: &[Occurrence]) {
    for e in signalled {
        if let Some(head) = a.head(LEFT, by, e) {
            use_head(a, LEFT, head, by, e);
        }
    }
}

fn use_head(a: &mut Activation, list: usize, head: usize, by: usize, e: &Occurrence) {
    a.pass(&[(list, head)], Some((by, e)));
    a.delete(list, &[head]);
}
