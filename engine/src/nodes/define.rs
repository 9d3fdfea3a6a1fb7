//! A rule's head: turns an occurrence into an encoded complex event, and into an event for the rules that build on it.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use triomphe::Arc;

use super::limit::Limit;
use crate::avro::encode::{self, Stamp};
use crate::avro::Malformed;
use crate::event::{Event, Layout, Origin, Row, RowWriter, NO_SOURCE};
use crate::expr::Expr;
use crate::graph::{Moment, Outbox, Unencodable};
use crate::identity::{identity, Topics, DIGITS};
use crate::journal::Reason;
use crate::key::{key_of, Key};
use crate::occurrence::{distinct, Item, Occurrence, Order, Scope};
use crate::partition::partition_of;
use crate::plan::{Context, Type};
use crate::state::{Change, Entry, NOTHING};
use crate::value::Value;

pub struct Attribute {
    pub name: String,
    pub kind: Type,
    pub optional: bool,
    pub many: bool,
    pub value: Expr,
}

pub struct Binding {
    /// The name as Avro.
    pub name: Stamp,
    pub value: Expr,
    /// Whether it tells apart what is limited on its own.
    pub equality: bool,
}

pub struct DefineNode {
    pub fingerprint: [u8; 8],
    pub type_id: u16,
    pub rule: String,
    /// Rule, version and context as Avro: they stand in every record alike.
    pub rule_block: Stamp,
    pub condition: Option<Expr>,
    pub attributes: Vec<Attribute>,
    pub bindings: Vec<Binding>,
    pub limit: Option<Limit>,
    /// The attribute that carries the key the output is partitioned by.
    pub key: Option<usize>,
    /// For each slot: role and type as Avro; nothing for what is no constituent.
    pub roles: Vec<Stamp>,
    /// Of a pattern or an event expression: the slots of each role, in the order in which they are written. Simultaneous
    /// occurrences come in that order, and one that is found in several ways counts once.
    pub places: Vec<Vec<u16>>,
    /// The place of the definition in the file, which orders what is simultaneous.
    pub order: usize,
    /// The position at which it made something last, and how much.
    pub made: (u64, i64),
    /// Whether other rules read what this one makes.
    pub derives: bool,
    /// Whether the same constituents can be found at several positions, which then are part of the identity.
    pub repeats: bool,
    /// What stands before the Avro bytes of each record, and where records go.
    pub output: Output,
    /// Whether records go anywhere: not where the definition belongs to another task, and is only read here.
    pub sent: bool,
}

#[derive(Debug, Clone)]
pub struct Output {
    pub topic: u32,
    pub frame: Stamp,
    pub partitions: i32,
    pub own_partition: i32,
    pub max_bytes: usize,
}

/// Where one encoded record stands in `Emitted`.
pub struct Record {
    pub topic: u32,
    pub partition: i32,
    pub timestamp: i64,
    pub identity: [u8; DIGITS],
    pub start: usize,
    pub end: usize,
}

#[derive(Default)]
pub struct Emitted {
    pub bytes: Vec<u8>,
    pub records: Vec<Record>,
}

impl Emitted {
    /// Undoes the last record.
    pub fn take_back(&mut self) {
        if let Some(record) = self.records.pop() {
            self.bytes.truncate(record.start);
        }
    }
}

/// Rule, version and context, as they stand in every record of a rule.
pub fn rule_block(rule: &str, version: i32, context: Option<Context>) -> Stamp {
    // The order of the enum Context of the complex event's schema.
    let context = match context {
        None => 0,
        Some(Context::Unrestricted) => 1,
        Some(Context::Recent) => 2,
        Some(Context::Chronicle) => 3,
        Some(Context::Continuous) => 4,
        Some(Context::Cumulative) => 5,
    };
    let mut out = encode::as_blob(rule);
    encode::long(&mut out, i64::from(version));
    encode::long(&mut out, context);
    Stamp::new(out)
}

impl DefineNode {
    pub fn handle(
        &mut self,
        arrived: &mut Vec<(u8, Occurrence)>,
        moment: &mut Moment,
        out: &mut Outbox,
        derived: &mut Vec<Arc<Event>>,
    ) {
        arrange(arrived, &self.places);
        // Of those with the same constituents, so that it does not depend on what else happens in the task.
        let mut alike: FxHashMap<[u8; DIGITS], usize> = FxHashMap::default();
        for (_, occurrence) in arrived.iter() {
            let mut ordinal = 0;
            if self.repeats && arrived.len() > 1 {
                let constituents = identity(&self.fingerprint, &occurrence.items, None, out.topics);
                let count = alike.entry(constituents).or_default();
                ordinal = std::mem::replace(count, *count + 1);
            }
            self.take(occurrence, ordinal, moment, out, derived);
        }
    }

