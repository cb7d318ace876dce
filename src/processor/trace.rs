//! `Trace`: when what ran on which thread, for Perfetto or `chrome://tracing`.

use core::fmt;
use std::collections::HashMap;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use crate::processor::Schedule;
use crate::processor::entry::Entry;
use crate::processor::executor::MemberCell;
use crate::processor::member::{Mode, calling_thread};
use crate::processor::segment::Segment;

/// When what ran on which thread: from [`Schedule::take_trace`].
pub struct Trace {
    began: Instant,
    /// The names, each once, and where they are.
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    events: Vec<Event>,
}

/// Something that took time. 32 bytes.
#[derive(Clone, Copy)]
struct Event {
    name: u32,
    /// 0 is the schedule's own thread, the others are those of the pool, from 1.
    thread: u32,
    start: Duration,
    took: Duration,
}

impl Trace {
    fn new() -> Self {
        Self {
            began: Instant::now(),
            names: vec!["flush".into()],
            // A processor can be called so, too.
            numbers: HashMap::new(),
            events: Vec::new(),
        }
    }

    /// How many runs and flushes it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether nothing has run.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    fn name(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        number
    }

    /// A segment's processors have run: those that have begun since the last time that this was noted. Called on the
    /// schedule's thread.
    pub(super) fn note_segment(
        &mut self,
        segment: &Segment,
        entries: &[Entry],
        crew: &mut [MemberCell],
    ) {
        // Inside a pool it has a number as the others have.
        let own = calling_thread();
        for processor in segment.processors() {
            let member = crew[processor].get_mut();
            let began = member.timing.began.take();
            let timing = member.timing;
            if let (true, Some(began)) = (
                member.mode != Mode::Idle,
                began.filter(|&began| began >= self.began),
            ) {
                let name = self.name(&entries[processor].name);
                self.events.push(Event {
                    name,
                    thread: if timing.thread == own {
                        0
                    } else {
                        timing.thread
                    },
                    start: began.saturating_duration_since(self.began),
                    took: timing.took,
                });
            }
        }
    }

    /// A flush has run.
    pub(super) fn note_flush(&mut self, began: Instant) {
        self.events.push(Event {
            name: 0,
            thread: 0,
            start: began.saturating_duration_since(self.began),
            took: began.elapsed(),
        });
    }

    /// Writes it in the trace event format (JSON), microseconds.
    ///
    /// # Errors
    /// Those of the writer.
    ///
    /// Source: the Chromium project's description of the format, which Perfetto reads.
    pub fn write_to(&self, to: &mut dyn Write) -> io::Result<()> {
        writeln!(to, "{{\"traceEvents\":[")?;
        let threads = self.events.iter().map(|event| event.thread).max();
        for thread in 0..=threads.unwrap_or(0) {
            let name = match thread {
                0 => "schedule".to_owned(),
                pool => format!("pool {}", pool - 1),
            };
            let comma = if thread == 0 { "" } else { ",\n" };
            write!(
                to,
                "{comma}{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":{thread},\"args\":{{\"name\":\"{name}\"}}}}"
            )?;
        }
        for event in &self.events {
            write!(to, ",\n{{\"name\":")?;
            write_text(to, &self.names[event.name as usize])?;
            write!(
                to,
                ",\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{:.3},\"dur\":{:.3}}}",
                event.thread,
                event.start.as_secs_f64() * 1e6,
                event.took.as_secs_f64() * 1e6
            )?;
        }
        writeln!(to, "\n]}}")
    }
}

/// How many runs and flushes it holds, and of how many processors, not which.
impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace")
            .field("len", &self.len())
            .field("processors", &self.numbers.len())
            .finish_non_exhaustive()
    }
}

/// Writes a JSON string.
fn write_text(to: &mut dyn Write, text: &str) -> io::Result<()> {
    write!(to, "\"")?;
    for letter in text.chars() {
        match letter {
            '"' | '\\' => write!(to, "\\{letter}")?,
            control if control < ' ' => write!(to, "\\u{:04x}", u32::from(control))?,
            other => write!(to, "{other}")?,
        }
    }
    write!(to, "\"")
}

impl Schedule {
    /// From now on notes when what runs on which thread; 32 bytes a processor and run. Processors
    /// are [measured](Self::set_measured) until the trace is [taken](Self::take_trace); while that is switched off,
    /// flushes alone are noted: those that follow processors, and those before them that have something to do.
    pub fn start_trace(&mut self) {
        let before = self.measured_before.unwrap_or(self.measured);
        self.set_measured(true).measured_before = Some(before);
        self.trace = Some(Trace::new());
    }

    /// What was noted since [`start_trace`](Self::start_trace), which ends. From now on processors are measured as they
    /// were before it, or as [was said](Self::set_measured) since.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let mut schedule = Schedule::new();
    /// schedule.add(processor("idle", || {}));
    /// schedule.start_trace();
    /// schedule.run(&mut world)?;
    /// let trace = schedule.take_trace().unwrap();
    /// let mut json = Vec::new();
    /// trace.write_to(&mut json)?;
    /// assert!(String::from_utf8(json)?.contains("\"name\":\"idle\""));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take_trace(&mut self) -> Option<Trace> {
        if let Some(before) = self.measured_before.take() {
            self.measured = before;
        }
        self.trace.take()
    }
}
