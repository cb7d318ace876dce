//! The memory room: address space that costs nothing until it is touched.
//!
//! The entity index and the mega-chunk allocator both want large tables of which most is never
//! used. A [`Reservation`] is a range of addresses that reads as zero and gets its pages on first
//! touch; a `Table` is a reservation seen as an array of words for which all-zero is a valid
//! value. Under loom a table is a boxed slice.

#[cfg(miri)]
mod heap_reservation;
#[cfg(not(loom))]
mod prefetch;
#[cfg(not(any(loom, miri)))]
mod reservation;
#[cfg(not(loom))]
pub(crate) mod stream;
mod table;

#[cfg(miri)]
pub use heap_reservation::Reservation;
#[cfg(not(loom))]
pub(crate) use prefetch::prefetch;
#[cfg(not(any(loom, miri)))]
pub use reservation::Reservation;
pub(crate) use table::{Table, ZeroFilled};

/// Bytes of a cache line on the machines that this is tuned for. Where it is another number, only speed differs.
#[cfg(not(loom))]
pub(crate) const LINE: usize = 64;

/// Bytes of a huge page on the machines that this is tuned for: 2 MiB. Where the system has
/// others, only speed differs.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;
