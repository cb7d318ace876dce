//! `EntityMap::apply`: values that somebody has come to name other entities.

use core::mem::MaybeUninit;

use crate::entity::EntityMap;
use crate::fragment::Plain;

impl EntityMap {
    /// Replaces every entity that a value names by what it has become, or by the
    /// [placeholder](crate::entity::Entity::PLACEHOLDER) if that is not known: [loading with new
    /// ids](crate::world::World::load_remapped) does this to fragments; call it for values that loading does not see,
    /// such as resources that are not part of the state. Once per value: a new handle may be another's old one.
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
