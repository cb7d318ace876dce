//! Fuzzes recorders: the bytes are what 1 to 4 threads record, and what happens to two worlds in between; naive
//! worlds are the oracle.
//!
//! The same machine as for the target `structural`, where recorders are rare.
//!
//! Format of an input, and of the seeds in `corpus/commands`: a byte that says whether the universe is ordered, and
//! whether the worlds have observers, as for `structural`, then operations one after the other. Each is a byte that
//! names the world by its highest bit. Its lowest six bits say: below 32 a command is recorded, below 40 a recorder more
//! is to record, below 45 threads record, below 50 a flush, and from there on a byte follows that is the number of any
//! operation. Then come the arguments, as `tests/support/world_bytes.rs` has them.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| megachunk_fuzz::commands(bytes));
