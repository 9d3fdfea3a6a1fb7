//! Avro's binary encoding, written in place.

#[inline]
pub fn long(out: &mut Vec<u8>, value: i64) {
    let rest = ((value << 1) ^ (value >> 63)) as u64;
    if rest < 0x80 {
        out.push(rest as u8);
    } else {
        long_tail(out, rest);
    }
}

fn long_tail(out: &mut Vec<u8>, rest: u64) {
    let (bytes, length) = spread(rest);
    if length > 8 {
        return longest_tail(out, rest);
    }
    // Copied whole and cut: a copy of fixed size is cheaper.
    out.extend_from_slice(&bytes.to_le_bytes());
    out.truncate(out.len() - (8 - length));
}

/// A number in groups of 7 bits, moved apart into bytes all at once, and how many these are: right where that is no more
/// than 8.
#[inline]
pub fn spread(rest: u64) -> (u64, usize) {
    let length = (70 - rest.leading_zeros() as usize) / 7;
    let mut bytes = (rest & 0x0fff_ffff) | ((rest & 0x00ff_ffff_f000_0000) << 4);
    bytes = (bytes & 0x0000_3fff_0000_3fff) | ((bytes & 0x0fff_c000_0fff_c000) << 2);
    bytes = (bytes & 0x007f_007f_007f_007f) | ((bytes & 0x3f80_3f80_3f80_3f80) << 1);
    // Every byte but the last says that another follows.
    let others = (1_u64 << ((8 * (length - 1)) & 63)) - 1;
    (bytes | (0x8080_8080_8080_8080 & others), length)
}

#[cold]
fn longest_tail(out: &mut Vec<u8>, mut rest: u64) {
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[inline]
pub fn blob(out: &mut Vec<u8>, bytes: &[u8]) {
    long(out, bytes.len() as i64);
    out.extend_from_slice(bytes);
}

#[inline]
pub fn double(out: &mut Vec<u8>, value: f64) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Bytes that stand in many records alike. Most are short: then they are copied whole and cut, which is cheaper.
#[derive(Debug, Clone)]
pub struct Stamp {
    head: [u8; Stamp::ROOM],
    bytes: Vec<u8>,
}

impl Stamp {
    pub const ROOM: usize = 32;

    pub fn new(bytes: Vec<u8>) -> Stamp {
        let mut head = [0; Stamp::ROOM];
        let short = bytes.len().min(Stamp::ROOM);
        head[..short].copy_from_slice(&bytes[..short]);
        Stamp { head, bytes }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes with room behind them, and how many they are, where they are few.
    #[inline]
    pub fn short(&self) -> Option<(&[u8; Stamp::ROOM], usize)> {
        (self.bytes.len() <= Stamp::ROOM).then_some((&self.head, self.bytes.len()))
    }
}

pub fn as_blob(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    blob(&mut out, text.as_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::long;
    use crate::avro::cursor::Cursor;

    #[test]
    fn numbers_of_every_length_come_back() {
        for shift in 0..64 {
            for value in
                [i64::MIN >> shift, (i64::MIN >> shift) + 1, i64::MAX >> shift, (i64::MAX >> shift) - 1]
            {
                let mut bytes = vec![7];
                long(&mut bytes, value);
                let mut cursor = Cursor::new(&bytes[1..]);
                assert_eq!(cursor.long(), Ok(value));
                assert_eq!(cursor.remaining(), 0, "{value}");
                let zigzag = ((value << 1) ^ (value >> 63)) as u64;
                let shortest = (64 - (zigzag | 1).leading_zeros()).div_ceil(7) as usize;
                assert_eq!(bytes.len() - 1, shortest, "{value}");
            }
        }
    }
}
