//! `Live`: a line on the terminal while the city runs.

use std::cell::Cell;
use std::time::{Duration, Instant};

use megachunk::cli::Bar;

use super::report::Report;

/// A line on the terminal: agents, frame time, creates a second. Elsewhere a line now and then.
#[derive(Debug)]
pub(crate) struct Live {
    bar: Bar,
    frames: u64,
    drawn: Cell<Instant>,
}

/// How often the line is written anew.
const EVERY: Duration = Duration::from_millis(100);

impl Live {
    pub(crate) fn new(frames: u64) -> Self {
        Self {
            bar: Bar::start(Some(frames), "{wide_bar} {pos}/{len} {msg}"),
            frames,
            drawn: Cell::new(Instant::now()),
        }
    }

    pub(crate) fn frame(&self, report: &Report, entities: usize) {
        if self.drawn.get().elapsed() < EVERY {
            return;
        }
        self.drawn.set(Instant::now());
        let frames = report.frames();
        self.bar.set(frames, || {
            let counts = match self.bar.is_shown() {
                true => String::new(),
                false => format!("{frames} of {} frames: ", self.frames),
            };
            format!(
                "{counts}{entities} alive, {:.2} ms a frame, {:.0} creates/s",
                report.last_milliseconds(),
                report.creates_a_second()
            )
        });
    }
}
