//! Base64 (RFC 4648, with padding): how bytes stand in a page.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The bytes in base64.
pub fn encode(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0, |word, &byte| word << 8 | u32::from(byte));
        let word = word << (8 * (3 - chunk.len()));
        let digit = |place: u32| ALPHABET[(word >> (6 * place) & 63) as usize];
        let mut digits = [digit(3), digit(2), digit(1), digit(0)];
        digits[chunk.len() + 1..].fill(b'=');
        text.extend_from_slice(&digits);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::encode;

    #[test]
    fn the_examples_of_the_standard_come_out() {
        let examples = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let expected = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        for (example, expected) in examples.into_iter().zip(expected) {
            assert_eq!(encode(example.as_bytes()), expected.as_bytes());
        }
        assert_eq!(encode(&[0xfb, 0xff, 0xfe]), b"+//+");
    }
}
