//! `EntityMap::apply`: values that somebody has come to name other entities.

use core::mem::MaybeUninit;

use crate::entity::EntityMap;
use crate::fragment::Plain;

impl EntityMap {
    /// Lets a value name the entities that those have become which it names, and
    /// [`Entity::PLACEHOLDER`](crate::entity::Entity::PLACEHOLDER) where that is not known: what is done to fragments
    /// that [come back with new ids](crate::world::World::load_remapped), for what nobody knows of, as resources. Once:
    /// what it names then may be called as others were.
    ///
    /// The map that comes back from loading does not tell of those who were known before, nor of those who stayed:
    /// [`keeping_others`](EntityMap::keeping_others) is for values of theirs. Whether the type takes what comes out for a
    /// [value](Plain::IS_VALUE) is not asked, as it is when a world is loaded. If the type's own
    /// [`Plain::MAP_ENTITIES`] panics, the value is as before.
    ///
    /// ```
    /// use megachunk::entity::{Entity, EntityMap};
    ///
    /// let [old, new, other] = [1, 2, 3].map(|index| Entity::new(index, 1).expect("it is odd"));
    /// let entities: EntityMap = [(old, new)].into_iter().collect();
    /// let mut line = [old, other];
    /// entities.apply(&mut line);
    /// assert_eq!(line, [new, Entity::PLACEHOLDER]);
    /// ```
    pub fn apply<T: Plain>(&self, value: &mut T) {
        let Some(map) = T::MAP_ENTITIES else { return };
        let mut copy = MaybeUninit::new(*value);
        let bytes = copy.as_mut_ptr().cast::<u8>();
        // SAFETY: a plain value is nothing but its bytes, without padding.
        map(
            unsafe { core::slice::from_raw_parts_mut(bytes, size_of::<T>()) },
            self,
        );
        // SAFETY: `map` leaves a value, if it comes to its end.
        *value = unsafe { copy.assume_init() };
    }
}
