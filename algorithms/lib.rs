//! The algorithm library: algorithms of the literature, correct and broken ones, as text.

#![forbid(unsafe_code)]

use std::ops::Range;

/// An algorithm of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// Its name: `treiber`, `broken/treiber_aba`.
    pub name: &'static str,
    /// Its text in the algorithm language.
    pub source: &'static str,
}

/// Their names, and where their texts stand among all.
const PLACES: &[(&str, Range<usize>)] = include!(concat!(env!("OUT_DIR"), "/places.rs"));

/// All texts, one behind the other; they are unpacked when the first of them is asked for.
#[cfg(not(target_family = "wasm"))]
fn texts() -> &'static str {
    use std::io::Read;
    const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/algorithms.deflate"));
    static TEXTS: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    TEXTS.get_or_init(|| {
        let mut texts = String::new();
        let unpacked = flate2::read::DeflateDecoder::new(PACKED).read_to_string(&mut texts);
        unpacked.expect("the build has packed them");
        texts
    })
}

#[cfg(target_family = "wasm")]
fn texts() -> &'static str {
    include_str!(concat!(env!("OUT_DIR"), "/algorithms.txt"))
}

impl Algorithm {
    /// What it is: the first sentence of its opening comment.
    pub fn summary(&self) -> &'static str {
        let first = self.source.lines().next().unwrap_or_default();
        first.trim_start_matches("//").trim()
    }

    /// Whether it is one of the broken ones.
    pub fn is_broken(&self) -> bool {
        self.name.starts_with("broken/")
    }
}

/// All algorithms, by name.
///
/// ```
/// assert!(seriatim_algorithms::algorithms().any(|algorithm| algorithm.name == "treiber"));
/// ```
pub fn algorithms() -> impl Iterator<Item = Algorithm> {
    let texts = texts();
    PLACES.iter().map(|(name, place)| Algorithm { name, source: &texts[place.clone()] })
}

/// The algorithm of a name; `broken/` may be left out.
///
/// ```
/// assert!(seriatim_algorithms::algorithm("treiber").is_some());
/// ```
pub fn algorithm(name: &str) -> Option<Algorithm> {
    algorithms().find(|a| a.name == name || a.name.strip_prefix("broken/") == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_text_is_that_of_its_file() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        for Algorithm { name, source } in algorithms() {
            let file = folder.join(name).with_extension("seri");
            assert_eq!(source, std::fs::read_to_string(file).expect("its file"), "{name}");
        }
        assert!(algorithms().count() > 300);
    }
}
