//! Kafka's default partitioner, so that what belongs to one key stays together whoever writes it.

use crate::value::Value;

/// The partition of what is keyed by a value; none where that is no key.
pub fn partition_of(value: &Value, partitions: i32) -> Option<i32> {
    match value {
        Value::Text(s) => Some(partition(s, partitions)),
        Value::Long(n) => Some(partition(n.to_string().as_bytes(), partitions)),
        Value::Boolean(b) => Some(partition(if *b { b"true" } else { b"false" }, partitions)),
        Value::Null | Value::Double(_) | Value::List(_) => None,
    }
}

pub fn partition(key: &[u8], partitions: i32) -> i32 {
    ((murmur2(key) & 0x7fff_ffff) % partitions as u32) as i32
}

fn murmur2(data: &[u8]) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let mix = |k: u32| {
        let k = k.wrapping_mul(M);
        (k ^ (k >> 24)).wrapping_mul(M)
    };
    let mut h = 0x9747_b28c ^ data.len() as u32;
    let mut words = data.chunks_exact(4);
    for word in &mut words {
        h = h.wrapping_mul(M) ^ mix(u32::from_le_bytes(word.try_into().expect("a word has 4 bytes")));
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        for (i, byte) in rest.iter().enumerate() {
            h ^= u32::from(*byte) << (8 * i);
        }
        h = h.wrapping_mul(M);
    }
    h = (h ^ (h >> 13)).wrapping_mul(M);
    h ^ (h >> 15)
}

#[cfg(test)]
mod tests {
    use super::murmur2;

    /// The values Kafka's own test suite gives.
    #[test]
    fn kafkas_values() {
        for (key, hash) in
            [("21", -973_932_308), ("foobar", -790_332_482), ("a-little-bit-long-string", -985_981_536)]
        {
            assert_eq!(murmur2(key.as_bytes()) as i32, hash, "{key}");
        }
    }
}
