//! Ports that all ranks derive from the same values, where none is given.

/// How many ports are tried.
const CANDIDATES: usize = 5;

/// The ports that are chosen from. From 32768 on, systems give ports to outgoing connections, so that one of
/// them may be taken by whoever comes by, even by a rank that looks for rank 0.
const RANGE: std::ops::Range<u32> = 10_240..32_768;

/// Ports that follow from a port and a text by a fixed function, none of them the given one.
pub(super) fn derived(port: Option<u16>, text: &str) -> Vec<u16> {
    let key = blake3::derive_key("thalweg ranks ports", text.as_bytes());
    let seed = u32::from(port.unwrap_or(0)).to_le_bytes();
    let mut words = blake3::Hasher::new_keyed(&key).update(&seed).finalize_xof();
    let mut ports = Vec::with_capacity(CANDIDATES);
    while ports.len() < CANDIDATES {
        let mut word = [0; 4];
        words.fill(&mut word);
        let candidate = RANGE.start + u32::from_le_bytes(word) % (RANGE.end - RANGE.start);
        let candidate = u16::try_from(candidate).unwrap_or(u16::MAX);
        if port != Some(candidate) && !ports.contains(&candidate) {
            ports.push(candidate);
        }
    }
    ports
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_ports_are_a_fixed_function() {
        assert_eq!(derived(Some(29_500), "job"), derived(Some(29_500), "job"));
        assert_ne!(derived(Some(29_500), "job"), derived(Some(29_500), "other job"));
        assert_ne!(derived(Some(29_500), "job"), derived(Some(29_501), "job"));
    }

    #[test]
    fn derived_ports_differ_from_each_other_and_from_the_given_one() {
        for port in (10_240..32_768).step_by(97) {
            let mut ports = derived(Some(port), "job");
            assert!(!ports.contains(&port) && ports.iter().all(|&port| RANGE.contains(&u32::from(port))));
            ports.sort_unstable();
            ports.dedup();
            assert_eq!(ports.len(), CANDIDATES);
        }
    }
}
