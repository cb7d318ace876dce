//! `QueryLookup`: a query for random access.

use core::marker::PhantomData;

use crate::archetype::{Chunk, Finder, Row};
use crate::entity::Entity;
use crate::query::masks::masked;
use crate::query::matches::Match;
use crate::query::{ChunkView, QueryData, QueryFilter, ReadOnly};
use crate::world::{World, WorldError};

/// A query on a world, for random access: from [`Query::lookup`](crate::query::Query::lookup). Where
/// the fragments lie is found for every archetype that matches, once; then O(1) an entity.
///
/// ```
/// use megachunk::prelude::*;
///
/// struct Position(f32);
/// struct Target(Entity);
///
/// let mut world = World::new();
/// let prey = world.create((Position(3.0),))?;
/// let hunter = world.create((Position(1.0), Target(prey)))?;
///
/// let mut positions = Query::<&Position>::new(&world)?;
/// let positions = positions.lookup(&world);
/// let target = world.get::<Target>(hunter)?.0;
/// assert_eq!(positions.get(target)?.0 - positions.get(hunter)?.0, 2.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "ComponentLookup")]
#[must_use = "nothing is looked up until a handle is named"]
pub struct QueryLookup<'q, D: QueryData, F: QueryFilter = ()> {
    finder: Finder<'q>,
    /// For each archetype what it takes to lend a row, where nothing has to be asked first.
    plain: Vec<Plain<'q, D>>,
    matches: &'q [Match<D, F>],
    world: &'q World,
    since: u32,
    version: u32,
    /// Lends as `&mut World` would.
    _data: PhantomData<&'q mut D>,
}

/// The chunks of an archetype that a query sees without a further question; none if it does not.
struct Plain<'q, D: QueryData> {
    chunks: &'q [Chunk],
    data: Option<D::Columns>,
}

/// Entities that are looked up side by side: while the memory of some is on its way, others are found.
const BLOCK: usize = 32;

impl<D: QueryData, F: QueryFilter> core::fmt::Debug for QueryLookup<'_, D, F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("QueryLookup")
            .field("matches", &self.matches.len())
            .finish_non_exhaustive()
    }
}

impl<'q, D: QueryData, F: QueryFilter> QueryLookup<'q, D, F> {
    pub(super) fn new(
        world: &'q World,
        matches: &'q [Match<D, F>],
        since: u32,
        version: u32,
    ) -> Self {
        let last = matches.last().map_or(0, |known| known.archetype + 1);
        let nothing = |_| Plain {
            chunks: &[],
            data: None,
        };
        let mut plain: Vec<Plain<'q, D>> = (0..last).map(nothing).collect();
        for known in matches {
            if F::SEES_ALL && known.masks().is_none() {
                plain[known.archetype as usize] = Plain {
                    chunks: &world.archetypes[known.archetype as usize].chunks,
                    data: Some(known.data),
                };
            }
        }
        Self {
            finder: world.finder(),
            plain,
            matches,
            world,
            since,
            version,
            _data: PhantomData,
        }
    }

    /// Lends the data of one entity to be read, if the query sees it. O(1).
    ///
    /// # Errors
    /// The handle is refused; [`WorldError::Missing`] if the query does not see the entity.
    #[inline]
    pub fn get(&self, entity: Entity) -> Result<D::Item<'_>, WorldError>
    where
        D: ReadOnly,
    {
        // SAFETY: the query only reads, as does whoever has borrowed the world too.
        unsafe { self.lend(entity, self.finder.find(entity)) }
    }

