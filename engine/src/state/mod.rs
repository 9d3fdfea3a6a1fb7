//! The encoding of state entries, as they stand in the changelog and in RocksDB. Version 2.
//!
//! An entry is addressed by (node, key): its key begins with the node's fingerprint (8 bytes) and mostly one byte for the
//! context or part, then length (4, big-endian) and bytes of the binding, so that all of a node, and all of a binding of
//! it, stand together and can be loaded by themselves. Numbers in keys are big-endian, and sort as what they mean.
//!
//! Entry of an event that a pattern keeps: behind the binding, unless the node keeps one event a binding, its place: time
//! (8, sign flipped), position (8) and offset (8), which tells complex events of one position apart. Value: version and
//! the event. Entries of occurrences: see `cells.rs`; of working memory: `nodes/fact.rs`; of joins: `nodes/pool.rs`; of
//! matches: `nodes/matching/entries.rs`; of rates: the binding alone, and the times.
//!
//! An event: type by name (empty for a point in time), origin, time, start, end, position, initiator's position,
//! partition, offset, topic, record key, own id or label, and the attributes some rule needs, each as name, tag and
//! value. An occurrence: version, position and its time, initiator's position, start, end, for each item its slot and
//! event, what was computed, and the binding it holds for, where its items do not tell: values, and exceptions.
//!
//! Entry of the task itself: key `\0task`; value: version, released watermark, time of the first event, position, and for
//! each source topic where to resume reading, up to where it was read, its watermark, and the runs of offsets between
//! that were refused.
//!
//! Numbers are Avro longs, texts Avro bytes. Node fingerprints are random enough never to begin with `\0task`.

mod progress;

use std::collections::HashMap;

use triomphe::Arc;

use crate::avro::cursor::Cursor;
use crate::avro::encode;
use crate::avro::Malformed;
use crate::binding::Binding;
use crate::event::{Event, Layout, Origin, Range, Row, RowWriter, Slot, SlotKind, NO_SOURCE, NO_TYPE};
use crate::identity::Topics;
use crate::key::Key;
use crate::occurrence::{Item, Items, Occurrence};
use crate::order::Refused;
use crate::plan::EventType;
use crate::value::Value;

pub use progress::{decode_progress, encode_progress, Progress, SourceProgress};

pub const VERSION: i64 = 4;
pub const TASK_KEY: &[u8] = b"\0task";

pub struct Change {
    pub key: Vec<u8>,
    pub value: Option<Vec<u8>>,
}

pub struct Entry<'a> {
    pub key: &'a [u8],
    pub value: &'a [u8],
}

pub fn keyed(prefix: &[u8], key: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(prefix.len() + key.len() + 28);
    out.extend_from_slice(prefix);
    out.extend_from_slice(&(key.len() as u32).to_be_bytes());
    out.extend_from_slice(key);
    out
}

