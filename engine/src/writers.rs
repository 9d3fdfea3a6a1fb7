//! The writers' schemas a task has met, and how each is read for each of its sources.
//!
//! The engine does no I/O: an unknown schema is asked for (`missing`), and given or refused by the worker.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::avro::decode::Decoder;
use crate::avro::schema::{Schema, Type};
use crate::batch::Batch;
use crate::event::Layout;
use crate::plan::EventType;

/// The name under which a record refers to its writer's schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SchemaRef {
    /// Confluent wire format: an id of the registry.
    Id(u32),
    /// Single-object encoding: the CRC-64-AVRO fingerprint.
    Fingerprint(u64),
}

impl SchemaRef {
    /// The reference at the head of a record's value, and what follows it.
    #[inline]
    pub fn read(value: &[u8]) -> Option<(SchemaRef, &[u8])> {
        match value {
            [0xc3, 0x01, framed @ ..] => {
                let (print, rest) = framed.split_first_chunk()?;
                Some((SchemaRef::Fingerprint(u64::from_le_bytes(*print)), rest))
            }
            [0, framed @ ..] => {
                let (id, rest) = framed.split_first_chunk()?;
                Some((SchemaRef::Id(u32::from_be_bytes(*id)), rest))
            }
            _ => None,
        }
    }

    /// The bytes that `read` takes.
    pub fn prefix(self) -> Vec<u8> {
        match self {
            SchemaRef::Id(id) => [&[0], &id.to_be_bytes()[..]].concat(),
            SchemaRef::Fingerprint(print) => [&[0xc3, 0x01], &print.to_le_bytes()[..]].concat(),
        }
    }
}

/// How the records of one schema are read on one source.
pub enum Reading {
    As(usize, Box<Decoder>),
    /// The topic carries this type for others, not for these rules.
    NotOurs,
    Mismatch(Box<str>),
}

enum Writer {
    Known(Schema),
    Refused(String),
}

#[derive(Default)]
pub struct Writers {
    writers: FxHashMap<SchemaRef, Writer>,
    readings: Vec<Reading>,
    by_source: FxHashMap<(SchemaRef, usize), usize>,
    /// Source → the schema of its last record: records of one schema come in runs.
    latest: Vec<Option<(SchemaRef, usize)>>,
}

impl Writers {
    pub fn add(&mut self, reference: SchemaRef, json: &str) -> Result<(), String> {
        self.writers.insert(reference, Writer::Known(Schema::parse(json)?));
        Ok(())
    }

    pub fn refuse(&mut self, reference: SchemaRef, reason: String) {
        self.writers.insert(reference, Writer::Refused(reason));
    }

    pub fn missing(&self, batch: &Batch) -> Vec<SchemaRef> {
        let mut missing = FxHashSet::default();
        for record in &batch.records {
            let reference = record.value.and_then(|span| SchemaRef::read(batch.bytes(span)));
            if let Some((reference, _)) = reference {
                if !self.writers.contains_key(&reference) {
                    missing.insert(reference);
                }
            }
        }
        missing.into_iter().collect()
    }

    /// How to read records of `reference` on a source; `candidates` are the types that each source carries.
    #[inline]
    pub fn reading(
        &mut self,
        reference: SchemaRef,
        source: usize,
        candidates: &[Vec<usize>],
        types: &[(EventType, Layout)],
    ) -> Result<&Reading, String> {
        let index = match self.latest.get(source) {
            Some(Some((latest, index))) if *latest == reference => *index,
            _ => self.find(reference, source, &candidates[source], types)?,
        };
        Ok(&self.readings[index])
    }

    #[inline(never)]
    fn find(
        &mut self,
        reference: SchemaRef,
        source: usize,
        candidates: &[usize],
        types: &[(EventType, Layout)],
    ) -> Result<usize, String> {
        let writer = match self.writers.get(&reference) {
            Some(Writer::Known(schema)) => schema,
            Some(Writer::Refused(reason)) => return Err(reason.clone()),
            None => return Err("the schema of the record is not known".into()),
        };
        let readings = &mut self.readings;
        let index = *self.by_source.entry((reference, source)).or_insert_with(|| {
            readings.push(resolve(writer, candidates, types));
            readings.len() - 1
        });
        if self.latest.len() <= source {
            self.latest.resize(source + 1, None);
        }
        self.latest[source] = Some((reference, index));
        Ok(index)
    }
}

fn resolve(schema: &Schema, candidates: &[usize], types: &[(EventType, Layout)]) -> Reading {
    let chosen = match candidates {
        [only] => Some(*only),
        several => match schema.get(schema.root()) {
            Type::Record { name, .. } => pick(name, several, types),
            _ => None,
        },
    };
    let Some(type_id) = chosen else { return Reading::NotOurs };
    let (event_type, layout) = &types[type_id];
    match Decoder::new(schema.clone(), event_type, layout) {
        Ok(decoder) => Reading::As(type_id, Box::new(decoder)),
        Err(reason) => Reading::Mismatch(reason.into()),
    }
}

/// The type among several of one topic that a name, with or without a namespace, stands for.
pub fn pick(name: &str, candidates: &[usize], types: &[(EventType, Layout)]) -> Option<usize> {
    let short = name.rsplit_once('.').map_or(name, |(_, short)| short);
    candidates.iter().copied().find(|&id| types[id].0.name == short)
}

#[cfg(test)]
mod tests {
    use super::SchemaRef;

    #[test]
    fn a_reference_is_read_from_its_own_prefix() {
        for reference in [SchemaRef::Id(u32::MAX - 1), SchemaRef::Fingerprint(0x0123_4567_89ab_cdef)] {
            let prefix = reference.prefix();
            let framed = [&prefix[..], b"value"].concat();
            assert_eq!(SchemaRef::read(&framed), Some((reference, &b"value"[..])));
            assert_eq!(SchemaRef::read(&prefix[..prefix.len() - 1]), None);
        }
    }
}
