//! What many nodes have alike is there once: a thousand rules that differ in a constant read the same few lines of memory.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;

use triomphe::Arc;

/// Shapes by what they say of themselves, which is all there is to them.
pub struct Shapes<T>(RefCell<HashMap<String, Arc<T>>>);

impl<T> Default for Shapes<T> {
    fn default() -> Shapes<T> {
        Shapes(RefCell::default())
    }
}

impl<T: Debug> Shapes<T> {
    /// The shape, or the one before that is the same.
    pub fn one(&self, shape: T) -> Arc<T> {
        let mut known = self.0.borrow_mut();
        known.entry(format!("{shape:?}")).or_insert_with(|| Arc::new(shape)).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_alike_is_one() {
        let shapes = Shapes::default();
        let (one, other, different) = (shapes.one(vec![1]), shapes.one(vec![1]), shapes.one(vec![2]));
        assert!(Arc::ptr_eq(&one, &other));
        assert!(!Arc::ptr_eq(&one, &different));
    }
}
