//! Which keys may be stored: a filter that forgets nothing, errs now and then, and takes a byte or two a key.
//!
//! What is not in it need not be asked for. It cannot be taken back that a key is in it, so it is made anew with each
//! sweep through the stored entries: the next one fills while the last one is used.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

const BITS_A_KEY: usize = 10;
const PROBES: u64 = 5;
const FIRST_KEYS: usize = 1_024;

/// Bits for so many keys.
#[derive(Debug)]
struct Layer {
    bits: Vec<u64>,
    room: usize,
}

impl Layer {
    fn new(keys: usize) -> Layer {
        Layer { bits: vec![0; keys * BITS_A_KEY / 64 + 1], room: keys }
    }

    fn places(&self, hash: u64) -> impl Iterator<Item = (usize, u64)> {
        let count = self.bits.len() as u64 * 64;
        let step = (hash >> 32) | 1;
        (0..PROBES).map(move |probe| {
            let at = hash.wrapping_add(step.wrapping_mul(probe)) % count;
            ((at / 64) as usize, 1 << (at % 64))
        })
    }

    fn holds(&self, hash: u64) -> bool {
        self.places(hash).all(|(word, bit)| self.bits[word] & bit != 0)
    }

    fn insert(&mut self, hash: u64) {
        let places: Vec<_> = self.places(hash).collect();
        places.into_iter().for_each(|(word, bit)| self.bits[word] |= bit);
        self.room = self.room.saturating_sub(1);
    }
}

/// Keys, in layers that double.
#[derive(Debug, Default)]
struct Keys {
    layers: Vec<Layer>,
    count: usize,
}

impl Keys {
    fn with_room(keys: usize) -> Keys {
        Keys { layers: vec![Layer::new(keys.max(FIRST_KEYS))], count: 0 }
    }

    fn holds(&self, hash: u64) -> bool {
        self.layers.iter().any(|layer| layer.holds(hash))
    }

    fn insert(&mut self, hash: u64) {
        if self.holds(hash) {
            return;
        }
        self.count += 1;
        if self.layers.last().is_none_or(|last| last.room == 0) {
            self.layers.push(Layer::new(self.count.max(FIRST_KEYS)));
        }
        self.layers.last_mut().expect("one was just made").insert(hash);
    }
}

#[derive(Debug)]
pub struct Filter {
    /// Nothing where it is not known what is stored: any key may be.
    known: Option<Keys>,
    /// What was seen of the stored entries since the sweep began, or written since.
    next: Keys,
}

impl Default for Filter {
    /// Nothing is stored.
    fn default() -> Filter {
        Filter { known: Some(Keys::default()), next: Keys::default() }
    }
}

impl Filter {
    /// Anything may be stored.
    pub fn unknown() -> Filter {
        Filter { known: None, next: Keys::default() }
    }

    /// Whether something of a key may be stored.
    pub fn may_hold(&self, key: &[u8]) -> bool {
        self.known.as_ref().is_none_or(|known| known.holds(hash(key)))
    }

    /// Notes that something of a key is written.
    pub fn insert(&mut self, key: &[u8]) {
        let hash = hash(key);
        self.known.iter_mut().for_each(|known| known.insert(hash));
        self.next.insert(hash);
    }

    /// Notes that something of a key is stored.
    pub fn see(&mut self, key: &[u8]) {
        self.next.insert(hash(key));
    }

    /// Everything that is stored was seen since the last time.
    pub fn renew(&mut self) {
        let room = self.next.count + self.next.count / 4;
        self.known = Some(std::mem::replace(&mut self.next, Keys::with_room(room)));
    }

    pub fn bytes(&self) -> usize {
        let layers = self.known.iter().flat_map(|known| &known.layers).chain(&self.next.layers);
        layers.map(|layer| layer.bits.len() * 8).sum()
    }
}

fn hash(key: &[u8]) -> u64 {
    // The upper bits of this hash are the good ones; both halves are needed.
    let hash = FxBuildHasher.hash_one(key);
    (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u32) -> Vec<u8> {
        format!("sensor-{number:06}").into_bytes()
    }

    #[test]
    fn what_was_written_is_there_and_little_else() {
        let mut filter = Filter::default();
        assert!(!filter.may_hold(b"a"));
        (0..50_000).for_each(|number| filter.insert(&key(number)));
        assert!((0..50_000).all(|number| filter.may_hold(&key(number))));
        let wrong = (50_000..100_000).filter(|number| filter.may_hold(&key(*number))).count();
        assert!(wrong < 5_000, "{wrong}");
        assert!(filter.bytes() < 50_000 * 8);
    }

    #[test]
    fn a_sweep_forgets_what_is_not_stored_any_more() {
        let mut filter = Filter::unknown();
        assert!(filter.may_hold(b"gone"));
        filter.see(b"stored");
        filter.insert(b"written");
        filter.renew();
        let holds =
            |filter: &Filter| [b"gone".as_slice(), b"stored", b"written"].map(|key| filter.may_hold(key));
        assert_eq!(holds(&filter), [false, true, true]);
        filter.see(b"written");
        filter.renew();
        assert_eq!(holds(&filter), [false, false, true]);
    }
}
