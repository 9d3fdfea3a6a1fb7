//! TESLA's labels: what an event is called, and the identity of what is detected from it.

use std::collections::HashMap;
use std::ops::Deref;

use crate::avro::encode::{self, Stamp};
use crate::event::{Event, Origin};
use crate::occurrence::Item;

/// Hex digits of an identity: 128 bits.
pub const DIGITS: usize = 32;

/// What is hashed: fingerprint and number of constituents, then a label each. As many labels as most rules have
/// constituents are put together without a detour over the heap.
const HEAD: usize = 10;
const LABEL: usize = 21;
const SHORT: usize = 8;

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
    /// `topic/partition/`, what a label begins with.
    stem: Stamp,
}

impl Topics {
    pub fn new(names: Vec<String>, partition: i32, reads: &Reads) -> Topics {
        let place = |name: &String, partition: i32| {
            let mut coordinates = Vec::new();
            encode::blob(&mut coordinates, name.as_bytes());
            encode::long(&mut coordinates, i64::from(partition));
            Place {
                partition,
                coordinates: Stamp::new(coordinates),
                stem: Stamp::new(format!("{name}/{partition}/").into_bytes()),
            }
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

    /// Topic, partition, offset and label of an event, as the complex event's schema has them.
    pub fn encode_place(&self, event: &Event, out: &mut Vec<u8>) {
        if event.origin != Origin::Record {
            // What was made on the way lies in no topic, or nowhere yet.
            encode::blob(out, b"");
            encode::long(out, -1);
            encode::long(out, -1);
            let label = event.bytes(event.own_id);
            return match event.origin {
                Origin::Timer => {
                    let digits: String = label.iter().map(|byte| format!("{byte:02x}")).collect();
                    encode::blob(out, digits.as_bytes());
                }
                _ => encode::blob(out, label),
            };
        }
        let place =
            self.place(event.source, event.partition).expect("an event comes from where the task reads");
        place.coordinates.write(out);
        encode::long(out, event.offset);
        if event.own_id.len > 0 {
            // A header may hold any bytes, and a label is text.
            let own_id = String::from_utf8_lossy(event.bytes(event.own_id)).replace('\0', "#");
            encode::blob(out, own_id.as_bytes());
        } else {
            let mut digits = [0; 20];
            let number = decimal(event.offset, &mut digits);
            encode::long(out, (place.stem.bytes().len() + number.len()) as i64);
            place.stem.write(out);
            out.extend_from_slice(number);
        }
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
    items: &[Item],
    place: Option<(i64, u64)>,
    topics: &Topics,
) -> [u8; DIGITS] {
    // One event in every slot, from the first on, is what most rules have: then the slots need not be said.
    let plain =
        place.is_none() && items.iter().enumerate().all(|(slot, item)| usize::from(item.slot) == slot);
    let short = plain && items.len() <= SHORT && items.iter().all(|item| item.event.own_id.len == 0);
    let hash = if short {
        let mut text = [0; HEAD + SHORT * LABEL];
        text[..8].copy_from_slice(fingerprint);
        text[8..HEAD].copy_from_slice(&(items.len() as u16).to_le_bytes());
        for (item, label) in items.iter().zip(text[HEAD..].chunks_exact_mut(LABEL)) {
            label.copy_from_slice(&topics.label(&item.event));
        }
        blake3::hash(&text[..HEAD + items.len() * LABEL])
    } else {
        let count = if plain { items.len() as u16 } else { u16::MAX };
        let mut text = [&fingerprint[..], &count.to_le_bytes()].concat();
        if let Some((time, ordinal)) = place {
            text.push(2);
            text.extend_from_slice(&time.to_le_bytes());
            text.extend_from_slice(&ordinal.to_le_bytes());
        }
        for item in items {
            if !plain {
                text.extend_from_slice(&item.slot.to_le_bytes());
            }
            topics.push_label(&item.event, &mut text);
        }
        blake3::hash(&text)
    };
    let mut hex = [0; DIGITS];
    for (pair, byte) in hex.chunks_exact_mut(2).zip(hash.as_bytes()) {
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

/// The decimal digits of an offset, which is never negative.
fn decimal(number: i64, digits: &mut [u8; 20]) -> &[u8] {
    let mut at = digits.len();
    let mut rest = number.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return &digits[at..];
        }
    }
}
