//! `MatchList`: the archetypes that a query has found; `Matches`, whoever has the list.
//!
//! Must hold: a match stays in the list that it was added to, which keeps what it points to; and nothing here whose types may
//! name a borrow of the world has a `Drop`, which would make that last until a run is dropped.

use core::ops::Deref;
use core::ptr::NonNull;

use crate::query::requirements::Mask;
use crate::query::{QueryData, QueryFilter};

/// An archetype that meets the requirements, and where the fragments lie in it.
pub(crate) struct Match<D: QueryData, F: QueryFilter> {
    pub(super) archetype: u32,
    pub(super) data: D::Columns,
    pub(super) filter: F::Columns,
    /// `None` where no bits decide. A thin pointer: it is rare, and a walk reads all matches. They are the list's, so that
    /// matches have no `drop`: to look at each would take a query that runs once as long as to find them.
    masks: Option<KeptMasks>,
}

/// The bits that decide about an archetype's rows.
struct Masks(Box<[Mask]>);

/// Those of a match, in the list that it is in.
#[derive(Clone, Copy)]
struct KeptMasks(NonNull<Masks>);

// SAFETY: it is used as a `&Masks` is, which can be sent, as masks are `Sync`.
unsafe impl Send for KeptMasks {}
// SAFETY: as above.
unsafe impl Sync for KeptMasks {}

/// The archetypes that meet a query's requirements, in the order of their numbers.
pub(crate) struct MatchList<D: QueryData, F: QueryFilter> {
    all: Vec<Match<D, F>>,
    /// Of those that have some. None goes before the list does.
    #[expect(clippy::vec_box, reason = "matches point to them")]
    masks: Vec<Box<Masks>>,
    /// All numbers are below it.
    end: u32,
}

/// The archetypes that match, as a run or a change has them.
pub(crate) enum Matches<'q, D: QueryData, F: QueryFilter> {
    /// A query's, which may run again, or which the world remembers.
    Lent(&'q MatchList<D, F>),
    /// Those of a query that is gone. Behind a pointer, as the others are: then nobody asks which they are.
    Own(Box<MatchList<D, F>>),
}

impl<D: QueryData, F: QueryFilter> Match<D, F> {
    /// An archetype where no bits decide.
    #[inline(always)]
    pub(super) fn new(archetype: u32, data: D::Columns, filter: F::Columns) -> Self {
        Self {
            archetype,
            data,
            filter,
            masks: None,
        }
    }

    /// The bits that decide row by row; `None` where the query sees all rows.
    #[inline(always)]
    pub(super) fn masks(&self) -> Option<&[Mask]> {
        // SAFETY: the match is in the list that keeps them, where nobody writes them.
        let masks = self.masks.map(|masks| unsafe { masks.0.as_ref() });
        masks.map(|masks| &*masks.0)
    }
}

impl<D: QueryData, F: QueryFilter> MatchList<D, F> {
    pub(super) const fn new() -> Self {
        Self {
            all: Vec::new(),
            masks: Vec::new(),
            end: 0,
        }
    }

    /// To add archetypes whose numbers are below `end`, where no bits decide, or where it is not known yet.
    pub(super) fn plain(&mut self, end: u32) -> &mut Vec<Match<D, F>> {
        self.end = self.end.max(end);
        &mut self.all
    }

    /// The archetypes' numbers are below it.
    #[inline(always)]
    pub(super) fn end(&self) -> usize {
        self.end as usize
    }

    /// Whether bits decide in some of them.
    #[inline(always)]
    pub(super) fn is_masked(&self) -> bool {
        !self.masks.is_empty()
    }

    /// Asks for the masks of the archetypes from a position on, of which nobody has asked before.
    pub(super) fn mask(&mut self, first: usize, masks: impl Fn(u32) -> Option<Box<[Mask]>>) {
        for known in &mut self.all[first..] {
            let Some(masks) = masks(known.archetype) else {
                continue;
            };
            self.masks.push(Box::new(Masks(masks)));
            let kept = self.masks.last().map(|masks| NonNull::from(&**masks));
            known.masks = kept.map(KeptMasks);
        }
    }
}

impl<D: QueryData, F: QueryFilter> Deref for MatchList<D, F> {
    type Target = [Match<D, F>];

    #[inline(always)]
    fn deref(&self) -> &[Match<D, F>] {
        &self.all
    }
}

impl<D: QueryData, F: QueryFilter> Deref for Matches<'_, D, F> {
    type Target = MatchList<D, F>;

    #[inline(always)]
    fn deref(&self) -> &MatchList<D, F> {
        match self {
            Self::Lent(list) => list,
            Self::Own(list) => list,
        }
    }
}
