//! The encoding of state entries, as they stand in the changelog and in RocksDB. Version 1.
//!
//! Entry of a stored event. Key: fingerprint of the node (8 bytes), port (1), length (4, big-endian) and bytes of the
//! parameter values, then, unless the node keeps one event a key, the event's place: time (8, big-endian, sign
//! flipped, so that bytes sort as times do), partition (4), offset (8), topic. Value: version, time, offset,
//! partition, topic, record key, own id, and the attributes the rules need, each as name, tag and value.
//!
//! Entry of the task itself: key `\0task`; value: version, released watermark, and for each source topic where to
//! resume reading, up to where it was read, its watermark, and the runs of offsets between that were refused.
//!
//! Numbers are Avro longs, texts Avro bytes. Node fingerprints are random enough never to begin with `\0task`.

use crate::avro::cursor::Cursor;
use crate::avro::encode;
use crate::avro::Malformed;
use crate::event::{Event, Layout, Range, Row, RowWriter, Slot, SlotKind, Value};
use crate::identity::Topics;
use crate::order::Refused;

pub const VERSION: i64 = 1;
pub const TASK_KEY: &[u8] = b"\0task";

/// The topics of a task, sorted: the index of one is its event's `source`.
pub type Names = [String];

pub struct Change {
    pub key: Vec<u8>,
    pub value: Option<Vec<u8>>,
}

pub struct Entry<'a> {
    pub key: &'a [u8],
    pub value: &'a [u8],
}

pub fn keyed(prefix: &[u8], key: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(prefix.len() + key.len() + 40);
    out.extend_from_slice(prefix);
    out.extend_from_slice(&(key.len() as u32).to_be_bytes());
    out.extend_from_slice(key);
    out
}

pub fn entry_key(prefix: &[u8], key: &[u8], event: &Event, only_last: bool, names: &Names) -> Vec<u8> {
    let mut out = keyed(prefix, key);
    if !only_last {
        out.extend_from_slice(&((event.time as u64) ^ (1 << 63)).to_be_bytes());
        out.extend_from_slice(&event.partition.to_be_bytes());
        out.extend_from_slice(&event.offset.to_be_bytes());
        out.extend_from_slice(names[event.source as usize].as_bytes());
    }
    out
}

/// The parameter values in an entry's key.
pub fn stored_key(entry: &Entry, prefix_len: usize) -> Result<Vec<u8>, Malformed> {
    let short = || Malformed::new("a state entry has a key that is too short");
    let rest = entry.key.get(prefix_len..).ok_or_else(short)?;
    let length = u32::from_be_bytes(rest.get(..4).ok_or_else(short)?.try_into().expect("4 bytes were taken"));
    rest.get(4..4 + length as usize).map(<[u8]>::to_vec).ok_or_else(short)
}

pub fn encode_event(event: &Event, fields: &[(String, Slot)], names: &Names) -> Vec<u8> {
    let mut out = Vec::with_capacity(96);
    encode::long(&mut out, VERSION);
    encode::long(&mut out, event.time);
    encode::long(&mut out, event.offset);
    encode::long(&mut out, i64::from(event.partition));
    encode::blob(&mut out, names[event.source as usize].as_bytes());
    encode::blob(&mut out, event.bytes(event.key));
    encode::blob(&mut out, event.bytes(event.own_id));
    encode::long(&mut out, fields.len() as i64);
    for (name, slot) in fields {
        encode::blob(&mut out, name.as_bytes());
        match event.value(*slot) {
            Value::Null => encode::long(&mut out, 0),
            Value::Boolean(b) => {
                encode::long(&mut out, 1);
                encode::long(&mut out, i64::from(b));
            }
            Value::Long(n) => {
                encode::long(&mut out, 2);
                encode::long(&mut out, n);
            }
            Value::Double(x) => {
                encode::long(&mut out, 3);
                encode::double(&mut out, x);
            }
            Value::Text(s) => {
                encode::long(&mut out, 4);
                encode::blob(&mut out, s);
            }
        }
    }
    out
}

fn version(cursor: &mut Cursor) -> Result<(), Malformed> {
    match cursor.long()? {
        VERSION => Ok(()),
        other => {
            Err(Malformed(format!("state of version {other}, this engine understands version {VERSION}")))
        }
    }
}

