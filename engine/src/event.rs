//! An event in memory: its place in the total order, and the attributes some rule needs as one compact row.

use std::cmp::Ordering;
use std::ops::{Deref, DerefMut};

use triomphe::{Arc, UniqueArc};

use crate::state;
use crate::value::Value;

/// Bytes of a row kept inside the event, which makes seven words of it; longer rows move to the heap.
const INLINE: usize = 54;

/// `[null bitmap][slots of 8 bytes][tail]`: a slot is a number, or offset and length of a string in the tail.
#[derive(Debug, Clone)]
pub enum Row {
    Short { len: u8, bytes: [u8; INLINE] },
    Long(Vec<u8>),
}

impl Row {
    #[inline]
    pub fn from_slice(bytes: &[u8]) -> Row {
        let mut row = Row::Short { len: 0, bytes: [0; INLINE] };
        row.push_tail(bytes);
        row
    }

    pub fn from_vec(bytes: Vec<u8>) -> Row {
        if bytes.len() <= INLINE {
            Row::from_slice(&bytes)
        } else {
            Row::Long(bytes)
        }
    }

    /// Becomes the row that another one is.
    #[inline]
    pub fn restart(&mut self, from: &Row) {
        match (self, from) {
            (Row::Short { len, bytes }, Row::Short { len: from_len, bytes: from }) => {
                (*len, *bytes) = (*from_len, *from);
            }
            (row, from) => *row = from.clone(),
        }
    }

    /// Its bytes and the room behind them, which is quicker to tell. What a slot or a range says lies in the bytes.
    #[inline]
    fn room(&self) -> &[u8] {
        match self {
            Row::Short { bytes, .. } => bytes,
            Row::Long(bytes) => bytes,
        }
    }

    /// Writes the slot at `at`, the attribute of which is not null already.
    #[inline]
    pub fn set(&mut self, at: u16, raw: u64) {
        let at = usize::from(at);
        match self {
            Row::Short { bytes, .. } => bytes[at..at + 8].copy_from_slice(&raw.to_le_bytes()),
            Row::Long(bytes) => bytes[at..at + 8].copy_from_slice(&raw.to_le_bytes()),
        }
    }

    #[inline]
    pub fn set_text(&mut self, at: u16, text: &[u8]) {
        let range = self.push_tail(text);
        self.set(at, range.raw());
    }

    pub fn set_null(&mut self, slot: Slot) {
        self[slot.index as usize / 8] |= 1 << (slot.index % 8);
    }

    #[cold]
    fn push_long(&mut self, more: &[u8]) {
        match self {
            Row::Long(bytes) => bytes.extend_from_slice(more),
            Row::Short { .. } => {
                let mut bytes = Vec::with_capacity(2 * (self.len() + more.len()));
                bytes.extend_from_slice(self);
                bytes.extend_from_slice(more);
                *self = Row::Long(bytes);
            }
        }
    }
}

impl Deref for Row {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Row::Short { len, bytes } => &bytes[..usize::from(*len)],
            Row::Long(bytes) => bytes,
        }
    }
}

impl DerefMut for Row {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Row::Short { len, bytes } => &mut bytes[..usize::from(*len)],
            Row::Long(bytes) => bytes,
        }
    }
}

impl From<Vec<u8>> for Row {
    fn from(bytes: Vec<u8>) -> Row {
        Row::from_vec(bytes)
    }
}

/// A place in the tail of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Range {
    pub at: u32,
    pub len: u32,
}

impl Range {
    /// As it stands in a slot.
    fn of(raw: u64) -> Range {
        Range { at: raw as u32, len: (raw >> 32) as u32 }
    }

    fn raw(self) -> u64 {
        u64::from(self.at) | (u64::from(self.len) << 32)
    }
}

/// Where an event comes from, and with that what its label is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A record: labelled by its own id where it has one, else by its coordinates.
    Record,
    /// A rule: labelled by the identity of the complex event, which stands in `own_id`.
    Derived,
    /// A point in time that a node makes: its label stands in `own_id`.
    Timer,
    /// A fact in one of its states: its label stands in `own_id`, its key in `key`.
    Fact,
    /// The record that a fact is no more: its key stands in `key`.
    Retraction,
}

/// The `type_id` of points in time, which have no attributes.
pub const NO_TYPE: u16 = u16::MAX;

/// The `source` of events that are no records.
pub const NO_SOURCE: u16 = u16::MAX;

