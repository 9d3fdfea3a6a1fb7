//! Decoding by the writer's schema straight into a row, skipping what no rule needs.
//!
//! Writer's and reader's types are resolved once per schema, into one step per field of the writer's record. Lengths
//! are checked against the bytes that are there before anything is done with them.

use super::schema::{Schema, Type, TypeId};
use super::Malformed;
use crate::event::{Layout, RowWriter, Slot};
use crate::plan::{EventType, Type as Attribute};

/// Recursive data deeper than this is refused.
const MAX_DEPTH: usize = 64;

pub struct Cursor<'a> {
    bytes: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes }
    }

    pub fn remaining(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        if count > self.bytes.len() {
            return Err(Malformed::new("the record ends too early"));
        }
        let (head, tail) = self.bytes.split_at(count);
        self.bytes = tail;
        Ok(head)
    }

    #[inline]
    pub fn long(&mut self) -> Result<i64, Malformed> {
        if let [byte @ 0..0x80, rest @ ..] = self.bytes {
            self.bytes = rest;
            return Ok(i64::from(byte >> 1) ^ -i64::from(byte & 1));
        }
        let mut value = 0u64;
        for (i, &byte) in self.bytes.iter().enumerate().take(10) {
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte & 0x80 == 0 {
                self.bytes = &self.bytes[i + 1..];
                return Ok((value >> 1) as i64 ^ -((value & 1) as i64));
            }
        }
        Err(Malformed::new("the record has a number that does not end"))
    }

    fn length(&mut self) -> Result<usize, Malformed> {
        let length = self.long()?;
        usize::try_from(length).map_err(|_| Malformed::new("the record has a negative length"))
    }

    #[inline]
    pub fn blob(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.length()?;
        self.take(length)
    }

    fn boolean(&mut self) -> Result<bool, Malformed> {
        match self.take(1)?[0] {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed::new("the record has a boolean that is neither 0 nor 1")),
        }
    }

    fn float(&mut self) -> Result<f32, Malformed> {
        Ok(f32::from_le_bytes(self.take(4)?.try_into().expect("4 bytes were taken")))
    }

    fn double(&mut self) -> Result<f64, Malformed> {
        Ok(f64::from_le_bytes(self.take(8)?.try_into().expect("8 bytes were taken")))
    }

    fn branch(&mut self, branches: usize) -> Result<usize, Malformed> {
        let branch = self.length()?;
        if branch < branches {
            Ok(branch)
        } else {
            Err(Malformed::new("the record has a union branch that its schema lacks"))
        }
    }

    fn skip(&mut self, schema: &Schema, id: TypeId, depth: usize) -> Result<(), Malformed> {
        if depth > MAX_DEPTH {
            return Err(Malformed::new("the record is nested too deeply"));
        }
        match schema.get(id) {
            Type::Null | Type::Pending => Ok(()),
            Type::Boolean => self.take(1).map(drop),
            Type::Int | Type::Long { .. } | Type::Enum(_) => self.long().map(drop),
            Type::Float => self.take(4).map(drop),
            Type::Double => self.take(8).map(drop),
            Type::Bytes | Type::String => self.blob().map(drop),
            Type::Fixed(size) => self.take(*size).map(drop),
            Type::Array(items) => self.skip_blocks(schema, *items, false, depth),
            Type::Map(values) => self.skip_blocks(schema, *values, true, depth),
            Type::Union(branches) => {
                let branch = self.branch(branches.len())?;
                self.skip(schema, branches[branch], depth + 1)
            }
            // Records can hold each other so that even a value without bytes has more parts than can be walked.
            Type::Record { .. } if schema.is_empty(id) => Ok(()),
            Type::Record { fields, .. } => {
                fields.iter().try_for_each(|(_, field)| self.skip(schema, *field, depth + 1))
            }
        }
    }

    fn skip_blocks(
        &mut self,
        schema: &Schema,
        item: TypeId,
        keyed: bool,
        depth: usize,
    ) -> Result<(), Malformed> {
        loop {
            let count = self.long()?;
            if count == 0 {
                return Ok(());
            }
            if count < 0 {
                let size = self.length()?;
                self.take(size)?;
                continue;
            }
            if schema.is_empty(item) && !keyed {
                continue;
            }
            // An item takes a byte at least.
            if usize::try_from(count).map_or(true, |n| n > self.remaining()) {
                return Err(Malformed::new("the record has a block that is longer than the record"));
            }
            for _ in 0..count {
                if keyed {
                    self.blob()?;
                }
                self.skip(schema, item, depth + 1)?;
            }
        }
    }
}

