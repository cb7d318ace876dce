//! `Trace::window`: a part of a trace that is itself a trace.

use std::ops::Range;

use super::{Event, Summary, Trace};

/// In the table of new numbers: the object is not part of the window.
const ABSENT: u32 = u32::MAX;

impl Trace {
    /// The events `range` of this trace as a trace of its own.
    ///
    /// Objects that live when the window opens are created first, each by its own thread, in the
    /// order of their numbers. So the window begins as full as the program was, and everything
    /// after that is what happened; only the holes that earlier events had left are missing.
    /// Objects are numbered anew; threads without an event drop out, and the others close up.
    /// A range that reaches beyond the end is cut there; `None` if
    /// no event lies in it.
    #[must_use]
    pub fn window(&self, range: Range<usize>) -> Option<Self> {
        let end = range.end.min(self.len());
        let start = range.start;
        if start >= end {
            return None;
        }
        let mut recorder = Recorder::new(self.objects());

        let mut creator_of_live = vec![None; self.objects()];
        for (thread, event) in self.events().take(start) {
            creator_of_live[event.object()] = event.is_create().then_some(thread);
        }
        for (object, creator) in creator_of_live.iter().enumerate() {
            if let Some(thread) = *creator {
                recorder.push(thread, object, true);
            }
        }
        for (thread, event) in self.events().take(end).skip(start) {
            recorder.push(thread, event.object(), event.is_create());
        }
        Some(recorder.finish(self.name.clone()))
    }
}

/// Numbers objects anew and counts as it goes.
struct Recorder {
    events: Vec<Event>,
    threads_of: Vec<u16>,
    number: Vec<u32>,
    owner: Vec<u16>,
    live: u64,
    summary: Summary,
}

impl Recorder {
    fn new(objects: usize) -> Self {
        Self {
            events: Vec::new(),
            threads_of: Vec::new(),
            number: vec![ABSENT; objects],
            owner: Vec::new(),
            live: 0,
            summary: Summary::default(),
        }
    }

    fn push(&mut self, thread: usize, object: usize, create: bool) {
        let thread = thread as u16;
        if create {
            let number = self.owner.len() as u32;
            self.number[object] = number;
            self.owner.push(thread);
            self.events.push(Event::create(number));
            self.live += 1;
            self.summary.created += 1;
            self.summary.peak_live = self.summary.peak_live.max(self.live);
        } else {
            let number = self.number[object];
            self.events.push(Event::destroy(number));
            let foreign = self.owner[number as usize] != thread;
            self.summary.destroyed_by_another_thread += u64::from(foreign);
            self.live -= 1;
        }
        self.threads_of.push(thread);
        self.summary.events += 1;
    }

    fn finish(mut self, name: String) -> Trace {
        let mut rank = vec![None; usize::from(u16::MAX) + 1];
        for &thread in &self.threads_of {
            rank[usize::from(thread)] = Some(0);
        }
        for (number, present) in rank.iter_mut().flatten().enumerate() {
            *present = number as u16;
        }
        self.summary.threads = rank.iter().flatten().count() as u64;
        for thread in &mut self.threads_of {
            *thread = rank[usize::from(*thread)].unwrap_or_default();
        }
        if self.summary.threads <= 1 {
            self.threads_of = Vec::new();
        }
        Trace {
            name,
            events: self.events,
            threads_of: self.threads_of,
            summary: self.summary,
        }
    }
}
