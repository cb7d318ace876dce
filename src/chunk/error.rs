//! What can go wrong with chunks, as types.

use std::io;

use crate::chunk::Run;

/// Why a request for chunks, or their return, was refused. Nothing has changed then, but that a thread may have given back
/// the chunks that it kept for itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChunkError {
    /// A run of 0 or of more than 64 chunks was asked for.
    #[error("a run has 1 to 64 chunks, not {len}")]
    BadLength {
        /// The length that was asked for.
        len: usize,
    },
    /// No run of that length is free.
    #[error("{}", shortage(*len))]
    Exhausted {
        /// The length that was asked for.
        len: usize,
    },
    /// There are not [so many](crate::chunk::MegachunkAllocator::allocate_many) chunks.
    #[error("fewer than {count} chunks are free: others are in use, or kept by other threads")]
    TooFew {
        /// The chunks that were asked for.
        count: usize,
    },
    /// The system refused memory, or the [budget](crate::chunk::ChunkOptions::at_most) is used up.
    #[error("{}", refusal(*megachunk, *kind))]
    Refused {
        /// The mega-chunk that was to be committed.
        megachunk: u32,
        /// What kind of error the system gave; [`QuotaExceeded`](io::ErrorKind::QuotaExceeded): it was not asked, because of the
        /// budget.
        kind: io::ErrorKind,
    },
    /// The chunks are not in use.
    #[error("{run}: not in use")]
    NotInUse {
        /// The name as it was passed.
        run: Run,
    },
    /// The ticket was redeemed before.
    #[error("{run}: this ticket was redeemed before")]
    StaleTicket {
        /// The chunks that the ticket was for.
        run: Run,
    },
    /// The ticket is another allocator's.
    #[error("{run}: this ticket is another allocator's")]
    ForeignTicket {
        /// The chunks that the ticket was for.
        run: Run,
    },
}

/// Says why there is no memory.
fn refusal(megachunk: u32, kind: io::ErrorKind) -> String {
    match kind {
        io::ErrorKind::QuotaExceeded => {
            "as many mega-chunks have memory as may: see `ChunkOptions::at_most`".into()
        }
        kind => format!("the system refused memory for mega-chunk {megachunk}: {kind}"),
    }
}

/// Says that there is no such run.
fn shortage(len: usize) -> String {
    let all = crate::chunk::CHUNKS;
    match len {
        1 => format!("all {all} chunks of 16 KiB are in use, or kept by other threads"),
        _ => format!("no run of {len} free chunks is left, of {all} chunks of 16 KiB"),
    }
}

impl ChunkError {
    /// Whether the [budget](crate::chunk::ChunkOptions::at_most) is used up: the system was not asked.
    ///
    /// ```
    /// use megachunk::chunk::{ChunkError, ChunkOptions};
    ///
    /// let allocator = ChunkOptions::new().at_most(0).build()?;
    /// let refused = allocator.allocate().unwrap_err();
    /// assert!(refused.is_over_budget());
    /// assert!(!ChunkError::BadLength { len: 65 }.is_over_budget());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn is_over_budget(&self) -> bool {
        let quota = io::ErrorKind::QuotaExceeded;
        matches!(self, Self::Refused { kind, .. } if *kind == quota)
    }

    /// Whether a shorter run, or one that was given back meanwhile, may be had all the same.
    pub(crate) fn is_shortage(&self) -> bool {
        matches!(self, Self::Exhausted { .. } | Self::Refused { .. })
    }
}
