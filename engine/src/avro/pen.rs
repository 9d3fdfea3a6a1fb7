//! Avro's binary encoding, written into room that is there already: most of what a record takes are copies of fixed
//! size, and the place of the next byte stays in a register.

use super::encode::{self, Stamp};

/// How much longer the room becomes than what did not fit.
const MORE: usize = 64 * 1024;

/// Writes at a place of a buffer that is longer than what is written in it. Owns the buffer while it writes, because what
/// is borrowed has to be looked up again behind every byte.
pub struct Pen {
    room: Vec<u8>,
    at: usize,
}

impl Pen {
    #[inline]
    pub fn new(room: Vec<u8>, at: usize) -> Pen {
        Pen { room, at }
    }

    /// The place of the next byte.
    #[inline]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Gives the buffer back.
    #[inline]
    pub fn into_room(self) -> Vec<u8> {
        self.room
    }

    /// Copies all of `bytes`, of which only so many count: what is written next begins behind those.
    #[inline(always)]
    fn put<const N: usize>(&mut self, bytes: &[u8; N], count: usize) {
        match self.room.get_mut(self.at..).and_then(<[u8]>::first_chunk_mut::<N>) {
            Some(place) => *place = *bytes,
            None => self.room = grown(std::mem::take(&mut self.room), self.at, bytes),
        }
        self.at += count;
    }

    #[inline(always)]
    pub fn bytes<const N: usize>(&mut self, bytes: &[u8; N]) {
        self.put(bytes, N);
    }

    #[inline(always)]
    pub fn long(&mut self, value: i64) {
        let rest = ((value << 1) ^ (value >> 63)) as u64;
        if rest < 0x80 {
            return self.put(&[rest as u8], 1);
        }
        match encode::spread(rest) {
            (bytes, count @ ..=8) => self.put(&bytes.to_le_bytes(), count),
            _ => {
                let mut bytes = Vec::new();
                encode::long(&mut bytes, value);
                self.slice(&bytes);
            }
        }
    }

    #[inline(always)]
    pub fn double(&mut self, value: f64) {
        self.bytes(&value.to_le_bytes());
    }

    #[inline(always)]
    pub fn float(&mut self, value: f32) {
        self.bytes(&value.to_le_bytes());
    }

    /// Bytes with their length.
    #[inline(always)]
    pub fn blob(&mut self, bytes: &[u8]) {
        self.long(bytes.len() as i64);
        self.slice(bytes);
    }

    #[inline(always)]
    pub fn stamp(&mut self, stamp: &Stamp) {
        match stamp.short() {
            Some((bytes, count)) => self.put(bytes, count),
            None => self.slice(stamp.bytes()),
        }
    }

    #[inline(always)]
    fn slice(&mut self, bytes: &[u8]) {
        match self.room.get_mut(self.at..).and_then(|room| room.get_mut(..bytes.len())) {
            Some(place) => place.copy_from_slice(bytes),
            None => self.room = grown(std::mem::take(&mut self.room), self.at, bytes),
        }
        self.at += bytes.len();
    }
}

/// Makes the room longer, and writes what did not fit.
#[cold]
#[inline(never)]
fn grown(mut room: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
    let end = at + bytes.len();
    room.resize((2 * room.len()).max(end + MORE), 0);
    room[at..end].copy_from_slice(bytes);
    room
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_what_the_plain_way_writes() {
        let (mut pen, mut plain) = (Pen::new(Vec::new(), 0), Vec::new());
        let texts: Vec<Vec<u8>> = [0, 1, 31, 32, 33, 200].map(|length| vec![7; length]).into();
        for shift in 0..64 {
            for value in [i64::MIN >> shift, i64::MAX >> shift] {
                pen.long(value);
                encode::long(&mut plain, value);
            }
        }
        for text in &texts {
            pen.blob(text);
            encode::blob(&mut plain, text);
            pen.stamp(&Stamp::new(text.clone()));
            plain.extend_from_slice(text);
        }
        pen.double(0.5);
        encode::double(&mut plain, 0.5);
        pen.float(-0.5);
        plain.extend_from_slice(&(-0.5_f32).to_le_bytes());
        let end = pen.at();
        assert_eq!(pen.into_room()[..end], plain);
    }

    #[test]
    fn room_grows_wherever_it_ends() {
        for length in 0..80 {
            let mut pen = Pen::new(vec![0; length], 0);
            (0..20).for_each(|number| pen.long(1 << number));
            pen.stamp(&Stamp::new(vec![1; 20]));
            let end = pen.at();
            let mut plain = Vec::new();
            (0..20).for_each(|number| encode::long(&mut plain, 1 << number));
            plain.extend_from_slice(&[1; 20]);
            assert_eq!(pen.into_room()[..end], plain, "{length}");
        }
    }
}
