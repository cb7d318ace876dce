//! The arguments of `megachunk bench`.

use std::path::PathBuf;
use std::str::FromStr;
use std::thread;
use std::time::Duration;

use regex_lite::Regex;

use crate::cli::measure::Effort;
use crate::cli::report::Section;

/// Measure every allocator on every workload, side by side.
///
/// All contenders do equal work in one process, in turn; each figure is the median of the
/// repetitions. Ends in a table and a report, also if it is interrupted (Ctrl-C, SIGTERM): then of the
/// rows that were measured.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Measure less often and for less long: the whole run in less than 40 seconds on an idle machine with two cores.
    #[arg(long)]
    pub quick: bool,

    /// Only the rows whose name matches this regular expression, as `pair` or `^larson$`.
    #[arg(long, value_name = "REGEX")]
    pub filter: Option<Regex>,

    /// Numbers of threads: `4` for 1 to 4, a list as `1,2,8`, or `8,` for 8 alone. Else 1, 2, 3, 4, 8, 16 … up to
    /// the machine's processors.
    #[arg(long, value_name = "N")]
    pub threads: Option<Threads>,

    /// Repetitions of each figure [default: 9; 4 with --quick].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub reps: Option<u16>,

    /// Only these contenders, as `naive,bitmask`. `megachunk` is this crate's own in every section: of ids, `bitmask`.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = trimmed)]
    pub contenders: Vec<String>,

    /// Replay this trace too (`-`: from standard input), besides those that the program carries; may be repeated. One
    /// whose name is taken gets a number: `gcc-2`.
    #[arg(long, value_name = "FILE")]
    pub trace: Vec<PathBuf>,

    /// Write the figures to this file as JSON (`-`: standard output).
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the report, a page with plots, to this file (`/dev/null`: to none).
    #[arg(long, value_name = "FILE", default_value = "bench-report.html")]
    pub html: PathBuf,

    /// Show the figures as lines and not as a table, as is done where a table is wider than the terminal.
    #[arg(long)]
    pub plain: bool,

    /// Only list the rows and the contenders.
    #[arg(long)]
    pub list: bool,
}

impl Args {
    /// The numbers of threads to measure on, ascending.
    #[must_use]
    pub fn thread_counts(&self) -> Vec<usize> {
        match &self.threads {
            Some(Threads(counts)) => counts.clone(),
            None => up_to(thread::available_parallelism().map_or(1, usize::from)),
        }
    }

    /// Whether the row called `name` is wanted.
    #[must_use]
    pub fn wants(&self, name: &str) -> bool {
        self.filter
            .as_ref()
            .is_none_or(|filter| filter.is_match(name))
    }

    /// Whether the filter names `family` outright, and does not just let it through.
    #[must_use]
    pub fn asks_for(&self, family: &str) -> bool {
        let filter = self.filter.as_ref();
        filter.is_some_and(|filter| filter.as_str().contains(family))
    }

    /// Whether the contender called `name` is wanted.
    #[must_use]
    pub fn wants_contender(&self, name: &str) -> bool {
        let is_own = name == Section::Ids.product();
        self.contenders.is_empty()
            || (self.contenders.iter())
                .any(|wanted| wanted == name || is_own && wanted == "megachunk")
    }

    /// How much is done for one figure.
    #[must_use]
    pub fn effort(&self) -> Effort {
        let (repetitions, target, retries) = if self.quick {
            (4, Duration::from_millis(3), 0)
        } else {
            (9, Duration::from_millis(12), 2)
        };
        Effort {
            repetitions: self.reps.map_or(repetitions, usize::from),
            target,
            retries,
        }
    }
}

/// All numbers up to four, then their doubles, and the last.
fn up_to(cores: usize) -> Vec<usize> {
    let mut counts: Vec<usize> = (1..=cores.min(4)).collect();
    let mut next = 8;
    while next < cores {
        counts.push(next);
        next *= 2;
    }
    if cores > 4 {
        counts.push(cores);
    }
    counts
}

/// Numbers of threads, as an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Threads(Vec<usize>);

impl Threads {
    /// All numbers up to this one.
    pub(super) fn up_to(most: usize) -> Self {
        Self((1..=most).collect())
    }
}

/// A value without the blanks round it.
fn trimmed(text: &str) -> Result<String, core::convert::Infallible> {
    Ok(text.trim().to_owned())
}

/// More threads than this are a slip of the finger.
const MOST_THREADS: usize = 1_024;

/// Why an argument is no number of threads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "threads are a number from 1 to {MOST_THREADS}, or several with commas between them (`8,` is 8 alone)"
)]
pub struct BadThreads;

impl FromStr for Threads {
    type Err = BadThreads;

    fn from_str(text: &str) -> Result<Self, BadThreads> {
        let number = |text: &str| match text.trim().parse() {
            Ok(number @ 1..=MOST_THREADS) => Ok(number),
            _ => Err(BadThreads),
        };
        if !text.contains(',') {
            return Ok(Self::up_to(number(text)?));
        }
        // So that one number can be a list.
        let list = text.trim_end().strip_suffix(',').unwrap_or(text);
        let mut counts = list.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
        counts.sort_unstable();
        counts.dedup();
        Ok(Self(counts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_of_threads_means_all_up_to_it() {
        assert_eq!("3".parse(), Ok(Threads(vec![1, 2, 3])));
        assert_eq!("8,1, 2,8".parse(), Ok(Threads(vec![1, 2, 8])));
        assert_eq!("8,".parse(), Ok(Threads(vec![8])));
        for bad in [",", "8,,", "0", "", "two", "1,,2", "-1", "1025"] {
            assert_eq!(bad.parse::<Threads>(), Err(BadThreads), "{bad}");
        }
    }

    #[test]
    fn megachunk_is_this_crates_own_in_every_section() {
        use clap::{Args as _, FromArgMatches};
        let command = Args::augment_args(clap::Command::new("bench"));
        let matches = command.get_matches_from(["bench", "--contenders", "naive, megachunk"]);
        let args = Args::from_arg_matches(&matches).unwrap();
        for name in ["naive", "bitmask", "megachunk"] {
            assert!(args.wants_contender(name), "{name}");
        }
        for name in ["busy_block", "bitmask_session", "megachunk_dots"] {
            assert!(!args.wants_contender(name), "{name}");
        }
    }

    #[test]
    fn large_machines_are_measured_at_doubles() {
        assert_eq!(up_to(1), [1]);
        assert_eq!(up_to(2), [1, 2]);
        assert_eq!(up_to(6), [1, 2, 3, 4, 6]);
        assert_eq!(up_to(24), [1, 2, 3, 4, 8, 16, 24]);
    }
}
