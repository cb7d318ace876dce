//! `SeesChunk` and `RunFilter`: whether a run, or a change, sees a chunk.

use core::marker::PhantomData;
use core::mem;

use crate::query::ChunkView;

/// Decides whether a run sees a chunk.
pub(super) type SeesChunk<'q> = Box<dyn Fn(&ChunkView<'_>) -> bool + Send + Sync + 'q>;

/// Sees what both see; `filter` is asked only of what `before` sees.
pub(super) fn and<'q>(
    before: Option<SeesChunk<'q>>,
    filter: impl Fn(&ChunkView<'_>) -> bool + Send + Sync + 'q,
) -> SeesChunk<'q> {
    match before {
        None => Box::new(filter),
        Some(before) => Box::new(move |chunk| before(chunk) && filter(chunk)),
    }
}

/// The same, for a run that may still be there when what the filter looks at, and the world, are not: whoever does not use a
/// run any more need not drop it before the world is changed.
///
/// Must hold: to drop it looks at nothing that is lent for `'q`.
pub(super) struct RunFilter<'q> {
    /// For `'q`, whatever it says.
    filter: SeesChunk<'static>,
    lent: PhantomData<&'q ()>,
}

impl<'q> RunFilter<'q> {
    fn new(filter: impl Fn(&ChunkView<'_>) -> bool + Copy + Send + Sync + 'q) -> Self {
        // SAFETY: what is `Copy` has no `drop`.
        unsafe { Self::of(Box::new(filter)) }
    }

    /// # Safety
    /// To drop `filter` looks at nothing that is lent for `'q`.
    unsafe fn of(filter: SeesChunk<'q>) -> Self {
        // SAFETY: only the lifetime of the trait object changes. It is called by way of `get`, while `'q` lasts; what becomes of
        // it later looks at nothing of that, by the caller's word.
        let filter = unsafe { mem::transmute::<SeesChunk<'q>, SeesChunk<'static>>(filter) };
        Self {
            filter,
            lent: PhantomData,
        }
    }

    /// Sees what both see, as [`and`].
    pub(super) fn and(
        before: Option<Self>,
        filter: impl Fn(&ChunkView<'_>) -> bool + Copy + Send + Sync + 'q,
    ) -> Self {
        match before {
            None => Self::new(filter),
            Some(Self { filter: before, .. }) => {
                // SAFETY: what is `Copy` has no `drop`, and to drop the one before looks at nothing either.
                unsafe { Self::of(Box::new(move |chunk| before(chunk) && filter(chunk))) }
            }
        }
    }

    /// The same for another run. An allocation.
    pub(super) fn reborrow(&self) -> RunFilter<'_> {
        let filter = self.get();
        RunFilter::new(move |chunk| filter(chunk))
    }

    #[inline]
    pub(super) fn get(&self) -> &(dyn Fn(&ChunkView<'_>) -> bool + Send + Sync + 'q) {
        &*self.filter
    }
}
