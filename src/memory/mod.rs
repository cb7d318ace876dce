//! The memory room: address space that costs nothing until it is touched. It is public for the models and benches of this
//! repository, and [may change in any version](crate#what-stays).
//!
//! The entity index and the mega-chunk allocator both want large tables of which most is never
//! used. A [`Reservation`] is a range of addresses that reads as zero and gets its pages on first
//! touch; a `Table` is a reservation seen as an array of words for which all-zero is a valid
//! value. Under loom a table is a boxed slice.
//!
//! Windows accounts memory when it is committed, and what is not committed may not be touched. So what is large is
//! committed part by part, by whoever uses a part first: chunks a mega-chunk at a time, slots of the index a block at
//! a time; smaller tables are committed whole. `COMMITS` says whether it matters.

#[cfg(not(loom))]
mod pages;
#[cfg(not(loom))]
mod prefetch;
#[cfg(not(loom))]
mod reservation;
#[cfg(not(loom))]
pub(crate) mod stream;
mod table;

#[cfg(not(loom))]
pub(crate) use prefetch::prefetch;
#[cfg(not(loom))]
pub use reservation::Reservation;
pub(crate) use table::Table;

/// Bytes of a cache line on the machines that this is tuned for. Where it is another number, only speed differs.
#[cfg(not(loom))]
pub(crate) const LINE: usize = 64;

/// Whether what is reserved has to be committed before it is touched.
///
/// Only Windows insists. Debug builds keep to it on every system, and assert it, so that tests anywhere find who
/// does not; models have no reservations.
pub(crate) const COMMITS: bool = cfg!(any(windows, debug_assertions)) && !cfg!(loom);

/// Bytes of a huge page on the machines that this is tuned for: 2 MiB. Where the system has
/// others, only speed differs.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;
