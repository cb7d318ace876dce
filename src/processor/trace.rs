//! `Trace`: when what ran on which thread, for Perfetto or `chrome://tracing`.

use core::fmt;
use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};
use std::time::{Duration, Instant};

use crate::processor::Schedule;
use crate::processor::entry::Entry;
use crate::processor::executor::MemberCell;
use crate::processor::member::{Mode, OWN, calling_thread};
use crate::processor::segment::Segment;
use crate::processor::stopwatch::Call;
use crate::workers::current;

/// When what ran on which thread: from [`Schedule::take_trace`].
pub struct Trace {
    began: Instant,
    /// The thread that has run the schedule, as it was noted last.
    own: u32,
    /// The names, each once, and where they are.
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    events: Vec<Event>,
}

/// Something that took time. 32 bytes.
#[derive(Clone, Copy)]
struct Event {
    /// Nanoseconds.
    start: u64,
    took: u64,
    /// [Of what](Kind::measures) there was so much; [`UNKNOWN`] if that is not known.
    amount: u64,
    /// A processor's or an observer's.
    name: u32,
    /// 0 is the schedule's own thread, the others are those of the pool, from 1, and a program's own, above [`OWN`].
    thread: u16,
    kind: Kind,
}

const UNKNOWN: u64 = u64::MAX;

const _: () = assert!(size_of::<Event>() == 32);

/// What takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Processor,
    Observer,
    Run,
    Solve,
    Collect,
    Flush,
}

impl Kind {
    /// What it is called, alone and as a category.
    fn name(self) -> &'static str {
        match self {
            Self::Processor => "processor",
            Self::Observer => "observer",
            Self::Run => "run",
            Self::Solve => "solve",
            Self::Collect => "collect",
            Self::Flush => "flush",
        }
    }

    /// What its amount is one of.
    fn measures(self) -> &'static str {
        match self {
            Self::Processor | Self::Observer | Self::Collect => "entities",
            Self::Run => "tick",
            Self::Solve => "archetypes",
            Self::Flush => "commands",
        }
    }
}

impl Trace {
    fn new() -> Self {
        Self {
            began: Instant::now(),
            own: calling_thread(),
            names: Vec::new(),
            numbers: HashMap::new(),
            events: Vec::new(),
        }
    }

