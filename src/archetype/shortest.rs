//! `Shortest`: the shortest chunks of a composition, and what lies where in them.

use crate::archetype::layout::{ChunkLayout, Content};
use crate::archetype::stagger::STAGGER;
use crate::chunk::{CHUNK_BYTES, MEGACHUNK_CHUNKS};
use crate::fragment::FragmentError;

/// The shortest chunks of a composition.
pub(crate) struct Shortest {
    /// Chunks of 16 KiB in one.
    pub(crate) run: usize,
    /// They begin some lines behind their first byte, not all as many: see [`STAGGER`].
    pub(crate) staggered: bool,
    pub(crate) layout: ChunkLayout,
}

impl Shortest {
    /// Those of `chunks` times 16 KiB at least in which an entity with these values, which have arrays, has room by
    /// what `lay_out` makes of so many bytes.
    ///
    /// # Errors
    /// That of `lay_out`, in the longest chunks there are.
    pub(crate) fn of(
        chunks: usize,
        staggered: bool,
        contents: &[Content<'_>],
        lay_out: impl Fn(usize) -> Result<ChunkLayout, FragmentError>,
    ) -> Result<Self, FragmentError> {
        let mut stagger = if staggered { STAGGER } else { 0 };
        let mut run = chunks.max(ChunkLayout::chunks_for(contents));
        let layout = loop {
            match lay_out(run * CHUNK_BYTES - stagger) {
                Err(FragmentError::TooLarge { .. }) if run < MEGACHUNK_CHUNKS => run += 1,
                // The largest entities get all of it.
                Err(FragmentError::TooLarge { .. }) if stagger > 0 => stagger = 0,
                layout => break layout?,
            }
        };
        Ok(Self {
            run,
            staggered: stagger > 0,
            layout,
        })
    }
}
