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

impl<'a> Value<'a> {
    #[inline]
    pub fn text(bytes: &'a [u8]) -> Value<'a> {
        Value::Text(Cow::Borrowed(bytes))
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The order of two values of one type; none where one is absent, or not a number.
    #[inline]
    pub fn order(&self, other: &Value) -> Option<Ordering> {
        match (self, other) {
            (Value::Boolean(a), Value::Boolean(b)) => Some(a.cmp(b)),
            (Value::Long(a), Value::Long(b)) => Some(a.cmp(b)),
            (Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
            (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
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
