//! Values of attributes and expressions. An absent value is neither equal nor unequal nor ordered to anything.

use std::borrow::Cow;
use std::cmp::Ordering;

#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    Null,
    Boolean(bool),
    Long(i64),
    Double(f64),
    /// UTF-8, checked where it came in, or bytes; the order of bytes is the order of text.
    Text(Cow<'a, [u8]>),
    List(Vec<Value<'a>>),
}

/// One beyond the largest whole number there is, a double, as is its negative, which is the smallest.
const BEYOND: f64 = 9_223_372_036_854_775_808.0;

/// The whole number that a double is, if any.
#[inline]
pub fn whole(x: f64) -> Option<i64> {
    (x.trunc() == x && (-BEYOND..BEYOND).contains(&x)).then_some(x as i64)
}

/// The order of two numbers, as they are: not every whole number is a double.
#[inline]
fn exactly(n: i64, x: f64) -> Option<Ordering> {
    if x.is_nan() {
        return None;
    }
    match whole(x.trunc()) {
        // The fraction decides.
        Some(other) => n.cmp(&other).then(x.trunc().partial_cmp(&x)?).into(),
        None if x > 0.0 => Some(Ordering::Less),
        None => Some(Ordering::Greater),
    }
}

impl<'a> Value<'a> {
    #[inline]
    pub fn text(bytes: &'a [u8]) -> Value<'a> {
        Value::Text(Cow::Borrowed(bytes))
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The order of two values of one type, or of two numbers, which is exact; none where one is absent, or not a number.
    #[inline]
    pub fn order(&self, other: &Value) -> Option<Ordering> {
        match (self, other) {
            (Value::Boolean(a), Value::Boolean(b)) => Some(a.cmp(b)),
            (Value::Long(a), Value::Long(b)) => Some(a.cmp(b)),
            (Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
            (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
            (Value::Long(a), Value::Double(b)) => exactly(*a, *b),
            (Value::Double(a), Value::Long(b)) => exactly(*b, *a).map(Ordering::reverse),
            _ => None,
        }
    }

    pub fn as_double(&self) -> Option<f64> {
        match self {
            Value::Long(n) => Some(*n as f64),
            Value::Double(x) => Some(*x),
            _ => None,
        }
    }

    /// The value without what it borrows.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Value::Null => Value::Null,
            Value::Boolean(b) => Value::Boolean(b),
            Value::Long(n) => Value::Long(n),
            Value::Double(x) => Value::Double(x),
            Value::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Value::List(values) => Value::List(values.into_iter().map(Value::into_owned).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_and_doubles_are_compared_exactly() {
        let order = |n: i64, x: f64| Value::Long(n).order(&Value::Double(x));
        let big = 1_i64 << 53;
        assert_eq!(order(big + 1, big as f64), Some(Ordering::Greater));
        assert_eq!(order(big, big as f64), Some(Ordering::Equal));
        assert_eq!(order(i64::MAX, i64::MAX as f64), Some(Ordering::Less));
        assert_eq!(order(i64::MIN, i64::MIN as f64), Some(Ordering::Equal));
        assert_eq!(order(0, -0.0), Some(Ordering::Equal));
        assert_eq!(order(0, 0.5), Some(Ordering::Less));
        assert_eq!(order(0, -0.5), Some(Ordering::Greater));
        assert_eq!(order(-1, -0.5), Some(Ordering::Less));
        assert_eq!(order(1, f64::NEG_INFINITY), Some(Ordering::Greater));
        assert_eq!(order(1, f64::NAN), None);
        assert_eq!(Value::Double(0.5).order(&Value::Long(1)), Some(Ordering::Less));
    }
}
