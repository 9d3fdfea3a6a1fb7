//! Decoding by the writer's schema straight into a row, skipping what no rule needs.
//!
//! Writer's and reader's types are resolved once per schema, into one step per field of the writer's record.

use super::cursor::{Cursor, Flaw};
use super::schema::{Schema, Type, TypeId};
use super::Malformed;
use crate::event::{Layout, Row, RowWriter, Slot};
use crate::plan::{EventType, Type as Attribute};

/// What to do with one field of the writer's record: pass over it, or write it at its place in the row.
enum Step {
    /// Fields of fixed width that nobody needs.
    Jump(usize),
    SkipLong,
    SkipBlob,
    Skip(TypeId),
    Boolean(u16),
    Int(u16),
    Long(u16),
    Micros(u16),
    LongAsDouble(u16),
    LongAsFloat(u16),
    Float(u16),
    Double(u16),
    Text(u16),
    Bytes(u16),
    Symbol(u16, Box<[String]>),
    /// One step a branch of the writer's union.
    Union(Box<[Step]>),
    Null(Slot),
    /// A branch for which the reader has no place.
    Refuse(Fault),
}

/// Why a field is refused. Small, as a flaw is.
#[derive(Clone, Copy)]
enum Fault {
    Flaw(Flaw),
    NoInt,
    NoText,
    NoNull,
    OtherType,
}

impl From<Flaw> for Fault {
    fn from(flaw: Flaw) -> Fault {
        Fault::Flaw(flaw)
    }
}

impl Fault {
    #[cold]
    fn of(self, name: &str) -> Malformed {
        let what = match self {
            Fault::Flaw(flaw) => return flaw.into(),
            Fault::NoInt => "is no int",
            Fault::NoText => "is not UTF-8",
            Fault::NoNull => "is null, and the event does not allow it",
            Fault::OtherType => "has a type the event does not allow",
        };
        Malformed(format!("attribute `{name}` {what}"))
    }
}

/// A writer's schema resolved to the rows of one event type.
pub struct Decoder {
    schema: Schema,
    steps: Vec<(String, Step)>,
    /// The row to begin with, in which only that is null which the writer never gives.
    blank: Row,
}