pub fn entry_key(prefix: &[u8], key: &[u8], event: &Event, only_last: bool) -> Vec<u8> {
    let mut out = keyed(prefix, key);
    if !only_last {
        out.extend_from_slice(&((event.time as u64) ^ (1 << 63)).to_be_bytes());
        out.extend_from_slice(&event.seq.to_be_bytes());
        out.extend_from_slice(&event.offset.to_be_bytes());
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

pub fn encode_numbers(numbers: &[i64]) -> Vec<u8> {
    let mut out = Vec::new();
    encode::long(&mut out, VERSION);
    encode::long(&mut out, numbers.len() as i64);
    numbers.iter().for_each(|number| encode::long(&mut out, *number));
    out
}

pub fn decode_numbers(value: &[u8]) -> Result<Vec<i64>, Malformed> {
    let mut cursor = Cursor::new(value);
    version(&mut cursor)?;
    let mut numbers = Vec::new();
    for _ in 0..cursor.long()? {
        numbers.push(cursor.long()?);
    }
    Ok(numbers)
}

/// The time of a stored event.
pub fn decode_time(value: &[u8]) -> Result<i64, Malformed> {
    let mut cursor = Cursor::new(value);
    version(&mut cursor)?;
    cursor.blob()?;
    cursor.long()?;
    Ok(cursor.long()?)
}

/// When a stored occurrence began.
pub fn decode_start(value: &[u8]) -> Result<i64, Malformed> {
    let mut cursor = Cursor::new(value);
    version(&mut cursor)?;
    (0..3).try_for_each(|_| cursor.long().map(drop))?;
    Ok(cursor.long()?)
}

/// Turns what a task keeps into bytes and back.
#[derive(Clone, Copy)]
pub struct Codec<'a> {
    pub types: &'a [(EventType, Layout)],
    /// Their numbers by name.
    pub names: &'a Names,
    pub topics: &'a Topics,
}

/// Types by name.
pub type Names = HashMap<Vec<u8>, u16>;

pub fn names(types: &[(EventType, Layout)]) -> Names {
    let named =
        |(id, (described, _)): (usize, &(EventType, Layout))| (described.name.clone().into(), id as u16);
    types.iter().enumerate().map(named).collect()
}

/// How many numbers a position has room for.
const NUMBERS: u32 = 20;

/// Entries are numbered by the position at which they came: what a node had before, and lost again, does not show in
/// them, so that a node that was loaded goes on as one that was not.
pub fn number_from(seq: u64) -> u64 {
    seq << NUMBERS
}

impl Codec<'_> {
    pub fn encode_event(&self, event: &Event) -> Vec<u8> {
        let mut out = Vec::with_capacity(96);
        encode::long(&mut out, VERSION);
        self.write_event(event, &mut out);
        out
    }

    pub fn decode_event(&self, value: &[u8]) -> Result<Event, Malformed> {
        let mut cursor = Cursor::new(value);
        version(&mut cursor)?;
        self.read_event(&mut cursor)
    }

    pub fn encode_occurrence(&self, occurrence: &Occurrence) -> Vec<u8> {
        let mut out = Vec::with_capacity(160);
        encode::long(&mut out, VERSION);
        self.write_occurrence(occurrence, &mut out);
        out
    }

    pub fn decode_occurrence(&self, value: &[u8]) -> Result<Occurrence, Malformed> {
        let mut cursor = Cursor::new(value);
        version(&mut cursor)?;
        self.read_occurrence(&mut cursor)
    }

    pub fn write_occurrence(&self, occurrence: &Occurrence, out: &mut Vec<u8>) {
        encode::long(out, occurrence.seq as i64);
        encode::long(out, occurrence.time);
        encode::long(out, occurrence.start_seq as i64);
        encode::long(out, occurrence.start);
        encode::long(out, occurrence.end);
        encode::long(out, occurrence.items.len() as i64);
        for item in &occurrence.items {
            encode::long(out, i64::from(item.slot));
            self.write_event(&item.event, out);
        }
        encode::long(out, occurrence.computed.len() as i64);
        occurrence.computed.iter().for_each(|value| write_value(value, out));
        encode::long(out, occurrence.binding.as_ref().map_or(0, |binding| 1 + binding.except.len() as i64));
        if let Some(binding) = &occurrence.binding {
            encode::blob(out, &binding.values);
            binding.except.iter().for_each(|other| encode::blob(out, other));
        }
    }

    pub fn read_occurrence(&self, cursor: &mut Cursor) -> Result<Occurrence, Malformed> {
        let (seq, time, start_seq) = (number(cursor)?, cursor.long()?, number(cursor)?);
        let (start, end) = (cursor.long()?, cursor.long()?);
        let mut items = Items::new();
        for _ in 0..cursor.long()? {
            let slot = u16::try_from(cursor.long()?).map_err(|_| Malformed::new("a slot out of range"))?;
            items.push(Item { slot, event: Arc::new(self.read_event(cursor)?) });
        }
        let mut computed = Vec::new();
        for _ in 0..cursor.long()? {
            computed.push(read_any(cursor)?);
        }
        let mut binding = None;
        let keys = cursor.long()?;
        if keys > 0 {
            let values = Key::from_slice(cursor.blob()?);
            let mut except = Vec::new();
            for _ in 1..keys {
                except.push(Key::from_slice(cursor.blob()?));
            }
            binding = Some(Arc::new(Binding { values, except }));
        }
        Ok(Occurrence { seq, time, start_seq, start, end, items, computed, binding })
    }

    pub fn write_event(&self, event: &Event, out: &mut Vec<u8>) {
        let described = self.types.get(event.type_id as usize);
        encode::blob(out, described.map_or(&b""[..], |(event_type, _)| event_type.name.as_bytes()));
        encode::long(out, event.origin as i64);
        encode::long(out, event.time);
        encode::long(out, event.start);
        encode::long(out, event.end);
        encode::long(out, event.seq as i64);
        encode::long(out, event.start_seq as i64);
        encode::long(out, i64::from(event.partition));
        encode::long(out, event.offset);
        encode::blob(out, self.topics.get(event.source as usize).map_or(&b""[..], |topic| topic.as_bytes()));
        encode::blob(out, event.bytes(event.key));
        encode::blob(out, event.bytes(event.own_id));
        let Some((event_type, layout)) = described else { return encode::long(out, 0) };
        encode::long(out, layout.slots().count() as i64);
        for (index, field) in event_type.fields.iter().enumerate() {
            let Some(slot) = layout.slot(index) else { continue };
            encode::blob(out, field.name.as_bytes());
            write_value(&event.value(slot), out);
        }
    }

    /// Reads an event back into the layout its type has now.
    pub fn read_event(&self, cursor: &mut Cursor) -> Result<Event, Malformed> {
        let name = cursor.blob()?;
        let type_id = if name.is_empty() {
            NO_TYPE
        } else {
            let known = self.names.get(name).copied();
            known.ok_or_else(|| Malformed::new("a stored event of a type the rules do not have"))?
        };
        let origin = match cursor.long()? {
            0 => Origin::Record,
            1 => Origin::Derived,
            2 => Origin::Timer,
            3 => Origin::Fact,
            _ => return Err(Malformed::new("a stored event of an unknown origin")),
        };
        let (time, start, end) = (cursor.long()?, cursor.long()?, cursor.long()?);
        let (seq, start_seq) = (number(cursor)?, number(cursor)?);
        let partition = partition(cursor)?;
        let offset = cursor.long()?;
        let topic = cursor.blob()?;
        let source = if topic.is_empty() {
            NO_SOURCE
        } else {
            let known = self.topics.iter().position(|name| name.as_bytes() == topic);
            known.ok_or_else(|| Malformed::new("a stored event of a topic the task does not read"))? as u16
        };
        if origin == Origin::Record && !self.topics.reads(source, partition) {
            return Err(Malformed::new("a stored event of a partition that is not the task's"));
        }
        let (key, own_id) = (cursor.blob()?, cursor.blob()?);
        let mut row = Vec::new();
        let described = self.types.get(type_id as usize);
        if let Some((_, layout)) = described {
            layout.start_row(&mut row);
        }
        for _ in 0..cursor.long()? {
            let name = cursor.blob()?;
            let slot = described.and_then(|(event_type, layout)| {
                layout.slot(event_type.fields.iter().position(|field| field.name.as_bytes() == name)?)
            });
            read_value(cursor, slot, &mut row)?;
        }
        let (key, own_id) = (row.push_tail(key), row.push_tail(own_id));
        let row = Row::from_vec(row);
        let event = Event {
            time,
            start,
            end,
            seq,
            start_seq,
            origin,
            offset,
            partition,
            type_id,
            source,
            key,
            own_id,
            row,
        };
        if described.is_none_or(|(_, layout)| layout.holds(&event)) {
            Ok(event)
        } else {
            Err(Malformed::new("a stored event that does not fit its type"))
        }
    }
}

