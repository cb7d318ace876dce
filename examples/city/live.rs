//! `Live`: a line on the terminal while the city runs.

use std::cell::Cell;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::report::Report;

/// A line on the terminal: agents, frame time, creates a second. Nothing where nobody looks.
#[derive(Debug)]
pub(crate) struct Live {
    bar: ProgressBar,
    drawn: Cell<Instant>,
}

/// How often the line is written anew.
const EVERY: Duration = Duration::from_millis(100);

impl Live {
    pub(crate) fn new(frames: u64) -> Self {
        let bar = ProgressBar::new(frames);
        // It is a constant.
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}") {
            bar.set_style(style);
        }
        Self {
            bar,
            drawn: Cell::new(Instant::now()),
        }
    }

    pub(crate) fn frame(&self, report: &Report, entities: usize) {
        if self.drawn.get().elapsed() < EVERY {
            return;
        }
        self.drawn.set(Instant::now());
        self.bar.set_position(report.frames());
        self.bar.set_message(format!(
            "{entities} alive, {:.2} ms a frame, {:.0} creates/s",
            report.last_milliseconds(),
            report.creates_a_second()
        ));
    }

    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