impl Decoder {
    /// Resolves `schema` to `event_type`, or says in a sentence why it cannot be.
    pub fn new(schema: Schema, event_type: &EventType, layout: &Layout) -> Result<Decoder, String> {
        let Type::Record { fields, .. } = schema.get(schema.root()) else {
            return Err("the schema is not a record".into());
        };
        let mut steps = Vec::with_capacity(fields.len());
        let mut blank = layout.blank.clone();
        for (name, id) in fields {
            let wanted = event_type.fields.iter().position(|f| f.name == *name);
            let step = match wanted.and_then(|index| layout.slot(index).map(|slot| (index, slot))) {
                None => skip_step(&schema, *id),
                Some((index, slot))
                    if event_type.fields[index].optional && *schema.get(*id) == Type::Null =>
                {
                    Step::Null(slot)
                }
                Some((index, slot)) => {
                    blank.put(slot, 0);
                    let field = &event_type.fields[index];
                    resolve(&schema, *id, field.kind, field.optional, slot).ok_or_else(|| {
                        format!(
                            "attribute `{name}` of event {} has another type in the schema",
                            event_type.name
                        )
                    })?
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
        Ok(Decoder { schema, steps, blank })
    }

    /// Decodes one record into `row`, whatever that was.
    #[inline(never)]
    pub fn decode(&self, bytes: &[u8], row: &mut Row) -> Result<(), Malformed> {
        row.restart(&self.blank);
        let mut cursor = Cursor::new(bytes);
        for (name, step) in &self.steps {
            step.take(&mut cursor, &self.schema, row).map_err(|fault| fault.of(name))?;
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
fn resolve(schema: &Schema, id: TypeId, kind: Attribute, optional: bool, slot: Slot) -> Option<Step> {
    let at = slot.at;
    let step = match (schema.get(id), kind) {
        (Type::Boolean, Attribute::Boolean) => Step::Boolean(at),
        (Type::Int, Attribute::Int | Attribute::Long | Attribute::Timestamp) => Step::Int(at),
        (Type::Long { .. }, Attribute::Long) => Step::Long(at),
        (Type::Long { micros: false }, Attribute::Timestamp) => Step::Long(at),
        (Type::Long { micros: true }, Attribute::Timestamp) => Step::Micros(at),
        (Type::Int | Type::Long { .. }, Attribute::Double) => Step::LongAsDouble(at),
        (Type::Int | Type::Long { .. }, Attribute::Float) => Step::LongAsFloat(at),
        (Type::Float, Attribute::Float | Attribute::Double) => Step::Float(at),
        (Type::Double, Attribute::Double) => Step::Double(at),
        (Type::String | Type::Bytes, Attribute::String) => Step::Text(at),
        (Type::String | Type::Bytes, Attribute::Bytes) => Step::Bytes(at),
        (Type::Enum(symbols), Attribute::String) => Step::Symbol(at, symbols.clone().into()),
        (Type::Union(branches), _) => {
            let of = |branch: &TypeId| match schema.get(*branch) {
                Type::Null if optional => Step::Null(slot),
                Type::Null => Step::Refuse(Fault::NoNull),
                Type::Union(_) => Step::Refuse(Fault::OtherType),
                _ => resolve(schema, *branch, kind, optional, slot).unwrap_or(Step::Refuse(Fault::OtherType)),
            };
            let steps: Box<[Step]> = branches.iter().map(of).collect();
            let usable = steps.iter().any(|step| !matches!(step, Step::Refuse(_)));
            return usable.then_some(Step::Union(steps));
        }
        _ => return None,
    };
    Some(step)
}

impl Step {
    #[inline]
    fn take(&self, cursor: &mut Cursor, schema: &Schema, row: &mut Row) -> Result<(), Fault> {
        match *self {
            Step::Jump(width) => drop(cursor.take(width)?),
            Step::SkipLong => drop(cursor.long()?),
            Step::SkipBlob => drop(cursor.blob()?),
            Step::Skip(id) => cursor.skip(schema, id, 0)?,
            Step::Boolean(at) => row.set(at, u64::from(cursor.boolean()?)),
            Step::Int(at) => {
                let int = i32::try_from(cursor.long()?).map_err(|_| Fault::NoInt)?;
                row.set(at, i64::from(int) as u64);
            }
            Step::Long(at) => row.set(at, cursor.long()? as u64),
            Step::Micros(at) => row.set(at, cursor.long()?.div_euclid(1000) as u64),
            Step::LongAsDouble(at) => row.set(at, (cursor.long()? as f64).to_bits()),
            Step::LongAsFloat(at) => row.set(at, f64::from(cursor.long()? as f32).to_bits()),
            Step::Float(at) => row.set(at, f64::from(cursor.float()?).to_bits()),
            Step::Double(at) => row.set(at, cursor.double()?.to_bits()),
            Step::Text(at) => {
                let text = cursor.blob()?;
                // Most text is ASCII, which is quicker to see than that it is UTF-8.
                if !text.is_ascii() && std::str::from_utf8(text).is_err() {
                    return Err(Fault::NoText);
                }
                row.set_text(at, text);
            }
            Step::Bytes(at) => row.set_text(at, cursor.blob()?),
            Step::Symbol(at, ref symbols) => {
                let symbol = cursor.branch(symbols.len())?;
                row.set_text(at, symbols[symbol].as_bytes());
            }
            Step::Union(ref branches) => {
                let branch = cursor.branch(branches.len())?;
                return branches[branch].take(cursor, schema, row);
            }
            Step::Null(slot) => row.set_null(slot),
            Step::Refuse(fault) => return Err(fault),
        }
        Ok(())
    }
}
