//! `Child`: a command that runs, and all that it has started, which end together.
//!
//! Cargo starts tests, and these start others. On Unix all of them are one process group, apart from this program's: a
//! Ctrl-C comes to this program alone, and it ends them. What must hold there: after [`Child::end`] or [`kill_running`] none of
//! them is left; nor when a [`Child`] is dropped. (Who kills this program by a signal that none can handle leaves them.) Elsewhere a
//! Ctrl-C comes to all of them, and only the command itself is ended from here.

use std::io;
use std::process::{Command, ExitStatus};
use std::sync::{Mutex, PoisonError};

/// A command that runs.
#[derive(Debug)]
pub(super) struct Child(pub(super) std::process::Child);

/// The process group of the child that runs now; 0: none does.
static RUNNING: Mutex<i32> = Mutex::new(0);

impl Child {
    /// Starts `command`.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        // So that who ends everything at once does not come between the two.
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let child = command.spawn()?;
        *running = child.id() as i32;
        Ok(Self(child))
    }

    /// How it has ended, if it has.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let status = self.0.try_wait()?;
        if status.is_some() {
            // The number may soon be another's.
            *running = 0;
        }
        Ok(status)
    }

    /// Asks all of them to end, where a process can be asked.
    pub(super) fn ask_to_end(&self) {
        signal(TERMINATE);
    }

    /// Ends all of them. (The first is waited for last: until then the group's number is nobody else's.)
    pub(super) fn end(&mut self) {
        if self.ended().is_ok_and(|status| status.is_some()) {
            return;
        }
        signal(KILL);
        let _ = self.0.kill();
        // Before it is waited for: then the number may soon be another's.
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = 0;
        let _ = self.0.wait();
    }
}

impl Drop for Child {
    /// Also if this program panics.
    fn drop(&mut self) {
        self.end();
    }
}

/// Kills whatever runs: the program ends at once.
pub(super) fn kill_running() {
    signal(KILL);
}

const TERMINATE: i32 = 15;
const KILL: i32 = 9;

/// Sends the group that runs, if one does, a signal; the numbers are the same on every Unix.
#[cfg(unix)]
fn signal(number: i32) {
    use core::ffi::c_int;
    unsafe extern "C" {
        /// C, `signal.h`: a negative process is a group.
        fn kill(process: c_int, number: c_int) -> c_int;
    }
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if *running > 0 {
        // SAFETY: it takes two numbers. The group is that of a child that nobody has waited for.
        unsafe { kill(-*running, number) };
    }
}

#[cfg(not(unix))]
fn signal(_: i32) {}
