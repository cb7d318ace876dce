//! Reading a trace: strict, line by line, each event checked against all before it.

use std::io::Read;

use super::lines::{Lines, printable};
use super::{Event, MAX_OBJECTS, MAX_THREADS, Summary, Trace, TraceError, TraceFault};

/// Reads a whole trace; what comes back holds everything that [`Trace`] promises.
pub(super) fn trace(name: &str, reader: impl Read) -> Result<Trace, TraceError> {
    let mut lines = Lines::new(name, reader)?;
    format_line(&mut lines)?;
    let claimed = summary_line(&mut lines)?;
    let mut history = History::new(claimed);
    while let Some(line) = lines.advance()? {
        match parse_event(line).and_then(|parsed| history.push(parsed)) {
            Ok(()) => {}
            Err(fault) => return Err(lines.fault(fault)),
        }
    }
    let summary = history.summary().map_err(|fault| lines.fault(fault))?;
    let threads_of = if summary.threads == 1 {
        Vec::new()
    } else {
        history.threads_of
    };
    Ok(Trace {
        name: name.to_owned(),
        events: history.events,
        threads_of,
        summary,
    })
}

fn format_line<R: Read>(lines: &mut Lines<'_, R>) -> Result<(), TraceError> {
    let fault = match lines.advance().map(|line| line.map(without_mark)) {
        Ok(Some(line)) => match line.strip_prefix(b"# entity-trace ") {
            Some(rest) if rest == b"1" || rest.starts_with(b"1:") => return Ok(()),
            Some(rest) => {
                let version = rest.split(|&byte| byte == b':').next().unwrap_or(rest);
                TraceFault::UnknownVersion {
                    found: printable(version),
                }
            }
            None => TraceFault::Foreign {
                found: printable(line),
            },
        },
        Ok(None) => TraceFault::Empty,
        Err(error) => {
            let no_line = matches!(
                error.fault(),
                Some(TraceFault::LineTooLong { .. } | TraceFault::LineCutShort)
            );
            let line = without_mark(lines.current());
            // What has no line of fitting length is not text: say so, not how long it is.
            if !no_line || line.starts_with(b"# entity-trace ") {
                return Err(error);
            }
            TraceFault::Foreign {
                found: printable(line),
            }
        }
    };
    Err(lines.fault(fault))
}

/// The first line without the byte order mark that some programs begin a text with.
fn without_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line)
}

fn summary_line<R: Read>(lines: &mut Lines<'_, R>) -> Result<Summary, TraceError> {
    let fault = match lines.advance()? {
        None => TraceFault::SummaryMissing,
        Some(line) => match parse_summary(line) {
            Ok(summary) => return Ok(summary),
            Err(problem) => TraceFault::BadSummary { problem },
        },
    };
    Err(lines.fault(fault))
}

fn parse_summary(line: &[u8]) -> Result<Summary, String> {
    let mut rest = line
        .strip_prefix(b"#")
        .ok_or_else(|| format!("found {}", printable(line)))?;
    let mut field = |name: &str| -> Result<u64, String> {
        let wrong = || format!("{name}= is missing or no number in {}", printable(line));
        let digits = rest.strip_prefix(b" ").ok_or_else(wrong)?;
        let digits = digits.strip_prefix(name.as_bytes()).ok_or_else(wrong)?;
        let digits = digits.strip_prefix(b"=").ok_or_else(wrong)?;
        let (digits, after) = split_number(digits).ok_or_else(wrong)?;
        rest = after;
        // As it stands there: no number of ours is what the file says.
        let too_large = || {
            let found = printable(&[name.as_bytes(), b"=", digits].concat());
            format!("{found} is more than {}", u64::MAX)
        };
        value(digits).ok_or_else(too_large)
    };
    let summary = Summary {
        threads: field("threads")?,
        events: field("events")?,
        created: field("created")?,
        peak_live: field("peak_live")?,
        destroyed_by_another_thread: field("destroyed_by_another_thread")?,
    };
    if !rest.is_empty() {
        return Err(format!("{} follows the last count", printable(rest)));
    }
    if summary.threads == 0 {
        return Err("threads=0: a trace has at least one event".to_owned());
    }
    if summary.threads > u64::from(MAX_THREADS) {
        return Err(format!(
            "threads={} is more than {MAX_THREADS}",
            summary.threads
        ));
    }
    if summary.created > u64::from(MAX_OBJECTS) {
        return Err(format!(
            "created={} is more than {MAX_OBJECTS}",
            summary.created
        ));
    }
    Ok(summary)
}

