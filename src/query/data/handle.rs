//! `Entity`: the handles themselves.

use crate::archetype::Lists;
use crate::entity::Entity;
use crate::fragment::FragmentRegistry;
use crate::query::data::kept::kept_as_address;
use crate::query::data::{QueryData, ReadOnly, Sealed};
use crate::query::{ChunkView, QueryError, Requirements};

impl Sealed for Entity {}

// SAFETY: lends handles, which change only through `&mut` of the world.
unsafe impl QueryData for Entity {
    type Item<'w> = Entity;
    type Slices<'w> = &'w [Entity];
    type Ids = ();
    type Cursors<'a> = ();
    type Columns = ();
    type Fetch<'w> = *const Entity;
    kept_as_address!(Entity);

    fn require(_: &FragmentRegistry, requirements: &mut Requirements) -> Result<(), QueryError> {
        requirements.every();
        Ok(())
    }

    fn cursors<'a>((): &(), _: Lists<'a>) {}

    #[inline(always)]
    fn columns((): &mut (), _: u32) -> Option<()> {
        Some(())
    }

    #[inline(always)]
    unsafe fn take_columns((): &mut ()) {}

    #[inline(always)]
    fn place<'w>((): (), chunk: ChunkView<'w>) -> *const Entity {
        chunk.chunk.handles()
    }

    #[inline(always)]
    fn skip<'w>(handles: Self::Fetch<'w>, rows: usize) -> Self::Fetch<'w> {
        handles.wrapping_add(rows)
    }

    #[inline(always)]
    unsafe fn item<'w>(handles: Self::Fetch<'w>, row: usize) -> Self::Item<'w> {
        // SAFETY: the caller's.
        unsafe { *handles.add(row) }
    }

    #[inline(always)]
    unsafe fn slices<'w>(handles: *const Entity, len: usize) -> &'w [Entity] {
        // SAFETY: the caller's.
        unsafe { core::slice::from_raw_parts(handles, len) }
    }

    #[inline(always)]
    fn fetch_of<'w>(slices: Self::Slices<'w>) -> Self::Fetch<'w> {
        slices.as_ptr()
    }
}
// SAFETY: reads.
unsafe impl ReadOnly for Entity {}
