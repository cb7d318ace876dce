//! `Batch`: the entities that one call has created.

use smallvec::SmallVec;

use crate::archetype::{Row, Rows};
use crate::entity::Entity;
use crate::world::World;
use crate::world::create::Handles;

/// The entities that one call has created, in order. Names only: it keeps nothing alive. By default there are none.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The identity of the world that they were created in.
    pub(super) world: u64,
    pub(super) archetype: u32,
    /// One, as a rule: then it takes no memory of the heap.
    pub(super) spans: SmallVec<[Span; 1]>,
}

/// Neighbouring rows, or single entities.
#[derive(Clone, Debug)]
pub(super) enum Span {
    Rows { chunk: u32, first: u32, count: u32 },
    Entities(Vec<Entity>),
}

impl Span {
    /// So many rows from one on.
    #[inline]
    pub(super) fn of(Row { chunk, row: first }: Row, count: u32) -> Self {
        Self::Rows {
            chunk,
            first,
            count,
        }
    }
}

impl Batch {
    /// Rows of an archetype, in order.
    pub(in crate::world) fn of_rows(
        world: u64,
        archetype: u32,
        rows: impl Iterator<Item = Rows>,
    ) -> Self {
        let spans = rows.map(
            |Rows {
                 chunk,
                 first,
                 count,
             }| Span::of(Row { chunk, row: first }, count),
        );
        Self {
            world,
            archetype,
            spans: spans.collect(),
        }
    }

    /// How many entities were created.
    #[must_use]
    pub fn len(&self) -> usize {
        let lengths = self.spans.iter().map(|span| match span {
            Span::Rows { count, .. } => *count as usize,
            Span::Entities(entities) => entities.len(),
        });
        lengths.sum()
    }

    /// Whether none was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The handles, in the order of the bundles. Ask before the world changes again: it reads them from
    /// the rows where they were created. Where entities of this composition have been destroyed or moved since, that is no
    /// error: it gives whoever lies in these rows now, and none of those that lie side by side in a chunk if some of
    /// their rows are gone. Another world has none of them. O(chunks that they lie in), and the handles.
    pub fn iter<'w>(&'w self, world: &'w World) -> impl ExactSizeIterator<Item = Entity> + 'w {
        Handles::new(self.slices(world))
    }

    /// The handles as a list, which is asked for as [`iter`](Self::iter) is, and outlives the world's next change.
    /// O(entities).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ants = world.create_batch((0..1_000_u32).map(|n| (n,)))?.to_vec(&world);
    /// world.destroy(ants[0])?;
    /// assert_eq!(world.get::<u32>(ants[999])?, &999);
    /// # Ok::<(), WorldError>(())
    /// ```
    #[must_use]
    pub fn to_vec(&self, world: &World) -> Vec<Entity> {
        Handles::new(self.slices(world)).into_vec()
    }

    /// The same, as many neighbours at a time as there are.
    pub(crate) fn slices<'w>(
        &'w self,
        world: &'w World,
    ) -> impl Iterator<Item = &'w [Entity]> + Clone + 'w {
        let archetype = world.archetypes.get(self.archetype as usize);
        let is_its_own = self.world == world.identity();
        let spans = if is_its_own { &self.spans[..] } else { &[] };
        spans.iter().map(move |span| -> &'w [Entity] {
            match span {
                Span::Entities(entities) => entities,
                &Span::Rows {
                    chunk,
                    first,
                    count,
                } => {
                    let chunk = archetype.and_then(|data| data.chunks.get(chunk as usize));
                    let rows = first as usize..(first + count) as usize;
                    chunk.and_then(|c| c.entities().get(rows)).unwrap_or(&[])
                }
            }
        })
    }
}
