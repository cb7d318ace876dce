//! Fragments of one entity: read, written, switched.

use crate::archetype::{Archetype, Chunk, EnabledBits, Row};
use crate::entity::Entity;
use crate::fragment::{
    ConstShared, Fragment, FragmentInfo, PerChunk, Shared, SharedFragment, TypeInRole,
};
use crate::world::{World, WorldError};

impl World {
    /// A fragment of an entity, whether it is switched on or off. O(1).
    ///
    /// # Errors
    /// The [handle is refused](World#what-calls-say-when-they-are-refused); [`WorldError::Missing`].
    #[inline(always)]
    pub fn get<T: Fragment>(&self, entity: Entity) -> Result<&T, WorldError> {
        let (archetype, row) = self.find(entity)?;
        match self.value_of::<T>(archetype, row) {
            // SAFETY: a value of this type, lent as long as the world is.
            Some((value, ..)) => Ok(unsafe { &*value }),
            None => Err(self.missing::<T>(archetype, entity)),
        }
    }

    /// A fragment of an entity, to change. O(1). To [filters](crate::query::Changed) it has changed then, whatever is done
    /// with it. Several side by side: [`QueryRun::one`](crate::query::QueryRun::one).
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    #[inline]
    pub fn get_mut<T: Fragment>(&mut self, entity: Entity) -> Result<&mut T, WorldError> {
        self.keep_versions();
        let (archetype, row) = self.find(entity)?;
        match self.value_to_change::<T>(archetype, row) {
            // SAFETY: as in `get`, and `&mut self` lends nothing else meanwhile.
            Some(value) => Ok(unsafe { &mut *value }),
            None => Err(self.missing::<T>(archetype, entity)),
        }
    }

    /// A fragment of each of several entities, to change them together. O(1) an entity, and a comparison a pair.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Gold(u32);
    ///
    /// let mut world = World::new();
    /// let (buyer, seller) = (world.create((Gold(5),))?, world.create((Gold(0),))?);
    /// let [from, to] = world.get_disjoint_mut::<Gold, 2>([buyer, seller])?;
    /// (from.0, to.0) = (from.0 - 3, to.0 + 3);
    /// assert_eq!(world.get::<Gold>(seller)?.0, 3);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`get`](Self::get), of the first that is refused; [`WorldError::Twice`]. Then none counts as changed.
    #[doc(alias = "get_many_mut")]
    pub fn get_disjoint_mut<T: Fragment, const N: usize>(
        &mut self,
        entities: [Entity; N],
    ) -> Result<[&mut T; N], WorldError> {
        WorldError::if_twice(&entities)?;
        self.keep_versions();
        let mut found = [None; N];
        for (found, &entity) in found.iter_mut().zip(&entities) {
            let (archetype, row) = self.find(entity)?;
            *found = self.value_of::<T>(archetype, row);
            if found.is_none() {
                return Err(self.missing::<T>(archetype, entity));
            }
        }
        Ok(found.map(|found| {
            let Some((value, chunk, column)) = found else {
                unreachable!("all have been found")
            };
            if size_of::<T>() > 0 {
                chunk.touch(column, self.stamp());
            }
            // SAFETY: as in `get_mut`; no two entities have the same value.
            unsafe { &mut *value }
        }))
    }

    /// A fragment of an entity, if the entity lives and has it. O(1).
    #[inline(always)]
    #[must_use]
    pub fn find_fragment<T: Fragment>(&self, entity: Entity) -> Option<&T> {
        // Not by way of `get`, which says why there is none.
        let (archetype, row) = self.locate(entity)?;
        let (value, ..) = self.value_of::<T>(archetype, row)?;
        // SAFETY: as in `get`.
        Some(unsafe { &*value })
    }