/// What to do with one field of the writer's record.
enum Step {
    /// Fields of fixed width that nobody needs.
    Jump(usize),
    SkipLong,
    SkipBlob,
    Skip(TypeId),
    Read(Slot, Read),
}

enum Read {
    Boolean,
    Long,
    Micros,
    LongAsDouble,
    LongAsFloat,
    Float,
    Double,
    Text,
    Symbol(Vec<String>),
    /// One entry a branch of the writer's union: how to read it, or nothing where the reader has no place for it.
    Union(Vec<Branch>),
}

enum Branch {
    Null { allowed: bool },
    Read(Read),
    Refused,
}

/// A writer's schema resolved to the rows of one event type.
pub struct Decoder {
    schema: Schema,
    steps: Vec<(String, Step)>,
}

impl Decoder {
    /// Resolves `schema` to `event_type`, or says in a sentence why it cannot be.
    pub fn new(schema: Schema, event_type: &EventType, layout: &Layout) -> Result<Decoder, String> {
        let Type::Record { fields, .. } = schema.get(schema.root()) else {
            return Err("the schema is not a record".into());
        };
        let mut steps = Vec::with_capacity(fields.len());
        for (name, id) in fields {
            let wanted = event_type.fields.iter().position(|f| f.name == *name);
            let step = match wanted.and_then(|index| layout.slot(index).map(|slot| (index, slot))) {
                None => skip_step(&schema, *id),
                Some((index, _)) if event_type.fields[index].optional && *schema.get(*id) == Type::Null => {
                    Step::Skip(*id)
                }
                Some((index, slot)) => {
                    let field = &event_type.fields[index];
                    let read = resolve(&schema, *id, field.kind, field.optional).ok_or_else(|| {
                        format!(
                            "attribute `{name}` of event {} has another type in the schema",
                            event_type.name
                        )
                    })?;
                    Step::Read(slot, read)
                }
            };
            steps.push((name.clone(), step));
        }
        for (index, field) in event_type.fields.iter().enumerate() {
            let missing = !fields.iter().any(|(name, _)| *name == field.name);
            if missing && !field.optional && layout.slot(index).is_some() {
                return Err(format!(
                    "the schema lacks attribute `{}` of event {}",
                    field.name, event_type.name
                ));
            }
        }
        Ok(Decoder { schema, steps })
    }

    /// Decodes one record into `row`, which holds a started row.
    pub fn decode(&self, bytes: &[u8], row: &mut Vec<u8>) -> Result<(), Malformed> {
        let mut cursor = Cursor::new(bytes);
        for (name, step) in &self.steps {
            match step {
                Step::Jump(width) => drop(cursor.take(*width)?),
                Step::SkipLong => drop(cursor.long()?),
                Step::SkipBlob => drop(cursor.blob()?),
                Step::Skip(id) => cursor.skip(&self.schema, *id, 0)?,
                Step::Read(slot, read) => read.apply(&mut cursor, *slot, row, name)?,
            }
        }
        match cursor.remaining() {
            0 => Ok(()),
            extra => Err(Malformed(format!("the record has {extra} bytes more than its schema says"))),
        }
    }
}

/// How to read a writer's type as an attribute: Avro's promotions, and an enum's symbol as text.
fn skip_step(schema: &Schema, id: TypeId) -> Step {
    match schema.get(id) {
        Type::Null => Step::Jump(0),
        Type::Boolean => Step::Jump(1),
        Type::Float => Step::Jump(4),
        Type::Double => Step::Jump(8),
        Type::Fixed(size) => Step::Jump(*size),
        Type::Int | Type::Long { .. } | Type::Enum(_) => Step::SkipLong,
        Type::Bytes | Type::String => Step::SkipBlob,
        _ => Step::Skip(id),
    }
}

