//! The task's own entry: how far it came, and where each source is read on.

use super::*;

/// Where a task stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    pub released: i64,
    /// The time of the earliest event.
    pub began: i64,
    /// The position that was handled last.
    pub seq: u64,
    pub sources: Vec<SourceProgress>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceProgress {
    pub topic: String,
    pub partition: i32,
    /// The topic whose parcels bring its records; empty where they come from their own.
    pub via: String,
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
    encode::long(&mut out, progress.began);
    encode::long(&mut out, progress.seq as i64);
    encode::long(&mut out, progress.sources.len() as i64);
    for source in &progress.sources {
        encode::blob(&mut out, source.topic.as_bytes());
        encode::long(&mut out, i64::from(source.partition));
        encode::blob(&mut out, source.via.as_bytes());
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
    let (released, began, seq) = (cursor.long()?, cursor.long()?, number(&mut cursor)?);
    if seq >> (62 - NUMBERS) > 0 {
        return Err(Malformed::new("a position out of range"));
    }
    let mut sources = Vec::new();
    for _ in 0..cursor.long()? {
        let (topic, partition, via) = (named(&mut cursor)?, partition(&mut cursor)?, named(&mut cursor)?);
        let (resume, read_to, watermark) = (offset(&mut cursor)?, offset(&mut cursor)?, cursor.long()?);
        let mut refused = Vec::new();
        for _ in 0..cursor.long()? {
            refused.push((offset(&mut cursor)?, offset(&mut cursor)?));
        }
        let refused = Refused(refused);
        sources.push(SourceProgress { topic, partition, via, resume, read_to, watermark, refused });
    }
    Ok(Progress { released, began, seq, sources })
}

/// The name of a topic.
fn named(cursor: &mut Cursor) -> Result<String, Malformed> {
    let name = String::from_utf8(cursor.blob()?.to_vec());
    name.map_err(|_| Malformed::new("a topic that is not UTF-8"))
}
