//! From a record to an event: what it is, when it was, what it is called; or why it is refused.

use super::*;

/// The longest key that a letter for a record that is too large still carries.
const MAX_BARE_KEY: usize = 4096;

/// What is asked of every event of a type: whether it is a fact, and where it says its time, when it began and what it
/// is called.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    is_fact: bool,
    time: Option<Slot>,
    start: Option<Slot>,
    id: Option<Slot>,
}

impl Kind {
    pub fn of((event_type, layout): &(EventType, Layout)) -> Kind {
        let place = |field: Option<usize>| field.and_then(|field| layout.slot(field));
        Kind {
            is_fact: event_type.is_fact(),
            time: place(event_type.time),
            start: place(event_type.start),
            id: place(event_type.id),
        }
    }
}

impl Detector {
    pub(super) fn reject(&mut self, batch: &Batch, record: &Record, (reason, message): Refusal) {
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
    pub(super) fn decode(
        &mut self,
        batch: &Batch,
        record: &Record,
        source: usize,
        now_ms: i64,
        row: &mut Vec<u8>,
        event: &mut Event,
    ) -> Result<bool, Refusal> {
        let size = batch.size(record);
        if size > self.limits.max_record_bytes {
            let message = format!("{size} bytes, the limit is {}", self.limits.max_record_bytes);
            return Err((Reason::TooLarge, message));
        }
        let cloud_event = batch.cloud_event(record);
        let Some(value) = record.value else {
            let kind = cloud_event.as_ref().and_then(|ce| ce.kind);
            let type_id = self.retracted(source, kind)?;
            let time = cloud_event.and_then(|ce| ce.time_ms).unwrap_or(record.timestamp);
            *event = self.retraction(batch, record, (source, type_id), time, now_ms)?;
            return Ok(true);
        };
        let value = batch.bytes(value);
        let Some(type_id) = self.decode_value(value, source, cloud_event.as_ref(), row)? else {
            return Ok(false);
        };
        let key = record.key.map_or(NOTHING, |span| row.push_tail(batch.bytes(span)));
        let kind = self.kinds[type_id];
        let own_id = match &cloud_event {
            _ if kind.is_fact => row.push_tail(label(batch, record).as_bytes()),
            Some(CloudEvent { id: Some(id), source: Some(origin), .. }) => {
                row.push_tail(&[origin, &[0][..], id].concat())
            }
            _ => NOTHING,
        };
        event.origin = if kind.is_fact { Made::Fact } else { Made::Record };
        (event.offset, event.partition, event.source) = (record.offset, batch.partition, source as u16);
        event.type_id = type_id as u16;
        (event.key, event.own_id) = (key, own_id);
        event.row.clear();
        event.row.extend_from_slice(row);
        event.time = record.timestamp;
        event.time = self.time_of(event, kind.time, cloud_event.as_ref(), now_ms)?;
        event.start = match kind.start.map(|slot| event.value(slot)) {
            Some(Value::Long(start)) => start.min(event.time),
            _ => event.time,
        };
        event.end = event.time;
        if let Some(slot) = kind.id {
            self.name(event, slot);
        }
        Ok(true)
    }

    /// The type of fact that a record without a value takes out.
    fn retracted(&self, source: usize, kind: Option<&[u8]>) -> Result<usize, Refusal> {
        let facts = self.carried[source].iter().copied().filter(|&id| self.types[id].0.is_fact());
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

    fn retraction(
        &self,
        batch: &Batch,
        record: &Record,
        (source, type_id): (usize, usize),
        time: i64,
        now_ms: i64,
    ) -> Result<Event, Refusal> {
        let key = record.key.map(|span| batch.bytes(span)).filter(|key| !key.is_empty());
        let key =
            key.ok_or_else(|| (Reason::NullValue, "the record has neither value nor key".to_owned()))?;
        if time < 0 || time > now_ms.saturating_add(self.limits.max_ahead_ms) {
            return Err((Reason::BadTime, too_far(time, now_ms)));
        }
        let mut row = Vec::new();
        let key = row.push_tail(key);
        Ok(Event {
            offset: record.offset,
            partition: batch.partition,
            type_id: type_id as u16,
            source: source as u16,
            origin: Made::Retraction,
            key,
            own_id: NOTHING,
            row: Row::from_vec(row),
            ..Event::point(time, 0, &[])
        })
    }

    /// Decodes a value into `row` and says of which type it is.
    fn decode_value(
        &mut self,
        value: &[u8],
        source: usize,
        cloud_event: Option<&CloudEvent>,
        row: &mut Vec<u8>,
    ) -> Result<Option<usize>, Refusal> {
        let candidates = &self.carried[source];
        let undecodable = |Malformed(message)| (Reason::Undecodable, message);
        if let Some((reference, length)) = SchemaRef::read(value) {
            let reading = self
                .writers
                .reading(reference, source as u16, candidates, &self.types)
                .map_err(|message| (Reason::UnknownSchema, message))?;
            return match reading {
                Reading::As(type_id, decoder) => {
                    self.types[*type_id].1.start_row(row);
                    decoder.decode(&value[length..], row).map_err(undecodable)?;
                    Ok(Some(*type_id))
                }
                Reading::NotOurs => Ok(None),
                Reading::Mismatch(message) => Err((Reason::SchemaMismatch, message.clone())),
            };
        }
        if value.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
            return Err((Reason::Undecodable, "neither Avro in a known framing nor a JSON object".into()));
        }
        let kind = cloud_event.and_then(|ce| ce.kind).and_then(|kind| std::str::from_utf8(kind).ok());
        let type_id = match (candidates.as_slice(), kind) {
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
        layout.start_row(row);
        json::decode(value, event_type, layout, row).map_err(undecodable)?;
        Ok(Some(type_id))
    }

    #[inline]
    fn time_of(
        &self,
        event: &Event,
        attribute: Option<Slot>,
        cloud_event: Option<&CloudEvent>,
        now_ms: i64,
    ) -> Result<i64, Refusal> {
        let time = match attribute.map(|slot| event.value(slot)) {
            Some(Value::Long(time)) => time,
            Some(_) => return Err((Reason::BadTime, "the attribute that carries the time is null".into())),
            None => cloud_event.and_then(|ce| ce.time_ms).unwrap_or(event.time),
        };
        if time < 0 || time > now_ms.saturating_add(self.limits.max_ahead_ms) {
            return Err((Reason::BadTime, too_far(time, now_ms)));
        }
        Ok(time)
    }

    /// Gives an event the id that stands in an attribute.
    fn name(&self, event: &mut Event, slot: Slot) {
        let event_type = &self.types[event.type_id as usize].0;
        let id = match event.value(slot) {
            Value::Text(id) => id.to_vec(),
            Value::Long(id) => id.to_string().into_bytes(),
            _ => return,
        };
        let mut row = event.row.to_vec();
        event.own_id = row.push_tail(&[event_type.name.as_bytes(), &[0][..], &id].concat());
        event.row = Row::from_vec(row);
    }
}

fn too_far(time: i64, now_ms: i64) -> String {
    format!("event time {time} is negative or too far ahead of the clock at {now_ms}")
}

/// What a fact from outside is called: by the coordinates of its record.
fn label(batch: &Batch, record: &Record) -> String {
    format!("{}/{}/{}", batch.topic, batch.partition, record.offset)
}
