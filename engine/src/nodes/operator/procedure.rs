//! PROCEDURE activate_operator_node of Appendix A: what each context does with what is signalled.
//!
//! Simultaneous events of different operands come in an order in which nothing pairs with what is not before it.

use super::activation::Activation;
use super::shape::{Kind, LEFT, MIDDLE, RIGHT, SAMPLE};
use crate::occurrence::Occurrence;

/// A parameter context; what most of them do alike stands here.
pub trait Procedure {
    /// AND: the left (k = 0) or the right (k = 1) event is signalled.
    fn and(a: &mut Activation, k: usize, signalled: &[Occurrence]);

    /// ANY(m, E1, …, En): e_k is signalled.
    fn any(a: &mut Activation, m: usize, k: usize, signalled: &[Occurrence]);

    /// ANY(m, E*): append e; if there are m, pass them and FLUSH the buffer.
    fn any_star(a: &mut Activation, m: usize, signalled: &[Occurrence]) {
        for e in signalled {
            a.append(0, e);
            if a.len(0) == m {
                a.pass(&(0..m).map(|index| (0, index)).collect::<Vec<_>>(), None);
                a.delete_all(0);
            }
        }
    }

    /// SEQ, A, P, A*, P*, NOT: append e1 to E1's list.
    fn left(a: &mut Activation, signalled: &[Occurrence]) {
        signalled.iter().for_each(|e1| a.append(LEFT, e1));
    }

    fn seq_right(a: &mut Activation, signalled: &[Occurrence]);

    /// A and P: e2 is signalled.
    fn a_middle(a: &mut Activation, signalled: &[Occurrence]);

    /// FLUSH E1's buffer.
    fn a_right(a: &mut Activation, signalled: &[Occurrence]) {
        flush_left(a, RIGHT, signalled);
    }

    /// A* and P*: e1 is signalled.
    fn star_left(a: &mut Activation, signalled: &[Occurrence]) {
        Self::left(a, signalled);
    }

    /// If E1's list is not empty, append e2 to E2's list.
    fn star_middle(a: &mut Activation, signalled: &[Occurrence]) {
        for e2 in signalled {
            if a.head(LEFT, MIDDLE, e2).is_some() {
                a.append(MIDDLE, e2);
            }
        }
    }

    /// Pass <e1, e2, e3>, or <e1, e3> if E2's list is empty; FLUSH E1's and E2's buffers.
    fn star_right(a: &mut Activation, signalled: &[Occurrence]) {
        for e3 in signalled {
            while let Some(e1) = a.head(LEFT, RIGHT, e3) {
                a.pass_interval(e1, e3);
                a.delete(LEFT, &[e1]);
                a.drop_orphans();
            }
        }
    }

    /// If E1's list is not empty, pass <e1, e3> and FLUSH E1's buffer.
    fn not_right(a: &mut Activation, signalled: &[Occurrence]) {
        for e3 in signalled {
            while let Some(e1) = a.head(LEFT, RIGHT, e3) {
                a.pass(&[(LEFT, e1)], Some((RIGHT, e3)));
                a.delete(LEFT, &[e1]);
            }
        }
    }

    /// NOT, over the interval [e1, e3]: an e2 beside e1 or e3 is inside, if it is another occurrence. e2 flushes E1's
    /// buffer.
    fn not(a: &mut Activation, first: &[Occurrence], middle: &[Occurrence], last: &[Occurrence]) {
        Self::not_right(a, last);
        flush_left(a, MIDDLE, middle);
        for e1 in first {
            match a.excluding(e1, e1).cloned() {
                None => Self::left(a, std::slice::from_ref(e1)),
                Some(e2) => a.note_excluded(e1, &e2),
            }
        }
    }
}

fn flush_left(a: &mut Activation, by: usize, signalled: &[Occurrence]) {
    for e in signalled {
        let used = a.candidates(LEFT, by, e);
        a.flush(LEFT, &used, e);
    }
}

/// CASE node is of type: gives what is signalled, by place, to the procedure of a context.
pub fn deliver<P: Procedure>(a: &mut Activation, signalled: &[Vec<Occurrence>]) {
    match (a.shape.kind, signalled) {
        (Kind::Or, _) => {
            for (place, events) in signalled.iter().enumerate() {
                events.iter().for_each(|e| a.pass(&[], Some((place, e))));
            }
        }
        // What was passed on below is complete.
        (Kind::Plus { .. } | Kind::Modified { .. }, _) => a.passed.extend(signalled.concat()),
        (Kind::And, _) => signalled.iter().enumerate().for_each(|(k, events)| P::and(a, k, events)),
        (Kind::Any { count, star: true }, _) => P::any_star(a, count, &signalled[0]),
        (Kind::Any { count, star: false }, _) => {
            signalled.iter().enumerate().for_each(|(k, events)| P::any(a, count, k, events));
        }
        (Kind::Seq, [left, right]) => {
            P::seq_right(a, right);
            P::left(a, left);
        }
        // Over the interval (e1, e3]: e2 before the e3 beside it, and both before e1.
        (Kind::Aperiodic { star } | Kind::Periodic { star, .. }, [first, middle, last, rest @ ..]) => {
            if star {
                P::star_middle(a, middle);
                P::star_right(a, last);
                P::star_left(a, first);
            } else {
                P::a_middle(a, middle);
                P::a_right(a, last);
                P::left(a, first);
            }
            rest.iter().flatten().for_each(|sample| a.replace(SAMPLE, sample));
        }
        (Kind::Not, [first, middle, last]) => P::not(a, first, middle, last),
        _ => {}
    }
}
