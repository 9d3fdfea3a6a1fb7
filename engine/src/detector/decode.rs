//! From a record to an event: what it is, when it was, what it is called; or why it is refused.

use super::*;

/// The longest key that a letter for a record that is too large still carries.
const MAX_BARE_KEY: usize = 4096;

/// The worker's clock, and the latest time that an event may have.
pub struct Clock {
    now_ms: i64,
    latest_ms: i64,
}

impl Clock {
    pub const END: Clock = Clock { now_ms: i64::MAX, latest_ms: i64::MAX };

    pub fn new(now_ms: i64, max_ahead_ms: i64) -> Clock {
        Clock { now_ms, latest_ms: now_ms.saturating_add(max_ahead_ms) }
    }

    #[inline]
    fn check(&self, time: i64) -> Result<(), Refusal> {
        if (0..=self.latest_ms).contains(&time) {
            Ok(())
        } else {
            Err(too_far(time, self.now_ms))
        }
    }
}

/// What is asked of every event of a type: whether it is a fact, and where it says its time, when it began and what it
/// is called.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    is_fact: bool,
    time: Option<Slot>,
    start: Option<Slot>,
    id: Option<Slot>,
    /// Whether it is called by its record's key.
    is_taken: bool,
}

impl Kind {
    pub fn of((event_type, layout): &(EventType, Layout)) -> Kind {
        let place = |field: Option<usize>| field.and_then(|field| layout.slot(field));
        Kind {
            is_fact: event_type.is_fact(),
            time: place(event_type.time),
            start: place(event_type.start),
            id: place(event_type.id),
            is_taken: event_type.application.is_some(),
        }
    }
}

impl Detector {
    pub(super) fn reject(&mut self, batch: &Batch, record: &Record, (reason, message): Refusal) {
        if reason != Reason::Late && !self.told.contains(&batch.topic) {
            return;
        }
        let value = record.value.map(|span| batch.bytes(span));
        // A letter must not become too large itself.
        let carried = reason != Reason::TooLarge;
        let key = record.key.map(|span| batch.bytes(span)).filter(|key| carried || key.len() <= MAX_BARE_KEY);
        let headers = if carried { batch.headers(record) } else { Vec::new() };
        self.rejects.push(Reject {
            reason,
            message,
            topic: batch.topic.clone(),
            partition: batch.partition,
            offset: record.offset,
            timestamp: record.timestamp,
            size: value.map_or(0, <[u8]>::len),
            key: key.map(<[u8]>::to_vec),
            value: value.filter(|_| carried).map(<[u8]>::to_vec),
            headers: headers.into_iter().map(|(n, v)| (n.to_owned(), v.to_vec())).collect(),
        });
    }

    /// Makes an event that is over the one in a record; false where the topic carries it for others.
    #[inline]
    pub(super) fn decode(
        &mut self,
        batch: &Batch,
        record: &Record,
        lane: usize,
        clock: &Clock,
        event: &mut Event,
    ) -> Result<bool, Refusal> {
        if record.size > self.limits.max_record_bytes {
            return Err(too_large(record.size, self.limits.max_record_bytes));
        }
        let headers = batch.cloud_event(record);
        let cloud_event = headers.as_deref();
        let Some(value) = record.value else {
            *event = self.retraction(batch, record, lane, cloud_event, clock)?;
            return Ok(!self.lanes.elsewhere[lane].contains(&usize::from(event.type_id)));
        };
        let value = batch.bytes(value);
        let type_id = match SchemaRef::read(value) {
            Some((reference, datum)) => match self
                .writers
                .reading(reference, lane, &self.lanes.carried, &self.types)
                .map_err(|message| (Reason::UnknownSchema, message))?
            {
                Reading::As(type_id, decoder) => {
                    decoder.decode(datum, &mut event.row).map_err(undecodable)?;
                    *type_id
                }
                Reading::NotOurs => return Ok(false),
                Reading::Mismatch(message) => return Err((Reason::SchemaMismatch, message.to_string())),
            },
            None => match self.decode_json(value, lane, cloud_event, &mut event.row)? {
                Some(type_id) => type_id,
                None => return Ok(false),
            },
        };
        if self.lanes.elsewhere[lane].contains(&type_id) {
            return Ok(false);
        }
        let kind = &self.kinds[type_id];
        event.origin = if kind.is_fact { Made::Fact } else { Made::Record };
        (event.offset, event.partition) = (record.offset, batch.partition);
        event.source = self.lanes.topics[lane];
        event.type_id = type_id as u16;
        event.key = record.key.map_or(NOTHING, |span| event.row.push_tail(batch.bytes(span)));
        event.own_id = match cloud_event {
            _ if kind.is_fact => event.row.push_tail(label(batch, record).as_bytes()),
            Some(CloudEvent { id: Some(id), source: Some(origin), .. }) => {
                event.row.push_tail(&[origin, &[0][..], id].concat())
            }
            _ => NOTHING,
        };
        event.time = match kind.time.map(|slot| event.value(slot)) {
            Some(Value::Long(time)) => time,
            Some(_) => return Err((Reason::BadTime, "the attribute that carries the time is null".into())),
            None => cloud_event.and_then(|ce| ce.time_ms).unwrap_or(record.timestamp),
        };
        clock.check(event.time)?;
        event.start = match kind.start.map(|slot| event.value(slot)) {
            Some(Value::Long(start)) => start.min(event.time),
            _ => event.time,
        };
        event.end = event.time;
        if let Some(slot) = kind.id {
            self.name(event, slot);
        }
        if kind.is_taken && event.key.len > 0 {
            let identity = event.bytes(event.key).to_vec();
            self.call(event, &identity);
        }
        Ok(true)
    }

