//! A complex event as a record: its attributes, what was detected, and from what.

use std::ops::Deref;

use smallvec::SmallVec;
use triomphe::Arc;

use crate::avro::encode::{self, Stamp};
use crate::avro::pen::Pen;
use crate::expr::Expr;
use crate::identity::{identities, identity, short_text, Text, Topics, BESIDE, DIGITS, TEXT};
use crate::occurrence::{Sight, Sighted};
use crate::partition::partition_of;
use crate::plan::{Context, Type};
use crate::value::Value;

#[derive(Debug)]
pub struct Attribute {
    pub name: String,
    pub kind: Type,
    pub optional: bool,
    pub many: bool,
    pub value: Expr,
}

#[derive(Debug)]
pub struct Binding {
    /// The name as Avro.
    pub name: Stamp,
    pub value: Expr,
    /// Whether it tells apart what is limited on its own.
    pub equality: bool,
}

/// How the occurrences of rules are written that differ in their names alone.
#[derive(Debug)]
pub struct Shape {
    pub attributes: Vec<Attribute>,
    pub bindings: Vec<Binding>,
    /// The attribute that carries the key the output is partitioned by.
    pub key: Option<usize>,
    /// For each slot: role and type as Avro; nothing for what is no constituent.
    pub roles: Vec<Stamp>,
    /// Whether every slot has a role of its own.
    pub distinct: bool,
    /// The slots of each role, in the order in which they are written, where the order of roles matters.
    pub places: Vec<Vec<u16>>,
    /// Whether the same constituents can be found at several positions, which then are part of the identity.
    pub repeats: bool,
}

/// How the occurrences of a rule are written.
pub struct Emission {
    pub fingerprint: [u8; 8],
    pub rule: Box<str>,
    /// Rule, version and context as Avro: they stand in every record alike.
    pub rule_block: Stamp,
    /// What stands before the Avro bytes of each record, and where records go.
    pub output: Output,
    pub shape: Arc<Shape>,
}

impl Deref for Emission {
    type Target = Shape;

    #[inline]
    fn deref(&self) -> &Shape {
        &self.shape
    }
}

#[derive(Debug, Clone)]
pub struct Output {
    pub topic: u32,
    pub frame: Stamp,
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
    /// Longer than what is written there.
    pub bytes: Vec<u8>,
    /// Where the next record begins.
    end: usize,
    pub records: Vec<Record>,
    /// What is hashed of records without an identity, which record it is of, and where that stands.
    unnamed: Vec<(Text, usize, usize)>,
}

impl Emitted {
    /// Lets the last record have its identity later, together with others.
    #[inline]
    fn name_later(&mut self, text: Text, at: usize) {
        self.unnamed.push((text, self.records.len() - 1, at));
        if self.unnamed.len() == BESIDE {
            self.name();
        }
    }

    /// Gives all records their identities.
    pub fn name(&mut self) {
        let mut texts = [[0; TEXT]; BESIDE];
        texts.iter_mut().zip(&self.unnamed).for_each(|(text, unnamed)| *text = unnamed.0);
        let found = if self.unnamed.is_empty() { return } else { identities(&texts) };
        for ((_, record, at), identity) in self.unnamed.drain(..).zip(found) {
            self.records[record].identity = identity;
            self.bytes[at..at + DIGITS].copy_from_slice(&identity);
        }
    }

    /// Undoes the last record.
    pub fn take_back(&mut self) {
        if let Some(record) = self.records.pop() {
            self.end = record.start;
        }
    }

    /// Forgets everything, and keeps the room it took.
    pub fn clear(&mut self) {
        self.end = 0;
        self.records.clear();
        self.unnamed.clear();
    }
}

/// Rule, version and context, as they stand in every record of a rule.
pub fn rule_block(rule: &str, version: i32, context: Option<Context>) -> Stamp {
    // The order of the enum Context of the complex event's schema.
    let context = match context {
        None => 0,
        Some(Context::Unrestricted) => 1,
        Some(Context::Recent) => 2,
        Some(Context::Chronicle) => 3,
        Some(Context::Continuous) => 4,
        Some(Context::Cumulative) => 5,
    };
    let mut out = encode::as_blob(rule);
    encode::long(&mut out, i64::from(version));
    encode::long(&mut out, context);
    Stamp::new(out)
}

