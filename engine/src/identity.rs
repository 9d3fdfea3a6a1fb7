//! TESLA's labels: what an event is called, and the identity of what is detected from it.

use std::collections::HashMap;
use std::ops::Deref;

use blake3::platform::Platform;
use blake3::IncrementCounter;

use crate::avro::encode::{self, Stamp};
use crate::avro::pen::Pen;
use crate::event::{Event, Origin};
use crate::occurrence::{Item, Sight};

/// Hex digits of an identity: 128 bits.
pub const DIGITS: usize = 32;

/// What is hashed: fingerprint and number of constituents, then a label each.
const HEAD: usize = 10;
const LABEL: usize = 21;

/// The most constituents whose labels fit into one block of the hash.
const SHORT: usize = 2;
pub const TEXT: usize = 64;
pub type Text = [u8; TEXT];

/// So many texts are hashed side by side.
pub const BESIDE: usize = 8;

/// BLAKE3's initial value and flags, of an input of one block.
const IV: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];
const CHUNK_START: u8 = 1;
const CHUNK_END: u8 = 2;
const ROOT: u8 = 8;

/// Topic → the partitions of it that are read, where they are others than the task's own.
pub type Reads = HashMap<String, Vec<i32>>;

/// The topics of a task, sorted by name; the index of one is its events' `source`. Holds what every complex event
/// says of them ready to be written.
pub struct Topics {
    names: Vec<String>,
    /// Enough of the hash of each name to tell it from any other.
    digests: Vec<[u8; 8]>,
    /// Topic → the partitions that are read, in order: of most tasks their own alone.
    places: Vec<Vec<Place>>,
    partition: i32,
}

struct Place {
    partition: i32,
    /// Topic and partition as Avro.
    coordinates: Stamp,
}

impl Topics {
    pub fn new(names: Vec<String>, partition: i32, reads: &Reads) -> Topics {
        let place = |name: &String, partition: i32| {
            let mut coordinates = Vec::new();
            encode::blob(&mut coordinates, name.as_bytes());
            encode::long(&mut coordinates, i64::from(partition));
            Place { partition, coordinates: Stamp::new(coordinates) }
        };
        let places = |name: &String| {
            let mut partitions = reads.get(name).cloned().unwrap_or_else(|| vec![partition]);
            partitions.sort_unstable();
            partitions.dedup();
            partitions.into_iter().map(|partition| place(name, partition)).collect()
        };
        let digest = |name: &String| {
            blake3::hash(name.as_bytes()).as_bytes()[..8].try_into().expect("a hash has 32 bytes")
        };
        Topics {
            digests: names.iter().map(digest).collect(),
            places: names.iter().map(places).collect(),
            names,
            partition,
        }
    }

    /// The task's own partition.
    pub fn partition(&self) -> i32 {
        self.partition
    }

    /// The number of a topic.
    pub fn number(&self, name: &str) -> Result<usize, String> {
        let known = self.names.iter().position(|known| known == name);
        known.ok_or_else(|| format!("topic {name} is none of the task's sources"))
    }

    pub fn reads(&self, source: u16, partition: i32) -> bool {
        self.place(source, partition).is_some()
    }

    #[inline]
    fn place(&self, source: u16, partition: i32) -> Option<&Place> {
        let places = self.places.get(usize::from(source))?;
        match &places[..] {
            [only] => Some(only).filter(|only| only.partition == partition),
            several => {
                let at = several.binary_search_by_key(&partition, |place| place.partition).ok()?;
                Some(&several[at])
            }
        }
    }

    /// The label of an event without an id of its own: its coordinates.
    #[inline]
    fn label(&self, event: &Event) -> [u8; LABEL] {
        let mut label = [0; LABEL];
        label[1..9].copy_from_slice(&self.digests[event.source as usize]);
        label[9..13].copy_from_slice(&event.partition.to_le_bytes());
        label[13..].copy_from_slice(&event.offset.to_le_bytes());
        label
    }

    /// The label of an event, so that no two run into each other.
    fn push_label(&self, event: &Event, text: &mut Vec<u8>) {
        if event.own_id.len > 0 {
            text.push(1);
            text.extend_from_slice(&event.own_id.len.to_le_bytes());
            text.extend_from_slice(event.bytes(event.own_id));
        } else {
            text.extend_from_slice(&self.label(event));
        }
    }

    /// Topic, partition, offset and label of an event, as the complex event's schema has them. Of an event that is
    /// called by its coordinates, the label is empty: they stand there.
    #[inline(always)]
    pub fn encode_place(&self, event: &Event, pen: &mut Pen) {
        if event.origin == Origin::Record {
            if let Some(place) = self.place(event.source, event.partition) {
                pen.stamp(&place.coordinates);
                pen.long(event.offset);
                if event.own_id.len == 0 {
                    return pen.long(0);
                }
                return pen.blob(&own_label(event));
            }
        }
        // What was made on the way lies in no topic, or nowhere yet.
        pen.long(0);
        pen.long(-1);
        pen.long(-1);
        pen.blob(&made_label(event));
    }
}