    /// A fragment of an entity, to change, if the entity lives and has it: as [`get_mut`](Self::get_mut), where nobody wants to
    /// know why there is none. (That is an error with names in it, which takes an allocation.) O(1).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = world.create((1_u8,))?;
    /// if let Some(legs) = world.find_fragment_mut::<u8>(ant) {
    ///     *legs = 6;
    /// }
    /// assert_eq!(world.get::<u8>(ant)?, &6);
    /// assert!(world.find_fragment_mut::<u32>(ant).is_none());
    /// # Ok::<(), WorldError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn find_fragment_mut<T: Fragment>(&mut self, entity: Entity) -> Option<&mut T> {
        // Not by way of `get_mut`, for the same reason.
        self.keep_versions();
        let (archetype, row) = self.locate(entity)?;
        let value = self.value_to_change::<T>(archetype, row)?;
        // SAFETY: as in `get_mut`.
        Some(unsafe { &mut *value })
    }

    /// Gives an entity a value of one fragment: [`add`](Self::add) of a single one, as
    /// [`Commands::set`](crate::command::Commands::set) records it.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = world.create((1_u8,))?;
    /// world.set(ant, 2_u8)?;
    /// world.set(ant, 'a')?;
    /// assert_eq!((world.get::<u8>(ant)?, world.get::<char>(ant)?), (&2, &'a'));
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    ///
    /// # Panics
    /// As for that.
    #[inline]
    pub fn set<T: Fragment>(&mut self, entity: Entity, value: T) -> Result<(), WorldError> {
        self.add(entity, (value,))
    }

    /// Whether an entity has a type in one of its [roles](TypeInRole), a fragment or tag switched on or off. O(1).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = world.create((1_u32,).shared("red"))?;
    /// assert!(world.has::<Shared<&str>>(ant)? && !world.has::<&str>(ant)?);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// The handle is refused.
    #[inline]
    pub fn has<R: TypeInRole>(&self, entity: Entity) -> Result<bool, WorldError> {
        let (archetype, _) = self.find(entity)?;
        Ok(self.is_in::<R>(archetype))
    }

    /// Where the value of a fragment lies, and in which chunk and column that is.
    #[inline(always)]
    pub(crate) fn value_of<T: Fragment>(
        &self,
        archetype: u32,
        row: Row,
    ) -> Option<(*mut T, &Chunk, usize)> {
        let id = self.registry.of::<T>()?.id();
        let data = &self.archetypes[archetype as usize];
        let chunk = &data.chunks[row.chunk as usize];
        if size_of::<T>() == 0 {
            let value = core::ptr::NonNull::<T>::dangling().as_ptr();
            return data.set.contains(id).then_some((value, chunk, 0));
        }
        let column = data.column_of(id)?;
        let array = chunk.array(data.columns[column].offset).cast::<T>();
        Some((array.wrapping_add(row.row as usize), chunk, column))
    }

    /// The same, of a value that counts as changed from now on.
    #[inline(always)]
    fn value_to_change<T: Fragment>(&self, archetype: u32, row: Row) -> Option<*mut T> {
        let (value, chunk, column) = self.value_of::<T>(archetype, row)?;
        if size_of::<T>() > 0 {
            chunk.touch(column, self.stamp());
        }
        Some(value)
    }

    #[inline(always)]
    pub(super) fn is_in<R: 'static>(&self, archetype: u32) -> bool {
        let id = self
            .universe
            .registry()
            .of_role::<R>()
            .map(FragmentInfo::id);
        id.is_some_and(|id| self.archetypes[archetype as usize].set.contains(id))
    }

    /// The shared value of an entity. O(1).
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    pub fn shared<T: SharedFragment>(&self, entity: Entity) -> Result<&T, WorldError> {
        self.shared_in_role::<Shared<T>, T>(entity)
    }

    /// The const shared value of an entity. O(1).
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    pub fn const_shared<T: SharedFragment>(&self, entity: Entity) -> Result<&T, WorldError> {
        self.shared_in_role::<ConstShared<T>, T>(entity)
    }

    fn shared_in_role<R: 'static, T: Fragment>(&self, entity: Entity) -> Result<&T, WorldError> {
        let (archetype, row) = self.find(entity)?;
        let data = &self.archetypes[archetype as usize];
        let id = self
            .universe
            .registry()
            .of_role::<R>()
            .map(FragmentInfo::id);
        match id.and_then(|id| data.shared_at(id)) {
            Some(at) => {
                let value = self.shared_at(data, &data.chunks[row.chunk as usize], at);
                // SAFETY: a value of this type; shared values do not change while the world is lent.
                Ok(unsafe { &*value.cast::<T>() })
            }
            None => Err(self.missing::<T>(archetype, entity)),
        }
    }

    /// The fragment of the chunk that an entity lies in. O(1).
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    pub fn chunk_fragment<T: Fragment>(&self, entity: Entity) -> Result<&T, WorldError> {
        let value = self.chunk_value::<T>(entity)?;
        // SAFETY: a value of this type, lent as long as the world is.
        Ok(unsafe { &*value })
    }

    /// The fragment of the chunk that an entity lies in, to change. O(1).
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    pub fn chunk_fragment_mut<T: Fragment>(
        &mut self,
        entity: Entity,
    ) -> Result<&mut T, WorldError> {
        let value = self.chunk_value::<T>(entity)?;
        // SAFETY: as above, and `&mut self` lends nothing else meanwhile.
        Ok(unsafe { &mut *value })
    }

    fn chunk_value<T: Fragment>(&self, entity: Entity) -> Result<*mut T, WorldError> {
        let (archetype, row) = self.find(entity)?;
        let data = &self.archetypes[archetype as usize];
        let id = self
            .universe
            .registry()
            .of_role::<PerChunk<T>>()
            .map(FragmentInfo::id);
        match id.and_then(|id| data.chunk_value_of(id)) {
            Some(value) => Ok(data.chunks[row.chunk as usize].array(value.offset).cast()),
            None => Err(self.missing::<T>(archetype, entity)),
        }
    }

    /// Switches a fragment of an entity off or on, without a move: queries that ask for it pass by
    /// entities where it is off, but for [loops over whole
    /// chunks](crate::query::QueryRun::for_each_chunk). That is a change of the fragment, as writing it is. O(1).
    ///
    /// For many at once, also from many threads: [`Enabled`](crate::query::Enabled).
    ///
    /// # Errors
    /// As for [`get`](Self::get); [`WorldError::NotEnableable`].
    #[inline]
    pub fn set_enabled<T: Fragment>(
        &mut self,
        entity: Entity,
        enabled: bool,
    ) -> Result<(), WorldError> {
        self.keep_versions();
        let (archetype, row) = self.find(entity)?;
        let Some((data, bits)) = self.enabled_bits::<T>(archetype) else {
            return Err(self.unswitchable::<T>(archetype, entity));
        };
        data.switch(row, bits, enabled, self.stamp());
        Ok(())
    }

    /// Whether a fragment of an entity is switched on. O(1).
    ///
    /// # Errors
    /// As for [`set_enabled`](Self::set_enabled).
    #[inline]
    pub fn is_enabled<T: Fragment>(&self, entity: Entity) -> Result<bool, WorldError> {
        let (archetype, row) = self.find(entity)?;
        let Some((data, bits)) = self.enabled_bits::<T>(archetype) else {
            return Err(self.unswitchable::<T>(archetype, entity));
        };
        let bits = data.chunks[row.chunk as usize].array(bits.offset);
        // SAFETY: a row of the chunk.
        Ok(unsafe { crate::archetype::read_bit(bits, row.row) })
    }

    /// The bits of a fragment, if an archetype has it, and it can be switched there.
    #[inline(always)]
    fn enabled_bits<T: Fragment>(&self, archetype: u32) -> Option<(&Archetype, EnabledBits)> {
        let id = self.registry.of::<T>()?.id();
        let data = &self.archetypes[archetype as usize];
        Some((data, data.enabled_of(id)?))
    }

    /// Why there are no such bits.
    #[cold]
    #[inline(never)]
    fn unswitchable<T: Fragment>(&self, archetype: u32, entity: Entity) -> WorldError {
        let set = &self.archetypes[archetype as usize].set;
        match self.registry.of::<T>() {
            Some(info) if set.contains(info.id()) => WorldError::NotEnableable {
                name: info.name().into(),
            },
            _ => self.missing::<T>(archetype, entity),
        }
    }

    /// The fragments of an entity, in the order of their numbers.
    ///
    /// # Errors
    /// The handle is refused.
    pub fn fragments(
        &self,
        entity: Entity,
    ) -> Result<impl Iterator<Item = &FragmentInfo>, WorldError> {
        let (archetype, _) = self.find(entity)?;
        let ids = self.archetypes[archetype as usize].ids.iter();
        Ok(ids.filter_map(|&id| self.universe.registry().get(id)))
    }
}
