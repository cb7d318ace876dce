//! What a trace file may be, and what is refused with which words.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use megachunk::trace::{Trace, TraceError, TraceFault};

const FORMAT: &str =
    "# entity-trace 1: one event a line: THREAD OP OBJECT; OP + creates OBJECT, - destroys it\n";

/// A text with the usual first line, `summary` (its five counts) and `events`.
fn text(summary: [u64; 5], events: &str) -> String {
    let [threads, events_in_all, created, peak, foreign] = summary;
    format!(
        "{FORMAT}# threads={threads} events={events_in_all} created={created} peak_live={peak} \
         destroyed_by_another_thread={foreign}\n{events}"
    )
}

/// Two threads, one object that crosses, one that survives.
fn small() -> String {
    text([2, 5, 3, 2, 1], "0 + 0\n0 + 1\n1 - 0\n1 + 2\n1 - 2\n")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn read(bytes: impl AsRef<[u8]>) -> Result<Trace, TraceError> {
    Trace::from_reader("a.trace", bytes.as_ref())
}

/// The line that is refused, and the message.
fn refusal(bytes: impl AsRef<[u8]>) -> (u64, String) {
    let error = read(bytes).expect_err("the trace is wrong");
    let message = error.to_string();
    let line = error.line().expect("each fault has its line");
    assert!(
        message.starts_with(&format!("a.trace, line {line}: ")),
        "{message}"
    );
    (line, message)
}

#[track_caller]
fn assert_refused(bytes: impl AsRef<[u8]>, line: u64, because: &str) {
    let (found, message) = refusal(bytes);
    assert_eq!(found, line, "{message}");
    assert!(
        message.contains(because),
        "{message:?} does not say {because:?}"
    );
}

// --- What is read ------------------------------------------------------------------------------

#[test]
fn plain_text_and_gzip_give_the_same_trace() {
    let plain = read(small()).unwrap();
    assert_eq!(plain, read(gzip(small().as_bytes())).unwrap());
    assert_eq!((plain.threads(), plain.len(), plain.objects()), (2, 5, 3));
    let events: Vec<_> = plain
        .events()
        .map(|(thread, event)| (thread, event.is_create(), event.object()))
        .collect();
    assert_eq!(
        events,
        [
            (0, true, 0),
            (0, true, 1),
            (1, false, 0),
            (1, true, 2),
            (1, false, 2)
        ]
    );
}

#[test]
fn two_gzip_members_one_after_the_other_are_one_trace() {
    let text = small();
    let (front, back) = text.as_bytes().split_at(120);
    assert_eq!(
        read([gzip(front), gzip(back)].concat()).unwrap(),
        read(&text).unwrap()
    );
}

#[test]
fn lines_may_end_as_they_do_on_windows() {
    let windows = small().replace('\n', "\r\n");
    assert_eq!(read(&windows).unwrap(), read(small()).unwrap());
    let gzip = gzip(windows.as_bytes());
    assert_eq!(read(gzip).unwrap(), read(small()).unwrap());
}

#[test]
fn what_follows_whole_gzip_data_is_called_unexpected() {
    for junk in [&b"x"[..], b"\0", b"\0\0\0\0", &[b'?'; 100_000]] {
        let bytes = [&gzip(small().as_bytes())[..], junk].concat();
        assert_refused(
            bytes,
            8,
            "there is unexpected data after the end of the gzip data",
        );
    }
    let mut cut = gzip(small().as_bytes());
    cut.truncate(cut.len() - 3);
    assert_refused(cut, 8, "the gzip data is cut short");
}

#[test]
fn a_reader_that_gives_one_byte_at_a_time_is_read_all_the_same() {
    struct Trickle<'a>(&'a [u8]);
    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let most = buffer.len().min(1);
            self.0.read(&mut buffer[..most])
        }
    }
    for bytes in [small().into_bytes(), gzip(small().as_bytes())] {
        let trace = Trace::from_reader("a.trace", Trickle(&bytes)).unwrap();
        assert_eq!(trace, read(small()).unwrap());
    }
}

#[test]
fn what_is_written_is_what_was_read() {
    let mut written = Vec::new();
    read(small()).unwrap().to_writer(&mut written).unwrap();
    assert_eq!(String::from_utf8(written).unwrap(), small());
}

#[test]
fn a_path_is_whatever_can_be_seen_as_one() {
    let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/any-path.trace.gz");
    let trace = read(small()).unwrap();
    trace.save(path).unwrap();
    let loaded = Trace::load(String::from(path)).unwrap();
    assert_eq!(loaded.name(), "any-path");
    assert!(loaded.events().eq(trace.events()));
}

