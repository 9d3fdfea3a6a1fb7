//! Letters: what could not take part in detection, encoded as `schemas/avro/dead_letter.avsc` says.

use std::collections::BTreeMap;

use crate::avro::encode;

/// Why, in the order of the schema's enum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    Undecodable,
    UnknownSchema,
    SchemaMismatch,
    TooLarge,
    BadTime,
    Late,
    NullValue,
    NoValue,
}

impl Reason {
    /// Whether the same record may pass another time: when the clock has gone on, or a schema is known.
    pub fn may_pass(self) -> bool {
        matches!(self, Reason::BadTime | Reason::UnknownSchema)
    }
}

/// A record that was refused, or an occurrence that could not be written.
pub struct Reject {
    pub reason: Reason,
    pub message: String,
    pub topic: String,
    pub partition: i32,
    pub offset: i64,
    pub timestamp: i64,
    pub size: usize,
    pub key: Option<Vec<u8>>,
    pub value: Option<Vec<u8>>,
    pub headers: Vec<(String, Vec<u8>)>,
}

impl Reject {
    pub fn encode(&self, app: &str) -> Vec<u8> {
        let mut out = Vec::with_capacity(128 + self.value.as_ref().map_or(0, Vec::len));
        encode::long(&mut out, self.reason as i64);
        encode::blob(&mut out, self.message.as_bytes());
        encode::blob(&mut out, app.as_bytes());
        encode::blob(&mut out, self.topic.as_bytes());
        encode::long(&mut out, i64::from(self.partition));
        encode::long(&mut out, self.offset);
        encode::long(&mut out, self.timestamp);
        for bytes in [&self.key, &self.value] {
            encode::long(&mut out, i64::from(bytes.is_some()));
            if let Some(bytes) = bytes {
                encode::blob(&mut out, bytes);
            }
        }
        encode::long(&mut out, self.size as i64);
        let headers: BTreeMap<_, _> = self.headers.iter().map(|(name, value)| (name, value)).collect();
        if !headers.is_empty() {
            encode::long(&mut out, headers.len() as i64);
            for (name, value) in headers {
                encode::blob(&mut out, name.as_bytes());
                encode::blob(&mut out, value);
            }
        }
        encode::long(&mut out, 0);
        out
    }
}
