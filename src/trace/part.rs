//! Parts of a trace that are themselves traces: a window of its events, a share of its objects.

use std::ops::Range;

use super::Trace;
use super::recorder::Recorder;

/// In a table of new numbers: the object is not part of it.
const ABSENT: u32 = u32::MAX;

impl Trace {
    /// The events `range` of this trace as a trace of its own.
    ///
    /// Objects that live when the window opens are created first, each by its own thread, in the
    /// order of their numbers. So the window begins as full as the program was, and everything
    /// after that is what happened; only the holes that earlier events had left are missing.
    /// Objects are numbered anew; threads without an event drop out, and the others close up.
    /// A range that reaches beyond the end is cut there; `None` if no event lies in it.
    #[must_use]
    pub fn window(&self, range: Range<usize>) -> Option<Self> {
        let end = range.end.min(self.len());
        let start = range.start;
        if start >= end {
            return None;
        }
        let mut creator_of_live = vec![None; self.objects()];
        for (thread, event) in self.events().take(start) {
            creator_of_live[event.object()] = event.is_create().then_some(thread);
        }
        let mut recorder = Recorder::default();
        let mut number = vec![ABSENT; self.objects()];
        for (object, creator) in creator_of_live.iter().enumerate() {
            if let Some(thread) = *creator {
                number[object] = recorder.create(thread);
            }
        }
        for (thread, event) in self.events().take(end).skip(start) {
            if event.is_create() {
                number[event.object()] = recorder.create(thread);
            } else {
                recorder.destroy(thread, number[event.object()]);
            }
        }
        Some(recorder.finish(self.name.clone()))
    }

    /// Each `every`-th object of this trace, from the first, as a trace of its own: the same
    /// history with fewer objects in it. `every` of 0 counts as 1.
    #[must_use]
    pub fn share(&self, every: usize) -> Self {
        let every = every.max(1);
        let mut recorder = Recorder::default();
        let mut number = vec![ABSENT; self.objects().div_ceil(every)];
        for (thread, event) in self.events() {
            let object = event.object();
            if !object.is_multiple_of(every) {
                continue;
            }
            if event.is_create() {
                number[object / every] = recorder.create(thread);
            } else {
                recorder.destroy(thread, number[object / every]);
            }
        }
        recorder.finish(self.name.clone())
    }
}