/// A line's three parts, not yet checked against any other line.
struct Parsed {
    thread: u64,
    create: bool,
    object: u64,
}

fn parse_event(line: &[u8]) -> Result<Parsed, TraceFault> {
    let parts = || {
        let (thread, rest) = parse_number(line)?;
        let (create, rest) = match rest {
            [b' ', b'+', b' ', rest @ ..] => (true, rest),
            [b' ', b'-', b' ', rest @ ..] => (false, rest),
            _ => return None,
        };
        let (object, rest) = parse_number(rest)?;
        rest.is_empty().then_some(Parsed {
            thread,
            create,
            object,
        })
    };
    let parsed = parts().ok_or_else(|| TraceFault::BadEvent {
        found: printable(line),
    })?;
    let too_large = |what, limit| {
        Err(TraceFault::NumberTooLarge {
            what,
            found: printable(line),
            limit: u64::from(limit),
        })
    };
    if parsed.object >= u64::from(MAX_OBJECTS) {
        return too_large("object", MAX_OBJECTS);
    }
    if parsed.thread >= u64::from(MAX_THREADS) {
        return too_large("thread", MAX_THREADS);
    }
    Ok(parsed)
}

/// The number that `text` begins with, and what follows it. A number too large for 64 bits counts as the largest there
/// is: every limit is far below.
fn parse_number(text: &[u8]) -> Option<(u64, &[u8])> {
    let (digits, rest) = split_number(text)?;
    Some((value(digits).unwrap_or(u64::MAX), rest))
}

/// The digits of the number that `text` begins with, and what follows them. Leading zeros are no number.
fn split_number(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = text.split_at(digits);
    let is_number = digits == 1 || (digits > 1 && number[0] != b'0');
    is_number.then_some((number, rest))
}

/// What `digits` come to; `None` if 64 bits cannot hold it.
fn value(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |value, &digit| {
        value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })
}

/// In [`History::owner`]: the object is destroyed.
const DESTROYED: u16 = u16::MAX;

/// The events so far, and what is needed to check the next.
struct History {
    claimed: Summary,
    counted: Summary,
    live: u64,
    events: Vec<Event>,
    threads_of: Vec<u16>,
    /// For each object created so far its creator, or [`DESTROYED`].
    owner: Vec<u16>,
    seen: Vec<bool>,
}

impl History {
    fn new(claimed: Summary) -> Self {
        // Room for what the summary claims, up to a bound: a claim costs nothing to make.
        let room = claimed.events.min(1 << 22) as usize;
        Self {
            claimed,
            counted: Summary::default(),
            live: 0,
            events: Vec::with_capacity(room),
            threads_of: Vec::with_capacity(if claimed.threads > 1 { room } else { 0 }),
            owner: Vec::with_capacity(claimed.created.min(1 << 22) as usize),
            seen: vec![false; claimed.threads as usize],
        }
    }

