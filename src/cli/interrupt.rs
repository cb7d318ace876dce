//! `Interrupt`: whoever ends a run early gets what was found out until then.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::error::INTERRUPTED;
use super::output::tell;

/// Whether the run is to end: the user has pressed Ctrl-C, or somebody has asked the process to end.
#[derive(Debug)]
pub struct Interrupt(());

static ASKED: OnceLock<Instant> = OnceLock::new();

/// What comes so soon after the first is the same wish: `timeout` sends its signal to the program and to its group.
const SAME: Duration = Duration::from_millis(500);

impl Interrupt {
    /// From now on the first Ctrl-C (on Unix also SIGTERM, and the terminal's end) is a wish, and `promise`
    /// says what becomes of it; the second, half a second later or more, ends the program. (Also where Ctrl-C was ignored, as by
    /// a shell that runs the program in the background: who sends it means it. Under `nohup` the
    /// terminal's end stays ignored.) Where the system refuses, the first does what it always did.
    #[must_use]
    pub fn listen(promise: &'static str) -> Self {
        Self::listen_with(promise, || {})
    }

    /// The same; before the second ends the program, `at_once` is done.
    #[must_use]
    pub(super) fn listen_with(promise: &'static str, at_once: fn()) -> Self {
        static LISTENS: OnceLock<()> = OnceLock::new();
        LISTENS.get_or_init(|| {
            keeping_nohup(|| {
                let set = ctrlc::set_handler(move || {
                    let now = Instant::now();
                    let first = *ASKED.get_or_init(|| now);
                    if first == now {
                        tell(&format!("\n{promise}; once more: at once, with nothing\n"));
                    } else if now - first > SAME {
                        at_once();
                        std::process::exit(INTERRUPTED.into());
                    }
                });
                set.is_ok()
            });
        });
        Self(())
    }

    /// Whether somebody asked.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        ASKED.get().is_some()
    }
}

/// Does `work`, which says whether it has set what the end of the terminal does; if that was ignored before, it is
/// afterwards.
#[cfg(unix)]
fn keeping_nohup(work: impl FnOnce() -> bool) {
    use core::ffi::c_int;
    /// The same numbers on every Unix.
    const SIGHUP: c_int = 1;
    const IGNORE: usize = 1;
    unsafe extern "C" {
        /// C, `signal.h`: gives what stood there before.
        fn signal(number: c_int, handler: usize) -> usize;
    }
    // SAFETY: a signal that is ignored runs no code.
    let before = unsafe { signal(SIGHUP, IGNORE) };
    let is_set = work();
    if before == IGNORE || !is_set {
        // SAFETY: what stood there.
        unsafe { signal(SIGHUP, before) };
    }
}

#[cfg(not(unix))]
fn keeping_nohup(work: impl FnOnce() -> bool) {
    work();
}