#[test]
fn every_shipped_trace_is_read_and_all_together_stay_small() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data/traces");
    let mut bytes = 0;
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        bytes += path.metadata().unwrap().len();
        let from_file = Trace::load(path).unwrap();
        assert_eq!(Trace::shipped(from_file.name()), Some(from_file));
        files += 1;
    }
    assert_eq!(files, Trace::shipped_names().count());
    assert!(bytes < 3 << 19, "{bytes} bytes are more than 1.5 MiB");
}

#[test]
fn the_shipped_traces_keep_the_depth_of_python_and_the_ten_threads_of_node() {
    let python = Trace::shipped("python").unwrap();
    assert_eq!((python.threads(), python.summary().peak_live), (1, 205_987));
    let node = Trace::shipped("node").unwrap();
    assert_eq!(node.threads(), 10);
    assert!(node.summary().destroyed_by_another_thread > 20_000);
    assert_eq!(Trace::shipped("perl"), None);
}

// --- What is refused -----------------------------------------------------------------------------

#[test]
fn an_empty_file_is_refused() {
    assert_refused("", 1, "the file is empty");
    assert_refused(gzip(b""), 1, "the file is empty");
}

#[test]
fn a_missing_file_and_a_folder_are_refused_by_name() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    for path in [folder.join("there-is-no-such.trace"), folder.to_owned()] {
        let error = Trace::load(&path).unwrap_err();
        assert!(
            error.to_string().starts_with(path.to_str().unwrap()),
            "{error}"
        );
        assert_eq!(error.line(), None);
    }
}

#[test]
fn a_truncated_gzip_file_is_refused_wherever_it_ends() {
    let whole = gzip(&std::fs::read(file!()).unwrap());
    for end in [
        2,
        3,
        10,
        30,
        whole.len() / 2,
        whole.len() - 8,
        whole.len() - 1,
    ] {
        let (_, message) = refusal(&whole[..end]);
        assert!(
            message.contains("truncated") || message.contains("not an entity trace"),
            "cut at {end}: {message}"
        );
    }
    let whole = gzip(small().as_bytes());
    for end in 2..whole.len() {
        assert_refused_as_cut_short(&whole[..end]);
    }
}

fn assert_refused_as_cut_short(bytes: &[u8]) {
    let error = read(bytes).expect_err("the trace is cut short");
    assert!(
        matches!(error.fault(), Some(TraceFault::GzipCutShort)),
        "{error}"
    );
}

#[test]
fn damaged_gzip_data_is_refused() {
    let mut bytes = gzip(small().as_bytes());
    let last = bytes.len() - 6;
    bytes[last] ^= 0xff;
    assert_refused(&bytes, 8, "the gzip data is damaged");
}

#[test]
fn a_text_that_ends_in_the_middle_of_a_line_is_refused() {
    let text = text([1, 2, 2, 2, 0], "0 + 0\n0 + 1\n");
    assert!(read(&text).is_ok());
    // Also where what is left of the line looks like an event.
    assert_refused(
        &text[..text.len() - 1],
        4,
        "ends in the middle of this line",
    );
    assert_refused(
        &text[..text.len() - 3],
        4,
        "ends in the middle of this line",
    );
    assert_refused(
        &text[..FORMAT.len() + 9],
        2,
        "ends in the middle of this line",
    );
    assert_refused(&FORMAT[..40], 1, "ends in the middle of this line");
}

#[test]
fn a_text_that_ends_between_two_lines_is_refused() {
    assert_refused(FORMAT, 2, "ends where the summary should be");
    let text = text([1, 3, 3, 3, 0], "0 + 0\n0 + 1\n");
    assert_refused(text, 5, "the summary does not match: events=3, counted 2");
}

