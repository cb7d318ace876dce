//! `Has`, `HasRole`: whether a fragment is there.

use core::convert::Infallible;
use core::marker::PhantomData;

use crate::archetype::{Cursor, Lists};
use crate::fragment::{Fragment, FragmentId, FragmentRegistry, FragmentRole, NoFragment};
use crate::query::data::kept::kept_as_option;
use crate::query::data::{QueryData, ReadOnly, Sealed};
use crate::query::{Access, ChunkView, QueryError, Requirements};

// Neither is `Sync`, and so no fragment.

/// Query data that says whether an entity has a fragment or tag, without asking for it. In another role than that:
/// [`HasRole`].
#[derive(Debug)]
pub struct Has<T>(PhantomData<fn() -> T>, NoFragment, Infallible);

/// Query data that says whether an entity has a type in a [role](FragmentRole), without asking for it:
/// `HasRole<Shared<T>>`, `HasRole<ConstShared<T>>`, `HasRole<PerChunk<T>>`.
///
/// ```
/// use megachunk::prelude::*;
///
/// #[derive(PartialEq, Eq, Hash)]
/// struct Team(u8);
///
/// let mut world = World::new();
/// world.create((1_u32,).shared(Team(1)))?;
/// world.create((2_u32,))?;
/// let of_team = world.query::<(&u32, HasRole<Shared<Team>>, Has<Team>), ()>()?;
/// let of_team: Vec<_> = of_team.into_iter().map(|(n, shared, as_fragment)| (*n, shared, as_fragment)).collect();
/// assert!(of_team.contains(&(1, true, false)) && of_team.contains(&(2, false, false)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct HasRole<R>(PhantomData<fn() -> R>, NoFragment, Infallible);

macro_rules! has {
    ($has:ident, $type:ident: $bound:path, $register:expr) => {
        impl<$type: $bound> Sealed for $has<$type> {}

        // SAFETY: lends nothing.
        unsafe impl<$type: $bound> QueryData for $has<$type> {
            type Item<'w> = bool;
            type Slices<'w> = bool;
            type Ids = FragmentId;
            type Cursors<'a> = Cursor<'a>;
            type Columns = bool;
            type Fetch<'w> = bool;
            kept_as_option!(bool);

            fn require(
                registry: &FragmentRegistry,
                requirements: &mut Requirements,
            ) -> Result<FragmentId, QueryError> {
                let id = $register(registry)?.id();
                requirements.optional(id, Access::None);
                requirements.every();
                Ok(id)
            }

            fn cursors<'a>(&id: &FragmentId, lists: Lists<'a>) -> Cursor<'a> {
                lists.cursor(id)
            }

            #[inline(always)]
            fn columns(cursor: &mut Cursor<'_>, archetype: u32) -> Option<bool> {
                Some(cursor.find(archetype).is_some())
            }

            #[inline(always)]
            unsafe fn take_columns(cursor: &mut Cursor<'_>) -> bool {
                // SAFETY: the caller's.
                let _ = unsafe { cursor.take() };
                true
            }

            #[inline(always)]
            fn place<'w>(has: bool, _: ChunkView<'w>) -> bool {
                has
            }

            #[inline(always)]
            fn skip<'w>(has: Self::Fetch<'w>, _: usize) -> Self::Fetch<'w> {
                has
            }

            #[inline(always)]
            unsafe fn item<'w>(has: Self::Fetch<'w>, _: usize) -> Self::Item<'w> {
                has
            }

            #[inline(always)]
            unsafe fn slices<'w>(has: Self::Fetch<'w>, _: usize) -> Self::Slices<'w> {
                has
            }

            #[inline(always)]
            fn fetch_of<'w>(has: Self::Slices<'w>) -> Self::Fetch<'w> {
                has
            }
        }
        // SAFETY: reads nothing.
        unsafe impl<$type: $bound> ReadOnly for $has<$type> {}
    };
}

has!(Has, T: Fragment, FragmentRegistry::register_met::<T>);
has!(HasRole, R: FragmentRole, FragmentRegistry::register::<R>);
