//! Records as tests write them.

use megachunk::chunk::{ChunkError, Run};

use super::{Event, Record};

pub(super) fn run(first: u32, len: u32) -> Run {
    Run::new(first, len).expect("it lies in one mega-chunk")
}

pub(super) fn record(thread: usize, span: (u64, u64), event: Event) -> Record {
    Record {
        thread,
        call: span.0,
        response: span.1,
        event,
    }
}

pub(super) fn takes(thread: usize, span: (u64, u64), run: Run) -> Record {
    record(thread, span, Event::Take(run.len() as usize, Ok(run)))
}

pub(super) fn refused(thread: usize, span: (u64, u64), len: usize) -> Record {
    let refused = Err(ChunkError::Exhausted { len });
    record(thread, span, Event::Take(len, refused))
}

/// Its memory as its owner left it, or not.
pub(super) fn frees(thread: usize, span: (u64, u64), run: Run, intact: bool) -> Record {
    let answer = Ok(());
    record(
        thread,
        span,
        Event::Free {
            run,
            intact,
            answer,
        },
    )
}