/// A tag and the value: 0 absent, 1 boolean, 2 long, 3 double, 4 text or bytes, 5 a list: its length and its values.
pub fn write_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => encode::long(out, 0),
        Value::List(values) => {
            encode::long(out, 5);
            encode::long(out, values.len() as i64);
            values.iter().for_each(|value| write_value(value, out));
        }
        Value::Boolean(b) => {
            encode::long(out, 1);
            encode::long(out, i64::from(*b));
        }
        Value::Long(n) => {
            encode::long(out, 2);
            encode::long(out, *n);
        }
        Value::Double(x) => {
            encode::long(out, 3);
            encode::double(out, *x);
        }
        Value::Text(s) => {
            encode::long(out, 4);
            encode::blob(out, s);
        }
    }
}

/// Ids, counts, positions and offsets rise by one; they are not believed where there would be no room to.
pub fn number(cursor: &mut Cursor) -> Result<u64, Malformed> {
    within_reason(cursor.long()? as u64)
}

pub fn within_reason(number: u64) -> Result<u64, Malformed> {
    if number < 1 << 62 {
        Ok(number)
    } else {
        Err(Malformed::new("a number in a state entry is out of range"))
    }
}

/// An offset, which is a number.
fn offset(cursor: &mut Cursor) -> Result<i64, Malformed> {
    number(cursor).map(|offset| offset as i64)
}

fn partition(cursor: &mut Cursor) -> Result<i32, Malformed> {
    i32::try_from(cursor.long()?).map_err(|_| Malformed::new("a partition out of range"))
}

