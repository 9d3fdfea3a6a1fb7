//! Values of parameters as bytes: what stored occurrences are found by.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::value::{self, Value};

/// The encoded values of the parameters that tie a stored occurrence to others.
pub type Key = SmallVec<[u8; 24]>;

/// Appends a value; false where it can equal nothing.
#[inline]
pub fn push(key: &mut Key, value: &Value) -> bool {
    match value {
        Value::Null | Value::List(_) => return false,
        Value::Double(x) if x.is_nan() => return false,
        Value::Boolean(b) => key.push(u8::from(*b)),
        Value::Long(n) => push_number(key, WHOLE, *n as u64),
        Value::Double(x) => match value::whole(*x) {
            Some(n) => push_number(key, WHOLE, n as u64),
            None => push_number(key, FRACTION, x.to_bits()),
        },
        Value::Text(s) => {
            key.extend_from_slice(&(s.len() as u32).to_le_bytes());
            key.extend_from_slice(s);
        }
    }
    true
}

/// Numbers that are equal have equal keys, whatever their types.
const WHOLE: u8 = 0;
const FRACTION: u8 = 1;

#[inline]
fn push_number(key: &mut Key, tag: u8, raw: u64) {
    key.push(tag);
    key.extend_from_slice(&raw.to_le_bytes());
}

/// The number in a key that is that of one number.
pub fn number(key: &[u8]) -> Option<Value<'static>> {
    let (tag, raw) = key.split_first()?;
    let raw = u64::from_le_bytes(raw.try_into().ok()?);
    Some(if *tag == WHOLE { Value::Long(raw as i64) } else { Value::Double(f64::from_bits(raw)) })
}

/// The key of some parameter values; nothing where one of them can equal nothing.
#[inline]
pub fn key_of<'a>(values: impl Iterator<Item = Value<'a>>) -> Option<Key> {
    let mut key = Key::new();
    for value in values {
        if !push(&mut key, &value) {
            return None;
        }
    }
    Some(key)
}

/// A key to look for: most have one parameter, a text, which is its own key.
pub enum Probe<'a> {
    Text(&'a [u8]),
    Built(Key),
}

impl<'a> Probe<'a> {
    /// The key of some parameter values; nothing where one of them can equal nothing.
    #[inline]
    pub fn new(mut values: impl ExactSizeIterator<Item = Value<'a>>) -> Option<Probe<'a>> {
        let single = values.len() == 1;
        let mut key = Key::new();
        for value in &mut values {
            match value {
                Value::Text(Cow::Borrowed(s)) if single => return Some(Probe::Text(s)),
                value => {
                    if !push(&mut key, &value) {
                        return None;
                    }
                }
            }
        }
        Some(Probe::Built(key))
    }

    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Probe::Text(s) => s,
            Probe::Built(key) => key,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: Value<'static>) -> Option<Key> {
        key_of(std::iter::once(value))
    }

    #[test]
    fn equal_numbers_have_equal_keys() {
        let big = 1_i64 << 53;
        assert_eq!(of(Value::Long(1)), of(Value::Double(1.0)));
        assert_eq!(of(Value::Long(0)), of(Value::Double(-0.0)));
        assert_eq!(of(Value::Long(big)), of(Value::Double(big as f64)));
        assert_ne!(of(Value::Long(big + 1)), of(Value::Double(big as f64)));
        assert_ne!(of(Value::Long(i64::MAX)), of(Value::Double(i64::MAX as f64)));
        assert_ne!(of(Value::Long(1)), of(Value::Double(f64::from_bits(1))));
        assert_eq!(of(Value::Double(f64::NAN)), None);
    }

    #[test]
    fn a_number_comes_back() {
        for value in [Value::Long(-7), Value::Double(0.5), Value::Double(f64::INFINITY)] {
            assert_eq!(number(&of(value.clone()).expect("a number")), Some(value));
        }
    }
}
