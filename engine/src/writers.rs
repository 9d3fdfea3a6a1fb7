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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SchemaRef {
    /// Confluent wire format: an id of the registry.
    Id(u32),
    /// Single-object encoding: the CRC-64-AVRO fingerprint.
    Fingerprint(u64),
}

const CONFLUENT: usize = 5;
const SINGLE_OBJECT: usize = 10;

impl SchemaRef {
    /// The reference at the head of a record's value, and how many bytes it takes.
    #[inline]
    pub fn read(value: &[u8]) -> Option<(SchemaRef, usize)> {
        match value {
            [0, id @ ..] if id.len() >= 4 => {
                Some((SchemaRef::Id(u32::from_be_bytes([id[0], id[1], id[2], id[3]])), CONFLUENT))
            }
            [0xc3, 0x01, rest @ ..] if rest.len() >= 8 => {
                let print: [u8; 8] = rest[..8].try_into().ok()?;
                Some((SchemaRef::Fingerprint(u64::from_le_bytes(print)), SINGLE_OBJECT))
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
    Mismatch(String),
}

enum Writer {
    Known(Schema),
    Refused(String),
}

#[derive(Default)]
pub struct Writers {
    writers: FxHashMap<SchemaRef, Writer>,
    readings: Vec<Reading>,
    by_source: FxHashMap<(SchemaRef, u16), usize>,
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

    /// How to read records of `reference` on a source that carries `candidates`.
    pub fn reading(
        &mut self,
        reference: SchemaRef,
        source: u16,
        candidates: &[usize],
        types: &[(EventType, Layout)],
    ) -> Result<&Reading, String> {
        if self.latest.len() <= source as usize {
            self.latest.resize(source as usize + 1, None);
        }
        match self.latest[source as usize] {
            Some((latest, index)) if latest == reference => return Ok(&self.readings[index]),
            _ => {}
        }
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
        self.latest[source as usize] = Some((reference, index));
        Ok(&self.readings[index])
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
        Err(reason) => Reading::Mismatch(reason),
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
            assert_eq!(SchemaRef::read(&framed), Some((reference, prefix.len())));
            assert_eq!(SchemaRef::read(&prefix[..prefix.len() - 1]), None);
        }
    }
}
