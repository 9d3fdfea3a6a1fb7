//! Parcels: what is sent on to another task, as `schemas/avro/parcel.avsc` says. A parcel holds records of one topic
//! partition as they were read there, in order, and up to where that partition has come.

use crate::avro::cursor::Cursor;
use crate::avro::{encode, Malformed};
use crate::batch::{Batch, Record};

pub struct Parcel {
    /// Nothing before this time follows in later parcels.
    pub watermark: i64,
    /// The records, as if they had just been read from their own topic.
    pub records: Batch,
}

/// Records on their way into parcels of one destination.
#[derive(Default)]
pub struct Packing {
    count: i64,
    body: Vec<u8>,
}

impl Packing {
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn len(&self) -> usize {
        self.body.len()
    }

    pub fn put(&mut self, batch: &Batch, record: &Record) {
        self.count += 1;
        let out = &mut self.body;
        encode::long(out, record.offset);
        encode::long(out, record.timestamp);
        for span in [record.key, record.value] {
            encode::long(out, i64::from(span.is_some()));
            if let Some(span) = span {
                encode::blob(out, batch.bytes(span));
            }
        }
        let headers = batch.headers(record);
        if !headers.is_empty() {
            encode::long(out, headers.len() as i64);
            for (name, value) in headers {
                encode::blob(out, name.as_bytes());
                encode::blob(out, value);
            }
        }
        encode::long(out, 0);
    }

    /// The parcel, ready to be sent.
    pub fn close(self, topic: &str, partition: i32, watermark: i64) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.body.len() + topic.len() + 32);
        encode::blob(&mut out, topic.as_bytes());
        encode::long(&mut out, i64::from(partition));
        encode::long(&mut out, watermark);
        if self.count > 0 {
            encode::long(&mut out, self.count);
            out.extend_from_slice(&self.body);
        }
        encode::long(&mut out, 0);
        out
    }
}

/// Opens a parcel.
pub fn open(value: &[u8]) -> Result<Parcel, Malformed> {
    let mut cursor = Cursor::new(value);
    let topic = text(cursor.blob()?)?;
    let partition = i32::try_from(cursor.long()?).map_err(|_| Malformed::new("a partition out of range"))?;
    let watermark = cursor.long()?;
    let mut records = Batch::new(topic, partition);
    while let count @ 1.. = block(&mut cursor)? {
        for _ in 0..count {
            let (offset, timestamp) = (cursor.long()?, cursor.long()?);
            let (key, value) = (optional(&mut cursor)?, optional(&mut cursor)?);
            records.push(offset, timestamp, key, value);
            let mut headers = Vec::new();
            while let count @ 1.. = block(&mut cursor)? {
                for _ in 0..count {
                    headers.push((text(cursor.blob()?)?, cursor.blob()?));
                }
            }
            if !headers.is_empty() {
                records.push_headers(headers.into_iter());
            }
        }
    }
    match cursor.remaining() {
        0 => Ok(Parcel { watermark, records }),
        _ => Err(Malformed::new("a parcel with something behind its end")),
    }
}

/// How many items follow in an array; 0 where it ends.
fn block(cursor: &mut Cursor) -> Result<u64, Malformed> {
    let count = cursor.long()?;
    if count < 0 {
        // Behind a negative one stands the length in bytes, for who would pass over them.
        cursor.long()?;
    }
    Ok(count.unsigned_abs())
}

fn optional<'a>(cursor: &mut Cursor<'a>) -> Result<Option<&'a [u8]>, Malformed> {
    Ok(if cursor.branch(2)? == 1 { Some(cursor.blob()?) } else { None })
}

fn text(bytes: &[u8]) -> Result<&str, Malformed> {
    std::str::from_utf8(bytes).map_err(|_| Malformed::new("a name that is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_out_as_they_were_put_in() {
        let mut batch = Batch::new("temps", 3);
        batch.push(7, 1_000, Some(b"k"), Some(b"value"));
        batch.push_headers([("ce_id", &b"1"[..]), ("ce_id", b"2")].into_iter());
        batch.push(9, 2_000, None, None);
        let mut packing = Packing::default();
        assert!(packing.is_empty());
        batch.records.iter().for_each(|record| packing.put(&batch, record));
        let parcel = open(&packing.close("temps", 3, i64::MIN)).expect("it was just closed");
        assert_eq!((parcel.watermark, parcel.records.partition), (i64::MIN, 3));
        assert_eq!(format!("{:?}", parcel.records.records), format!("{:?}", batch.records));
        let first = &parcel.records.records[0];
        assert_eq!(parcel.records.headers(first), batch.headers(&batch.records[0]));
    }

    #[test]
    fn blocks_may_say_how_long_they_are() {
        let mut value = Vec::new();
        encode::blob(&mut value, b"temps");
        [0, 5, -1, 99, 7, 1_000, 0, 0, -1, 99].into_iter().for_each(|n| encode::long(&mut value, n));
        encode::blob(&mut value, b"ce_id");
        encode::blob(&mut value, b"1");
        [0, 0].into_iter().for_each(|n| encode::long(&mut value, n));
        let records = open(&value).expect("it is as Avro has it").records;
        assert_eq!(records.records.len(), 1);
        assert_eq!(records.headers(&records.records[0]), [("ce_id", &b"1"[..])]);
    }

    #[test]
    fn a_parcel_that_is_cut_or_goes_on_is_refused() {
        let mut batch = Batch::new("temps", 0);
        batch.push(7, 1_000, Some(b"k"), Some(b"value"));
        let mut packing = Packing::default();
        packing.put(&batch, &batch.records[0]);
        let whole = packing.close("temps", 0, 5);
        for end in 0..whole.len() {
            assert!(open(&whole[..end]).is_err(), "{end}");
        }
        assert!(open(&[&whole[..], &[0]].concat()).is_err());
    }
}
