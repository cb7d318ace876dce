//! `Interrupt`: whoever ends a run early gets what was measured until then.

use std::sync::OnceLock;

use crate::cli::output::tell;

/// How a process ends that was interrupted: what shells say of SIGINT.
const INTERRUPTED: i32 = 130;

/// Whether the run is to end: the user has pressed Ctrl-C.
pub(super) struct Interrupt(());

static ASKED: OnceLock<()> = OnceLock::new();

impl Interrupt {
    /// From now on the first Ctrl-C is a wish, and the second ends the program. (Also where it was ignored, as by a
    /// shell that runs the program in the background: who sends it means it.) Where the system refuses, the first does
    /// what it always did.
    pub(super) fn listen() -> Self {
        static LISTENS: OnceLock<()> = OnceLock::new();
        LISTENS.get_or_init(|| {
            let _ = ctrlc::set_handler(|| {
                if ASKED.set(()).is_err() {
                    std::process::exit(INTERRUPTED);
                }
                tell("\nends after this row, with what is measured; once more: at once, with nothing\n");
            });
        });
        Self(())
    }

    /// Whether somebody asked.
    pub(super) fn is_asked(&self) -> bool {
        ASKED.get().is_some()
    }
}