#[derive(Debug, Clone)]
pub struct Event {
    /// When it occurred: the time of its position.
    pub time: i64,
    /// Its interval, which ends when it occurs unless only its begin is meant.
    pub start: i64,
    pub end: i64,
    /// Its position among all that the task handled; 0 while it waits.
    pub seq: u64,
    /// The position of what initiated it: its own, except for a complex event.
    pub start_seq: u64,
    pub origin: Origin,
    /// Of a record its coordinates. What is made here has none: then `partition` is the round in which rules made it,
    /// and `offset` of a complex event its place among those of its type and position, of a fact its number in the
    /// order of appearance.
    pub offset: i64,
    pub partition: i32,
    pub type_id: u16,
    /// Index of the topic among the task's sources, which are sorted by name: comparing it compares topics.
    pub source: u16,
    /// The record's key, which orders events of one time.
    pub key: Range,
    /// Of a record its own id, or CloudEvents source and id with a zero byte between; empty when it has none.
    pub own_id: Range,
    pub row: Row,
}

impl Event {
    #[inline]
    pub fn bytes(&self, range: Range) -> &[u8] {
        &self.row.room()[range.at as usize..(range.at + range.len) as usize]
    }

    /// Nothing yet, to be filled.
    #[inline]
    pub fn blank() -> Event {
        Event::point(0, 0, &[])
    }

    /// A point in time that a node makes, with its label.
    #[inline]
    pub fn point(time: i64, seq: u64, label: &[u8]) -> Event {
        Event {
            time,
            start: time,
            end: time,
            seq,
            start_seq: seq,
            origin: Origin::Timer,
            offset: 0,
            partition: 0,
            type_id: NO_TYPE,
            source: NO_SOURCE,
            key: Range::default(),
            own_id: Range { at: 0, len: label.len() as u32 },
            row: Row::from_slice(label),
        }
    }

    /// Whether it is the same event; one that was stored and loaded is.
    pub fn is(&self, other: &Event) -> bool {
        self.seq == other.seq
            && self.type_id == other.type_id
            && self.origin == other.origin
            && self.offset == other.offset
            && self.source == other.source
            && self.bytes(self.own_id) == other.bytes(other.own_id)
    }

    /// Its place among all that the task handled: complex events of one position stand behind what occurred by itself,
    /// in the order of their offsets.
    #[inline]
    pub fn place(&self) -> (u64, i64) {
        // Records and facts have numbers for other reasons.
        (self.seq, if matches!(self.origin, Origin::Record | Origin::Fact) { -1 } else { self.offset })
    }

    /// In which round of its position rules made it; 0 for what occurs by itself.
    pub fn round(&self) -> i32 {
        if self.origin == Origin::Record {
            0
        } else {
            self.partition
        }
    }

    /// Whether it is the record of a fact.
    pub fn is_of_fact(&self) -> bool {
        matches!(self.origin, Origin::Fact | Origin::Retraction)
    }

    /// The total order of primitive events; facts come before all events of their time.
    #[inline]
    pub fn order(&self, other: &Event) -> Ordering {
        self.time
            .cmp(&other.time)
            .then_with(|| other.is_of_fact().cmp(&self.is_of_fact()))
            .then_with(|| self.source.cmp(&other.source))
            .then_with(|| self.bytes(self.key).cmp(other.bytes(other.key)))
            .then_with(|| self.partition.cmp(&other.partition))
            .then_with(|| self.offset.cmp(&other.offset))
    }

    #[inline]
    pub fn value(&self, slot: Slot) -> Value<'_> {
        let row = self.row.room();
        let index = slot.index as usize;
        if row[index / 8] & (1 << (index % 8)) != 0 {
            return Value::Null;
        }
        let at = slot.at as usize;
        let raw = u64::from_le_bytes(row[at..at + 8].try_into().expect("a slot has 8 bytes"));
        match slot.kind {
            SlotKind::Boolean => Value::Boolean(raw != 0),
            SlotKind::Long => Value::Long(raw as i64),
            SlotKind::Double => Value::Double(f64::from_bits(raw)),
            SlotKind::Text | SlotKind::Bytes => Value::text(self.bytes(Range::of(raw))),
            SlotKind::List => state::read_list(self.bytes(Range::of(raw))).unwrap_or(Value::Null),
        }
    }
}

/// So many events that are over are kept, to be made into new ones.
const MOST_SPARE: usize = 16_384;

/// Events that nobody holds any more. Most events are over as soon as they are handled, or take the place of another
/// one: making the next of them is cheaper than asking for memory.
#[derive(Default)]
pub struct Spares(Vec<UniqueArc<Event>>);

impl Spares {
    /// An event that nobody else holds, to be made into another one.
    #[inline]
    pub fn take(&mut self) -> UniqueArc<Event> {
        self.0.pop().unwrap_or_else(|| UniqueArc::new(Event::blank()))
    }

    /// Takes an event that is over, unless somebody still holds it.
    #[inline]
    pub fn give(&mut self, event: Arc<Event>) {
        if let Ok(event) = Arc::try_unique(event) {
            self.put(event);
        }
    }

