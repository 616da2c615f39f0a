//! What the processes of a cluster know and strangers do not, and what follows from it.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;

/// The fewest bytes of a secret that somebody chose.
const FEWEST: usize = 16;

/// A tag that only who knows the secret can make.
pub type Tag = [u8; 32];

/// A secret that the processes of a cluster share.
///
/// ```
/// use seriatim_cluster::Secret;
/// assert!(Secret::new(b"a phrase that nobody guesses\n").is_ok());
/// assert!(Secret::new(b"short").unwrap_err().contains("16 bytes"));
/// ```
#[derive(Clone)]
pub struct Secret(Vec<u8>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Secret {
    /// The secret that a file holds. White space at its end does not count: editors add it.
    pub fn new(bytes: &[u8]) -> Result<Self, String> {
        let bytes = bytes.trim_ascii_end();
        match bytes.len() < FEWEST {
            true => {
                Err(format!("expected a secret of at least {FEWEST} bytes, found {}", bytes.len()))
            }
            false => Ok(Secret(bytes.to_owned())),
        }
    }

    /// A secret that nobody can foresee.
    pub fn random() -> std::io::Result<Self> {
        nonce().map(|bytes| Secret(bytes.to_vec()))
    }

    /// The bytes, for another process to be told.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// No secret: tags then guard against accidents, not against strangers.
    pub fn none() -> Self {
        Secret(Vec::new())
    }

    /// The key of one purpose, derived from this one.
    pub(crate) fn derived(&self, purpose: &str, parts: &[&[u8]]) -> Self {
        Secret(self.tag(purpose, parts).to_vec())
    }

    /// The tag of a message. Its parts must have lengths that the purpose determines, so that no
    /// two messages are the same bytes.
    pub(crate) fn tag(&self, purpose: &str, parts: &[&[u8]]) -> Tag {
        self.mac(purpose, parts).finalize().into_bytes().into()
    }

    /// Whether a tag belongs to a message; takes the same time for every wrong one.
    pub(crate) fn accepts(&self, tag: &[u8], purpose: &str, parts: &[&[u8]]) -> bool {
        self.mac(purpose, parts).verify_slice(tag).is_ok()
    }

    fn mac(&self, purpose: &str, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("keys of any length will do");
        mac.update(&[purpose.len() as u8]);
        mac.update(purpose.as_bytes());
        for part in parts {
            mac.update(part);
        }
        mac
    }
}

/// Bytes that nobody can foresee.
pub(crate) fn nonce() -> std::io::Result<Tag> {
    let mut bytes = Tag::default();
    getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(bytes)
}
