//! The combinations that ANY asks for.

use super::activation::{Activation, Stored};

/// Every choice of m occurrences of m distinct operands that go together, one of them new: in list `k`, at `first` or
/// behind it.
pub fn each_choice(
    a: &mut Activation,
    m: usize,
    k: usize,
    first: usize,
    mut found: impl FnMut(&mut Activation, &[Stored]),
) {
    let others: Vec<usize> = (0..a.shape.operands()).filter(|list| *list != k).collect();
    let mut choices: Vec<Vec<Stored>> = Vec::new();
    each_subset(others.len(), m - 1, &mut |places| {
        let mut chosen: Vec<Vec<Stored>> = (first..a.len(k)).map(|index| vec![(k, index)]).collect();
        for &place in places {
            let list = others[place];
            let with = |chosen: Vec<Stored>| {
                (0..a.len(list)).map(move |index| [&chosen[..], &[(list, index)]].concat())
            };
            chosen = chosen.into_iter().flat_map(with).filter(|chosen| a.are_together(chosen)).collect();
        }
        choices.append(&mut chosen);
    });
    choices.iter().for_each(|chosen| found(a, chosen));
}

/// Every choice of `size` numbers below `count`, in order.
pub fn each_subset(count: usize, size: usize, found: &mut dyn FnMut(&[usize])) {
    if size > count {
        return;
    }
    let mut chosen: Vec<usize> = (0..size).collect();
    loop {
        found(&chosen);
        let Some(at) = (0..size).rev().find(|&at| chosen[at] < count - size + at) else { return };
        chosen[at] += 1;
        for behind in at + 1..size {
            chosen[behind] = chosen[behind - 1] + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subsets(count: usize, size: usize) -> Vec<Vec<usize>> {
        let mut all = Vec::new();
        each_subset(count, size, &mut |chosen| all.push(chosen.to_vec()));
        all
    }

    #[test]
    fn all_subsets_of_a_size_in_order() {
        assert_eq!(subsets(4, 2), [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]);
        assert_eq!(subsets(3, 3), [[0, 1, 2]]);
        assert_eq!(subsets(2, 0), [[0; 0]]);
        assert!(subsets(1, 2).is_empty());
    }
}
