//! A rule's head: turns an occurrence of its pattern into an encoded complex event.

use super::pattern::Bound;
use crate::avro::encode;
use crate::event::Value;
use crate::expr::Expr;
use crate::identity::{identity, Topics, DIGITS};
use crate::partition::partition;
use crate::plan::Type;

/// Index of SELECTION in the enum Context of the complex event's schema.
const SELECTION: i64 = 0;

pub struct Attribute {
    pub name: String,
    pub kind: Type,
    pub optional: bool,
    pub value: Expr,
}

pub struct Binding {
    /// The name as Avro.
    pub name: Vec<u8>,
    pub value: Expr,
}

pub struct DefineNode {
    pub fingerprint: [u8; 8],
    pub rule: String,
    /// Rule, version and context as Avro: they stand in every record alike.
    pub rule_block: Vec<u8>,
    pub attributes: Vec<Attribute>,
    pub bindings: Vec<Binding>,
    /// The attribute that carries the key the output is partitioned by.
    pub key: Option<usize>,
    /// For the terminator and each constituent: role and type as Avro.
    pub roles: Vec<Vec<u8>>,
    /// What stands before the Avro bytes of each record, and where records go.
    pub output: Output,
}

#[derive(Debug, Clone)]
pub struct Output {
    pub topic: u32,
    pub frame: Vec<u8>,
    pub partitions: i32,
    pub own_partition: i32,
    pub max_bytes: usize,
}

/// Where one encoded record stands in `Emitted`.
pub struct Record {
    pub topic: u32,
    pub partition: i32,
    pub timestamp: i64,
    pub identity: [u8; DIGITS],
    pub start: usize,
    pub end: usize,
}

#[derive(Default)]
pub struct Emitted {
    pub bytes: Vec<u8>,
    pub records: Vec<Record>,
}

/// Rule, version and context, as they stand in every record of a rule.
pub fn rule_block(rule: &str, version: i32) -> Vec<u8> {
    let mut out = encode::as_blob(rule);
    encode::long(&mut out, i64::from(version));
    encode::long(&mut out, SELECTION);
    out
}

impl DefineNode {
    /// Encodes the occurrence; an error says why it cannot be written.
    pub fn emit(&self, bound: &Bound, topics: &Topics, out: &mut Emitted) -> Result<(), String> {
        let start = out.bytes.len();
        out.bytes.extend_from_slice(&self.output.frame);
        let mut to = self.output.own_partition;
        for (index, attribute) in self.attributes.iter().enumerate() {
            let value = attribute.value.eval(bound);
            if !attribute.encode(value, &mut out.bytes) {
                out.bytes.truncate(start);
                return Err(format!("attribute `{}` of {} has no value here", attribute.name, self.rule));
            }
            if self.key == Some(index) {
                to = self.partition_of(value);
            }
        }
        let identity = identity(&self.fingerprint, bound, topics);
        self.encode_detection(bound, topics, &identity, &mut out.bytes);
        let (topic, end) = (self.output.topic, out.bytes.len());
        if end - start > self.output.max_bytes {
            out.bytes.truncate(start);
            return Err(format!(
                "{} would be a record of {} bytes, which is too large",
                self.rule,
                end - start
            ));
        }
        out.records.push(Record { topic, partition: to, timestamp: bound[0].time, identity, start, end });
        Ok(())
    }

    fn partition_of(&self, value: Value) -> i32 {
        let partitions = self.output.partitions;
        match value {
            Value::Text(s) => partition(s, partitions),
            Value::Long(n) => partition(n.to_string().as_bytes(), partitions),
            Value::Boolean(b) => partition(if b { b"true" } else { b"false" }, partitions),
            Value::Null | Value::Double(_) => self.output.own_partition,
        }
    }

    fn encode_detection(&self, bound: &Bound, topics: &Topics, identity: &[u8], out: &mut Vec<u8>) {
        let start = bound.iter().map(|event| event.time).min().unwrap_or_default();
        encode::blob(out, identity);
        out.extend_from_slice(&self.rule_block);
        encode::long(out, start);
        encode::long(out, bound[0].time);
        if !self.bindings.is_empty() {
            encode::long(out, self.bindings.len() as i64);
            for binding in &self.bindings {
                out.extend_from_slice(&binding.name);
                encode_binding(binding.value.eval(bound), out);
            }
        }
        encode::long(out, 0);
        encode::long(out, bound.len() as i64);
        for (event, role) in bound.iter().zip(&self.roles) {
            out.extend_from_slice(role);
            encode::long(out, event.time);
            topics.encode_place(event, out);
        }
        encode::long(out, 0);
    }
}

/// Branches of the union in the schema's `bindings`: null, boolean, long, double, string.
fn encode_binding(value: Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => encode::long(out, 0),
        Value::Boolean(b) => {
            encode::long(out, 1);
            out.push(u8::from(b));
        }
        Value::Long(n) => {
            encode::long(out, 2);
            encode::long(out, n);
        }
        Value::Double(x) => {
            encode::long(out, 3);
            encode::double(out, x);
        }
        Value::Text(s) => {
            encode::long(out, 4);
            encode::blob(out, s);
        }
    }
}

impl Attribute {
    /// False where a value is absent that must be there, or does not fit its type.
    fn encode(&self, value: Value, out: &mut Vec<u8>) -> bool {
        if self.optional {
            encode::long(out, i64::from(value != Value::Null));
            if value == Value::Null {
                return true;
            }
        }
        match (value, self.kind) {
            (Value::Boolean(b), Type::Boolean) => out.push(u8::from(b)),
            (Value::Long(n), Type::Int) if i32::try_from(n).is_err() => return false,
            (Value::Long(n), Type::Int | Type::Long | Type::Timestamp) => encode::long(out, n),
            (Value::Double(x), Type::Float) => encode::float(out, x as f32),
            (Value::Double(x), Type::Double) => encode::double(out, x),
            (Value::Text(s), Type::String) => encode::blob(out, s),
            _ => return false,
        }
        true
    }
}
