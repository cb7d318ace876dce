//! Collection: compositions that no entity has are forgotten, when somebody asks.

use crate::archetype::{Archetype, Edges};
use crate::fragment::panic::resume;
use crate::world::bundles::NO_ARCHETYPE;
use crate::world::{World, new_identity};

impl World {
    /// Forgets the compositions that no entity has, and gives their memory back; how many. Queries notice:
    /// they look for their archetypes anew, and
    /// what their filters see by changes, they see once more. O(archetypes + chunks of those that stay).
    ///
    /// A program that makes many combinations of tags for a moment calls it now and then.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = world.create((1_u8,))?;
    /// world.add(ant, (2_u16, 'x'))?;
    /// assert_eq!(world.archetype_count(), 2);
    /// assert_eq!(world.collect_archetypes(), 1);
    /// assert_eq!(world.get::<u8>(ant)?, &1);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Panics
    /// If the `drop` of a chunk fragment's template panics; the compositions are gone then.
    pub fn collect_archetypes(&mut self) -> usize {
        if self.archetypes.iter().all(|data| data.entities > 0) {
            return 0;
        }
        for archetype in 0..self.archetypes.len() as u32 {
            let data = &mut self.archetypes[archetype as usize];
            if data.entities == 0 {
                data.trim(&self.universe, self.number);
                self.settle_groups(archetype);
            }
        }
        // From here on nothing fails or runs users' code until all is in place again.
        let before = self.archetypes.len();
        let (stay, gone): (Vec<Archetype>, Vec<Archetype>) = core::mem::take(&mut self.archetypes)
            .into_iter()
            .partition(|data| data.entities > 0);
        self.archetypes = stay;
        self.by_composition.clear();
        self.having.clear();
        let mut numbers = vec![NO_ARCHETYPE; before];
        for (new, data) in (0..).zip(&mut self.archetypes) {
            numbers[data.number as usize] = new;
            data.edges = Edges::default();
            self.by_composition.insert(data.ids.clone(), new);
            if data.number != new {
                data.number = new;
                for (position, chunk) in (0..).zip(&data.chunks) {
                    self.universe
                        .directory()
                        .enter(chunk, self.number, new, position);
                }
            }
            for &id in &data.ids {
                self.having.push(id, data.having(id));
            }
        }
        for info in &mut self.bundles.infos {
            if info.archetype != NO_ARCHETYPE {
                info.archetype = numbers[info.archetype as usize];
            }
        }
        self.identity = new_identity();
        self.data_version += 1;
        let mut panicked = None;
        let count = gone.len();
        for data in gone {
            data.end(&mut panicked);
        }
        resume(panicked);
        count
    }
}
