//! Collection: compositions that no entity has are forgotten, when somebody asks.

use crate::archetype::{Archetype, Edges};
use crate::panics::resume;
use crate::world::bundles::NO_ARCHETYPE;
use crate::world::{World, new_identity};

impl World {
    /// Forgets the compositions that no entity has, and gives their memory back; how many. Queries notice:
    /// they look for their archetypes anew. What their filters see by changes is what has changed since they ran, as
    /// ever. O(archetypes + chunks of those that stay + what is forgotten).
    ///
    /// A schedule is solved anew before it runs next. [`Schedule::solve`](crate::processor::Schedule::solve) in the same
    /// quiet moment takes that out of the next frame.
    ///
    /// Forgotten are also, be there such compositions or not, the sets of fragments that a world
    /// keeps of those that were [created](Self::create_dynamic), [added](Self::add_dynamic),
    /// [removed](Self::remove_dynamic) or [copied](Self::create_copies) at run time, or came or went by commands
    /// of a flush: each is looked up once when it comes again. (Of bundle types there are no more than in the program.)
    ///
    /// A program that makes many combinations of tags for a moment calls it now and then.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = world.create((1_u8,))?;
    /// world.add(ant, (2_u16, 'x'))?;
    /// assert_eq!(world.archetypes().len(), 2);
    /// assert_eq!(world.collect_archetypes(), 1);
    /// assert_eq!(world.get::<u8>(ant)?, &1);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Panics
    /// If the `drop` of a chunk fragment's template panics; the compositions are gone then.
    pub fn collect_archetypes(&mut self) -> usize {
        if self.bundles.forget_dynamic() {
            for data in &mut self.archetypes {
                data.edges = Edges::default();
            }
        }
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
        let gone = self.part_with(|data| data.entities == 0);
        let mut panicked = None;
        let count = gone.len();
        for mut data in gone {
            data.end(&self.universe, self.number, &mut panicked);
        }
        resume(panicked);
        count
    }

    /// Takes compositions out that have no chunks; the others are numbered anew, in their order, and whoever knows some
    /// notices. O(archetypes + chunks of those that get another number).
    pub(in crate::world) fn part_with(
        &mut self,
        goes: impl Fn(&Archetype) -> bool,
    ) -> Vec<Archetype> {
        // Nothing fails or runs users' code until all is in place again.
        let before = self.archetypes.len();
        let (stay, gone): (Vec<Archetype>, Vec<Archetype>) = core::mem::take(&mut self.archetypes)
            .into_iter()
            .partition(|data| !goes(data));
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
            for &id in &*data.ids {
                self.having.push(id, data.having(id));
            }
        }
        for info in &mut self.bundles.infos {
            if info.archetype != NO_ARCHETYPE {
                info.archetype = numbers[info.archetype as usize];
            }
            info.completed = None;
        }
        self.identity = new_identity();
        // What matched has other numbers.
        self.asked.clear();
        self.composition_version += 1;
        gone
    }
}

#[cfg(test)]
mod tests {
    use core::alloc::Layout;

    use crate::fragment::{DynamicBundle, FragmentId, Value};
    use crate::world::World;

    #[test]
    fn sets_of_fragments_do_not_heap_up_in_a_world_that_is_collected() {
        let mut world = World::new();
        let registry = world.registry();
        let ids: Vec<FragmentId> = (0..12)
            .map(|n| {
                let id = registry.define_plain(&format!("{n}"), Layout::new::<u32>());
                id.unwrap().id()
            })
            .collect();
        let all = |world: &World| -> DynamicBundle {
            let values = (0_u32..)
                .zip(&ids)
                .map(|(n, &id)| Value::from_bytes(world.registry(), id, &n.to_ne_bytes()).unwrap());
            values.collect()
        };
        let ant = world.create_dynamic(all(&world)).unwrap();
        let mut most = 0;
        for set in 1..400_usize {
            let some = ids.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
            let some: Vec<FragmentId> = some.map(|(_, &id)| id).collect();
            world.add(ant, (set,)).unwrap();
            assert!(world.remove_dynamic(ant, &some).unwrap());
            assert!(world.remove::<(usize,)>(ant).unwrap());
            for (n, &id) in (0_u32..).zip(&ids) {
                let value = world.get_dynamic(ant, id);
                match some.contains(&id) {
                    true => assert!(value.is_err()),
                    false => assert_eq!(value.unwrap().plain::<u32>().unwrap(), [n]),
                }
            }
            let bundle = all(&world);
            world.add_dynamic(ant, bundle).unwrap();
            if set % 20 == 0 {
                // Also where no composition goes: the second time.
                for _ in 0..2 {
                    world.collect_archetypes();
                    world.check().unwrap();
                }
                assert_eq!(world.archetypes().len(), 1);
            }
            most = most.max(world.bundles.infos.len());
        }
        // Those of 20 sets, what comes back, and a type.
        assert!(most <= 22, "{most}");
    }

    #[test]
    fn sets_of_fragments_are_forgotten_though_all_compositions_stay() {
        let mut world = World::new();
        let id = world.registry().register::<u8>().unwrap().id();
        let ant = world.create((1_u8,)).unwrap();
        for _ in 0..3 {
            assert!(world.remove_dynamic(ant, &[id]).unwrap());
            world.add(ant, (1_u8,)).unwrap();
            // So that it stays.
            world.create(()).unwrap();
            assert_eq!(world.bundles.infos.len(), 3);
            assert_eq!(world.collect_archetypes(), 0);
            world.check().unwrap();
            let other = world.registry().register::<u16>().unwrap().id();
            assert!(
                !world.remove_dynamic(ant, &[other]).unwrap(),
                "another has its number"
            );
            assert_eq!(world.bundles.infos.len(), 3);
            assert_eq!(world.collect_archetypes(), 0);
        }
    }
}
