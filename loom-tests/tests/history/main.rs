//! The history check: random concurrent histories are what the documentation allows.
//!
//! Prints `histories <allocator> of=<entities|chunks> checked=<n> seed=<s>`. `MEGACHUNK_HISTORIES` sets how
//! many (10,000 by default; of chunks a part of them, because each takes longer). A failure prints the whole history and its seed; with `MEGACHUNK_HISTORY_SEED` set
//! to it, the program of that seed alone is run so often. (The seed decides the program, not the
//! interleaving; most failing programs fail again within a few hundred runs.)
#![cfg(not(loom))]

mod chunks;
mod entities;
mod wrong_chunks;

use std::time::{SystemTime, UNIX_EPOCH};

use megachunk_loom_tests::say;

/// Which programs a run runs.
struct Plan {
    histories: u64,
    first_seed: u64,
    /// One program, again and again.
    repeat: bool,
}

impl Plan {
    fn from_environment(histories: u64) -> Self {
        let number = |name: &str| {
            let value = std::env::var(name).ok()?;
            Some(
                value
                    .parse()
                    .unwrap_or_else(|_| panic!("{name} is a number, not `{value}`")),
            )
        };
        let seed = number("MEGACHUNK_HISTORY_SEED");
        let clock = || {
            let now = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .expect("the clock is set");
            u64::from(now.subsec_nanos()) << 32 ^ now.as_secs()
        };
        Self {
            histories: number("MEGACHUNK_HISTORIES").unwrap_or(histories),
            first_seed: seed.unwrap_or_else(clock),
            repeat: seed.is_some(),
        }
    }

    /// One in `parts` of the programs, where each takes longer; a single one is repeated as often as asked for.
    fn one_in(mut self, parts: u64) -> Self {
        if !self.repeat {
            self.histories = self.histories.div_ceil(parts);
        }
        self
    }

    /// As many programs as it takes to find what is wrong, within reason.
    fn until_found() -> Self {
        let plan = Self::from_environment(0);
        Self {
            histories: 100_000,
            repeat: false,
            ..plan
        }
    }

    /// Runs the plan's programs, each decided by a seed; the first violation, in words.
    fn first_violation(
        &self,
        name: &str,
        mut violation_of: impl FnMut(u64) -> Option<String>,
    ) -> Option<String> {
        for number in 0..self.histories {
            let repeated = if self.repeat { 0 } else { number };
            let seed = self.first_seed.wrapping_add(repeated);
            let named = format!("{name}, history {number}, MEGACHUNK_HISTORY_SEED={seed}");
            let running = Running(&named);
            let violation = violation_of(seed);
            drop(running);
            if let Some(violation) = violation {
                return Some(format!("{named}\n{violation}"));
            }
        }
        None
    }

    /// None of the plan's programs runs into a violation.
    fn expect_none(&self, name: &str, of: &str, violation_of: impl FnMut(u64) -> Option<String>) {
        if let Some(violation) = self.first_violation(name, violation_of) {
            panic!("{violation}");
        }
        let (histories, seed) = (self.histories, self.first_seed);
        say(&format!(
            "histories {name} of={of} checked={histories} seed={seed}"
        ));
    }
}

/// Says which history ran, if it panics.
struct Running<'a>(&'a str);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            say(self.0);
        }
    }
}