    /// How much it holds: each run of a processor, call of an observer, flush and collection of signals, each time that the
    /// order was solved or archetypes were looked at, and each run of the schedule; also what a panic has ended.
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
        self.own = calling_thread();
        for processor in segment.processors() {
            let member = crew[processor].get_mut();
            let began = member.timing.began.take();
            let timing = *member.timing;
            if let (true, Some(began)) = (
                member.mode != Mode::Idle,
                began.filter(|&began| began >= self.began),
            ) {
                let name = self.name(&entries[processor].name);
                let seen = timing.seen.entities as u64;
                let took = (began, timing.took, timing.thread);
                self.push(Kind::Processor, name, took, Some(seen));
            }
        }
    }

    /// Something else has run on the schedule's thread until now.
    pub(super) fn note(&mut self, kind: Kind, began: Instant, amount: Option<u64>) {
        self.own = calling_thread();
        let took = (began, began.elapsed(), self.own);
        self.push(kind, 0, took, amount);
    }

    /// An observer was called, now and then.
    fn note_calls(&mut self, name: &str, calls: &[Call]) {
        if calls.is_empty() {
            return;
        }
        let name = self.name(name);
        let since = self.began;
        for call in calls.iter().filter(|call| call.began >= since) {
            let took = (call.began, call.took, call.thread);
            self.push(Kind::Observer, name, took, Some(call.entities as u64));
        }
    }

    fn push(
        &mut self,
        kind: Kind,
        name: u32,
        (began, took, thread): (Instant, Duration, u32),
        amount: Option<u64>,
    ) {
        let thread = if thread == self.own { 0 } else { thread };
        self.events.push(Event {
            start: nanoseconds(began.saturating_duration_since(self.began)),
            took: nanoseconds(took),
            amount: amount.unwrap_or(UNKNOWN),
            name,
            thread: u16::try_from(thread).unwrap_or(u16::MAX),
            kind,
        });
    }

    /// Writes it in the trace event format (JSON), microseconds. Each event has a category, as the crate's [spans of
    /// `tracing`](crate#what-it-tells) are called, and says how much there was: entities that a processor's queries saw, or
    /// that an observer was told of, commands, with creations, new archetypes, the tick that the world's [`Time`](super::Time) has told of.
    /// A row is a thread: `schedule` the one that ran it, `pool 0` and so on rayon's, the [workers](crate::workers) of a
    /// program's own what it calls them ([`Builder::name`](std::thread::Builder::name)), or `helper 1` and so on.
    ///
    /// # Errors
    /// Those of the writer.
    ///
    /// Source: the Chromium project's description of the format, which Perfetto reads.
    pub fn write_to(&self, to: &mut dyn Write) -> io::Result<()> {
        Self::write_all(&[("schedule", self)], to)
    }

    /// Writes several as [`write_to`](Self::write_to) writes one, on one scale of time, each as a process with a name: those
    /// of a simulation's schedule with fixed ticks and of the one that draws frames, say, or of all simulations of an
    /// [`App`](super::App).
    ///
    /// ```
    /// use megachunk::prelude::*;
    /// use megachunk::processor::Trace;
    ///
    /// let mut world = World::new();
    /// let (mut ticks, mut frames) = (Schedule::new(), Schedule::new());
    /// ticks.add(processor("move", || {})).start_trace();
    /// frames.add(processor("draw", || {})).start_trace();
    /// let mut screen = World::new();
    /// for _ in 0..3 {
    ///     ticks.run(&mut world)?;
    ///     frames.run(&mut screen)?;
    /// }
    /// let (ticks, frames) = (ticks.take_trace().unwrap(), frames.take_trace().unwrap());
    /// let mut json = Vec::new();
    /// Trace::write_all(&[("ticks", &ticks), ("frames", &frames)], &mut json)?;
    /// let json = String::from_utf8(json)?;
    /// assert!(json.contains("\"move\"") && json.contains("\"draw\""));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_all(all: &[(&str, &Trace)], to: &mut dyn Write) -> io::Result<()> {
        writeln!(to, "{{\"traceEvents\":[")?;
        let zero = all.iter().map(|(_, trace)| trace.began).min();
        for (pid, (name, trace)) in (1..).zip(all) {
            if pid > 1 {
                writeln!(to, ",")?;
            }
            write!(
                to,
                "{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{pid},\"args\":{{\"name\":"
            )?;
            write_text(to, name)?;
            write!(to, "}}}}")?;
            let before = zero.map_or(Duration::ZERO, |zero| trace.began - zero);
            trace.write_events(pid, nanoseconds(before), to)?;
        }
        writeln!(to, "\n]}}")
    }

    /// Those that have rows: the schedule's own, the pool's up to the last that did something, and those of a program's own
    /// that did.
    fn threads(&self) -> impl Iterator<Item = u16> {
        let all = || self.events.iter().map(|event| event.thread);
        let is_own = |thread: &u16| u32::from(*thread) >= OWN;
        let of_pool = all().filter(|thread| !is_own(thread)).max();
        let own: BTreeSet<u16> = all().filter(is_own).collect();
        (0..=of_pool.unwrap_or(0)).chain(own)
    }

    /// Writes what it has, each behind a comma.
    fn write_events(&self, pid: usize, before: u64, to: &mut dyn Write) -> io::Result<()> {
        for thread in self.threads() {
            write!(
                to,
                ",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{pid},\"tid\":{thread},\"args\":{{\"name\":"
            )?;
            write_text(to, &row_name(u32::from(thread)))?;
            write!(to, "}}}}")?;
        }
        for event in &self.events {
            write!(to, ",\n{{\"name\":")?;
            let kind = event.kind.name();
            let name = match event.kind {
                Kind::Processor | Kind::Observer => &self.names[event.name as usize],
                _ => kind,
            };
            write_text(to, name)?;
            write!(
                to,
                ",\"cat\":\"{kind}\",\"ph\":\"X\",\"pid\":{pid},\"tid\":{},\"ts\":{:.3},\"dur\":{:.3}",
                event.thread,
                (before + event.start) as f64 / 1e3,
                event.took as f64 / 1e3
            )?;
            if event.amount != UNKNOWN {
                let measures = event.kind.measures();
                write!(to, ",\"args\":{{\"{measures}\":{}}}", event.amount)?;
            }
            write!(to, "}}")?;
        }
        Ok(())
    }
}

/// What a thread's row is called.
fn row_name(thread: u32) -> String {
    match thread {
        0 => "schedule".into(),
        pool @ 1..OWN => format!("pool {}", pool - 1),
        own => match current::name_of(own - OWN) {
            Some(name) => name.to_string(),
            None => format!("helper {}", own - OWN),
        },
    }
}

/// Nanoseconds, as a trace has them: 584 years and no more.
fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// How much it holds, and of how many processors, not which.
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
    /// From now on notes when what runs on which thread; 32 bytes for each. Beside processors these are the calls of
    /// [observing](super::observing_processor) ones, wherever they come from, also of those that are removed meanwhile; runs of the
    /// whole schedule, flushes,
    /// collections of signals, and each time that the order is solved or archetypes are looked at; all of these also where
    /// a panic ends them. Processors
    /// are [measured](Self::set_measured) until the trace is [taken](Self::take_trace); while that is switched off,
    /// the others alone are noted, without observers: of flushes those that follow processors, and those before them that
    /// have something to do.
    pub fn start_trace(&mut self) {
        let before = self.measured_before.unwrap_or(self.measured);
        self.trace = Some(Trace::new());
        self.set_measured(true).measured_before = Some(before);
        // What is left of one that this takes the place of.
        self.take_calls(None);
    }

    /// Has a trace have the calls of observers.
    fn take_calls(&mut self, mut trace: Option<&mut Trace>) {
        for (entry, member) in self.entries.iter().zip(&mut self.crew) {
            if let Some(watch) = member.get_mut().runner.stopwatch() {
                let calls = watch.take_calls();
                if let Some(trace) = &mut trace {
                    trace.note_calls(&entry.name, &calls);
                }
            }
        }
    }

    /// Has the trace, if there is one, have the calls of an observer that is not a member any more.
    pub(super) fn keep_calls(&mut self, entry: &Entry, member: &mut MemberCell) {
        if let Some(trace) = &mut self.trace
            && let Some(watch) = member.get_mut().runner.stopwatch()
        {
            trace.note_calls(&entry.name, &watch.take_calls());
        }
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
        let mut trace = self.trace.take();
        self.take_calls(trace.as_mut());
        self.wind_up();
        trace
    }
}
