//! Fuzzes the trace reader: a naive reader is the oracle.
//!
//! The oracle, and what is done with a trace that both accept, is that of the proptests
//! `tests/programs/trace_model.rs`; see `tests/support/trace_oracle.rs`.
//!
//! Format of an input, and of the seeds in `corpus/trace_file`: a byte that says how the rest is
//! meant. Even: it is the file. Odd: each further byte is an event, written as text under a
//! summary that matches it, so that the fuzzer need not find out how to count. An event: two bits
//! of thread, one of operation (1 = destroy), one "count wrongly", four of object (creates: 0 is the
//! next number; destroys: so many before the last).

#![no_main]

#[path = "../../tests/support/trace_oracle.rs"]
mod trace_oracle;

use libfuzzer_sys::fuzz_target;
use trace_oracle::{Event, check, count, write};

fuzz_target!(|bytes: &[u8]| {
    let Some((&how, rest)) = bytes.split_first() else {
        return;
    };
    if how % 2 == 0 {
        check(rest);
    } else {
        check(&written(how, rest));
    }
});

fn written(how: u8, bytes: &[u8]) -> Vec<u8> {
    let mut created = 0_u64;
    let mut events: Vec<Event> = Vec::with_capacity(bytes.len());
    let mut miscounts = 0;
    for &byte in bytes {
        let (thread, destroy, miscount) = (byte & 3, byte & 4 != 0, byte & 8 != 0);
        let object = u64::from(byte >> 4);
        miscounts += u64::from(miscount);
        if destroy {
            // Before the first create, and below 0: a number that is far too large.
            let object = created.wrapping_sub(1 + object);
            events.push((thread.into(), false, object));
        } else {
            events.push((thread.into(), true, created + object));
            created += 1;
        }
    }
    let mut counts = count(&events).unwrap_or([1, 1, 1, 1, 0]);
    if miscounts > 0 {
        let which = usize::from(how >> 1) % counts.len();
        counts[which] = counts[which].wrapping_add(miscounts - 1);
    }
    write(counts, &events)
}