pub fn version(cursor: &mut Cursor) -> Result<(), Malformed> {
    match cursor.long()? {
        VERSION => Ok(()),
        other => {
            Err(Malformed(format!("state of version {other}, this engine understands version {VERSION}")))
        }
    }
}

/// A value that `write_value` wrote.
pub fn read_any(cursor: &mut Cursor) -> Result<Value<'static>, Malformed> {
    match cursor.long()? {
        5 => read_values(cursor, Value::into_owned).map(Value::List),
        tag => read_one(tag, cursor).map(Value::into_owned),
    }
}

/// A list that `write_value` wrote.
pub fn read_list(bytes: &[u8]) -> Option<Value<'_>> {
    let mut cursor = Cursor::new(bytes);
    let is_list = cursor.long().is_ok_and(|tag| tag == 5);
    is_list.then(|| read_values(&mut cursor, |value| value).ok().map(Value::List))?
}

/// No value is a list of lists.
fn read_values<'a, 'b>(
    cursor: &mut Cursor<'a>,
    each: impl Fn(Value<'a>) -> Value<'b>,
) -> Result<Vec<Value<'b>>, Malformed> {
    let mut values = Vec::new();
    for _ in 0..cursor.long()? {
        let tag = cursor.long()?;
        values.push(each(read_one(tag, cursor)?));
    }
    Ok(values)
}

fn read_one<'a>(tag: i64, cursor: &mut Cursor<'a>) -> Result<Value<'a>, Malformed> {
    Ok(match tag {
        0 => Value::Null,
        1 => Value::Boolean(cursor.long()? != 0),
        2 => Value::Long(cursor.long()?),
        3 => Value::Double(f64::from_le_bytes(cursor.take(8)?.try_into().expect("8 bytes were taken"))),
        4 => Value::text(cursor.blob()?),
        _ => return Err(Malformed::new("a stored value of an unknown type")),
    })
}

/// Reads the value of an attribute into its place, if it has one.
fn read_value(cursor: &mut Cursor, slot: Option<Slot>, row: &mut Vec<u8>) -> Result<(), Malformed> {
    let value = match cursor.long()? {
        5 => Value::List(read_values(cursor, |value| value)?),
        tag => read_one(tag, cursor)?,
    };
    let Some(slot) = slot else { return Ok(()) };
    let fits = match (&value, slot.kind) {
        (Value::Null, _) => return Ok(()),
        (Value::Text(text), SlotKind::Text) => std::str::from_utf8(text).is_ok(),
        (Value::Boolean(_), SlotKind::Boolean)
        | (Value::Long(_), SlotKind::Long)
        | (Value::Double(_), SlotKind::Double)
        | (Value::Text(_), SlotKind::Bytes)
        | (Value::List(_), SlotKind::List) => true,
        _ => false,
    };
    if !fits {
        return Err(Malformed::new("a stored value of another type than its attribute"));
    }
    row.put_value(slot, &value);
    Ok(())
}

