//! What the criterion benches and the program of this package share: who takes part, and how
//! criterion is told a time that workers took.

mod course;
#[cfg(feature = "peers")]
mod peers;
mod user_program;

pub use course::{Course, thread_counts};
use megachunk::cli::workload::Registry;
pub use user_program::subcommand as program;

/// Everybody in megachunk and, with the feature `peers`, other crates' allocators.
#[must_use]
pub fn registry() -> Registry {
    #[cfg_attr(not(feature = "peers"), expect(unused_mut, reason = "nobody is added"))]
    let mut registry = Registry::standard();
    #[cfg(feature = "peers")]
    peers::add_to(&mut registry);
    registry
}
