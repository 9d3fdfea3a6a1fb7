//! §6.1.1, the recent context: only the most recent initiator is used, and it is used until a newer one comes.

use super::activation::{Activation, Stored};
use super::procedure::Procedure;
use super::shape::{LEFT, MIDDLE};
use crate::occurrence::Occurrence;

pub struct Recent;

impl Procedure for Recent {
    /// If the other list is not empty, pass <other, e>. Replace e in its list.
    fn and(a: &mut Activation, k: usize, signalled: &[Occurrence]) {
        for e in signalled {
            for other in a.candidates(1 - k, k, e) {
                a.pass(&[(1 - k, other)], Some((k, e)));
            }
            a.replace(k, e);
        }
    }

    /// Replace ek; if there are m, pass the most recent m distinct occurrences. They stay.
    fn any(a: &mut Activation, m: usize, k: usize, signalled: &[Occurrence]) {
        for ek in signalled {
            a.replace(k, ek);
            let mut others: Vec<(u64, Stored)> = Vec::new();
            for list in (0..a.shape.operands()).filter(|list| *list != k) {
                let kept = a.cell.list(list).iter().enumerate();
                others.extend(kept.map(|(index, kept)| (kept.occurrence.seq, (list, index))));
            }
            others.sort_by_key(|(seq, (list, _))| std::cmp::Reverse((*seq, *list)));
            let mut chosen = vec![(k, 0)];
            for (_, other) in others {
                chosen.push(other);
                if chosen.len() > m || !a.are_together(&chosen) {
                    chosen.pop();
                }
            }
            if chosen.len() == m {
                a.pass(&chosen, None);
            }
        }
    }

    /// Keep the m most recent; pass them whenever there are m.
    fn any_star(a: &mut Activation, m: usize, signalled: &[Occurrence]) {
        for e in signalled {
            a.append(0, e);
            if a.len(0) > m {
                a.delete(0, &[0]);
            }
            if a.len(0) == m {
                a.pass(&(0..m).map(|index| (0, index)).collect::<Vec<_>>(), None);
            }
        }
    }

    /// Replace e1 in E1's list.
    fn left(a: &mut Activation, signalled: &[Occurrence]) {
        if let Some(e1) = signalled.last() {
            a.replace(LEFT, e1);
        }
    }

    /// If E1's list is not empty, pass <e1, e2>.
    fn seq_right(a: &mut Activation, signalled: &[Occurrence]) {
        for e2 in signalled {
            for e1 in a.candidates(LEFT, 1, e2) {
                a.pass(&[(LEFT, e1)], Some((1, e2)));
            }
        }
    }

    /// If E1's list is not empty, pass <e1, e2>.
    fn a_middle(a: &mut Activation, signalled: &[Occurrence]) {
        for e2 in signalled {
            for e1 in a.candidates(LEFT, MIDDLE, e2) {
                a.pass(&[(LEFT, e1)], Some((MIDDLE, e2)));
            }
        }
    }

    /// Replace e1 in E1's list; FLUSH E2's buffer.
    fn star_left(a: &mut Activation, signalled: &[Occurrence]) {
        if !signalled.is_empty() {
            Self::left(a, signalled);
            a.drop_orphans();
        }
    }
}
