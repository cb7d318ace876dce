//! `ArchetypeView`: one composition of a world, and the chunks of those who have it.

use core::fmt;

use crate::archetype::Archetype;
use crate::entity::Entity;
use crate::fragment::{FragmentInfo, FragmentSet};
use crate::world::{EntityView, World};

/// One composition that a world has met, and the chunks of the entities that have exactly this: from
/// [`World::archetypes`], or [`EntityView::archetype`].
///
/// Nothing here allocates. Values are read by [queries](crate::query::DynamicQuery), or entity by entity.
#[derive(Clone, Copy)]
pub struct ArchetypeView<'w> {
    world: &'w World,
    archetype: &'w Archetype,
}

impl<'w> ArchetypeView<'w> {
    /// What its entities have, in every role, as a set. O(1).
    #[must_use]
    pub fn composition(&self) -> &'w FragmentSet {
        &self.archetype.set
    }

    /// What its entities have, in the order of the fragments' numbers. O(1) for each.
    pub fn fragments(&self) -> impl Iterator<Item = &'w FragmentInfo> + use<'w> {
        let registry = self.world.registry();
        let ids = self.archetype.ids.iter();
        ids.filter_map(|&id| registry.get(id))
    }

    /// How many entities have it. O(1).
    #[must_use]
    pub fn len(&self) -> usize {
        self.archetype.entities
    }

    /// Whether no entity has it: it is kept for those that come, until
    /// [`World::collect_archetypes`]. O(1).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.archetype.entities == 0
    }

    /// The entities of each chunk that has some, in the order in which queries walk chunks and rows; also those of which
    /// fragments are [switched off](crate::query::Enabled). O(1) for each chunk.
    pub fn chunks(&self) -> impl Iterator<Item = &'w [Entity]> + use<'w> {
        let chunks = self.archetype.chunks.iter();
        chunks
            .filter(|chunk| chunk.len > 0)
            .map(|chunk| chunk.entities())
    }
}

/// What it is made of, by names, and how many have it.
impl fmt::Debug for ArchetypeView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = self.composition().named(self.world.registry());
        f.debug_struct("ArchetypeView")
            .field("composition", &format_args!("{named}"))
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl World {
    /// The compositions that have been met, in the order in which they were, which is that of queries' walks and of
    /// [`WorldStats::archetypes`](crate::world::WorldStats::archetypes); also those that no entity has.
    /// [`collect_archetypes`](Self::collect_archetypes) takes these out, and the others move up:
    /// [`composition_version`](Self::composition_version) says whether some have come or gone. O(1) for each; it allocates
    /// nothing.
    ///
    /// So an editor lists what there is without asking for a query first:
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let _ = world.create_batch((0..100_u32).map(|n| (n,)))?;
    /// let ant = world.create((1_u32, 'a'))?;
    /// let mut listed = Vec::new();
    /// for archetype in world.archetypes() {
    ///     let names: Vec<&str> = archetype.fragments().map(|info| info.name()).collect();
    ///     listed.push((names.join(", "), archetype.len()));
    ///     let in_chunks: usize = archetype.chunks().map(|entities| entities.len()).sum();
    ///     assert_eq!(in_chunks, archetype.len());
    /// }
    /// assert_eq!(listed, [("u32".to_owned(), 100), ("u32, char".to_owned(), 1)]);
    /// assert_eq!(world.entity(ant)?.archetype().chunks().next(), Some(&[ant][..]));
    /// # Ok::<(), WorldError>(())
    /// ```
    pub fn archetypes(&self) -> impl ExactSizeIterator<Item = ArchetypeView<'_>> {
        let archetypes = self.archetypes.iter();
        archetypes.map(move |archetype| ArchetypeView {
            world: self,
            archetype,
        })
    }
}

impl<'w> EntityView<'w> {
    /// Its composition, with all who have the same: see [`World::archetypes`]. O(1).
    #[must_use]
    pub fn archetype(&self) -> ArchetypeView<'w> {
        ArchetypeView {
            world: self.world,
            archetype: &self.world.archetypes[self.archetype as usize],
        }
    }
}