/// A header may hold any bytes, and a label is text.
#[inline(never)]
fn own_label(event: &Event) -> Vec<u8> {
    String::from_utf8_lossy(event.bytes(event.own_id)).replace('\0', "#").into_bytes()
}

#[inline(never)]
fn made_label(event: &Event) -> Vec<u8> {
    let label = event.bytes(event.own_id);
    match event.origin {
        Origin::Timer => label.iter().flat_map(|byte| HEX[usize::from(*byte)]).collect(),
        _ => label.to_vec(),
    }
}

impl Deref for Topics {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.names
    }
}

/// The identity of an occurrence: an injective function of the rule and the labels of its constituents, in the
/// order of their slots. Injective as far as BLAKE3 is; every part is length-prefixed or of fixed size. `place` is time
/// and ordinal of an occurrence whose constituents alone do not tell it from others.
pub fn identity(
    fingerprint: &[u8; 8],
    sight: &Sight,
    place: Option<(i64, u64)>,
    topics: &Topics,
) -> [u8; DIGITS] {
    let short = if place.is_none() { short_text(fingerprint, sight, topics) } else { None };
    let hash = if let Some(text) = short {
        blake3::hash(&text)
    } else {
        // One event in every slot is what most rules have: then the slots need not be said.
        let (items, plain) = (&sight.items[..], place.is_none() && sight.plain);
        let count = if plain { items.len() as u16 } else { u16::MAX };
        let mut text = [&fingerprint[..], &count.to_le_bytes()].concat();
        if let Some((time, ordinal)) = place {
            text.push(2);
            text.extend_from_slice(&time.to_le_bytes());
            text.extend_from_slice(&ordinal.to_le_bytes());
        }
        for (slot, event) in items {
            if !plain {
                text.extend_from_slice(&slot.to_le_bytes());
            }
            topics.push_label(event, &mut text);
        }
        blake3::hash(&text)
    };
    digits(hash.as_bytes())
}

/// What is hashed of an occurrence of one or two events that are called by their coordinates, filled up with zeros to
/// what a hash takes in at once.
#[inline]
pub fn short_text(fingerprint: &[u8; 8], sight: &Sight, topics: &Topics) -> Option<Text> {
    let items = &sight.items[..];
    let short = sight.plain && items.len() <= SHORT && items.iter().all(|item| item.1.own_id.len == 0);
    if !short {
        return None;
    }
    let mut text = [0; TEXT];
    text[..8].copy_from_slice(fingerprint);
    text[8..HEAD].copy_from_slice(&(items.len() as u16).to_le_bytes());
    for (item, label) in items.iter().zip(text[HEAD..].chunks_exact_mut(LABEL)) {
        label.copy_from_slice(&topics.label(item.1));
    }
    Some(text)
}

/// The identities of several such texts, which are hashed side by side: that takes a fraction of the time.
pub fn identities(texts: &[Text; BESIDE]) -> [[u8; DIGITS]; BESIDE] {
    let mut hashes = [0; 32 * BESIDE];
    let whole = CHUNK_START | CHUNK_END | ROOT;
    let inputs = texts.each_ref();
    Platform::detect().hash_many(&inputs, &IV, 0, IncrementCounter::No, whole, 0, 0, &mut hashes);
    let mut hashes = hashes.chunks_exact(32);
    texts.each_ref().map(|_| hashes.next().map_or([0; DIGITS], digits))
}

#[inline]
fn digits(hash: &[u8]) -> [u8; DIGITS] {
    let mut hex = [0; DIGITS];
    for (pair, byte) in hex.chunks_exact_mut(2).zip(hash) {
        pair.copy_from_slice(&HEX[usize::from(*byte)]);
    }
    hex
}

/// The label of a point in time that a node makes: the node, what it is counted from, and when it is due.
pub fn timer_label(fingerprint: &[u8; 8], initiator: &[Item], due: i64, topics: &Topics) -> [u8; 16] {
    let mut text = [&fingerprint[..], &due.to_le_bytes()].concat();
    for item in initiator {
        text.extend_from_slice(&item.slot.to_le_bytes());
        topics.push_label(&item.event, &mut text);
    }
    blake3::hash(&text).as_bytes()[..16].try_into().expect("a hash has 32 bytes")
}

/// The two digits of every byte.
const HEX: [[u8; 2]; 256] = {
    let digits = b"0123456789abcdef";
    let mut table = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = [digits[byte >> 4], digits[byte & 15]];
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hashed_side_by_side_is_what_is_hashed_alone() {
        let mut texts = [[0; TEXT]; BESIDE];
        for (number, byte) in texts.iter_mut().flatten().enumerate() {
            *byte = (number * 7 + number / 64) as u8;
        }
        for (text, identity) in texts.iter().zip(identities(&texts)) {
            assert_eq!(identity, digits(blake3::hash(text).as_bytes()));
        }
    }
}