    /// Lends the data of one entity, if the query sees it. O(1).
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    #[inline]
    pub fn get_mut(&mut self, entity: Entity) -> Result<D::Item<'_>, WorldError> {
        // SAFETY: `&mut self` lends nothing else, and the world is borrowed for `self`.
        unsafe { self.lend(entity, self.finder.find(entity)) }
    }

    /// Lends the data of each of `entities` in turn, or says why not, in the order of the slice. Faster than one
    /// call each where they lie all over the memory: it is asked for ahead. O(entities).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let batch = world.create_batch((0..1_000_u32).map(|n| (n,)))?;
    /// let mut ants: Vec<Entity> = batch.iter(&world).collect();
    /// ants.reverse();
    /// let mut numbers = Query::<&mut u32>::new(&world)?;
    /// numbers.lookup_mut(&mut world).for_each(&ants, |at, number| {
    ///     *number.unwrap() += at as u32;
    /// });
    /// assert!(ants.iter().all(|&ant| world.get(ant).is_ok_and(|&number: &u32| number == 999)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_each(
        &mut self,
        entities: &[Entity],
        mut each: impl FnMut(usize, Result<D::Item<'_>, WorldError>),
    ) {
        let expect = |block: &[Entity]| block.iter().for_each(|&entity| self.finder.expect(entity));
        expect(&entities[..entities.len().min(BLOCK)]);
        let mut position = 0;
        while let Some(rest) = entities.get(position..)
            && !rest.is_empty()
        {
            let (block, behind) = rest.split_at(rest.len().min(BLOCK));
            expect(&behind[..behind.len().min(BLOCK)]);
            let mut found = [None; BLOCK];
            for (found, &entity) in found.iter_mut().zip(block) {
                *found = self.finder.find(entity);
                if let Some((archetype, row)) = *found
                    && let Some((data, chunk)) = self.plain(archetype, row)
                {
                    D::expect(data, self.show(archetype, chunk), row.row as usize);
                }
            }
            for ((at, &entity), found) in (position..).zip(block).zip(found) {
                // SAFETY: as in `get_mut`; what is lent ends with the call.
                each(at, unsafe { self.lend(entity, found) });
            }
            position += block.len();
        }
    }

    /// What it takes to lend a row, where nothing has to be asked first.
    #[inline(always)]
    fn plain(&self, archetype: u32, row: Row) -> Option<(D::Columns, &'q Chunk)> {
        let plain = self.plain.get(archetype as usize)?;
        Some((plain.data?, plain.chunks.get(row.chunk as usize)?))
    }

    #[inline(always)]
    fn show(&self, archetype: u32, chunk: &'q Chunk) -> ChunkView<'q> {
        ChunkView {
            world: self.world,
            archetype: &self.world.archetypes[archetype as usize],
            chunk,
            version: self.version,
            since: self.since,
        }
    }

    /// Lends the data of one entity that was looked for, if the query sees it.
    ///
    /// # Safety
    /// Nobody has what is lent in a way that conflicts; the entity was looked for in this world.
    #[inline(always)]
    unsafe fn lend<'a>(
        &self,
        entity: Entity,
        found: Option<(u32, Row)>,
    ) -> Result<D::Item<'a>, WorldError>
    where
        'q: 'a,
    {
        if let Some((archetype, row)) = found
            && let Some((data, chunk)) = self.plain(archetype, row)
        {
            let fetch = D::fetch(data, self.show(archetype, chunk));
            // SAFETY: a row of the chunk; for the rest the caller's.
            return Ok(unsafe { D::item(fetch, row.row as usize) });
        }
        // SAFETY: the caller's.
        unsafe {
            lend(
                self.world,
                self.matches,
                (self.since, self.version),
                entity,
                found,
            )
        }
    }
}

/// Lends the data of one entity that was looked for, if the query sees it.
///
/// # Safety
/// Nobody has what is lent in a way that conflicts; the entity was looked for in this world.
#[inline]
pub(super) unsafe fn lend<'a, D: QueryData, F: QueryFilter>(
    world: &'a World,
    matches: &[Match<D, F>],
    (since, version): (u32, u32),
    entity: Entity,
    found: Option<(u32, Row)>,
) -> Result<D::Item<'a>, WorldError> {
    let Some((archetype, row)) = found else {
        return Err(world.refuse(entity));
    };
    let at = matches.binary_search_by_key(&archetype, |known| known.archetype);
    let Some(known) = at.ok().and_then(|at| matches.get(at)) else {
        return Err(refused::<D, F>(entity));
    };
    let data = &world.archetypes[archetype as usize];
    let chunk = ChunkView {
        world,
        archetype: data,
        chunk: &data.chunks[row.chunk as usize],
        version,
        since,
    };
    if !masked(known.masks(), chunk.chunk, row.row) || !F::sees(known.filter, chunk) {
        return Err(refused::<D, F>(entity));
    }
    // SAFETY: a row of the chunk; for the rest the caller's.
    Ok(unsafe { D::item(D::fetch(known.data, chunk), row.row as usize) })
}

#[cold]
#[inline(never)]
fn refused<D, F>(entity: Entity) -> WorldError {
    WorldError::Missing {
        entity,
        name: core::any::type_name::<(D, F)>().into(),
    }
}
