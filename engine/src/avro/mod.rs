//! Avro, as far as the hot path needs it: writers' schemas, decoding into rows, encoding of output.

pub mod cursor;
pub mod decode;
pub mod encode;
pub mod pen;
pub mod schema;

use std::fmt;

/// Why bytes were refused, in words for the dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed(pub String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Malformed {
    pub fn new(text: impl Into<String>) -> Malformed {
        Malformed(text.into())
    }
}
