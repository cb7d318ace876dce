//! `ChunkView`: what a query shows of a chunk beside the columns it lends.

use core::fmt;

use crate::archetype::{Archetype, Chunk};
use crate::entity::Entity;
use crate::fragment::{
    ConstShared, Fragment, FragmentId, FragmentInfo, FragmentSet, PerChunk, Shared, SharedFragment,
    TypeInRole,
};
use crate::world::{Version, World};

/// A chunk: its entities, shared values, chunk fragments and versions.
#[derive(Clone, Copy)]
pub struct ChunkView<'w> {
    pub(crate) world: &'w World,
    pub(crate) archetype: &'w Archetype,
    pub(crate) chunk: &'w Chunk,
    /// The version that writes get.
    pub(crate) version: u32,
    /// The version at which the query ran before.
    pub(crate) since: u32,
}

impl fmt::Debug for ChunkView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkView")
            .field("archetype", &self.archetype.number)
            .field("position", &self.position())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl<'w> ChunkView<'w> {
    /// The entities, in the order of their rows: all of the chunk, also those that the query does not see because
    /// fragments are [switched off](crate::query::Enabled).
    #[must_use]
    pub fn entities(&self) -> &'w [Entity] {
        self.chunk.entities()
    }

    /// Where it comes in a walk over all chunks of the world: the sort key for commands that are recorded
    /// chunk by chunk, whatever thread has which: by
    /// [`par_for_each_init`](crate::query::QueryRun::par_for_each_init) or
    /// [`par_for_each_slice`](crate::query::QueryRun::par_for_each_slice).
    #[must_use]
    pub fn sort_key(&self) -> u64 {
        u64::from(self.archetype.number) << 32 | u64::from(self.position())
    }

    /// The chunk's position in its archetype.
    fn position(&self) -> u32 {
        let first: *const Chunk = self.archetype.chunks.as_ptr();
        ((core::ptr::from_ref(self.chunk).addr() - first.addr()) / size_of::<Chunk>()) as u32
    }

    /// How many entities: all of the chunk, as [`entities`](Self::entities).
    #[must_use]
    pub fn len(&self) -> usize {
        self.chunk.len as usize
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chunk.len == 0
    }

    /// Whether its entities have a type in one of its [roles](TypeInRole).
    #[must_use]
    pub fn has<R: TypeInRole>(&self) -> bool {
        let id = self.world.registry().of::<R>().map(FragmentInfo::id);
        id.is_some_and(|id| self.archetype.set.contains(id))
    }

    /// Whether its entities have a fragment, in whatever role, by its number: as
    /// [`DynamicChunk::has`](crate::query::DynamicChunk::has). O(1).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let team = world.registry().register::<Shared<&str>>()?.id();
    /// world.create((1_u8,).shared("red"))?;
    /// world.create((2_u8,))?;
    /// let mut numbers = Query::<&u8>::new(&world)?;
    /// let mut in_teams = numbers.on(&mut world).filter_chunks(move |chunk| chunk.has_dynamic(team));
    /// assert_eq!(in_teams.iter().collect::<Vec<_>>(), [&1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn has_dynamic(&self, id: FragmentId) -> bool {
        self.archetype.set.contains(id)
    }

    /// What its entities have, in every role, as a set. O(1).
    #[must_use]
    pub fn composition(&self) -> &'w FragmentSet {
        &self.archetype.set
    }

    /// The shared value of its entities.
    #[must_use]
    pub fn shared<T: SharedFragment>(&self) -> Option<&'w T> {
        self.shared_in_role::<Shared<T>, T>()
    }

    /// The const shared value of its entities.
    #[must_use]
    pub fn const_shared<T: SharedFragment>(&self) -> Option<&'w T> {
        self.shared_in_role::<ConstShared<T>, T>()
    }

    /// Whether its entities have this shared value, const or not.
    pub(crate) fn shares<T: SharedFragment>(&self, value: &T) -> bool {
        self.shared() == Some(value) || self.const_shared() == Some(value)
    }

    /// `R` is a role of `T`.
    fn shared_in_role<R: 'static, T: SharedFragment>(&self) -> Option<&'w T> {
        let id = self.world.registry().of_role::<R>()?.id();
        let at = self.archetype.shared_at(id)?;
        Some(self.shared_value(at))
    }

    pub(crate) fn shared_value<T>(&self, at: usize) -> &'w T {
        let value = self.world.shared_at(self.archetype, self.chunk, at);
        // SAFETY: callers pass the position of a shared fragment of this type; shared values do not
        // change while the world is lent.
        unsafe { &*value.cast::<T>() }
    }

    /// Its chunk fragment.
    #[must_use]
    pub fn chunk_fragment<T: Fragment>(&self) -> Option<&'w T> {
        let id = self.world.registry().of_role::<PerChunk<T>>()?.id();
        let value = self.archetype.chunk_value_of(id)?;
        // SAFETY: every chunk holds a value of this type there. Nobody has it to write: that takes `&mut` of the world, from
        // the call or for the run of a [`DynamicQuery`](crate::query::DynamicQuery), whose chunks are no `ChunkView`s. (A
        // processor, beside which others could run, gets no such run that writes chunk fragments: see
        // [`dynamic_processor`](crate::processor::dynamic_processor).)
        Some(unsafe { &*self.chunk.array(value.offset).cast::<T>() })
    }

    /// The [version](World::version) at which entities last came, went, or changed rows; a later one than that if it
    /// was more than a billion versions ago.
    #[must_use]
    pub fn order_version(&self) -> Version {
        Version::from_bits(self.world.moment(self.chunk.order_version))
    }

    /// The [version](World::version) at which a fragment was last lent for writing here, got new values, or was switched
    /// off or on; `None` for a tag that can not be switched. A later one than that if it was more than a billion
    /// versions ago.
    ///
    /// Processors that run side by side are kept apart by what their queries read, write and
    /// [watch](crate::query::Changed): of another fragment it is chance whether this counts what is written meanwhile.
    #[must_use]
    pub fn change_version<T: Fragment>(&self) -> Option<Version> {
        let id = self.world.registry().of::<T>()?.id();
        let version = self.archetype.version_of(id)?;
        let moment = self.world.moment(self.chunk.version(version as usize));
        Some(Version::from_bits(moment))
    }
}