    fn push(&mut self, parsed: Parsed) -> Result<(), TraceFault> {
        let Parsed {
            thread,
            create,
            object,
        } = parsed;
        if self.counted.events == self.claimed.events {
            return Err(TraceFault::TooManyEvents {
                events: self.claimed.events,
            });
        }
        if thread >= self.claimed.threads {
            return Err(TraceFault::ThreadOutOfRange {
                thread,
                threads: self.claimed.threads,
            });
        }
        if create {
            self.create(thread as u16, object)?;
        } else {
            self.destroy(thread as u16, object)?;
        }
        self.counted.events += 1;
        self.counted.threads += u64::from(!self.seen[thread as usize]);
        self.seen[thread as usize] = true;
        if self.claimed.threads > 1 {
            self.threads_of.push(thread as u16);
        }
        Ok(())
    }

    fn create(&mut self, thread: u16, object: u64) -> Result<(), TraceFault> {
        let expected = self.counted.created;
        if object != expected {
            return Err(if object < expected {
                TraceFault::CreatedTwice { object }
            } else {
                TraceFault::CreatedOutOfOrder { object, expected }
            });
        }
        self.events.push(Event::create(object as u32));
        self.owner.push(thread);
        self.counted.created += 1;
        self.live += 1;
        self.counted.peak_live = self.counted.peak_live.max(self.live);
        Ok(())
    }

    fn destroy(&mut self, thread: u16, object: u64) -> Result<(), TraceFault> {
        let owner = match self.owner.get_mut(object as usize) {
            None => return Err(TraceFault::DestroyedBeforeCreated { object }),
            Some(owner) if *owner == DESTROYED => {
                return Err(TraceFault::DestroyedTwice { object });
            }
            Some(owner) => std::mem::replace(owner, DESTROYED),
        };
        self.events.push(Event::destroy(object as u32));
        self.counted.destroyed_by_another_thread += u64::from(owner != thread);
        self.live -= 1;
        Ok(())
    }

    /// The counts, once they are known to be what the summary claims.
    fn summary(&self) -> Result<Summary, TraceFault> {
        let (claimed, counted) = (&self.claimed, &self.counted);
        for (field, claimed, counted) in [
            ("events", claimed.events, counted.events),
            ("threads", claimed.threads, counted.threads),
            ("created", claimed.created, counted.created),
            ("peak_live", claimed.peak_live, counted.peak_live),
            (
                "destroyed_by_another_thread",
                claimed.destroyed_by_another_thread,
                counted.destroyed_by_another_thread,
            ),
        ] {
            if claimed != counted {
                return Err(TraceFault::SummaryMismatch {
                    field,
                    claimed,
                    counted,
                });
            }
        }
        Ok(self.counted)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    const TEXT: &str = "# entity-trace 1\n\
        # threads=1 events=1 created=1 peak_live=1 destroyed_by_another_thread=0\n0 + 0\n";

    fn read(text: &str) -> Result<Trace, TraceError> {
        trace("a.trace", text.as_bytes())
    }

    #[test]
    fn a_trace_may_begin_with_a_byte_order_mark() {
        let expected = read(TEXT).unwrap();
        let marked = format!("\u{feff}{TEXT}");
        assert_eq!(read(&marked).unwrap(), expected);
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(marked.as_bytes()).unwrap();
        let gzip = gzip.finish().unwrap();
        assert_eq!(trace("a.trace", &gzip[..]).unwrap(), expected);
    }

    #[test]
    fn a_byte_order_mark_is_one_and_makes_no_trace() {
        let refused = |text: &str| read(text).unwrap_err().to_string();
        let twice = refused(&format!("\u{feff}\u{feff}{TEXT}"));
        assert!(
            twice.contains(r#"the first line is "\xef\xbb\xbf# ent"#),
            "{twice}"
        );
        let foreign = refused("\u{feff}a,b\n");
        assert!(foreign.contains(r#"the first line is "a,b""#), "{foreign}");
        let later = TEXT.replace("0 +", "\u{feff}0 +");
        assert!(refused(&later).contains("line 3"), "{later}");
        let cut = refused("\u{feff}# entity-trace 1");
        assert!(
            cut.contains("line 1") && !cut.contains("not an entity trace"),
            "{cut}"
        );
    }
}