    /// Takes one occurrence; `ordinal` is its place among those that are simultaneous and of the same constituents.
    pub fn take(
        &mut self,
        occurrence: &Occurrence,
        ordinal: usize,
        moment: &mut Moment,
        out: &mut Outbox,
        derived: &mut Vec<Arc<Event>>,
    ) {
        let scope = Scope::of(occurrence);
        if self.condition.as_ref().is_some_and(|condition| !condition.holds(&scope)) {
            moment.lose(Reason::If, occurrence);
            return;
        }
        let binding = self.limit.as_ref().and_then(|_| self.binding(&scope));
        if let (Some(limit), Some(key)) = (&mut self.limit, &binding) {
            if !limit.admits(key, moment.time) {
                moment.lose(Reason::Rate, occurrence);
                return;
            }
        }
        match self.emit(occurrence, ordinal, out.topics, out.emitted) {
            Ok(identity) => {
                if !self.sent {
                    out.emitted.take_back();
                }
                if let (Some(limit), Some(key)) = (&mut self.limit, binding) {
                    limit.note(key, moment.time);
                }
                if self.derives {
                    let layout = &out.types[self.type_id as usize].1;
                    let event = self.derive(occurrence, &identity, layout);
                    derived.push(Arc::new(Event { offset: self.number(occurrence.seq), ..event }));
                }
            }
            Err(message) => {
                moment.lose(Reason::NoValue, occurrence);
                if self.sent {
                    out.failed.push(Unencodable { message });
                }
            }
        }
    }

    /// The place of the next complex event among those of its type and position.
    pub fn number(&mut self, seq: u64) -> i64 {
        let count = if self.made.0 == seq { self.made.1 + 1 } else { 0 };
        self.made = (seq, count);
        ((self.order as i64) << 32) + count
    }

    /// The values of the equality parameters.
    fn binding(&self, scope: &Scope) -> Option<Key> {
        key_of(self.bindings.iter().filter(|binding| binding.equality).map(|b| b.value.eval(scope)))
    }

    /// Encodes the occurrence and returns its identity; an error says why it cannot be written.
    pub fn emit(
        &self,
        occurrence: &Occurrence,
        ordinal: usize,
        topics: &Topics,
        out: &mut Emitted,
    ) -> Result<[u8; DIGITS], String> {
        let start = out.bytes.len();
        let scope = Scope::of(occurrence);
        self.output.frame.write(&mut out.bytes);
        let mut to = self.output.own_partition;
        for (index, attribute) in self.attributes.iter().enumerate() {
            let value = attribute.value.eval(&scope);
            if !attribute.encode(&value, &mut out.bytes) {
                out.bytes.truncate(start);
                return Err(format!("attribute `{}` of {} has no value here", attribute.name, self.rule));
            }
            if self.key == Some(index) {
                to = partition_of(&value, self.output.partitions).unwrap_or(to);
            }
        }
        let place = self.repeats.then_some((occurrence.end, ordinal as u64));
        let identity = identity(&self.fingerprint, &occurrence.items, place, topics);
        self.encode_detection(occurrence, topics, &identity, &mut out.bytes);
        let (topic, end) = (self.output.topic, out.bytes.len());
        if end - start > self.output.max_bytes {
            out.bytes.truncate(start);
            return Err(format!(
                "{} would be a record of {} bytes, which is too large",
                self.rule,
                end - start
            ));
        }
        out.records.push(Record { topic, partition: to, timestamp: occurrence.end, identity, start, end });
        Ok(identity)
    }

    /// The complex event as an event.
    pub fn derive(&self, occurrence: &Occurrence, identity: &[u8; DIGITS], layout: &Layout) -> Event {
        let scope = Scope::of(occurrence);
        let mut row = Vec::new();
        layout.start_row(&mut row);
        for (index, attribute) in self.attributes.iter().enumerate() {
            let Some(slot) = layout.slot(index) else { continue };
            row.put_value(slot, &attribute.value.eval(&scope));
        }
        let own_id = row.push_tail(identity);
        Event {
            time: occurrence.time,
            start: occurrence.start,
            end: occurrence.end,
            seq: occurrence.seq,
            start_seq: occurrence.start_seq,
            origin: Origin::Derived,
            offset: 0,
            partition: occurrence.round(),
            type_id: self.type_id,
            source: NO_SOURCE,
            key: NOTHING,
            own_id,
            row: Row::from_vec(row),
        }
    }

