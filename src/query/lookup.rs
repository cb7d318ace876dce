//! `QueryLookup`: a query for random access.

use core::hint::assert_unchecked;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use crate::archetype::{Archetype, Finder, Row};
use crate::entity::Entity;
use crate::exactly::Exactly;
use crate::fragment::{Fragment, FragmentInfo};
use crate::query::chunk_table::{ChunkTable, KnownChunks};
use crate::query::masks::masked;
use crate::query::matches::Match;
use crate::query::{ChunkView, QueryData, QueryFilter, ReadOnly, Requirements};
use crate::world::{Lack, World, WorldError};

/// A query on a world, for random access: from [`Query::lookup`](crate::query::Query::lookup). Where
/// the fragments lie is found for every archetype that matches, and mostly for its chunks, once; then O(1) an entity.
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
    /// Where all lies that is seen, if nothing has to be asked first. Empty if it was not made.
    table: KnownChunks<'q, D>,
    /// Where there is no table: for each archetype what it takes to lend a row, where nothing has to be asked first.
    plain: Vec<Option<Plain<'q, D>>>,
    matches: &'q [Match<D, F>],
    /// Says what is lent.
    requirements: &'q Requirements,
    world: &'q World,
    since: u32,
    version: u32,
    /// What is lent: whoever has this need not be able to have it.
    _data: Exactly<D>,
}

