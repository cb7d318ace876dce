//! The trace reader against the oracle of `support/trace_oracle.rs`, on histories that are right,
//! that contradict themselves, and on text that somebody damaged.

use crate::trace_oracle::{Event, check, count, read, write};
use proptest::prelude::*;

/// Histories that are right: what each number asks for is done if it can be.
fn histories() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec((0..3_u64, 0..5_u8, any::<prop::sample::Index>()), 1..200).prop_map(
        |wishes| {
            let mut alive: Vec<u64> = Vec::new();
            let mut created = 0;
            let mut events = Vec::new();
            for (thread, what, which) in wishes {
                if what < 3 || alive.is_empty() {
                    alive.push(created);
                    events.push((thread, true, created));
                    created += 1;
                } else {
                    let object = alive.swap_remove(which.index(alive.len()));
                    events.push((thread, false, object));
                }
            }
            renumbered(events)
        },
    )
}

/// The same history with its threads numbered from 0 without a gap.
fn renumbered(mut events: Vec<Event>) -> Vec<Event> {
    let mut threads: Vec<u64> = events.iter().map(|&(thread, ..)| thread).collect();
    threads.sort_unstable();
    threads.dedup();
    for (thread, ..) in &mut events {
        *thread = threads.binary_search(thread).expect("it is one of them") as u64;
    }
    events
}

/// One way to damage a text.
#[derive(Clone, Debug)]
enum Damage {
    Replace(prop::sample::Index, u8),
    Remove(prop::sample::Index),
    Insert(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    SwapLines(prop::sample::Index),
}

fn damages() -> impl Strategy<Value = Damage> {
    let byte = prop::sample::select(b"0123456789+-# =\n\r\0\xffx".to_vec());
    prop_oneof![
        (any::<prop::sample::Index>(), byte.clone())
            .prop_map(|(at, byte)| Damage::Replace(at, byte)),
        any::<prop::sample::Index>().prop_map(Damage::Remove),
        (any::<prop::sample::Index>(), byte).prop_map(|(at, byte)| Damage::Insert(at, byte)),
        any::<prop::sample::Index>().prop_map(Damage::Cut),
        any::<prop::sample::Index>().prop_map(Damage::SwapLines),
    ]
}

fn damaged(mut text: Vec<u8>, damage: &Damage) -> Vec<u8> {
    match damage {
        Damage::Replace(at, byte) => {
            let at = at.index(text.len());
            text[at] = *byte;
        }
        Damage::Remove(at) => {
            text.remove(at.index(text.len()));
        }
        Damage::Insert(at, byte) => text.insert(at.index(text.len()), *byte),
        Damage::Cut(at) => text.truncate(at.index(text.len())),
        Damage::SwapLines(at) => {
            let mut lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
            let at = at.index(lines.len());
            let next = (at + 1) % lines.len();
            lines.swap(at, next);
            text = lines.concat();
        }
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_right_history_is_read_as_it_was_written(events in histories()) {
        let counts = count(&events).expect("the history is right");
        let text = write(counts, &events);
        prop_assert_eq!(read(&text), Some(events));
        check(&text);
    }

    #[test]
    fn a_damaged_text_is_judged_as_the_oracle_judges_it(
        events in histories(),
        damages in prop::collection::vec(damages(), 1..3),
    ) {
        let counts = count(&events).expect("the history is right");
        let text = damages.iter().fold(write(counts, &events), |text, damage| {
            if text.is_empty() { text } else { damaged(text, damage) }
        });
        check(&text);
    }

    #[test]
    fn a_wrong_count_is_judged_as_the_oracle_judges_it(
        events in histories(),
        which in 0..5_usize,
        difference in -2..3_i64,
    ) {
        let mut counts = count(&events).expect("the history is right");
        counts[which] = counts[which].saturating_add_signed(difference);
        check(&write(counts, &events));
    }

    #[test]
    fn events_without_sense_are_judged_as_the_oracle_judges_them(
        events in prop::collection::vec((0..3_u64, any::<bool>(), 0..4_u64), 0..8),
    ) {
        check(&write(count(&events).unwrap_or([3, 8, 4, 4, 1]), &events));
    }
}