    #[inline]
    pub fn put(&mut self, event: UniqueArc<Event>) {
        if self.0.len() < MOST_SPARE && matches!(event.row, Row::Short { .. }) {
            self.0.push(event);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotKind {
    Boolean,
    Long,
    Double,
    Text,
    Bytes,
    /// Of a complex event only; in the tail it stands as in the entries of state.
    List,
}

/// Where an attribute stands in the rows of its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    pub index: u16,
    pub at: u16,
    pub kind: SlotKind,
}

/// The rows of one event type: which attributes they hold, and where.
#[derive(Debug, Clone)]
pub struct Layout {
    slots: Vec<Option<Slot>>,
    /// Length of bitmap and slots: where the tail begins.
    pub head: usize,
    /// The row in which all is null.
    pub blank: Row,
}

impl Layout {
    /// A layout that holds the fields of `kinds` that are needed, with a bitmap for at least `room` of them.
    pub fn new(kinds: &[(SlotKind, bool)], room: usize) -> Layout {
        let count = kinds.iter().filter(|(_, needed)| *needed).count();
        let bitmap = count.max(room).div_ceil(8);
        let mut slots = Vec::with_capacity(kinds.len());
        let mut index = 0;
        for &(kind, needed) in kinds {
            slots.push(needed.then_some(Slot { index, at: (bitmap + 8 * index as usize) as u16, kind }));
            index += u16::from(needed);
        }
        let head = bitmap + 8 * count;
        let mut blank = vec![0xff; bitmap];
        blank.resize(head, 0);
        Layout { slots, head, blank: Row::from_vec(blank) }
    }

    pub fn slot(&self, field: usize) -> Option<Slot> {
        self.slots[field]
    }

    pub fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.slots.iter().flatten().copied()
    }

    pub fn start_row(&self, row: &mut Vec<u8>) {
        row.clear();
        row.extend_from_slice(&self.blank);
    }

    /// Whether all of the row lies inside it, and every string is UTF-8: asked of rows that come from a store.
    pub fn holds(&self, event: &Event) -> bool {
        let inside = |r: Range| (r.at as usize).saturating_add(r.len as usize) <= event.row.len();
        if event.row.len() < self.head || !inside(event.key) || !inside(event.own_id) {
            return false;
        }
        let in_tail = |slot: &Slot| matches!(slot.kind, SlotKind::Text | SlotKind::Bytes | SlotKind::List);
        self.slots().filter(in_tail).all(|slot| {
            let at = slot.at as usize;
            let raw = u64::from_le_bytes(event.row[at..at + 8].try_into().expect("a slot has 8 bytes"));
            let is_text = || std::str::from_utf8(event.bytes(Range::of(raw))).is_ok();
            inside(Range::of(raw)) && (slot.kind != SlotKind::Text || is_text())
        })
    }
}

/// Writes values into a row under construction.
pub trait RowWriter: DerefMut<Target = [u8]> {
    fn push_tail(&mut self, bytes: &[u8]) -> Range;

    #[inline]
    fn put(&mut self, slot: Slot, raw: u64) {
        let row: &mut [u8] = self;
        row[slot.index as usize / 8] &= !(1 << (slot.index % 8));
        row[slot.at as usize..slot.at as usize + 8].copy_from_slice(&raw.to_le_bytes());
    }

    /// `text` is UTF-8, unless the attribute is bytes or a list.
    #[inline]
    fn put_text(&mut self, slot: Slot, text: &[u8]) {
        let range = self.push_tail(text);
        self.put(slot, range.raw());
    }

    /// Leaves out what is absent, or of another type than the attribute.
    fn put_value(&mut self, slot: Slot, value: &Value) {
        match (value, slot.kind) {
            (Value::Boolean(b), SlotKind::Boolean) => self.put(slot, u64::from(*b)),
            (Value::Long(n), SlotKind::Long) => self.put(slot, *n as u64),
            (Value::Long(n), SlotKind::Double) => self.put(slot, (*n as f64).to_bits()),
            (Value::Double(x), SlotKind::Double) => self.put(slot, x.to_bits()),
            (Value::Text(s), SlotKind::Text | SlotKind::Bytes) => self.put_text(slot, s),
            (Value::List(_), SlotKind::List) => {
                let mut list = Vec::new();
                state::write_value(value, &mut list);
                self.put_text(slot, &list);
            }
            _ => {}
        }
    }
}

impl RowWriter for Vec<u8> {
    #[inline]
    fn push_tail(&mut self, bytes: &[u8]) -> Range {
        let at = self.len() as u32;
        self.extend_from_slice(bytes);
        Range { at, len: bytes.len() as u32 }
    }
}

impl RowWriter for Row {
    #[inline]
    fn push_tail(&mut self, more: &[u8]) -> Range {
        let at = self.len();
        match self {
            Row::Short { len, bytes } if more.len() <= INLINE - at => {
                bytes[at..at + more.len()].copy_from_slice(more);
                *len += more.len() as u8;
            }
            _ => self.push_long(more),
        }
        Range { at: at as u32, len: more.len() as u32 }
    }
}
