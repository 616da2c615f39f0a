//! The algorithm library: algorithms of the literature, correct and broken ones, as text.

#![forbid(unsafe_code)]

/// An algorithm of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// Its name: `treiber`, `broken/treiber_aba`.
    pub name: &'static str,
    /// Its text in the algorithm language.
    pub source: &'static str,
}

const ALGORITHMS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/algorithms.rs"));

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
    ALGORITHMS.iter().map(|&(name, source)| Algorithm { name, source })
}

/// The algorithm of a name; `broken/` may be left out.
///
/// ```
/// assert!(seriatim_algorithms::algorithm("treiber").is_some());
/// ```
pub fn algorithm(name: &str) -> Option<Algorithm> {
    algorithms().find(|a| a.name == name || a.name.strip_prefix("broken/") == Some(name))
}
