//! Reads Avro's binary encoding, a value at a time. Lengths are checked against the bytes that are there before
//! anything is done with them.

use super::schema::{Schema, Type, TypeId};
use super::Malformed;

/// Recursive data deeper than this is refused.
const MAX_DEPTH: usize = 64;

/// What is wrong with bytes. Small, so that what can fail can be answered in registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    Short,
    EndlessNumber,
    NegativeLength,
    NoBoolean,
    NoBranch,
    Deep,
    LongBlock,
}

impl From<Flaw> for Malformed {
    #[cold]
    fn from(flaw: Flaw) -> Malformed {
        Malformed::new(match flaw {
            Flaw::Short => "the record ends too early",
            Flaw::EndlessNumber => "the record has a number that does not end",
            Flaw::NegativeLength => "the record has a negative length",
            Flaw::NoBoolean => "the record has a boolean that is neither 0 nor 1",
            Flaw::NoBranch => "the record has a union branch that its schema lacks",
            Flaw::Deep => "the record is nested too deeply",
            Flaw::LongBlock => "the record has a block that is longer than the record",
        })
    }
}

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
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Flaw> {
        if count > self.bytes.len() {
            return Err(Flaw::Short);
        }
        let (head, tail) = self.bytes.split_at(count);
        self.bytes = tail;
        Ok(head)
    }

    #[inline]
    pub fn long(&mut self) -> Result<i64, Flaw> {
        if let [byte @ 0..0x80, rest @ ..] = self.bytes {
            self.bytes = rest;
            return Ok(i64::from(byte >> 1) ^ -i64::from(byte & 1));
        }
        self.longer()
    }

    fn longer(&mut self) -> Result<i64, Flaw> {
        let mut value = 0u64;
        for (i, &byte) in self.bytes.iter().enumerate().take(10) {
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte & 0x80 == 0 {
                self.bytes = &self.bytes[i + 1..];
                return Ok((value >> 1) as i64 ^ -((value & 1) as i64));
            }
        }
        Err(Flaw::EndlessNumber)
    }

    #[inline]
    fn length(&mut self) -> Result<usize, Flaw> {
        let length = self.long()?;
        usize::try_from(length).map_err(|_| Flaw::NegativeLength)
    }

    #[inline]
    pub fn blob(&mut self) -> Result<&'a [u8], Flaw> {
        let length = self.length()?;
        self.take(length)
    }

    pub fn boolean(&mut self) -> Result<bool, Flaw> {
        match self.take(1)?[0] {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Flaw::NoBoolean),
        }
    }

    pub fn float(&mut self) -> Result<f32, Flaw> {
        Ok(f32::from_le_bytes(self.take(4)?.try_into().expect("4 bytes were taken")))
    }

    #[inline]
    pub fn double(&mut self) -> Result<f64, Flaw> {
        Ok(f64::from_le_bytes(self.take(8)?.try_into().expect("8 bytes were taken")))
    }

    pub fn branch(&mut self, branches: usize) -> Result<usize, Flaw> {
        let branch = self.length()?;
        if branch < branches {
            Ok(branch)
        } else {
            Err(Flaw::NoBranch)
        }
    }

    pub fn skip(&mut self, schema: &Schema, id: TypeId, depth: usize) -> Result<(), Flaw> {
        if depth > MAX_DEPTH {
            return Err(Flaw::Deep);
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

    fn skip_blocks(&mut self, schema: &Schema, item: TypeId, keyed: bool, depth: usize) -> Result<(), Flaw> {
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
                return Err(Flaw::LongBlock);
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
        crate::avro::encode::long(&mut bytes, i64::MAX);
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
