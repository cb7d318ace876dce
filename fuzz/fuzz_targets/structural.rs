//! Fuzzes `World`: the bytes are operations on two worlds of a universe, naive worlds are the oracle.
//!
//! Operations and oracle are those of the proptest state machine `tests/world_models/operations.rs`; see
//! `tests/support/world_ops.rs`.
//!
//! Format of an input, and of the seeds in `corpus/structural`: a byte, then operations one after the other. If
//! that byte is odd the universe is ordered, and all is done twice: by several threads and by one. Its second bit says
//! whether the worlds have observers. An operation is a byte that names the world by its high bit and the operation by the
//! others, and then its arguments, as `tests/support/world_bytes.rs` has them. (A new operation comes last there: seeds
//! name the others.) All of each seed is run, which a test asks for: `tests/world_models/seeds.rs`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| megachunk_fuzz::structural(bytes));