/// Reads an event back into the layout its type has now.
pub fn decode_event(
    value: &[u8],
    type_id: u16,
    fields: &[(String, Slot)],
    layout: &Layout,
    topics: &Topics,
) -> Result<Event, Malformed> {
    let mut cursor = Cursor::new(value);
    version(&mut cursor)?;
    let (time, offset) = (cursor.long()?, cursor.long()?);
    let partition = i32::try_from(cursor.long()?).map_err(|_| Malformed::new("a partition out of range"))?;
    if partition != topics.partition() {
        return Err(Malformed::new("a stored event of a partition that is not the task's"));
    }
    let topic = cursor.blob()?;
    let source = topics
        .iter()
        .position(|name| name.as_bytes() == topic)
        .ok_or_else(|| Malformed::new("a stored event of a topic the task does not read"))?;
    let (key, own_id) = (cursor.blob()?, cursor.blob()?);
    let mut row = Vec::new();
    layout.start_row(&mut row);
    for _ in 0..cursor.long()? {
        let name = cursor.blob()?;
        let slot = fields.iter().find(|(field, _)| field.as_bytes() == name).map(|(_, slot)| *slot);
        read_value(&mut cursor, slot, &mut row)?;
    }
    let (key, own_id) = (row.push_tail(key), row.push_tail(own_id));
    let event = Event {
        time,
        offset,
        partition,
        type_id,
        source: source as u16,
        key,
        own_id,
        row: Row::from_vec(row),
    };
    if layout.holds(&event) {
        Ok(event)
    } else {
        Err(Malformed::new("a stored event that does not fit its type"))
    }
}

fn read_value(cursor: &mut Cursor, slot: Option<Slot>, row: &mut Vec<u8>) -> Result<(), Malformed> {
    let wrong = || Malformed::new("a stored value of another type than its attribute");
    let tag = cursor.long()?;
    let (kind, raw) = match tag {
        0 => return Ok(()),
        1 => (SlotKind::Boolean, cursor.long()? as u64),
        2 => (SlotKind::Long, cursor.long()? as u64),
        3 => (SlotKind::Double, u64::from_le_bytes(cursor.take(8)?.try_into().expect("8 bytes were taken"))),
        4 => {
            let text = std::str::from_utf8(cursor.blob()?).map_err(|_| wrong())?;
            if let Some(slot) = slot {
                if slot.kind != SlotKind::Text {
                    return Err(wrong());
                }
                row.put_text(slot, text.as_bytes());
            }
            return Ok(());
        }
        _ => return Err(wrong()),
    };
    if let Some(slot) = slot {
        if slot.kind != kind {
            return Err(wrong());
        }
        row.put(slot, raw);
    }
    Ok(())
}

/// Where a task stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    pub released: i64,
    pub sources: Vec<SourceProgress>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceProgress {
    pub topic: String,
    /// The oldest record that still waits: where reading starts again.
    pub resume: i64,
    pub read_to: i64,
    pub watermark: i64,
    pub refused: Refused,
}

pub fn encode_progress(progress: &Progress) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    encode::long(&mut out, VERSION);
    encode::long(&mut out, progress.released);
    encode::long(&mut out, progress.sources.len() as i64);
    for source in &progress.sources {
        encode::blob(&mut out, source.topic.as_bytes());
        encode::long(&mut out, source.resume);
        encode::long(&mut out, source.read_to);
        encode::long(&mut out, source.watermark);
        encode::long(&mut out, source.refused.0.len() as i64);
        for (first, last) in &source.refused.0 {
            encode::long(&mut out, *first);
            encode::long(&mut out, *last);
        }
    }
    out
}

pub fn decode_progress(value: &[u8]) -> Result<Progress, Malformed> {
    let mut cursor = Cursor::new(value);
    version(&mut cursor)?;
    let released = cursor.long()?;
    let mut sources = Vec::new();
    for _ in 0..cursor.long()? {
        let topic = String::from_utf8(cursor.blob()?.to_vec())
            .map_err(|_| Malformed::new("a topic that is not UTF-8"))?;
        let (resume, read_to, watermark) = (cursor.long()?, cursor.long()?, cursor.long()?);
        let mut refused = Vec::new();
        for _ in 0..cursor.long()? {
            refused.push((cursor.long()?, cursor.long()?));
        }
        sources.push(SourceProgress { topic, resume, read_to, watermark, refused: Refused(refused) });
    }
    Ok(Progress { released, sources })
}