#[test]
fn a_foreign_file_is_refused_and_its_first_line_shown() {
    assert_refused("#!/bin/sh\necho\n", 1, r##"the first line is "#!/bin/sh""##);
    assert_refused(
        b"\x7fELF\x02\x01\x01\0\0\0",
        1,
        r#"not an entity trace: the first line is "\x7fELF"#,
    );
    assert_refused(gzip(b"\0\xff\n"), 1, r#"the first line is "\x00\xff""#);
    assert_refused(b"\n", 1, "not an entity trace");
    assert_refused("#", 1, "not an entity trace");
    assert_refused(vec![0_u8; 1 << 20], 1, "not an entity trace");
}

#[test]
fn another_version_is_refused_by_its_number() {
    assert_refused(
        small().replace("trace 1:", "trace 2:"),
        1,
        "version \"2\" is not known",
    );
    assert_refused(
        small().replace("trace 1:", "trace 10:"),
        1,
        "version \"10\" is not known",
    );
    assert_refused(
        small().replace("trace 1:", "trace :"),
        1,
        "version \"\" is not known",
    );
    assert!(read(small().replace("trace 1: one event", "trace 1: uno")).is_ok());
}

#[test]
fn a_summary_that_lacks_a_count_or_has_one_too_many_is_refused() {
    let good = small();
    for (from, to, because) in [
        ("# threads=2", "threads=2", "found \"threads=2"),
        ("threads=2 ", "", "threads= is missing"),
        ("events=5", "events=", "events= is missing or no number"),
        (
            "created=3",
            "created=-3",
            "created= is missing or no number",
        ),
        (
            "created=3",
            "created=03",
            "created= is missing or no number",
        ),
        (
            "peak_live=2",
            "peak_live=2x",
            "destroyed_by_another_thread= is missing",
        ),
        (
            "thread=1\n",
            "thread=1 more=2\n",
            "\" more=2\" follows the last count",
        ),
        ("threads=2", "threads=0", "threads=0"),
        (
            "threads=2",
            "threads=1025",
            "threads=1025 is more than 1024",
        ),
        (
            "threads=2",
            "threads=99999999999999999999999",
            "but \"threads=99999999999999999999999\" is more than 18446744073709551615",
        ),
        (
            "threads=2",
            "threads=18446744073709551615",
            "threads=18446744073709551615 is more than 1024",
        ),
        (
            "peak_live=2",
            "peak_live=18446744073709551616",
            "\"peak_live=18446744073709551616\" is more than",
        ),
        (
            "created=3",
            "created=2147483649",
            "created=2147483649 is more than 2147483648",
        ),
    ] {
        let wrong = good.replace(from, to);
        assert_ne!(wrong, good);
        assert_refused(wrong, 2, because);
    }
}

#[test]
fn a_summary_that_does_not_match_the_events_is_refused_count_by_count() {
    let events = "0 + 0\n0 + 1\n1 - 0\n1 + 2\n1 - 2\n";
    for (summary, line, because) in [
        (
            [2, 4, 3, 2, 1],
            7,
            "an event too many: the summary says events=4",
        ),
        ([2, 6, 3, 2, 1], 8, "events=6, counted 5"),
        ([3, 5, 3, 2, 1], 8, "threads=3, counted 2"),
        ([2, 5, 4, 2, 1], 8, "created=4, counted 3"),
        ([2, 5, 3, 3, 1], 8, "peak_live=3, counted 2"),
        (
            [2, 5, 3, 2, 0],
            8,
            "destroyed_by_another_thread=0, counted 1",
        ),
    ] {
        assert_refused(text(summary, events), line, because);
    }
}

#[test]
fn an_event_with_a_bad_number_operation_or_shape_is_refused() {
    for line in [
        "",
        " ",
        "0",
        "0 +",
        "0 + ",
        "0+0",
        "0 + 0 ",
        " 0 + 0",
        "0 + 0\r\r",
        "0 * 0",
        "0 + -1",
        "0 + 1.0",
        "0 + 0x1",
        "0 + 00",
        "00 + 0",
        "a + 0",
        "0  + 0",
        "0\t+\t0",
        "# 0 + 0",
        "0 + é",
        "0 + 0 0",
    ] {
        assert_refused(
            text([1, 1, 1, 1, 0], &format!("{line}\n")),
            3,
            "expected \"THREAD + OBJECT\"",
        );
    }
}

#[test]
fn a_number_that_is_too_large_is_refused() {
    for (line, because) in [
        (
            "0 + 2147483648",
            "the object number in \"0 + 2147483648\" is too large",
        ),
        ("0 - 4294967296", "the object number"),
        ("0 + 18446744073709551616", "the object number"),
        ("1024 + 0", "the thread number in \"1024 + 0\" is too large"),
        ("4294967296 + 0", "the thread number"),
    ] {
        assert_refused(text([1, 1, 1, 1, 0], &format!("{line}\n")), 3, because);
    }
}

#[test]
fn a_line_that_is_too_long_is_refused_before_it_is_held() {
    let long = format!("0 + {}\n", "1".repeat(1 << 20));
    assert_refused(text([1, 1, 1, 1, 0], &long), 3, "longer than 1024 bytes");
    // A few kilobytes of gzip that would be 8 MiB of one line.
    let bomb = gzip(format!("{FORMAT}{}", "#".repeat(8 << 20)).as_bytes());
    assert_refused(bomb, 2, "longer than 1024 bytes");
}

#[test]
fn a_thread_out_of_range_is_refused() {
    assert_refused(
        text([1, 1, 1, 1, 0], "1 + 0\n"),
        3,
        "thread 1 is out of range",
    );
    assert_refused(
        text([2, 2, 2, 2, 0], "1 + 0\n2 + 1\n"),
        4,
        "thread 2 is out of range",
    );
}

#[test]
fn objects_created_out_of_order_are_refused() {
    assert_refused(
        text([1, 2, 2, 2, 0], "0 + 1\n0 + 0\n"),
        3,
        "object 1 is created out of order",
    );
    assert_refused(
        text([1, 3, 3, 3, 0], "0 + 0\n0 + 2\n0 + 1\n"),
        4,
        "the next one to create is 1",
    );
    assert_refused(
        text([1, 2, 2, 2, 0], "0 + 0\n0 + 0\n"),
        4,
        "object 0 is created a second time",
    );
}

#[test]
fn a_destroy_without_a_create_is_refused() {
    assert_refused(
        text([1, 2, 1, 1, 0], "0 - 0\n0 + 0\n"),
        3,
        "object 0 is destroyed before it is created",
    );
    assert_refused(
        text([1, 2, 1, 1, 0], "0 + 0\n0 - 1\n"),
        4,
        "object 1 is destroyed before it is created",
    );
}

#[test]
fn a_second_destroy_is_refused() {
    let events = "0 + 0\n0 - 0\n0 - 0\n";
    assert_refused(
        text([1, 3, 1, 1, 0], events),
        5,
        "object 0 is destroyed a second time",
    );
}

#[test]
fn a_claim_of_billions_of_events_costs_no_memory() {
    let claim = [1, 1 << 40, 1 << 31, 1 << 31, 0];
    assert_refused(text(claim, "0 + 0\n"), 4, "events=1099511627776, counted 1");
}

// --- Windows -----------------------------------------------------------------------------------

#[test]
fn a_window_creates_first_what_lives_when_it_opens() {
    let trace = read(small()).unwrap();
    let window = trace.window(2..5).unwrap();
    let events: Vec<_> = window
        .events()
        .map(|(thread, event)| (thread, event.is_create(), event.object()))
        .collect();
    assert_eq!(
        events,
        [
            (0, true, 0),
            (0, true, 1),
            (1, false, 0),
            (1, true, 2),
            (1, false, 2)
        ]
    );
    assert_eq!(trace.window(0..usize::MAX), Some(trace));
}

#[test]
fn a_window_closes_up_threads_that_have_no_event_left() {
    let trace = read(text([3, 4, 2, 1, 0], "0 + 0\n0 - 0\n2 + 1\n2 - 1\n")).unwrap_err();
    assert!(trace.to_string().contains("threads=3, counted 2"));
    let trace = read(text(
        [3, 6, 3, 1, 1],
        "0 + 0\n0 - 0\n1 + 1\n2 - 1\n2 + 2\n2 - 2\n",
    ))
    .unwrap();
    let window = trace.window(2..6).unwrap();
    assert_eq!(
        (
            window.threads(),
            window.summary().destroyed_by_another_thread
        ),
        (2, 1)
    );
    assert_eq!(trace.window(4..6).unwrap().threads(), 1);
    assert_eq!(trace.window(6..9), None);
}

#[test]
fn every_window_of_a_real_trace_is_a_trace() {
    let node = Trace::shipped("node").unwrap();
    for range in [
        0..1,
        0..30_000,
        29_000..29_001,
        70_000..100_000,
        150_000..usize::MAX,
    ] {
        let window = node.window(range).unwrap();
        let mut written = Vec::new();
        window.to_writer(&mut written).unwrap();
        assert_eq!(Trace::from_reader("node", &*written).unwrap(), window);
    }
}

#[test]
fn the_window_up_to_the_peak_ends_at_the_peak() {
    let gcc = Trace::shipped("gcc").unwrap();
    let window = gcc.window(0..gcc.peak_at()).unwrap();
    assert_eq!(window.summary().peak_live, gcc.summary().peak_live);
    let mut live = 0_i64;
    window
        .events()
        .for_each(|(_, event)| live += if event.is_create() { 1 } else { -1 });
    assert_eq!(live, gcc.summary().peak_live as i64);
}
