//! JSON records decoded into rows: one pass, unknown members skipped, nothing kept that no rule needs.

use std::fmt;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor};
use serde::Deserializer;

use crate::avro::Malformed;
use crate::event::{Layout, Row, RowWriter, Slot};
use crate::plan::{EventType, Type};
use crate::time;

/// Decodes one object into `row`, whatever that was.
pub fn decode(bytes: &[u8], event_type: &EventType, layout: &Layout, row: &mut Row) -> Result<(), Malformed> {
    row.restart(&layout.blank);
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let seen = reader
        .deserialize_map(Members { event_type, layout, row })
        .and_then(|seen| reader.end().map(|()| seen))
        .map_err(|e| Malformed(format!("not the JSON of event {}: {e}", event_type.name)))?;
    for (index, field) in event_type.fields.iter().enumerate() {
        if !field.optional && layout.slot(index).is_some() && !seen.contains(&index) {
            return Err(Malformed(format!("the JSON lacks attribute `{}`", field.name)));
        }
    }
    Ok(())
}

struct Members<'a> {
    event_type: &'a EventType,
    layout: &'a Layout,
    row: &'a mut Row,
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = Vec<usize>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<usize>, A::Error> {
        let mut seen = Vec::with_capacity(self.event_type.fields.len());
        while let Some(name) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            let index = self.event_type.fields.iter().position(|f| f.name == name);
            match index.and_then(|i| self.layout.slot(i).map(|slot| (i, slot))) {
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
                Some((index, slot)) => {
                    let field = &self.event_type.fields[index];
                    let member = Member {
                        name: &field.name,
                        kind: field.kind,
                        optional: field.optional,
                        slot,
                        row: self.row,
                    };
                    map.next_value_seed(member)?;
                    seen.push(index);
                }
            }
        }
        Ok(seen)
    }
}

struct Member<'a> {
    name: &'a str,
    kind: Type,
    optional: bool,
    slot: Slot,
    row: &'a mut Row,
}

impl Member<'_> {
    fn refuse<E: Error>(&self, what: &str) -> E {
        E::custom(format!("attribute `{}` {what}", self.name))
    }
}

impl<'de> DeserializeSeed<'de> for Member<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Member<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a value for attribute `{}`", self.name)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        if self.kind != Type::Boolean {
            return Err(self.refuse("is a boolean"));
        }
        self.row.put(self.slot, u64::from(value));
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        match self.kind {
            Type::Int if i32::try_from(value).is_err() => return Err(self.refuse("is too large for an int")),
            Type::Int | Type::Long | Type::Timestamp => self.row.put(self.slot, value as u64),
            Type::Float => self.row.put(self.slot, f64::from(value as f32).to_bits()),
            Type::Double => self.row.put(self.slot, (value as f64).to_bits()),
            Type::Boolean | Type::String | Type::Bytes => return Err(self.refuse("is a number")),
        }
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        match i64::try_from(value) {
            Ok(value) => self.visit_i64(value),
            Err(_) => self.visit_f64(value as f64),
        }
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        match self.kind {
            // As an Avro writer would have rounded it, so that the encoding makes no difference.
            Type::Float if (value as f32).is_finite() => {
                self.row.put(self.slot, f64::from(value as f32).to_bits());
            }
            Type::Float => return Err(self.refuse("is too large for a float")),
            Type::Double => self.row.put(self.slot, value.to_bits()),
            Type::Boolean | Type::String | Type::Bytes => return Err(self.refuse("is a number")),
            // `-0` is read as a double, which alone has one.
            Type::Int | Type::Long | Type::Timestamp if value == 0.0 && value.is_sign_negative() => {
                self.row.put(self.slot, 0);
            }
            Type::Int | Type::Long | Type::Timestamp => {
                return Err(self.refuse("is a fraction or too large"));
            }
        }
        Ok(())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        if self.kind == Type::Timestamp {
            let at = time::parse_rfc3339(value).ok_or_else(|| self.refuse("is not a time"))?;
            self.row.put(self.slot, at as u64);
        } else if matches!(self.kind, Type::String | Type::Bytes) {
            self.row.put_text(self.slot, value.as_bytes());
        } else {
            return Err(self.refuse("is text"));
        }
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        if self.optional {
            Ok(())
        } else {
            Err(self.refuse("is null, and the event does not allow it"))
        }
    }
}