/// An empty range, for events without a key or id.
pub const NOTHING: Range = Range { at: 0, len: 0 };

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 2] = ["smoke", "temps"];

    fn topics(names: &[&str], partition: i32) -> Topics {
        Topics::new(names.iter().map(|name| (*name).to_owned()).collect(), partition)
    }

    fn fields(layout: &Layout) -> Vec<(String, Slot)> {
        layout.slots().enumerate().map(|(i, slot)| (format!("f{i}"), slot)).collect()
    }

    fn layout() -> Layout {
        use SlotKind::{Boolean, Double, Long, Text};
        Layout::new(&[Boolean, Long, Double, Text, Long].map(|kind| (kind, true)))
    }

    fn event(layout: &Layout) -> Event {
        let slots: Vec<Slot> = layout.slots().collect();
        let mut row = Vec::new();
        layout.start_row(&mut row);
        row.put(slots[0], 1);
        row.put(slots[1], (-7_i64) as u64);
        row.put(slots[2], 0.5_f64.to_bits());
        row.put_text(slots[3], "größer".as_bytes());
        let (key, own_id) = (row.push_tail(b"key"), row.push_tail(b"source\0id"));
        Event {
            time: 5,
            offset: 6,
            partition: 7,
            type_id: 0,
            source: 1,
            key,
            own_id,
            row: Row::from_slice(&row),
        }
    }

    #[test]
    fn an_event_comes_back_as_it_was() {
        let layout = layout();
        let (fields, event) = (fields(&layout), event(&layout));
        let bytes = encode_event(&event, &fields, &topics(&NAMES, 7));
        let back =
            decode_event(&bytes, 0, &fields, &layout, &topics(&NAMES, 7)).expect("it was just encoded");
        assert!(back.order(&event).is_eq());
        assert_eq!(back.bytes(back.own_id), event.bytes(event.own_id));
        let values: Vec<Value> = layout.slots().map(|slot| back.value(slot)).collect();
        let expected = [
            Value::Boolean(true),
            Value::Long(-7),
            Value::Double(0.5),
            Value::Text("größer".as_bytes()),
            Value::Null,
        ];
        assert_eq!(values, expected);
    }

    #[test]
    fn an_attribute_more_is_absent_and_one_less_is_passed_over() {
        let layout = layout();
        let all = fields(&layout);
        let bytes = encode_event(&event(&layout), &all[1..4], &topics(&NAMES, 7));
        let back =
            decode_event(&bytes, 0, &all[2..], &layout, &topics(&NAMES, 7)).expect("it was just encoded");
        let values: Vec<Value> = layout.slots().map(|slot| back.value(slot)).collect();
        let expected =
            [Value::Null, Value::Null, Value::Double(0.5), Value::Text("größer".as_bytes()), Value::Null];
        assert_eq!(values, expected);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let layout = layout();
        let all = fields(&layout);
        let bytes = encode_event(&event(&layout), &all, &topics(&NAMES, 7));
        let swapped: Vec<_> =
            all.iter().zip(all.iter().rev()).map(|((name, _), (_, slot))| (name.clone(), *slot)).collect();
        assert!(decode_event(&bytes, 0, &swapped, &layout, &topics(&NAMES, 7)).is_err());
        assert!(decode_event(&bytes, 0, &all, &layout, &topics(&NAMES[..1], 7)).is_err());
        assert!(decode_event(&bytes, 0, &all, &layout, &topics(&NAMES, 8)).is_err());
        for length in 0..bytes.len() {
            assert!(
                decode_event(&bytes[..length], 0, &all, &layout, &topics(&NAMES, 7)).is_err(),
                "{length}"
            );
        }
    }

    #[test]
    fn keys_sort_as_times_do() {
        let layout = layout();
        let key =
            |time| entry_key(b"prefix", b"k", &Event { time, ..event(&layout) }, false, &topics(&NAMES, 7));
        let times = [i64::MIN, -1, 0, 1, i64::MAX];
        assert!(times.map(key).is_sorted());
        let entry = Entry { key: &key(1), value: &[] };
        assert_eq!(stored_key(&entry, 6), Ok(b"k".to_vec()));
        assert!(stored_key(&entry, 999).is_err());
    }

    #[test]
    fn progress_comes_back_as_it_was() {
        let source = SourceProgress {
            topic: "temps".into(),
            resume: 3,
            read_to: 9,
            watermark: i64::MIN,
            refused: Refused(vec![(4, 6), (8, 8)]),
        };
        let progress = Progress { released: -1, sources: vec![source] };
        let bytes = encode_progress(&progress);
        assert_eq!(decode_progress(&bytes), Ok(progress));
        assert!(decode_progress(&bytes[..bytes.len() - 1]).is_err());
        assert!(decode_progress(&[4]).is_err_and(|e| e.0.contains("version 2")));
    }
}