/// An empty range, for events without a key or id.
pub const NOTHING: Range = Range { at: 0, len: 0 };

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 2] = ["smoke", "temps"];

    fn topics(names: &[&str], partition: i32) -> Topics {
        Topics::new(names.iter().map(|name| (*name).to_owned()).collect(), partition, &HashMap::new())
    }

    /// A type with these attributes, all of them needed.
    fn described(fields: &[(&str, &str, SlotKind)]) -> (EventType, Layout) {
        let field = |(name, kind, _): &(&str, &str, SlotKind)| {
            format!(r#"{{"name":"{name}","type":"{kind}","optional":true}}"#)
        };
        let fields_json = fields.iter().map(field).collect::<Vec<_>>().join(",");
        let json = format!(
            r#"{{"name":"Temp","origin":"input","fields":[{fields_json}],"topic":"temps","key":null,"time":null,
            "lateness_ms":0,"kind":"event","parent":null,"id":null,"start":null}}"#
        );
        let kinds: Vec<_> = fields.iter().map(|(.., kind)| (*kind, true)).collect();
        (serde_json::from_str(&json).expect("a type"), Layout::new(&kinds, 0))
    }

    fn temp() -> (EventType, Layout) {
        use SlotKind::{Boolean, Double, Long, Text};
        described(&[
            ("a", "boolean", Boolean),
            ("b", "long", Long),
            ("c", "double", Double),
            ("d", "string", Text),
            ("e", "long", Long),
        ])
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
            offset: 6,
            partition: 7,
            type_id: 0,
            source: 1,
            key,
            own_id,
            origin: Origin::Record,
            start: 4,
            row: Row::from_slice(&row),
            ..Event::point(5, 3, b"")
        }
    }

    fn values<'a>(event: &'a Event, layout: &Layout) -> Vec<Value<'a>> {
        layout.slots().map(|slot| event.value(slot)).collect()
    }

    #[test]
    fn an_event_comes_back_as_it_was() {
        let (types, topics) = ([temp()], topics(&NAMES, 7));
        let names = names(&types);
        let codec = Codec { types: &types, names: &names, topics: &topics };
        let event = event(&types[0].1);
        let back = codec.decode_event(&codec.encode_event(&event)).expect("it was just encoded");
        assert!(back.order(&event).is_eq() && back.is(&event));
        assert_eq!((back.time, back.start, back.end, back.seq), (5, 4, 5, 3));
        let text = Value::text("größer".as_bytes());
        let expected = [Value::Boolean(true), Value::Long(-7), Value::Double(0.5), text, Value::Null];
        assert_eq!(values(&back, &types[0].1), expected);
    }

    #[test]
    fn an_occurrence_comes_back_as_it_was() {
        let (types, topics) = ([temp()], topics(&NAMES, 7));
        let names = names(&types);
        let codec = Codec { types: &types, names: &names, topics: &topics };
        let mut occurrence = Occurrence::at(9, 10);
        occurrence.add_event(Arc::new(event(&types[0].1)), 2);
        let list = Value::List(vec![Value::Long(1), Value::Null, Value::text(b"x")]);
        occurrence.computed = vec![Value::Null, list, Value::Text(vec![0xff, 0].into())];
        let except = vec![Key::from_slice(b"e")];
        occurrence.binding = Some(Arc::new(Binding { values: Key::from_slice(b"v"), except }));
        let bytes = codec.encode_occurrence(&occurrence);
        let back = codec.decode_occurrence(&bytes).expect("it was just encoded");
        assert!(back.equals(&occurrence));
        assert_eq!((back.computed, back.binding), (occurrence.computed, occurrence.binding));
        for length in 0..bytes.len() {
            assert!(codec.decode_occurrence(&bytes[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn an_attribute_more_is_absent_and_one_less_is_passed_over() {
        use SlotKind::{Double, Long, Text};
        let (types, topics) = ([temp()], topics(&NAMES, 7));
        let bytes =
            Codec { types: &types, names: &names(&types), topics: &topics }.encode_event(&event(&types[0].1));
        let other = [described(&[("c", "double", Double), ("d", "string", Text), ("f", "long", Long)])];
        let back = Codec { types: &other, names: &names(&other), topics: &topics }
            .decode_event(&bytes)
            .expect("it was just encoded");
        let expected = [Value::Double(0.5), Value::text("größer".as_bytes()), Value::Null];
        assert_eq!(values(&back, &other[0].1), expected);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        use SlotKind::Long;
        let (types, at) = ([temp()], topics(&NAMES, 7));
        let known = names(&types);
        let codec = Codec { types: &types, names: &known, topics: &at };
        let bytes = codec.encode_event(&event(&types[0].1));
        let other = [described(&[("d", "long", Long)])];
        assert!(Codec { types: &other, names: &names(&other), ..codec }.decode_event(&bytes).is_err());
        assert!(Codec { types: &[], names: &Names::new(), ..codec }.decode_event(&bytes).is_err());
        assert!(Codec { topics: &topics(&NAMES[..1], 7), ..codec }.decode_event(&bytes).is_err());
        assert!(Codec { topics: &topics(&NAMES, 8), ..codec }.decode_event(&bytes).is_err());
        for length in 0..bytes.len() {
            assert!(codec.decode_event(&bytes[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn keys_sort_as_times_do() {
        let (_, layout) = temp();
        let key = |time| entry_key(b"prefix", b"k", &Event { time, ..event(&layout) }, false);
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
            partition: 0,
            via: "sent".into(),
            resume: 3,
            read_to: 9,
            watermark: i64::MIN,
            refused: Refused(vec![(4, 6), (8, 8)]),
        };
        let progress = Progress { released: -1, began: 2, seq: 3, sources: vec![source] };
        let bytes = encode_progress(&progress);
        assert_eq!(decode_progress(&bytes), Ok(progress));
        assert!(decode_progress(&bytes[..bytes.len() - 1]).is_err());
        assert!(decode_progress(&[2]).is_err_and(|e| e.0.contains("version 1")));
    }
}
