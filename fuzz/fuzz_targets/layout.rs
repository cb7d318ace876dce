//! Fuzzes `ChunkLayout`: any sizes and alignments, in chunks of any length.
//!
//! What a layout must be stands in `tests/support/layout_oracle.rs`; the proptests of
//! `tests/worlds/archetypes.rs` ask the same.
//!
//! Format of an input, and of the seeds in `corpus/layout`: the chunk's length, then a size and an
//! alignment for each fragment. A length or size is a byte that says by how many bits the two bytes
//! behind it (little-endian) are shifted to the left (modulo 64); an alignment is a byte, the power of
//! two. Bytes that are missing at the end are 0.

#![no_main]

#[path = "../../tests/support/layout_oracle.rs"]
mod layout_oracle;

use arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;

/// As many as an archetype has seldom.
const MAX_FRAGMENTS: usize = 40;

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = Unstructured::new(bytes);
    let length = number(&mut bytes);
    let mut fragments = Vec::new();
    while !bytes.is_empty() && fragments.len() < MAX_FRAGMENTS {
        let size = number(&mut bytes);
        fragments.push((size, byte(&mut bytes) % 64));
    }
    layout_oracle::check(length, &fragments);
});

fn byte(bytes: &mut Unstructured<'_>) -> u8 {
    bytes.arbitrary().unwrap_or(0)
}

fn number(bytes: &mut Unstructured<'_>) -> usize {
    let shift = byte(bytes) % 64;
    let low = u16::from_le_bytes([byte(bytes), byte(bytes)]);
    usize::from(low) << shift
}
