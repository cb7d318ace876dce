//! The integrity check: everything that must hold between index, chunks, archetypes, groups, shared values
//! and names, looked at row by row.
//!
//! Called by tests and fuzzers after each step, and by users who fear for their world (unsafe code of
//! theirs, a bug of ours). It reads, runs no code of users', and changes nothing. What it looks at stands
//! with whoever must keep it: [`archetypes`] here, [`SharedValues`](super::shared_values::SharedValues),
//! [`Names`](super::names::Names), the recorders' memory through
//! [`Attachment::check`](super::Attachment::check), the index and the allocator in their own rooms.

mod archetypes;

use crate::archetype::Universe;
use crate::flaw::IntegrityError;
pub(crate) use crate::flaw::{FlawPlace, Found};
use crate::world::World;

/// What somebody has of a universe.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Held {
    /// Entities with a place.
    pub(crate) entities: usize,
    /// 16 KiB chunks.
    pub(crate) chunks: usize,
}

impl World {
    /// Checks that nothing contradicts itself: every row has a living entity whose place is that
    /// row, every chunk belongs to whom the directory says, counts, lists and groups are what they
    /// count, every shared value is used as often as it is held, no version is of the future.
    /// O(entities + names + fragments × (chunks + archetypes + ways between archetypes that are
    /// remembered + combinations of shared values)), but for logarithms; no code of users' runs.
    ///
    /// A world that only safe code and documented calls have touched is sound; whoever finds one that is not
    /// has found a bug of this crate.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let _ = world.create_batch((0..10_000_u32).map(|n| (n,)))?;
    /// world.check()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`IntegrityError`] with all that is wrong, and where.
    pub fn check(&self) -> Result<(), IntegrityError> {
        let mut found = Found::default();
        self.check_into(&mut found);
        found.into_result("world")
    }

    /// Notes what is wrong; what this world and its recorders have.
    fn check_into(&self, found: &mut Found) -> Held {
        let mut held = self.check_archetypes(found);
        let left = self.seat.left.lock();
        self.shared.check(&self.archetypes, &left, found);
        drop(left);
        self.names.check(|entity| self.exists(entity), found);
        for (id, template) in &self.templates {
            found.expect(*id == template.id(), FlawPlace::World, || {
                format!("the template of {id:?} is one of {:?}", template.id())
            });
        }
        for attached in self.attached.iter() {
            let more = attached.check(found);
            held.entities += more.entities;
            held.chunks += more.chunks;
        }
        held
    }
}