fn resolve(schema: &Schema, id: TypeId, kind: Attribute, optional: bool) -> Option<Read> {
    let read = match (schema.get(id), kind) {
        (Type::Boolean, Attribute::Boolean) => Read::Boolean,
        (Type::Int, Attribute::Int | Attribute::Long | Attribute::Timestamp) => Read::Long,
        (Type::Long { .. }, Attribute::Long) => Read::Long,
        (Type::Long { micros: false }, Attribute::Timestamp) => Read::Long,
        (Type::Long { micros: true }, Attribute::Timestamp) => Read::Micros,
        (Type::Int | Type::Long { .. }, Attribute::Double) => Read::LongAsDouble,
        (Type::Int | Type::Long { .. }, Attribute::Float) => Read::LongAsFloat,
        (Type::Float, Attribute::Float | Attribute::Double) => Read::Float,
        (Type::Double, Attribute::Double) => Read::Double,
        (Type::String | Type::Bytes, Attribute::String) => Read::Text,
        (Type::Enum(symbols), Attribute::String) => Read::Symbol(symbols.clone()),
        (Type::Union(branches), _) => {
            let branches: Vec<Branch> = branches
                .iter()
                .map(|branch| match schema.get(*branch) {
                    Type::Null => Branch::Null { allowed: optional },
                    Type::Union(_) => Branch::Refused,
                    _ => resolve(schema, *branch, kind, optional).map_or(Branch::Refused, Branch::Read),
                })
                .collect();
            let usable =
                branches.iter().any(|b| matches!(b, Branch::Read(_) | Branch::Null { allowed: true }));
            return usable.then_some(Read::Union(branches));
        }
        _ => return None,
    };
    Some(read)
}

impl Read {
    #[inline]
    fn apply(&self, cursor: &mut Cursor, slot: Slot, row: &mut Vec<u8>, name: &str) -> Result<(), Malformed> {
        match self {
            Read::Boolean => row.put(slot, u64::from(cursor.boolean()?)),
            Read::Long => row.put(slot, cursor.long()? as u64),
            Read::Micros => row.put(slot, cursor.long()?.div_euclid(1000) as u64),
            Read::LongAsDouble => row.put(slot, (cursor.long()? as f64).to_bits()),
            Read::LongAsFloat => row.put(slot, f64::from(cursor.long()? as f32).to_bits()),
            Read::Float => row.put(slot, f64::from(cursor.float()?).to_bits()),
            Read::Double => row.put(slot, cursor.double()?.to_bits()),
            Read::Text => {
                let text = cursor.blob()?;
                // Most text is ASCII, which is quicker to see than that it is UTF-8.
                if !text.is_ascii() && std::str::from_utf8(text).is_err() {
                    return Err(Malformed(format!("attribute `{name}` is not UTF-8")));
                }
                row.put_text(slot, text);
            }
            Read::Symbol(symbols) => {
                let symbol = cursor.branch(symbols.len())?;
                row.put_text(slot, symbols[symbol].as_bytes());
            }
            Read::Union(branches) => match &branches[cursor.branch(branches.len())?] {
                Branch::Null { allowed: true } => {}
                Branch::Null { allowed: false } => {
                    return Err(Malformed(format!(
                        "attribute `{name}` is null, and the event does not allow it"
                    )));
                }
                Branch::Refused => {
                    return Err(Malformed(format!("attribute `{name}` has a type the event does not allow")));
                }
                Branch::Read(read) => return read.apply(cursor, slot, row, name),
            },
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zigzag_longs() {
        for (bytes, value) in [(&[0u8][..], 0i64), (&[1], -1), (&[2], 1), (&[0x80, 0x01], 64), (&[0x7f], -64)]
        {
            assert_eq!(Cursor::new(bytes).long(), Ok(value));
        }
        assert!(Cursor::new(&[0xff; 11]).long().is_err());
        assert!(Cursor::new(&[0x80]).long().is_err());
    }

    #[test]
    fn a_block_longer_than_the_record_is_refused_at_once() {
        let schema = Schema::parse(r#"{"type":"array","items":"null"}"#).unwrap();
        let mut bytes = Vec::new();
        super::super::encode::long(&mut bytes, i64::MAX);
        assert!(Cursor::new(&bytes).skip(&schema, schema.root(), 0).is_err());
    }

    #[test]
    fn recursive_data_is_bounded() {
        let schema =
            Schema::parse(r#"{"type":"record","name":"L","fields":[{"name":"next","type":["null","L"]}]}"#)
                .unwrap();
        let deep = vec![2u8; 100_000];
        assert!(Cursor::new(&deep).skip(&schema, schema.root(), 0).is_err());
    }
}
