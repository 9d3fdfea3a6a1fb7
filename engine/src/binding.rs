//! For which values of a node's equality parameters something holds: for one value each, or for any value.
//!
//! As bytes, which cells are found by: for each parameter in its order 0 for any value, or 1, the length (4,
//! little-endian) and the bytes of the value.

use smallvec::SmallVec;

use crate::key::Key;

/// A value for each parameter; none where any value will do.
pub type Values<'a> = SmallVec<[Option<&'a [u8]>; 2]>;

/// What an occurrence holds for, where its events alone do not tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    pub values: Key,
    /// Those among them for which the node has state of its own, and with that occurrences of its own.
    pub except: Vec<Key>,
}

pub fn encode(values: &[Option<&[u8]>]) -> Key {
    let mut key = Key::new();
    for value in values {
        key.push(u8::from(value.is_some()));
        if let Some(value) = value {
            key.extend_from_slice(&(value.len() as u32).to_le_bytes());
            key.extend_from_slice(value);
        }
    }
    key
}

/// The values in a key; nothing where it is not the key of that many parameters.
pub fn decode(key: &[u8], count: usize) -> Option<Values<'_>> {
    let mut values = Values::new();
    let mut rest = key;
    for _ in 0..count {
        let (tag, behind) = rest.split_first()?;
        rest = behind;
        values.push(match tag {
            0 => None,
            1 => {
                let (length, behind) = rest.split_at_checked(4)?;
                let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
                let (value, behind) = behind.split_at_checked(length)?;
                rest = behind;
                Some(value)
            }
            _ => return None,
        });
    }
    rest.is_empty().then_some(values)
}

/// Whether all that one holds for is among what the other holds for.
pub fn covers(general: &[Option<&[u8]>], special: &[Option<&[u8]>]) -> bool {
    general.iter().zip(special).all(|(general, special)| general.is_none() || general == special)
}

/// What two have in common; nothing where they contradict each other.
pub fn joined<'a>(one: &[Option<&'a [u8]>], other: &[Option<&'a [u8]>]) -> Option<Values<'a>> {
    let join = |(one, other): (&Option<&'a [u8]>, &Option<&'a [u8]>)| match (one, other) {
        (Some(one), Some(other)) if one != other => None,
        (one, other) => Some(one.or(*other)),
    };
    one.iter().zip(other).map(join).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Option<&[u8]> = Some(b"a");
    const B: Option<&[u8]> = Some(b"");

    #[test]
    fn values_come_back_from_a_key() {
        for values in [&[][..], &[None], &[A], &[A, None, B]] {
            let key = encode(values);
            assert_eq!(decode(&key, values.len()).as_deref(), Some(values));
            assert_eq!(decode(&key, values.len() + 1), None);
            for length in 0..key.len() {
                assert_eq!(decode(&key[..length], values.len()), None);
            }
        }
    }

    #[test]
    fn any_value_covers_each() {
        assert!(covers(&[None, None], &[A, None]));
        assert!(covers(&[A, None], &[A, B]));
        assert!(!covers(&[A, None], &[None, B]));
        assert!(!covers(&[A], &[B]));
    }

    #[test]
    fn what_two_have_in_common() {
        assert_eq!(joined(&[A, None], &[None, B]).as_deref(), Some(&[A, B][..]));
        assert_eq!(joined(&[A], &[B]), None);
    }
}
