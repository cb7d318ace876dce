//! What entities lack of what they require is added: those of files from before, those from which it was taken.

use crate::archetype::{Edge, Fills, FromLast};
use crate::fragment::with_needs;
use crate::panics::resume;
use crate::world::runs::Fill;
use crate::world::watch::{ADDED, SET};
use crate::world::{World, WorldError};

impl World {
    /// Gives each entity what its fragments [require](crate::fragment::FragmentRegistry::require_with) and it has not; how
    /// many lacked something. For a world that was loaded from a file of before something was required: a load brings back
    /// what was saved, no more. O(compositions × their fragments), and a copy of the entities that lack something, a chunk
    /// at a time.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// #[derive(Clone, Copy)]
    /// #[repr(transparent)]
    /// struct Sprite(u32);
    /// #[derive(Default)]
    /// struct Transform(f32);
    /// megachunk::plain!(Sprite { 0 });
    ///
    /// # let mut old = World::new();
    /// # old.registry().register_plain_as::<Sprite>("sprite")?;
    /// # let tree = old.create((Sprite(7),))?;
    /// # let file = old.to_snapshot(&Default::default())?;
    /// let universe = Universe::new();
    /// universe.registry().register_plain_as::<Sprite>("sprite")?;
    /// universe.registry().require::<Sprite, Transform>()?;
    /// let mut world = World::from_snapshot(&file, universe, &Default::default())?;
    /// assert!(!world.has::<Transform>(tree)?);
    /// assert_eq!(world.add_required()?, 1);
    /// assert!(world.has::<Transform>(tree)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A composition would be too large, or there would be [too many](WorldError::TooManyArchetypes); no memory is left.
    /// Some of the entities are done then.
    ///
    /// # Panics
    /// If what makes a value does, the `clone` of a chunk fragment with which a new chunk was to begin, or an observer:
    /// some are done then.
    pub fn add_required(&mut self) -> Result<usize, WorldError> {
        self.keep_versions();
        if self.is_watched(ADDED | SET) {
            return self.told(ADDED, Vec::new(), Self::add_all_required);
        }
        self.add_all_required()
    }

    fn add_all_required(&mut self) -> Result<usize, WorldError> {
        let mut count = 0;
        // Those that are new lack nothing.
        for archetype in 0..self.archetypes.len() as u32 {
            if self.archetypes[archetype as usize].entities > 0 {
                count += self.add_required_to(archetype)?;
            }
        }
        Ok(count)
    }

    /// The same of the entities of one archetype.
    fn add_required_to(&mut self, archetype: u32) -> Result<usize, WorldError> {
        let ids = self.archetypes[archetype as usize].ids.clone();
        let needs = self.registry().needs(&ids);
        if needs.is_empty() {
            return Ok(0);
        }
        let target = self.target_of(archetype, &with_needs(&ids, &needs), None)?;
        let (source, data) = (
            &self.archetypes[archetype as usize],
            &self.archetypes[target as usize],
        );
        let fills = Fills::of(self.universe.registry(), &needs, data);
        let edge = Edge::new(source, data, Box::default(), |_| false).filling(fills);
        let mut count = 0;
        let mut chunks = FromLast::of(&self.archetypes[archetype as usize]);
        while let Some(rows) = chunks.next_of(&self.archetypes[archetype as usize]) {
            let group = self.same_group(archetype, rows.chunk, target);
            let nothing = |fill: &mut Fill<'_, ()>| fill.nothing();
            let moved = self.move_rows(archetype, rows, &edge, group, nothing);
            resume(moved.panicked);
            count += moved.count as usize;
            if let Some(error) = moved.refused {
                return Err(error);
            }
        }
        Ok(count)
    }
}
