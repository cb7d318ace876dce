//! An independent, naive reader of traces, and the check that both readers agree.
//!
//! Written from the format's description alone, the slow and obvious way: all lines in memory,
//! words split at spaces, a table of states. Used by `tests/programs/trace_model.rs` and the fuzz target
//! `trace_file`.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use megachunk::entity::EntityAllocator;
use megachunk::entity::reference::Naive;
use megachunk::trace::replay::{Contender, Replay};
use megachunk::trace::{MAX_OBJECTS, MAX_THREADS, Trace};

/// An event: thread, whether it creates, object.
pub(crate) type Event = (u64, bool, u64);

/// A line may be so long, its end included.
const LONGEST_LINE: usize = 1_024;

/// The events of the trace `text`, if it is one.
pub(crate) fn read(text: &[u8]) -> Option<Vec<Event>> {
    let mut lines: Vec<&[u8]> = text
        .strip_suffix(b"\n")?
        .split(|&byte| byte == b'\n')
        .collect();
    if lines.len() < 2 || lines.iter().any(|line| line.len() >= LONGEST_LINE) {
        return None;
    }
    // A line may end as it does on Windows.
    for line in &mut lines {
        *line = line.strip_suffix(b"\r").unwrap_or(line);
    }
    let events = lines.split_off(2);
    if lines[0] != b"# entity-trace 1" && !lines[0].starts_with(b"# entity-trace 1:") {
        return None;
    }
    let claimed = summary(lines[1])?;
    let events: Vec<Event> = events.into_iter().map(event).collect::<Option<_>>()?;
    let is_right = claimed == count(&events)? && (1..=u64::from(MAX_THREADS)).contains(&claimed[0]);
    is_right.then_some(events)
}

fn words(line: &[u8]) -> Option<Vec<&str>> {
    Some(std::str::from_utf8(line).ok()?.split(' ').collect())
}

fn number(digits: &str) -> Option<u64> {
    let number = digits.parse::<u64>().ok()?;
    // One spelling a number: no sign, no leading zero.
    (number.to_string() == digits).then_some(number)
}

fn summary(line: &[u8]) -> Option<[u64; 5]> {
    let words = words(line)?;
    let names = [
        "threads",
        "events",
        "created",
        "peak_live",
        "destroyed_by_another_thread",
    ];
    if words.len() != 6 || words[0] != "#" {
        return None;
    }
    let mut values = [0; 5];
    for ((value, name), word) in values.iter_mut().zip(names).zip(&words[1..]) {
        *value = number(word.strip_prefix(name)?.strip_prefix('=')?)?;
    }
    Some(values)
}

fn event(line: &[u8]) -> Option<Event> {
    let [thread, operation, object] = words(line)?[..] else {
        return None;
    };
    let create = match operation {
        "+" => true,
        "-" => false,
        _ => return None,
    };
    Some((number(thread)?, create, number(object)?))
}

/// The five counts of the summary line; `None` where the events contradict one another.
pub(crate) fn count(events: &[Event]) -> Option<[u64; 5]> {
    // For each object created so far its creator and whether it lives.
    let mut objects: Vec<(u64, bool)> = Vec::new();
    let mut threads = std::collections::BTreeSet::new();
    let (mut live, mut peak, mut foreign) = (0, 0, 0);
    for &(thread, create, object) in events {
        threads.insert(thread);
        if create {
            if object != objects.len() as u64 || object >= u64::from(MAX_OBJECTS) {
                return None;
            }
            objects.push((thread, true));
            live += 1;
            peak = peak.max(live);
        } else {
            let (creator, alive) = objects.get_mut(usize::try_from(object).ok()?)?;
            if !std::mem::replace(alive, false) {
                return None;
            }
            foreign += u64::from(*creator != thread);
            live -= 1;
        }
    }
    // Threads are numbered from 0, all of them have an event.
    let dense = threads.iter().copied().eq(0..threads.len() as u64);
    dense.then_some([
        threads.len() as u64,
        events.len() as u64,
        objects.len() as u64,
        peak,
        foreign,
    ])
}

/// A trace of `events` with the summary `counts`, right or wrong.
pub(crate) fn write(counts: [u64; 5], events: &[Event]) -> Vec<u8> {
    let [threads, all, created, peak, foreign] = counts;
    let mut text = format!(
        "# entity-trace 1: one event a line\n# threads={threads} events={all} created={created} \
         peak_live={peak} destroyed_by_another_thread={foreign}\n"
    );
    for (thread, create, object) in events {
        let operation = if *create { '+' } else { '-' };
        text += &format!("{thread} {operation} {object}\n");
    }
    text.into_bytes()
}

/// Reads `bytes` with both readers, plain and through gzip, and asserts that they agree; what both
/// accept is written, read again, cut into windows and replayed.
pub(crate) fn check(bytes: &[u8]) {
    let read_by_product = Trace::from_reader("input", bytes);
    if bytes.starts_with(b"\x1f\x8b") {
        // The oracle reads plain text only: here nothing may go wrong.
        if let Ok(trace) = read_by_product {
            check_accepted(&trace);
        }
        return;
    }
    let expected = read(bytes);
    let gzip = Trace::from_reader("input", &*compressed(bytes));
    match (read_by_product, expected) {
        (Ok(trace), Some(expected)) => {
            let events: Vec<Event> = trace
                .events()
                .map(|(thread, event)| (thread as u64, event.is_create(), event.object() as u64))
                .collect();
            assert_eq!(events, expected);
            assert_eq!(gzip.expect("the same text, compressed"), trace);
            check_accepted(&trace);
        }
        (Err(error), None) => {
            let line = error.line().expect("every fault has its line");
            let lines = bytes.split_inclusive(|&byte| byte == b'\n').count() as u64;
            assert!((1..=lines + 1).contains(&line), "{error}");
            let through_gzip = gzip.expect_err("the same text, compressed");
            assert_eq!(through_gzip.to_string(), error.to_string());
        }
        (Ok(_), None) => panic!("accepted, though the oracle refuses it"),
        (Err(error), Some(_)) => panic!("refused, though the oracle accepts it: {error}"),
    }
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes).expect("memory can be written");
    gzip.finish().expect("memory can be written")
}

fn check_accepted(trace: &Trace) {
    assert_eq!(&reread(trace), trace);
    for part in [
        trace.window(0..trace.peak_at()),
        trace.window(trace.len() / 2..trace.len()),
        Some(trace.share(2)),
    ] {
        let part = part.expect("neither is empty");
        assert_eq!(reread(&part), part);
    }
    // A replay starts a thread for each recorded one.
    if trace.threads() <= 4 && trace.len() <= 2_000 {
        for threads in [0, 1] {
            let mut replay = Replay::new(trace, threads).expect("as recorded, or one");
            Naive::fresh().verify(&mut replay).expect("naive is right");
        }
    }
}

fn reread(trace: &Trace) -> Trace {
    let mut text = Vec::new();
    trace.to_writer(&mut text).expect("memory can be written");
    Trace::from_reader(trace.name(), &*text).expect("what is written can be read")
}