impl Emission {
    /// Encodes an occurrence and returns its identity; an error says why it cannot be written. `ordinal` is its place
    /// among those that are simultaneous and of the same constituents.
    pub fn emit<'a>(
        &'a self,
        sight: &Sight<'a>,
        ordinal: usize,
        topics: &Topics,
        out: &mut Emitted,
    ) -> Result<[u8; DIGITS], String> {
        let place = self.repeats.then_some((sight.end, ordinal as u64));
        let identity = identity(&self.fingerprint, sight, place, topics);
        self.write(sight, &identity, topics, out)?;
        Ok(identity)
    }

    /// Encodes an occurrence that is alone at its position and the identity of which nobody asks for at once.
    #[inline]
    pub fn emit_alone<'a>(
        &'a self,
        sight: &Sight<'a>,
        topics: &Topics,
        out: &mut Emitted,
    ) -> Result<(), String> {
        match short_text(&self.fingerprint, sight, topics) {
            Some(text) if !self.repeats => {
                let at = self.write(sight, &[0; DIGITS], topics, out)?;
                out.name_later(text, at);
            }
            _ => drop(self.emit(sight, 0, topics, out)?),
        }
        Ok(())
    }

    /// Encodes an occurrence, and returns where its identity stands.
    #[inline(always)]
    fn write<'a>(
        &'a self,
        sight: &Sight<'a>,
        identity: &[u8; DIGITS],
        topics: &Topics,
        out: &mut Emitted,
    ) -> Result<usize, String> {
        let start = out.end;
        let mut pen = Pen::new(std::mem::take(&mut out.bytes), start);
        pen.stamp(&self.output.frame);
        let mut to = self.output.own_partition;
        for (index, attribute) in self.attributes.iter().enumerate() {
            let value = attribute.value.eval(sight);
            if !attribute.encode(&value, &mut pen) {
                out.bytes = pen.into_room();
                return Err(format!("attribute `{}` of {} has no value here", attribute.name, self.rule));
            }
            if self.key == Some(index) {
                to = partition_of(&value, self.output.partitions).unwrap_or(to);
            }
        }
        let named = pen.at() + 1;
        self.encode_detection(sight, topics, identity, &mut pen);
        let end = pen.at();
        out.bytes = pen.into_room();
        if end - start > self.output.max_bytes {
            return Err(self.too_large(end - start));
        }
        out.end = end;
        let topic = self.output.topic;
        let (timestamp, identity) = (sight.time, *identity);
        out.records.push(Record { topic, partition: to, timestamp, identity, start, end });
        Ok(named)
    }

    #[cold]
    fn too_large(&self, bytes: usize) -> String {
        format!("{} would be a record of {bytes} bytes, which is too large", self.rule)
    }

    #[inline(always)]
    fn encode_detection<'a>(
        &'a self,
        sight: &Sight<'a>,
        topics: &Topics,
        identity: &[u8; DIGITS],
        pen: &mut Pen,
    ) {
        pen.bytes(&[2 * DIGITS as u8]);
        pen.bytes(identity);
        pen.stamp(&self.rule_block);
        pen.long(sight.start);
        pen.long(sight.end);
        if !self.bindings.is_empty() {
            pen.long(self.bindings.len() as i64);
            for binding in &self.bindings {
                pen.stamp(&binding.name);
                encode_binding(&binding.value.eval(sight), pen);
            }
        }
        pen.long(0);
        // One event in several slots of a role plays it once.
        let told = if self.distinct { None } else { Some(self.told(sight)) };
        let told = told.as_deref().unwrap_or(&sight.items);
        if !told.is_empty() {
            pen.long(told.len() as i64);
            for (slot, event) in told {
                pen.stamp(&self.roles[usize::from(*slot)]);
                pen.long(event.time);
                topics.encode_place(event, pen);
            }
        }
        pen.long(0);
    }

    /// The constituents, without those that have no role, and each once in its role.
    #[inline(never)]
    fn told<'a>(&self, sight: &Sight<'a>) -> SmallVec<[Sighted<'a>; 4]> {
        let role = |slot: u16| self.roles[usize::from(slot)].bytes();
        let mut told: SmallVec<[Sighted<'a>; 4]> = SmallVec::new();
        for (slot, event) in sight.items.iter().filter(|(slot, _)| !role(*slot).is_empty()) {
            let shared = self.places.iter().any(|place| place.len() > 1 && place.contains(slot));
            let twice = |other: &Sighted| role(other.0) == role(*slot) && other.1.is(event);
            if !(shared && told.iter().any(twice)) {
                told.push((*slot, event));
            }
        }
        told
    }
}

/// Branches of the union in the schema's `bindings`: null, boolean, long, double, string.
#[inline(always)]
fn encode_binding(value: &Value, pen: &mut Pen) {
    match value {
        Value::Null | Value::List(_) => pen.long(0),
        Value::Boolean(b) => pen.bytes(&[2, u8::from(*b)]),
        Value::Long(n) => {
            pen.long(2);
            pen.long(*n);
        }
        Value::Double(x) => {
            pen.long(3);
            pen.double(*x);
        }
        Value::Text(s) => {
            pen.long(4);
            pen.blob(s);
        }
    }
}

impl Attribute {
    /// False where a value is absent that must be there, or does not fit its type.
    #[inline(always)]
    fn encode(&self, value: &Value, pen: &mut Pen) -> bool {
        if self.optional {
            pen.long(i64::from(!value.is_null()));
            if value.is_null() {
                return true;
            }
        }
        match value {
            Value::List(values) if self.many => {
                if !values.is_empty() {
                    pen.long(values.len() as i64);
                }
                let fits = values.iter().all(|value| self.encode_one(value, pen));
                pen.long(0);
                fits
            }
            value => !self.many && self.encode_one(value, pen),
        }
    }

    #[inline(always)]
    fn encode_one(&self, value: &Value, pen: &mut Pen) -> bool {
        match (value, self.kind) {
            (Value::Boolean(b), Type::Boolean) => pen.bytes(&[u8::from(*b)]),
            (Value::Long(n), Type::Int) if i32::try_from(*n).is_err() => return false,
            (Value::Long(n), Type::Int | Type::Long | Type::Timestamp) => pen.long(*n),
            (Value::Long(n), Type::Float) => pen.float(*n as f32),
            (Value::Long(n), Type::Double) => pen.double(*n as f64),
            (Value::Double(x), Type::Float) => pen.float(*x as f32),
            (Value::Double(x), Type::Double) => pen.double(*x),
            (Value::Text(s), Type::String | Type::Bytes) => pen.blob(s),
            _ => return false,
        }
        true
    }
}