    fn encode_detection(
        &self,
        occurrence: &Occurrence,
        topics: &Topics,
        identity: &[u8; DIGITS],
        out: &mut Vec<u8>,
    ) {
        let scope = Scope::of(occurrence);
        let mut named = [0; 1 + DIGITS];
        named[0] = 2 * DIGITS as u8;
        named[1..].copy_from_slice(identity);
        out.extend_from_slice(&named);
        self.rule_block.write(out);
        encode::long(out, occurrence.start);
        encode::long(out, occurrence.end);
        if !self.bindings.is_empty() {
            encode::long(out, self.bindings.len() as i64);
            for binding in &self.bindings {
                binding.name.write(out);
                encode_binding(&binding.value.eval(&scope), out);
            }
        }
        encode::long(out, 0);
        // One event in several slots of a role plays it once.
        let told: SmallVec<[&Item; 4]> = if self.roles.iter().all(|role| !role.is_empty()) && !self.shares() {
            occurrence.items.iter().collect()
        } else {
            self.told(occurrence)
        };
        if !told.is_empty() {
            encode::long(out, told.len() as i64);
            for item in told {
                self.roles[usize::from(item.slot)].write(out);
                encode::long(out, item.event.time);
                topics.encode_place(&item.event, out);
            }
        }
        encode::long(out, 0);
    }

    /// Whether several slots are of one role.
    fn shares(&self) -> bool {
        self.places.iter().any(|place| place.len() > 1)
    }

    /// The constituents, without those that have no role, and each once in its role.
    fn told<'a>(&self, occurrence: &'a Occurrence) -> SmallVec<[&'a Item; 4]> {
        let role = |item: &Item| self.roles[usize::from(item.slot)].bytes();
        let mut told: SmallVec<[&Item; 4]> = SmallVec::new();
        for item in occurrence.items.iter().filter(|item| !role(item).is_empty()) {
            let shared = self.places.iter().any(|place| place.len() > 1 && place.contains(&item.slot));
            let twice = |other: &&Item| role(other) == role(item) && other.event.is(&item.event);
            if !(shared && told.iter().any(twice)) {
                told.push(item);
            }
        }
        told
    }

    pub fn expire(&mut self, watermark: i64) {
        if let Some(limit) = &mut self.limit {
            limit.expire(watermark);
        }
    }

    pub fn changes(&mut self, out: &mut Vec<Change>) {
        if let Some(limit) = &mut self.limit {
            limit.changes(out);
        }
    }

    pub fn load(&mut self, entry: &Entry) -> Result<bool, Malformed> {
        self.limit.as_mut().map_or(Ok(false), |limit| limit.load(entry))
    }
}

/// Brings simultaneous occurrences of a pattern or an event expression into order, each once; `places` are the slots of
/// each role.
pub fn arrange(arrived: &mut Vec<(u8, Occurrence)>, places: &[Vec<u16>]) {
    // An equality parameter has a value in every occurrence of a definition or rule.
    arrived.retain(|(_, occurrence)| occurrence.binding.is_none());
    if arrived.len() < 2 || places.is_empty() {
        return;
    }
    // What plays alike has one place in the order, unless an event may stand in several slots of a role.
    let alone = places.iter().all(|place| place.len() == 1);
    let order = |one: &(u8, Occurrence)| one.1.order(places);
    let beside = |one: &Order, other: &Order| one.start_seq == other.start_seq && (!alone || one == other);
    let alike = |one: &(u8, Occurrence), other: &(u8, Occurrence)| one.1.plays_as(&other.1, places);
    *arrived = distinct(std::mem::take(arrived), order, beside, alike);
}

/// Branches of the union in the schema's `bindings`: null, boolean, long, double, string.
fn encode_binding(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null | Value::List(_) => encode::long(out, 0),
        Value::Boolean(b) => {
            encode::long(out, 1);
            out.push(u8::from(*b));
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

impl Attribute {
    /// False where a value is absent that must be there, or does not fit its type.
    fn encode(&self, value: &Value, out: &mut Vec<u8>) -> bool {
        if self.optional {
            encode::long(out, i64::from(!value.is_null()));
            if value.is_null() {
                return true;
            }
        }
        match value {
            Value::List(values) if self.many => {
                if !values.is_empty() {
                    encode::long(out, values.len() as i64);
                }
                let fits = values.iter().all(|value| self.encode_one(value, out));
                encode::long(out, 0);
                fits
            }
            value => !self.many && self.encode_one(value, out),
        }
    }

    fn encode_one(&self, value: &Value, out: &mut Vec<u8>) -> bool {
        match (value, self.kind) {
            (Value::Boolean(b), Type::Boolean) => out.push(u8::from(*b)),
            (Value::Long(n), Type::Int) if i32::try_from(*n).is_err() => return false,
            (Value::Long(n), Type::Int | Type::Long | Type::Timestamp) => encode::long(out, *n),
            (Value::Long(n), Type::Float) => encode::float(out, *n as f32),
            (Value::Long(n), Type::Double) => encode::double(out, *n as f64),
            (Value::Double(x), Type::Float) => encode::float(out, *x as f32),
            (Value::Double(x), Type::Double) => encode::double(out, *x),
            (Value::Text(s), Type::String | Type::Bytes) => encode::blob(out, s),
            _ => return false,
        }
        true
    }
}