impl Universe {
    /// Checks worlds, which must be all of this universe's, each as by [`World::check`]; and that
    /// nothing is lost between them: every chunk that is in use is one of theirs or of their
    /// recorders', and so is every entity that has a place; that in an [ordered](Self::ordered)
    /// universe the lowest free index comes next; and, as by [`EntityIndex::check`] and
    /// [`MegachunkAllocator::check`], that index and allocator are sound, hints and summaries included.
    /// No recorder may be open and no flush under way,
    /// and no other thread create or destroy meanwhile. O(blocks of the index in use) besides.
    ///
    /// [`EntityIndex::check`]: crate::entity::EntityIndex::check
    /// [`MegachunkAllocator::check`]: crate::chunk::MegachunkAllocator::check
    ///
    /// ```
    /// use std::sync::Arc;
    /// use megachunk::prelude::*;
    ///
    /// let universe = Arc::new(Universe::new());
    /// let (mut land, mut sea) = (World::of(&universe)?, World::of(&universe)?);
    /// let crab = land.create((1_u8,))?;
    /// land.move_to(&mut sea, crab)?;
    /// universe.check([&land, &sea])?;
    /// assert!(universe.check([&land]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`IntegrityError`] with all that is wrong, and where.
    pub fn check<'w>(
        &self,
        worlds: impl IntoIterator<Item = &'w World>,
    ) -> Result<(), IntegrityError> {
        let mut found = Found::default();
        let mut held = Held::default();
        for world in worlds {
            found.expect(
                core::ptr::eq(&*world.universe, self),
                FlawPlace::World,
                || "it stands in another universe".into(),
            );
            let more = world.check_into(&mut found);
            held.entities += more.entities;
            held.chunks += more.chunks;
        }
        self.check_parts(&mut found);
        let in_use = self.chunks_in_use();
        found.expect(in_use == held.chunks, FlawPlace::Universe, || {
            format!(
                "{in_use} chunks are in use, and worlds have {}",
                held.chunks
            )
        });
        let disorder = self.out_of_order();
        found.expect(disorder.is_none(), FlawPlace::Universe, || {
            disorder.unwrap_or_default()
        });
        let living = self.index().iter();
        let placed = living.filter(|&entity| self.index().place_of(entity).is_some());
        let placed = placed.count();
        found.expect(placed == held.entities, FlawPlace::Universe, || {
            format!(
                "{placed} entities have a place, and worlds have {}",
                held.entities
            )
        });
        found.into_result("world")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::archetype::{Change, Edge, Edges, Fills, Row};
    use crate::entity::Entity;
    use crate::fragment::{Bundle, Fragment, FragmentId, FragmentSet, Value};

    /// A world, and one of its entities with a place in the middle of a chunk.
    fn world() -> (World, Entity, u32, Row) {
        let mut world = World::new();
        let batch = world.create_batch((0..5_000_u32).map(|n| (n,))).unwrap();
        let entity = batch.iter(&world).nth(700).unwrap();
        world.set_name(entity, "ant").unwrap();
        world.check().unwrap();
        let (archetype, row) = world.find(entity).unwrap();
        (world, entity, archetype, row)
    }

    /// What the check says of a world that was broken.
    fn said(world: &World) -> String {
        let error = world.check().unwrap_err();
        assert!(!error.flaws().is_empty());
        error.to_string()
    }

    /// How something is broken by hand, where that is found, and in which words.
    type Break<T> = (fn(&mut T), FlawPlace, &'static str);

    /// That the check says so of that place.
    fn is_found(world: &World, place: FlawPlace, what: &str) {
        let error = world.check().expect_err(what);
        let mut flaws = error.flaws().iter();
        let found = flaws.any(|flaw| flaw.place() == place && flaw.what().contains(what));
        assert!(found, "{what}, not:\n{error}");
    }

    #[test]
    fn a_row_whose_entity_lies_elsewhere_is_found() {
        let (world, entity, archetype, row) = world();
        let run = world.archetypes[archetype as usize].chunks[row.chunk as usize].run;
        world.universe.place(entity, run, row.row + 1);
        assert!(said(&world).contains("row 700"), "{}", said(&world));
        world.universe.place(entity, run, row.row);
        let dead = world.reserve().unwrap();
        world.release(dead).unwrap();
        let chunk = &world.archetypes[archetype as usize].chunks[row.chunk as usize];
        let handle = chunk.handles().wrapping_add(row.row as usize);
        // SAFETY: a row of the chunk, here and below.
        unsafe { handle.write(dead) };
        assert!(said(&world).contains("does not live"), "{}", said(&world));
        // SAFETY: as above.
        unsafe { handle.write(entity) };
        world.check().unwrap();
    }

    #[test]
    fn slots_that_are_kept_or_passed_by_in_an_ordered_universe_are_found() {
        let universe = Universe::ordered();
        let [first, second] = [(); 2].map(|()| universe.reserve().unwrap());
        universe.check([]).unwrap();
        // The usual way: the thread claims more than it needs.
        let third = universe.index().reserve().unwrap();
        assert!(universe.check([]).unwrap_err().to_string().contains("keep"));
        universe.index().flush();
        universe.check([]).unwrap();
        for entity in [first, second, third] {
            universe.index().destroy(entity).unwrap();
        }
        universe.index().flush();
        universe.check([]).unwrap();
        universe.lowest.found(universe.lowest.seen(), 1);
        let said = universe.check([]).unwrap_err().to_string();
        assert!(said.contains("slots of word 0 are free"), "{said}");
    }

    #[test]
    fn counts_and_lists_that_are_wrong_are_found() {
        let (mut world, _, archetype, row) = world();
        let data = &mut world.archetypes[archetype as usize];
        data.entities += 1;
        assert!(said(&world).contains("5001"));
        let data = &mut world.archetypes[archetype as usize];
        data.entities -= 1;
        let open = data.groups[0].open.pop().unwrap();
        assert!(said(&world).contains("list of chunks with room"));
        let data = &mut world.archetypes[archetype as usize];
        data.groups[0].open.push(open);
        data.groups[0].chunks += 1;
        assert!(said(&world).contains("group 0"));
        let data = &mut world.archetypes[archetype as usize];
        data.groups[0].chunks -= 1;
        data.groups[0].capacity += 1;
        assert!(said(&world).contains("counts room for"));
        let data = &mut world.archetypes[archetype as usize];
        data.groups[0].capacity -= 1;
        data.chunks[row.chunk as usize].order_version = 1_000;
        assert!(said(&world).contains("version"));
    }

    #[test]
    fn numbers_that_are_free_twice_and_fragments_that_queries_do_not_know_are_found() {
        let mut world = World::new();
        world.create((1_u8,).shared("red")).unwrap();
        let blue = world.create((1_u8,).shared("blue")).unwrap();
        world.create((2_u16, 1_u8)).unwrap();
        world.destroy(blue).unwrap();
        world.check().unwrap();
        let idle = world.archetypes[0].idle_groups[0];
        world.archetypes[0].idle_groups.push(idle);
        assert!(said(&world).contains("idle: 2 times"), "{}", said(&world));
        *world.archetypes[0].idle_groups.last_mut().unwrap() = 77;
        assert!(
            said(&world).contains("no idle group 77"),
            "{}",
            said(&world)
        );
        world.archetypes[0].idle_groups.pop();
        world.check().unwrap();
        let id = world.registry().register::<u8>().unwrap().id();
        world.having.pop(id);
        assert!(said(&world).contains("queries do not know where"));
        let having = world.archetypes[1].having(id);
        world.having.push(id, having);
        world.check().unwrap();
        world.shared.free_twice();
        assert!(said(&world).contains("is free 2 times"), "{}", said(&world));
        assert!(said(&world).contains("found by hash"), "{}", said(&world));
    }

    #[test]
    fn shared_values_that_a_flush_holds_which_is_over_are_found() {
        let mut world = World::new();
        world.create((1_u8,).shared("red")).unwrap();
        world.check().unwrap();
        world.shared.flush_begins();
        world.shared.hold_for_nobody();
        world.check().unwrap();
        world.shared.flush_ends(core::iter::empty());
        let error = world.check().unwrap_err();
        assert!(
            error.to_string().contains("no flush is under way"),
            "{error}"
        );
        assert_eq!(format!("{error:?}"), error.to_string());
    }

    #[test]
    fn edges_that_lose_a_column_are_found() {
        let mut world = World::new();
        let ant = world.create((1_u8, 2_u16, [3_u32; 3])).unwrap();
        assert!(world.remove::<(u16,)>(ant).unwrap());
        world.add(ant, (4_u16, 5_u64)).unwrap();
        world.check().unwrap();
        let here = FlawPlace::Archetype(0);
        let lost = "an edge to archetype 1 loses a column";
        let broken: [Break<Edge>; 5] = [
            (|edge| edge.ended = Box::default(), here, lost),
            (|edge| edge.carried = edge.carried[1..].into(), here, lost),
            (|edge| edge.carried[0].to += 4, here, lost),
            (
                |edge| edge.ended = [&*edge.ended, &*edge.ended].concat().into(),
                here,
                lost,
            ),
            (
                |edge| edge.target = 99,
                here,
                "an edge leads to archetype 99",
            ),
        ];
        let number = world.bundles.number::<(u16,)>(world.universe.registry());
        let change = Change::Remove(number.unwrap());
        for (how, place, what) in broken {
            let edges = &mut world.archetypes[0].edges;
            let edge = edges.get(change).unwrap().clone();
            let mut wrong = Edge {
                carried: edge.carried.clone(),
                carriers: Box::default(),
                ended: edge.ended.clone(),
                offsets: edge.offsets.clone(),
                fills: Fills::default(),
                bits: edge.bits.clone(),
                regiven: edge.regiven.clone(),
                ..*edge
            };
            how(&mut wrong);
            *edges = Edges::default();
            edges.insert(change, wrong.into());
            is_found(&world, place, what);
            let edges = &mut world.archetypes[0].edges;
            *edges = Edges::default();
            edges.insert(change, edge);
            world.check().unwrap();
        }
    }

    #[test]
    fn a_chunk_of_somebody_else_is_found() {
        let (world, _, archetype, row) = world();
        let chunk = &world.archetypes[archetype as usize].chunks[row.chunk as usize];
        world.universe.directory().leave(chunk);
        assert!(said(&world).contains("directory"));
        world
            .universe
            .directory()
            .enter(chunk, world.number, archetype, row.chunk);
        world.check().unwrap();
    }

    #[test]
    fn chunks_and_entities_that_nobody_has_are_found() {
        let (world, ..) = world();
        world.universe.check([&world]).unwrap();
        let run = world.universe.take_chunk(2).unwrap();
        let lost = world.universe.create_in(run, 5).unwrap();
        let error = world.universe.check([&world]).unwrap_err();
        assert_eq!(error.flaws().len(), 2, "{error}");
        world.universe.kill(lost);
        // SAFETY: taken above.
        unsafe { world.universe.give_chunk(run) };
        world.universe.check([&world]).unwrap();
        assert!(world.universe.check([]).is_err());
    }

    /// Of archetype 0: numbers, text, and what they share; of 1: a fragment that can be switched off; of 2: one more.
    fn varied(universe: &Arc<Universe>) -> World {
        let mut world = World::of(universe).unwrap();
        world.registry().register_enableable::<i16>().unwrap();
        for team in ["red", "blue"] {
            let values = (0..200_u32).map(|n| (n, n.to_string()).shared(team));
            let _ = world.create_batch(values).unwrap();
        }
        let ant = world.create((1_i16, 2_u64)).unwrap();
        world.add(ant, (3_u32,)).unwrap();
        world.check().unwrap();
        world
    }

    /// The number of a fragment.
    fn id_of<T: Fragment>(world: &World) -> FragmentId {
        world.registry().register::<T>().unwrap().id()
    }

    #[test]
    fn each_contradiction_is_found_where_it_is() {
        use FlawPlace as At;
        let group = At::Group {
            archetype: 0,
            group: 1,
        };
        let chunk = At::Chunk {
            archetype: 0,
            chunk: 0,
        };
        #[rustfmt::skip]
        let broken: [Break<World>; 25] = [
            (|world| world.archetypes[0].number = 7, At::Archetype(0), "it believes to be archetype 7"),
            (|world| {
                let ids = Arc::clone(&world.archetypes[0].ids);
                world.by_composition.insert(ids, 1);
            }, At::Archetype(0), "its composition leads to Some(1)"),
            (|world| {
                let ids = world.archetypes[0].ids[..1].into();
                world.by_composition.insert(ids, 0);
            }, At::World, "4 compositions lead to 3 archetypes"),
            (|world| world.has_switches = false, At::Archetype(1), "does not know that it can be switched"),
            (|world| world.archetypes[0].ids = world.archetypes[0].ids.iter().rev().copied().collect(),
                At::Archetype(0), "its fragments are not in order"),
            (|world| world.archetypes[0].set = FragmentSet::default(), At::Archetype(0), "its set of fragments is not"),
            (|world| {
                let ids = world.archetypes[0].column_ids.iter().rev();
                world.archetypes[0].column_ids = ids.copied().collect();
            }, At::Archetype(0), "are not in the order of their numbers"),
            (|world| world.archetypes[0].needs_drop = false, At::Archetype(0), "whether its values must be dropped"),
            (|world| world.archetypes[0].columns[1].offset = world.archetypes[0].columns[0].offset,
                At::Archetype(0), "its arrays overlap: ["),
            (|world| world.archetypes[0].fold_rows = 10_000, At::Archetype(0), "overlap in a folded chunk"),
            (|world| {
                let id = id_of::<u32>(world);
                world.having.reverse(id);
            }, At::World, "a list of archetypes that have a fragment is not in order"),
            (|world| {
                let id = id_of::<u32>(world);
                world.having.pop(id);
            }, At::World, "queries know 7 fragments of archetypes, and there are 8"),
            (|world| _ = world.bundles.infos.pop(), At::World, "numbers of bundles are given to"),
            (|world| world.bundles.infos[0].archetype = 2, At::World, "a bundle's archetype is not 2"),
            (|world| {
                let info = &mut world.bundles.infos[0];
                info.offsets = info.offsets.iter().rev().copied().collect();
            }, At::Archetype(0), "a bundle's values are not sent to its columns"),
            (|world| world.archetypes[0].chunks[0].group = 9, chunk, "there is no group 9"),
            (|world| world.archetypes[0].groups[1].chunks = 9, group, "it counts 9 chunks, and has"),
            (|world| world.archetypes[0].groups[1].capacity += 1, group, "it counts room for"),
            (|world| {
                let key = world.archetypes[0].groups[1].key.clone();
                world.archetypes[0].group_of.remove(&key);
            }, group, "it is named: false, idle: 0 times"),
            (|world| world.archetypes[0].shared[0] = id_of::<u64>(world), group, "is not there"),
            (|world| world.archetypes[0].groups[1].open.push(0), group, "names chunk 0, which is not so"),
            (|world| world.archetypes[0].retired_keys.push(Box::default()), At::Archetype(0), "were not let go"),
            (|world| _ = world.archetypes[0].group_of.insert(Box::default(), 0),
                At::Archetype(0), "it has 2 groups, and knows 3"),
            (|world| {
                let chunk = &mut world.archetypes[0].chunks[0];
                chunk.capacity = chunk.len - 1;
            }, chunk, "entities in room for"),
            (|world| {
                let [number, text] = [id_of::<u32>(world), id_of::<String>(world)];
                let value = Value::new(world.registry(), 1_u32).unwrap();
                assert_eq!(value.id(), number);
                world.templates.insert(text, Arc::new(value));
            }, At::World, "the template of"),
        ];
        let universe = Arc::new(Universe::new());
        for (how, place, what) in broken {
            let mut world = varied(&universe);
            how(&mut world);
            is_found(&world, place, what);
            // What contradicts itself cannot end.
            core::mem::forget(world);
        }
    }

    #[test]
    fn a_world_of_another_universe_is_found() {
        let (here, there) = (World::new(), World::new());
        let error = here.universe.check([&there]).unwrap_err();
        let flaw = &error.flaws()[0];
        assert_eq!(flaw.place(), FlawPlace::World);
        assert_eq!(flaw.what(), "it stands in another universe");
    }
}
