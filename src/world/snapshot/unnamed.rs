//! What a file would know by the path of its type.

use crate::world::World;
use crate::world::snapshot::options::Purpose;
use crate::world::snapshot::{SnapshotError, SnapshotOptions};

impl World {
    /// What a save with these options would know by [`type_name`](core::any::type_name), the path of its type, because it
    /// was given no other name: fragments of entities and their chunks, and types that are [part of the
    /// state](crate::fragment::FragmentRegistry::register_state), in the order of these names, each once. A type among them
    /// that is renamed or moved is not found in older files ([what can be done
    /// then](Self::load)), and another compiler may write its name in another way: a program whose
    /// files are to last can see by it, or its tests, that all have names. O(fragments of all compositions + types that are
    /// part of the state).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.registry().register_plain::<u8>()?;
    /// world.registry().register_plain_as::<u16>("game.level")?;
    /// world.registry().register_state_as::<u64>("game.seed")?;
    /// world.create((1_u8, 2_u16))?;
    /// assert_eq!(world.unnamed(&Default::default())?, ["u8"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`SnapshotError::NotPlain`]; [`SnapshotError::Ambiguous`].
    pub fn unnamed(&self, options: &SnapshotOptions) -> Result<Vec<&str>, SnapshotError> {
        let mut names = Vec::new();
        for archetype in self.archetypes.iter().filter(|data| data.entities > 0) {
            let fragments = options.of_archetype(self, archetype, Purpose::Save)?;
            let unnamed = fragments.into_iter().filter(|info| !info.is_named());
            names.extend(unnamed.map(|info| info.name()));
        }
        let states = self.registry().state_forms();
        let states = states.filter(|form| !options.skips_resource(form.type_id()));
        names.extend(
            states
                .filter(|form| form.name() == form.type_name())
                .map(|form| form.name()),
        );
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }
}
