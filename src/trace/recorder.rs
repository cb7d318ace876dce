//! `Recorder`: makes a trace event by event, numbering and counting as it goes.

use super::{Event, MAX_OBJECTS, Summary, Trace};

/// A trace in the making. Whoever records keeps to the rules: each object is destroyed at most
/// once, after its creation, and thread numbers are below [`MAX_THREADS`](super::MAX_THREADS).
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    events: Vec<Event>,
    threads_of: Vec<u16>,
    creator: Vec<u16>,
    live: u64,
    summary: Summary,
}

impl Recorder {
    /// The next object is created by `thread`; gives its number.
    pub(crate) fn create(&mut self, thread: usize) -> u32 {
        let object = self.creator.len() as u32;
        debug_assert!(object < MAX_OBJECTS);
        self.creator.push(thread as u16);
        self.live += 1;
        self.summary.created += 1;
        self.summary.peak_live = self.summary.peak_live.max(self.live);
        self.push(thread, Event::create(object));
        object
    }

    /// `object` is destroyed by `thread`.
    pub(crate) fn destroy(&mut self, thread: usize, object: u32) {
        let foreign = usize::from(self.creator[object as usize]) != thread;
        self.summary.destroyed_by_another_thread += u64::from(foreign);
        self.live -= 1;
        self.push(thread, Event::destroy(object));
    }

    fn push(&mut self, thread: usize, event: Event) {
        self.events.push(event);
        self.threads_of.push(thread as u16);
        self.summary.events += 1;
    }

    /// The trace, at least one event long. Threads without an event drop out, and the others close
    /// up.
    pub(crate) fn finish(mut self, name: String) -> Trace {
        debug_assert!(!self.events.is_empty());
        let mut number_of = vec![None; usize::from(u16::MAX) + 1];
        for &thread in &self.threads_of {
            number_of[usize::from(thread)] = Some(0);
        }
        for (number, present) in number_of.iter_mut().flatten().enumerate() {
            *present = number as u16;
        }
        self.summary.threads = number_of.iter().flatten().count() as u64;
        for thread in &mut self.threads_of {
            *thread = number_of[usize::from(*thread)].unwrap_or_default();
        }
        if self.summary.threads == 1 {
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
