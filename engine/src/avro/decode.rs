//! Decoding by the writer's schema straight into a row, skipping what no rule needs.
//!
//! Writer's and reader's types are resolved once per schema, into one step per field of the writer's record.

use super::cursor::Cursor;
use super::schema::{Schema, Type, TypeId};
use super::Malformed;
use crate::event::{Layout, RowWriter, Slot};
use crate::plan::{EventType, Type as Attribute};

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
    Int,
    Long,
    Micros,
    LongAsDouble,
    LongAsFloat,
    Float,
    Double,
    Text,
    Bytes,
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

/// How to pass over a writer's type.
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

/// How to read a writer's type as an attribute: Avro's promotions, and an enum's symbol as text.
fn resolve(schema: &Schema, id: TypeId, kind: Attribute, optional: bool) -> Option<Read> {
    let read = match (schema.get(id), kind) {
        (Type::Boolean, Attribute::Boolean) => Read::Boolean,
        (Type::Int, Attribute::Int | Attribute::Long | Attribute::Timestamp) => Read::Int,
        (Type::Long { .. }, Attribute::Long) => Read::Long,
        (Type::Long { micros: false }, Attribute::Timestamp) => Read::Long,
        (Type::Long { micros: true }, Attribute::Timestamp) => Read::Micros,
        (Type::Int | Type::Long { .. }, Attribute::Double) => Read::LongAsDouble,
        (Type::Int | Type::Long { .. }, Attribute::Float) => Read::LongAsFloat,
        (Type::Float, Attribute::Float | Attribute::Double) => Read::Float,
        (Type::Double, Attribute::Double) => Read::Double,
        (Type::String | Type::Bytes, Attribute::String) => Read::Text,
        (Type::String | Type::Bytes, Attribute::Bytes) => Read::Bytes,
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
            Read::Int => {
                let int = i32::try_from(cursor.long()?);
                let int = int.map_err(|_| Malformed(format!("attribute `{name}` is no int")))?;
                row.put(slot, i64::from(int) as u64);
            }
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
            Read::Bytes => row.put_text(slot, cursor.blob()?),
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
