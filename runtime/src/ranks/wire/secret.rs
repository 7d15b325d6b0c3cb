//! [`Key`]: proves that both ends of a connection have the same token, without sending it.
//!
//! Each end chooses a number that was never used before, and the other one hashes it with the token. What was
//! seen on one connection is so of no use on another.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// A number that is used once.
pub(in crate::ranks) type Nonce = [u8; 32];
/// What only somebody with the token can send.
pub(in crate::ranks) type Proof = [u8; 32];

/// A secret of the ranks of a world.
#[derive(Clone)]
pub(in crate::ranks) struct Key([u8; 32]);

impl Key {
    /// The key that follows from a token. Worlds without a token have the same key.
    pub(in crate::ranks) fn of_token(token: Option<&str>) -> Self {
        let context = "thalweg ranks 2026-11-28 token";
        // A world without a token differs from one whose token is empty.
        let material = token.map_or(Vec::new(), |token| [b"token", token.as_bytes()].concat());
        Self(blake3::derive_key(context, &material))
    }

    /// The key for the connections of pairs in this session.
    pub(in crate::ranks) fn of_session(&self, session: &Nonce) -> Self {
        Self(self.proof("session", &[session]))
    }

    /// A hash of these parts that needs the key. `label` says what it is for, so that no proof serves twice.
    pub(in crate::ranks) fn proof(&self, label: &str, parts: &[&[u8]]) -> Proof {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for part in [&[label.as_bytes()], parts].concat() {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        *hasher.finalize().as_bytes()
    }

    /// Whether a proof is the right one. The time does not depend on where it differs.
    pub(in crate::ranks) fn accepts(&self, proof: &Proof, label: &str, parts: &[&[u8]]) -> bool {
        blake3::Hash::from(self.proof(label, parts)) == blake3::Hash::from(*proof)
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

/// A number that nobody has used before and nobody can foresee: the standard library's hashers have keys from
/// the system's random numbers.
pub(in crate::ranks) fn nonce() -> Nonce {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut hasher = blake3::Hasher::new();
    for word in 0..4_u64 {
        hasher.update(&RandomState::new().hash_one((word, count)).to_le_bytes());
    }
    // A forked process has the same keys and counts the same.
    hasher.update(&std::process::id().to_le_bytes()).update(&now.as_nanos().to_le_bytes());
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_of_its_token_label_and_numbers() {
        let (key, one, other) = (Key::of_token(Some("a")), nonce(), nonce());
        let proof = key.proof("hello", &[&one, &other]);
        assert!(key.accepts(&proof, "hello", &[&one, &other]));
        assert!(!key.accepts(&proof, "hello", &[&other, &one]));
        assert!(!key.accepts(&proof, "accepted", &[&one, &other]));
        for token in [None, Some(""), Some("b")] {
            assert!(!Key::of_token(token).accepts(&proof, "hello", &[&one, &other]));
        }
    }

    #[test]
    fn no_number_is_chosen_twice() {
        let mut nonces: Vec<_> = (0..1000).map(|_| nonce()).collect();
        nonces.sort_unstable();
        nonces.dedup();
        assert_eq!(nonces.len(), 1000);
    }
}