/// An archetype that a query sees without a further question, and where the fragments lie in it.
struct Plain<'q, D: QueryData> {
    archetype: &'q Archetype,
    data: D::Columns,
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
        requirements: &'q Requirements,
        table: Option<&'q mut ChunkTable<D>>,
        since: u32,
        version: u32,
    ) -> Self {
        let seen = |known: &&Match<D, F>| F::SEES_ALL && known.masks().is_none();
        let seen = matches.iter().filter(seen).map(|known| Plain {
            archetype: &world.archetypes[known.archetype as usize],
            data: known.data,
        });
        let table = match table {
            None => KnownChunks::none(),
            Some(table) => {
                let archetypes = seen.clone().map(|plain| (plain.archetype, plain.data));
                table.fill(archetypes, |archetype, chunk| ChunkView {
                    world,
                    archetype,
                    chunk,
                    version,
                    since,
                })
            }
        };
        let mut plain = Vec::new();
        if table.is_empty() {
            let last = matches.last().map_or(0, |known| known.archetype + 1);
            plain.resize_with(last as usize, || None);
            for known in seen {
                let number = known.archetype.number as usize;
                plain[number] = Some(known);
            }
        }
        Self {
            finder: world.finder(),
            table,
            plain,
            matches,
            requirements,
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
    #[inline(always)]
    pub fn get(&self, entity: Entity) -> Result<D::Item<'_>, WorldError>
    where
        D: ReadOnly,
    {
        // SAFETY: the query only reads, as does whoever has borrowed the world too.
        unsafe { self.lend(entity) }
    }

    /// Lends the data of one entity, if the query sees it. O(1).
    ///
    /// What is lent for writing has changed then for [filters](crate::query::Changed), whatever is done with it, and with it
    /// all that lies in its chunk: who only looks at somebody [peeks](Self::peek).
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    #[inline(always)]
    pub fn get_mut(&mut self, entity: Entity) -> Result<D::Item<'_>, WorldError> {
        // SAFETY: `&mut self` lends nothing else, and the world is borrowed for `self`.
        unsafe { self.lend(entity) }
    }

    /// Lends the data of each of several entities at once. O(1) an entity where nothing is to be asked first, else O(log
    /// archetypes that match); and a comparison a pair. All of them have changed then, as with [`get_mut`](Self::get_mut).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Health(i32);
    /// struct Strength(i32);
    ///
    /// let mut world = World::new();
    /// let (bear, wolf) = (world.create((Health(90), Strength(9)))?, world.create((Health(40), Strength(5)))?);
    /// let mut animals = Query::<(&mut Health, &Strength)>::new(&world)?;
    /// let mut animals = animals.lookup_mut(&mut world);
    /// let [(bear, bite), (wolf, snap)] = animals.get_disjoint_mut([bear, wolf])?;
    /// bear.0 -= snap.0;
    /// wolf.0 -= bite.0;
    /// assert_eq!((bear.0, wolf.0), (85, 31));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`get`](Self::get), of the first that is refused; [`WorldError::Twice`]. Then none counts as changed.
    #[inline]
    #[doc(alias = "get_many_mut")]
    pub fn get_disjoint_mut<const N: usize>(
        &mut self,
        entities: [Entity; N],
    ) -> Result<[D::Item<'_>; N], WorldError> {
        WorldError::if_twice(&entities)?;
        if self.table.is_empty() {
            // SAFETY: as in `get_mut`; no two entities have a value in common that is lent for writing.
            return unsafe { self.lend_all_asked(entities) };
        }
        // All of them first: to lend one says that it changes.
        let mut found = [(D::NOTHING, 0); N];
        for (found, entity) in found.iter_mut().zip(entities) {
            *found = match self.table.entry(self.finder, entity) {
                Some(entry) => entry,
                None => return Err(self.refusal(entity)),
            };
        }
        Ok(found.map(|(entry, row)| {
            // SAFETY: the world is borrowed for `'q`.
            let Some(fetch) = (unsafe { D::kept(entry) }) else {
                unreachable!("all were found");
            };
            // SAFETY: something was kept, of a chunk of the world.
            unsafe { D::note(entry, self.version) };
            // SAFETY: a row of the chunk; for the rest as above.
            unsafe { D::item(fetch, row) }
        }))
    }

    /// Lends one fragment of an entity, of those that the query lends, to be read, if the query sees the entity: also one
    /// that it lends to be written, which has not changed by that. So a part reads where the whole is, by the lookup that
    /// moves the part. O(log archetypes that match + log fragments of the entity).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Place(f32);
    /// struct On(Entity);
    ///
    /// let mut world = World::new();
    /// let cart = world.create((Place(5.0),))?;
    /// let load = world.create((Place(0.0), On(cart)))?;
    /// let mut changed = Query::<Entity, Changed<Place>>::new(&world)?;
    /// changed.on(&mut world);
    ///
    /// let mut places = Query::<(&mut Place, Option<&On>)>::new(&world)?;
    /// let mut places = places.lookup_mut(&mut world);
    /// let on = places.peek::<On>(load)?.0;
    /// let below = places.peek::<Place>(on)?.0;
    /// places.get_mut(load)?.0.0 = below;
    /// assert_eq!(changed.on(&mut world).iter().collect::<Vec<_>>(), [load]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`get`](Self::get); [`WorldError::Missing`] also if the query does not lend the fragment
    /// ([`Lack::Lent`]), or the entity does not have it.
    pub fn peek<T: Fragment>(&self, entity: Entity) -> Result<&T, WorldError> {
        let (found, versions) = (self.finder.find(entity), (self.since, self.version));
        seen::<D, F>(self.world, self.matches, versions, entity, found)?;
        let id = self.world.registry().of::<T>().map(FragmentInfo::id);
        if !id.is_some_and(|id| self.requirements.lends(id)) {
            return Err(WorldError::Missing {
                entity,
                name: core::any::type_name::<T>().into(),
                lack: Lack::Lent,
            });
        }
        let (archetype, row) = found.ok_or_else(|| self.world.refuse(entity))?;
        match self.world.value_of::<T>(archetype, row) {
            // SAFETY: a value of this type, of an entity that the query sees. The query lends it, so that nobody writes it
            // but who borrows `self` to write.
            Some((value, ..)) => Ok(unsafe { &*value }),
            None => Err(self.world.missing::<T>(archetype, entity)),
        }
    }

    /// Lends the data of each of `entities` in turn, or says why not, in the order of the slice. Faster than one
    /// call each where they lie all over the memory: it is asked for ahead. O(entities). What is lent for writing has
    /// changed then, as with [`get_mut`](Self::get_mut).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let batch = world.create_batch((0..1_000_u32).map(|n| (n,)))?;
    /// let mut ants = batch.to_vec(&world);
    /// ants.reverse();
    /// let mut numbers = Query::<&mut u32>::new(&world)?;
    /// numbers.lookup_mut(&mut world).get_each(&ants, |at, number| {
    ///     *number.unwrap() += at as u32;
    /// });
    /// assert!(ants.iter().all(|&ant| world.get(ant).is_ok_and(|&number: &u32| number == 999)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_each(
        &mut self,
        entities: &[Entity],
        mut each: impl FnMut(usize, Result<D::Item<'_>, WorldError>),
    ) {
        let ahead = entities.iter().take(BLOCK);
        ahead.for_each(|&entity| self.finder.expect(entity));
        let mut rest = entities;
        while !rest.is_empty() {
            let (block, behind) = rest.split_at(rest.len().min(BLOCK));
            let position = entities.len() - rest.len();
            rest = behind;
            // Where the data lie of those that are seen without a further question, and which these are.
            let mut fetches = [const { MaybeUninit::<D::Fetch<'q>>::uninit() }; BLOCK];
            let mut seen = 0_u32;
            let mut ahead = behind.iter();
            for ((lane, &entity), found) in block.iter().enumerate().zip(&mut fetches) {
                if let Some(&later) = ahead.next() {
                    self.finder.expect(later);
                }
                if let Some(fetch) = self.find(entity) {
                    D::expect(fetch);
                    found.write(fetch);
                    seen |= 1 << lane;
                }
            }
            for ((lane, &entity), fetch) in block.iter().enumerate().zip(&fetches) {
                if seen >> lane & 1 == 1 {
                    // SAFETY: written above, at a row of a chunk; for the rest as in `get_mut`: what is lent ends with
                    // the call.
                    let item = unsafe { D::item(fetch.assume_init(), 0) };
                    each(position + lane, Ok(item));
                } else {
                    // SAFETY: as in `get_mut`.
                    each(position + lane, unsafe { self.lend_asked(entity) });
                }
            }
        }
    }

    /// Where an entity's data lie, if nothing has to be asked first. Notes what is lent for writing.
    #[inline(always)]
    fn find(&self, entity: Entity) -> Option<D::Fetch<'q>> {
        if !self.table.is_empty() {
            let (fetch, row) = self.table.find(self.finder, entity, self.version)?;
            return Some(D::skip(fetch, row));
        }
        let (archetype, row) = self.finder.find(entity)?;
        self.fetch(archetype, row)
    }

    /// Where a row's data lie, if nothing has to be asked first. Notes what is lent for writing.
    #[inline(always)]
    fn fetch(&self, archetype: u32, row: Row) -> Option<D::Fetch<'q>> {
        let plain = self.plain.get(archetype as usize)?.as_ref()?;
        let view = ChunkView {
            world: self.world,
            archetype: plain.archetype,
            // SAFETY: the row was found in this archetype.
            chunk: unsafe { plain.archetype.chunks.at(row.chunk) },
            version: self.version,
            since: self.since,
        };
        Some(D::skip(D::fetch(plain.data, view), row.row as usize))
    }

    /// Lends the data of one entity, if the query sees it.
    ///
    /// # Safety
    /// Nobody has what is lent in a way that conflicts.
    #[inline(always)]
    unsafe fn lend<'a>(&self, entity: Entity) -> Result<D::Item<'a>, WorldError>
    where
        'q: 'a,
    {
        if !self.table.is_empty() {
            // It has all that the query sees.
            return match self.table.find(self.finder, entity, self.version) {
                // SAFETY: a row of the chunk; for the rest the caller's.
                Some((fetch, row)) => Ok(unsafe { D::item(fetch, row) }),
                None => {
                    let refused = self.refuse(entity);
                    // SAFETY: so it is. (The compiler does not see it, and keeps ready what comes after an item.)
                    unsafe { assert_unchecked(refused.is_err()) };
                    refused
                }
            };
        }
        if F::SEES_ALL
            && let Some((archetype, row)) = self.finder.find(entity)
            && let Some(fetch) = self.fetch(archetype, row)
        {
            // SAFETY: as above.
            return Ok(unsafe { D::item(fetch, 0) });
        }
        // SAFETY: the caller's.
        unsafe { self.lend_asked(entity) }
    }

    /// Why an entity is not in the table: an error, always. So that loops over handles keep what they add up in
    /// registers, nothing else may come of it.
    #[cold]
    #[inline(never)]
    fn refuse<'a>(&self, entity: Entity) -> Result<D::Item<'a>, WorldError>
    where
        'q: 'a,
    {
        Err(self.refusal(entity))
    }

    /// That error.
    #[cold]
    fn refusal(&self, entity: Entity) -> WorldError {
        match self.finder.find(entity) {
            Some(_) => refused::<D, F>(entity),
            None => self.world.refuse(entity),
        }
    }

    /// [`lend`](Self::lend) where something is to be asked first, or the entity is not seen. Out of
    /// the way, and it looks for the entity anew: where the memory is waited for, a processor goes
    /// ahead by as many calls as it has room for their instructions.
    ///
    /// # Safety
    /// As for [`lend`](Self::lend).
    #[inline(never)]
    unsafe fn lend_asked<'a>(&self, entity: Entity) -> Result<D::Item<'a>, WorldError>
    where
        'q: 'a,
    {
        let (found, versions) = (self.finder.find(entity), (self.since, self.version));
        // SAFETY: the caller's; looked for just now.
        unsafe { lend(self.world, self.matches, versions, entity, found) }
    }

    /// The same of several entities: all or none.
    ///
    /// # Safety
    /// As for [`lend`](Self::lend), of each; none stands there twice.
    #[inline(never)]
    unsafe fn lend_all_asked<'a, const N: usize>(
        &self,
        entities: [Entity; N],
    ) -> Result<[D::Item<'a>; N], WorldError>
    where
        'q: 'a,
    {
        let versions = (self.since, self.version);
        let mut all = [const { None }; N];
        for (one, entity) in all.iter_mut().zip(entities) {
            let found = self.finder.find(entity);
            let seen = seen::<D, F>(self.world, self.matches, versions, entity, found)?;
            *one = Some(seen);
        }
        Ok(all.map(|one| match one {
            // SAFETY: a row of the chunk; for the rest the caller's.
            Some((known, chunk, row)) => unsafe { D::item(D::fetch(known.data, chunk), row) },
            None => unreachable!("all were found"),
        }))
    }
}

