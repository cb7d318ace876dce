//! `Precedence`: in which order what several recorders left is taken.

/// Where a recorder, or a sender of signals, comes among others. Compared from the first field on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Precedence {
    pub(crate) kind: Kind,
    /// The place of its processor in the order of a phase; [`OUTSIDE`](Self::OUTSIDE) of processors.
    pub(crate) rank: u32,
    /// The sort key that it was given.
    pub(crate) key: u64,
    /// How many were opened before it. Two never have the same, so that what follows decides nothing.
    pub(crate) number: u64,
    /// By which processor it was opened.
    pub(crate) source: Source,
}

/// A processor of a plan that was made for a schedule once: who is to be told of what it has recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Source {
    /// The plan's number; 0 of nobody who is a processor.
    pub(crate) plan: u32,
    /// Its place in the plan's order.
    pub(crate) rank: u32,
}

impl Source {
    pub(crate) const OUTSIDE: Self = Self { plan: 0, rank: 0 };
}

/// Which of them come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// What has waited for its entity, and was met before all that its flush has left.
    Carried,
    /// What a flush has left: it comes before all that was recorded since.
    Left,
    Fresh,
}

impl Precedence {
    /// The rank of what no processor has opened: after all that they have.
    pub(crate) const OUTSIDE: u32 = u32::MAX;
    /// The sort key of who is given none: in the middle.
    pub(crate) const MIDDLE: u64 = 1 << 63;

    /// Of somebody who opens now.
    #[inline(always)]
    pub(crate) fn new(rank: u32, key: u64, number: u64) -> Self {
        Self {
            kind: Kind::Fresh,
            rank,
            key,
            number,
            source: Source::OUTSIDE,
        }
    }
}
