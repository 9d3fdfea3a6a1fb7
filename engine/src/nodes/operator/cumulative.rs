//! §6.1.4, the cumulative context: all occurrences are accumulated until one event is made of them.

use super::activation::{Activation, Stored};
use super::procedure::Procedure;
use super::shape::{Kind, LEFT, MIDDLE};
use crate::occurrence::Occurrence;

pub struct Cumulative;

impl Procedure for Cumulative {
    /// If the other list is not empty, pass <all others, e> and FLUSH it; else append e.
    fn and(a: &mut Activation, k: usize, signalled: &[Occurrence]) {
        for e in signalled {
            if !use_all(a, 1 - k, k, e) {
                a.append(k, e);
            }
        }
    }

    /// Append ek; if there are m, pass <all ei, all ej, all ek, …> and FLUSH all buffers.
    fn any(a: &mut Activation, m: usize, k: usize, signalled: &[Occurrence]) {
        for ek in signalled {
            a.append(k, ek);
            let mut chosen = vec![(k, (0..a.len(k)).collect())];
            for list in (0..a.shape.operands()).filter(|list| *list != k) {
                let fitting = a.candidates(list, k, ek);
                if chosen.len() < m && !fitting.is_empty() {
                    chosen.push((list, fitting));
                }
            }
            if chosen.len() == m {
                let all = chosen.iter().flat_map(|(list, used)| used.iter().map(|index| (*list, *index)));
                a.pass(&all.collect::<Vec<Stored>>(), None);
                chosen.iter().for_each(|(list, used)| a.delete(*list, used));
            }
        }
    }

    /// If E1's list is empty, store e1 in it; SEQ appends it.
    fn left(a: &mut Activation, signalled: &[Occurrence]) {
        for e1 in signalled {
            if a.shape.kind == Kind::Seq || a.len(LEFT) == 0 {
                a.append(LEFT, e1);
            }
        }
    }

    /// If E1's list is not empty, pass <all e1, e2> and FLUSH E1's buffer.
    fn seq_right(a: &mut Activation, signalled: &[Occurrence]) {
        for e2 in signalled {
            use_all(a, LEFT, 1, e2);
        }
    }

    /// If E1's list is not empty, pass <e1, e2> and FLUSH E1's buffer.
    fn a_middle(a: &mut Activation, signalled: &[Occurrence]) {
        for e2 in signalled {
            while let Some(e1) = a.head(LEFT, MIDDLE, e2) {
                a.pass(&[(LEFT, e1)], Some((MIDDLE, e2)));
                a.delete(LEFT, &[e1]);
            }
        }
    }
}

/// Passes all of a list with `e`, if any fits, and deletes them.
fn use_all(a: &mut Activation, list: usize, by: usize, e: &Occurrence) -> bool {
    let all = a.candidates(list, by, e);
    if all.is_empty() {
        return false;
    }
    a.pass(&all.iter().map(|index| (list, *index)).collect::<Vec<Stored>>(), Some((by, e)));
    if all.len() == a.len(list) {
        a.delete_all(list);
    } else {
        a.delete(list, &all);
    }
    true
}