impl<A: ReadOnly, D: QueryData, F: QueryFilter> QueryLookup<'_, (A, D), F> {
    /// Lends the rest of an entity's data, if the query sees it and `is_asked` says so of the first part, which is only read.
    /// Else nothing has changed. O(1), where nothing is to be asked first; else O(log archetypes that match).
    #[inline]
    pub(crate) fn get_mut_if(
        &mut self,
        entity: Entity,
        is_asked: impl FnOnce(A::Item<'_>) -> bool,
    ) -> Option<D::Item<'_>> {
        if !self.table.is_empty() {
            let found =
                (self.table).find_if(self.finder, entity, self.version, |(first, _), row| {
                    // SAFETY: a row of the chunk, of what is only read; nothing else is lent meanwhile.
                    is_asked(unsafe { A::item(first, row) })
                });
            // SAFETY: as above; `&mut self` lends nothing else, and the world is borrowed for `self`.
            return found.map(|((_, rest), row)| unsafe { D::item(rest, row) });
        }
        let (found, versions) = (self.finder.find(entity), (self.since, self.version));
        let seen = seen::<(A, D), F>(self.world, self.matches, versions, entity, found);
        let (known, chunk, row) = seen.ok()?;
        let (first, rest) = known.data;
        // SAFETY: as above.
        let first = unsafe { A::item(A::fetch(first, chunk), row) };
        // SAFETY: as above.
        is_asked(first).then(|| unsafe { D::item(D::fetch(rest, chunk), row) })
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
    versions: (u32, u32),
    entity: Entity,
    found: Option<(u32, Row)>,
) -> Result<D::Item<'a>, WorldError> {
    let (known, chunk, row) = seen(world, matches, versions, entity, found)?;
    // SAFETY: a row of the chunk; for the rest the caller's.
    Ok(unsafe { D::item(D::fetch(known.data, chunk), row) })
}

/// Where an entity lies that was looked for in this world, if the query sees it.
#[inline(always)]
fn seen<'a, 'm, D: QueryData, F: QueryFilter>(
    world: &'a World,
    matches: &'m [Match<D, F>],
    (since, version): (u32, u32),
    entity: Entity,
    found: Option<(u32, Row)>,
) -> Result<(&'m Match<D, F>, ChunkView<'a>, usize), WorldError> {
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
    Ok((known, chunk, row.row as usize))
}

#[cold]
#[inline(never)]
pub(super) fn refused<D, F>(entity: Entity) -> WorldError {
    WorldError::Missing {
        entity,
        name: short(core::any::type_name::<(D, F)>()).into(),
        lack: Lack::Match,
    }
}

/// A type's name without the paths of modules.
fn short(name: &str) -> String {
    let mut short = String::new();
    for part in name.split_inclusive(|c: char| !(c.is_alphanumeric() || c == '_')) {
        short.push_str(part);
        if short.ends_with("::") {
            let path =
                short.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
            short.truncate(path.len());
        }
    }
    short
}

#[cfg(test)]
mod tests;