    /// The type of fact that a record without a value takes out.
    fn retracted(&self, lane: usize, kind: Option<&[u8]>) -> Result<usize, Refusal> {
        let facts = self.lanes.carried[lane].iter().copied().filter(|&id| self.types[id].0.is_fact());
        let facts: Vec<usize> = facts.collect();
        let kind = kind.and_then(|kind| std::str::from_utf8(kind).ok());
        match (facts.as_slice(), kind) {
            ([], _) => Err((Reason::NullValue, "the record has no value".into())),
            ([only], _) => Ok(*only),
            (several, kind) => kind.and_then(|kind| pick(kind, several, &self.types)).ok_or_else(|| {
                let message = "the record has no value, and does not say of which fact it is (ce_type)";
                (Reason::NullValue, message.into())
            }),
        }
    }

    #[cold]
    fn retraction(
        &self,
        batch: &Batch,
        record: &Record,
        lane: usize,
        cloud_event: Option<&CloudEvent>,
        clock: &Clock,
    ) -> Result<Event, Refusal> {
        let type_id = self.retracted(lane, cloud_event.and_then(|ce| ce.kind))?;
        let time = cloud_event.and_then(|ce| ce.time_ms).unwrap_or(record.timestamp);
        let key = record.key.map(|span| batch.bytes(span)).filter(|key| !key.is_empty());
        let key =
            key.ok_or_else(|| (Reason::NullValue, "the record has neither value nor key".to_owned()))?;
        clock.check(time)?;
        let mut made = Event::point(time, 0, &[]);
        let key = made.row.push_tail(key);
        Ok(Event {
            offset: record.offset,
            partition: batch.partition,
            type_id: type_id as u16,
            source: self.lanes.topics[lane],
            origin: Made::Retraction,
            key,
            own_id: NOTHING,
            ..made
        })
    }

    /// Decodes a JSON value into `row` and says of which type it is.
    #[inline(never)]
    fn decode_json(
        &self,
        value: &[u8],
        lane: usize,
        cloud_event: Option<&CloudEvent>,
        row: &mut Row,
    ) -> Result<Option<usize>, Refusal> {
        if value.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
            return Err((Reason::Undecodable, "neither Avro in a known framing nor a JSON object".into()));
        }
        let kind = cloud_event.and_then(|ce| ce.kind).and_then(|kind| std::str::from_utf8(kind).ok());
        let type_id = match (self.lanes.carried[lane].as_slice(), kind) {
            ([only], _) => *only,
            (several, Some(kind)) => match pick(kind, several, &self.types) {
                Some(type_id) => type_id,
                None => return Ok(None),
            },
            (_, None) => {
                let message = "the topic carries several event types, and the record does not say which it is (ce_type)";
                return Err((Reason::Undecodable, message.into()));
            }
        };
        let (event_type, layout) = &self.types[type_id];
        json::decode(value, event_type, layout, row).map_err(undecodable)?;
        Ok(Some(type_id))
    }

    /// Gives an event the id that stands in an attribute.
    fn name(&self, event: &mut Event, slot: Slot) {
        let id = match event.value(slot) {
            Value::Text(id) => id.to_vec(),
            Value::Long(id) => id.to_string().into_bytes(),
            _ => return,
        };
        self.call(event, &id);
    }

    fn call(&self, event: &mut Event, id: &[u8]) {
        let name = self.types[event.type_id as usize].0.name.as_bytes();
        event.own_id = event.row.push_tail(&[name, &[0][..], id].concat());
    }
}

#[cold]
fn too_large(size: usize, limit: usize) -> Refusal {
    (Reason::TooLarge, format!("{size} bytes, the limit is {limit}"))
}

#[cold]
fn too_far(time: i64, now_ms: i64) -> Refusal {
    let message = format!("event time {time} is negative or too far ahead of the clock at {now_ms}");
    (Reason::BadTime, message)
}

#[cold]
fn undecodable(Malformed(message): Malformed) -> Refusal {
    (Reason::Undecodable, message)
}

/// What a fact from outside is called: by the coordinates of its record.
fn label(batch: &Batch, record: &Record) -> String {
    format!("{}/{}/{}", batch.topic, batch.partition, record.offset)
}
