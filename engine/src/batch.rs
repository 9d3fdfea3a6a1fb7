//! Raw records of one topic partition, copied into one arena so that a batch can be processed without Python.

use crate::time;

#[derive(Debug, Clone, Copy, Default)]
pub struct Span {
    at: usize,
    len: usize,
}

#[derive(Debug, Clone, Copy)]
pub struct Record {
    pub offset: i64,
    pub timestamp: i64,
    pub key: Option<Span>,
    pub value: Option<Span>,
    /// Bytes of key, value and headers together.
    pub size: usize,
    /// Index into the batch's headers, for the few records that have any.
    headers: Option<u32>,
}

/// The attributes of a CloudEvent in binary mode that matter here.
#[derive(Debug, Default)]
pub struct CloudEvent<'a> {
    pub id: Option<&'a [u8]>,
    pub source: Option<&'a [u8]>,
    pub kind: Option<&'a [u8]>,
    pub time_ms: Option<i64>,
}

pub type Headers<'a> = Vec<(&'a str, &'a [u8])>;

#[derive(Debug)]
pub struct Batch {
    pub topic: String,
    pub partition: i32,
    pub records: Vec<Record>,
    headers: Vec<Vec<(String, Span)>>,
    arena: Vec<u8>,
}

impl Batch {
    pub fn new(topic: &str, partition: i32) -> Batch {
        Batch {
            topic: topic.to_owned(),
            partition,
            records: Vec::new(),
            headers: Vec::new(),
            arena: Vec::new(),
        }
    }

    pub fn push(&mut self, offset: i64, timestamp: i64, key: Option<&[u8]>, value: Option<&[u8]>) {
        let before = self.arena.len();
        let key = key.map(|bytes| self.keep(bytes));
        let value = value.map(|bytes| self.keep(bytes));
        let size = self.arena.len() - before;
        self.records.push(Record { offset, timestamp, key, value, size, headers: None });
    }

    /// Gives the record pushed last its headers.
    pub fn push_headers<'a>(&mut self, headers: impl Iterator<Item = (&'a str, &'a [u8])>) {
        let kept: Vec<_> = headers.map(|(name, value)| (name.to_owned(), self.keep(value))).collect();
        if let Some(record) = self.records.last_mut() {
            record.headers = Some(self.headers.len() as u32);
            record.size += kept.iter().map(|(name, value)| name.len() + value.len).sum::<usize>();
            self.headers.push(kept);
        }
    }

    fn keep(&mut self, bytes: &[u8]) -> Span {
        let at = self.arena.len();
        self.arena.extend_from_slice(bytes);
        Span { at, len: bytes.len() }
    }

    #[inline]
    pub fn bytes(&self, span: Span) -> &[u8] {
        &self.arena[span.at..span.at + span.len]
    }

    pub fn headers(&self, record: &Record) -> Headers<'_> {
        let list = record.headers.map(|index| self.headers[index as usize].as_slice()).unwrap_or_default();
        list.iter().map(|(name, span)| (name.as_str(), self.bytes(*span))).collect()
    }

    /// Few records are one; that most are not is told by one word.
    #[inline]
    pub fn cloud_event(&self, record: &Record) -> Option<Box<CloudEvent<'_>>> {
        record.headers.and_then(|_| self.cloud_event_in_headers(record))
    }

    #[cold]
    fn cloud_event_in_headers(&self, record: &Record) -> Option<Box<CloudEvent<'_>>> {
        let mut found = Box::<CloudEvent>::default();
        let mut is_one = false;
        for (name, value) in self.headers(record) {
            match name {
                "ce_specversion" => is_one = true,
                "ce_id" => found.id = Some(value).filter(|id| !id.is_empty()),
                "ce_source" => found.source = Some(value),
                "ce_type" => found.kind = Some(value),
                "ce_time" => found.time_ms = std::str::from_utf8(value).ok().and_then(time::parse_rfc3339),
                _ => {}
            }
        }
        is_one.then_some(found)
    }
}
