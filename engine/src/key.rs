//! Values of parameters as bytes: what stored occurrences are found by.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::value::Value;

/// The encoded values of the parameters that tie a stored occurrence to others.
pub type Key = SmallVec<[u8; 24]>;

/// Appends a value; false where it can equal nothing.
#[inline]
pub fn push(key: &mut Key, value: &Value) -> bool {
    match value {
        Value::Null | Value::List(_) => return false,
        Value::Double(x) if x.is_nan() => return false,
        Value::Boolean(b) => key.push(u8::from(*b)),
        Value::Long(n) => key.extend_from_slice(&n.to_le_bytes()),
        // Adding zero makes the two zeros one.
        Value::Double(x) => key.extend_from_slice(&(x + 0.0).to_bits().to_le_bytes()),
        Value::Text(s) => {
            key.extend_from_slice(&(s.len() as u32).to_le_bytes());
            key.extend_from_slice(s);
        }
    }
    true
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
