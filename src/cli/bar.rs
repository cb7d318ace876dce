//! `Bar`: how far a run is, as a line that changes on a terminal. What is told meanwhile stands above it.
//!
//! There is one at a time. Where it cannot be shown (no terminal, or one whose `TERM` is unset or `dumb`) there is none:
//! then whoever has it says how far it is in lines.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::output::tell;

/// A line that changes, on standard error.
#[derive(Debug)]
pub struct Bar {
    shown: Option<ProgressBar>,
    /// When the last line was told in its place.
    told: Cell<Instant>,
    /// When it was last drawn anew for no other reason than time.
    ticked: Cell<Instant>,
}

/// The one that is shown now.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Between two lines in place of a bar.
const EVERY: Duration = Duration::from_secs(10);

const SECOND: Duration = Duration::from_secs(1);

impl Bar {
    /// A bar of so many steps, or a spinner, as indicatif's `template` draws it.
    #[must_use]
    pub fn start(steps: Option<u64>, template: &str) -> Self {
        let bar = steps.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        let shown = (!bar.is_hidden()).then_some(bar);
        *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = shown.clone();
        Self {
            shown,
            told: Cell::new(Instant::now()),
            ticked: Cell::new(Instant::now()),
        }
    }

    /// Whether somebody sees it.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.shown.is_some()
    }

    /// So many steps are done, and this is said beside them. Where there is no bar it is a line of its own, every ten
    /// seconds.
    pub fn set(&self, done: u64, message: impl FnOnce() -> String) {
        match &self.shown {
            Some(bar) => {
                bar.set_position(done);
                bar.set_message(message());
            }
            None if self.told.get().elapsed() >= EVERY => {
                self.told.set(Instant::now());
                tell(&format!("{}\n", message()));
            }
            None => {}
        }
    }

    /// This is said beside the steps, where there is a bar.
    pub(super) fn set_message(&self, message: impl FnOnce() -> String) {
        if let Some(bar) = &self.shown {
            bar.set_message(message());
        }
    }

    /// One step more is done.
    pub(super) fn advance(&self) {
        if let Some(bar) = &self.shown {
            bar.inc(1);
        }
    }

    /// Draws it anew if a second has passed: what moves more often draws eyes, and what reads a terminal aloud has
    /// something to say each time.
    pub(super) fn tick(&self) {
        if let Some(bar) = &self.shown
            && self.ticked.get().elapsed() >= SECOND
        {
            self.ticked.set(Instant::now());
            bar.tick();
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.shown {
            *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = None;
            bar.finish_and_clear();
        }
    }
}

/// Does what writes to standard error while no bar stands there.
pub(super) fn above<R>(write: impl FnOnce() -> R) -> R {
    let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match shown {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}
