//! Copies of groups, by the world and by recorders: each names its own members, all are there or none, and they are the same
//! for any number of threads.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::counted::{Counted, FUSE, burn};
use megachunk::chunk::ChunkOptions;
use megachunk::entity::{EntityMap, IndexOptions};
use megachunk::fragment::{FragmentError, MapEntities, Plain};
use megachunk::prelude::*;
use megachunk::world::{Group, SnapshotOptions};

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct ChildOf(Entity);
megachunk::plain!(ChildOf { 0 });

impl Relationship for ChildOf {
    fn target(&self) -> Entity {
        self.0
    }
}

/// Plain, with handles in the middle.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Line {
    number: u64,
    ends: [Entity; 2],
}
megachunk::plain!(Line { number, ends });

#[derive(Clone, Copy, Debug, PartialEq)]
struct Number(u64);
megachunk::plain!(Number { 0 });

/// Handles that the registry is told of.
#[derive(Clone, Debug)]
struct Crew(
    Vec<Entity>,
    #[expect(dead_code, reason = "it counts itself")] Counted,
);

/// Handles that it is not told of.
#[derive(Clone, Debug, PartialEq)]
struct Friends(Vec<Entity>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Team(u8);

fn register(world: &World) {
    let registry = world.registry();
    registry.register_plain::<ChildOf>().unwrap();
    registry.register_plain::<Line>().unwrap();
    registry.register_plain::<Number>().unwrap();
    registry.register_clone::<Crew>().unwrap();
    registry.register_clone::<Friends>().unwrap();
    let lead = |crew: &mut Crew, entities: &EntityMap| {
        burn();
        for who in &mut crew.0 {
            *who = entities.get(*who).unwrap_or(*who);
        }
    };
    registry.register_map_entities(lead).unwrap();
}

fn world_of(universe: Universe) -> World {
    let world = World::of(&Arc::new(universe)).unwrap();
    register(&world);
    world
}

fn ordered() -> World {
    world_of(Universe::ordered())
}

/// A world, and nothing but it in its universe.
fn sound(world: &World) {
    world.universe().check([world]).unwrap();
}

/// A ship on a track, which is not of the group: hull, deck, two lamps of one composition, the second of another team.
fn ship(world: &mut World, alive: &Arc<AtomicUsize>) -> (Entity, [Entity; 4]) {
    let track = world.create((Number(1),)).unwrap();
    let all = [(); 4].map(|()| world.reserve().unwrap());
    let [hull, deck, lamp, other] = all;
    let crew = Crew(vec![lamp, track, deck, lamp], Counted::new(alive));
    let friends = Friends(vec![deck, track]);
    world
        .build(hull, (ChildOf(track), crew, Number(2)))
        .unwrap();
    world.build(deck, (ChildOf(hull), friends)).unwrap();
    let line = |number, ends| (ChildOf(deck), Line { number, ends });
    world
        .build(lamp, line(5, [other, track]).shared(Team(1)))
        .unwrap();
    world
        .build(other, line(6, [hull, Entity::PLACEHOLDER]).shared(Team(2)))
        .unwrap();
    (track, all)
}

/// What a copy of the ship is to be.
fn is_ship(world: &World, track: Entity, deck_was: Entity, copy: &[Entity]) {
    let &[hull, deck, lamp, other] = copy else {
        panic!("four members, not {}", copy.len());
    };
    assert_eq!(world.get::<ChildOf>(hull).unwrap(), &ChildOf(track));
    assert_eq!(world.get::<Number>(hull).unwrap(), &Number(2));
    assert_eq!(
        world.get::<Crew>(hull).unwrap().0,
        [lamp, track, deck, lamp]
    );
    assert_eq!(world.get::<ChildOf>(deck).unwrap(), &ChildOf(hull));
    // Nobody has said how: it names whom it named.
    assert_eq!(world.get::<Friends>(deck).unwrap().0, [deck_was, track]);
    for (at, number, ends) in [
        (lamp, 5, [other, track]),
        (other, 6, [hull, Entity::PLACEHOLDER]),
    ] {
        assert_eq!(world.get::<ChildOf>(at).unwrap(), &ChildOf(deck));
        assert_eq!(world.get::<Line>(at).unwrap(), &Line { number, ends });
        assert_eq!(world.shared::<Team>(at).unwrap(), &Team(number as u8 - 4));
    }
}

/// Copies made at once, or by a recorder.
type Way = fn(&mut World, &Group, usize) -> Result<Vec<Entity>, WorldError>;

const WAYS: [Way; 2] = [
    |world, group, count| world.create_groups(group, count),
    |world, group, count| {
        let mut commands = world.commands();
        let mut all = Vec::new();
        let mut made = Ok(());
        for _ in 0..count {
            match commands.create_group(group) {
                Ok(copy) => all.extend(copy),
                Err(error) => {
                    made = Err(error);
                    break;
                }
            }
        }
        drop(commands);
        assert!(world.flush().is_clean());
        made.map(|()| all)
    },
];

#[test]
fn each_copy_names_its_own_members_and_others_as_before() {
    for way in WAYS {
        for count in [0, 1, 2, 3_000] {
            let alive = Arc::new(AtomicUsize::new(0));
            let mut world = world_of(Universe::new());
            let (track, all) = ship(&mut world, &alive);
            let group = Group::of(&world, &all).unwrap();
            assert_eq!((group.len(), group.entities()), (4, &all[..]));
            assert!(group.is_of(world.registry()) && !group.is_empty());
            // What becomes of the first is nothing to copies.
            world.destroy(all[2]).unwrap();
            let copies = way(&mut world, &group, count).unwrap();
            assert_eq!(copies.len(), 4 * count);
            for copy in copies.chunks(group.len()) {
                is_ship(&world, track, all[1], copy);
            }
            assert_eq!(world.count(), 4 + 4 * count);
            assert_eq!(alive.load(Ordering::Relaxed), 2 + count);
            sound(&world);
            world.clear();
            drop(group);
            assert_eq!(alive.load(Ordering::Relaxed), 0);
        }
    }
}

#[test]
fn trees_are_trees_in_each_copy() {
    for way in WAYS {
        let mut world = world_of(Universe::new());
        let root = world.create((Number(0),)).unwrap();
        let mut tree = vec![root];
        for at in 1..100_usize {
            let child = (ChildOf(tree[(at - 1) / 3]), Number(at as u64));
            tree.push(world.create(child).unwrap());
        }
        let mut index = RelationshipIndex::<ChildOf>::new(&world).unwrap();
        index.update(&world);
        // As an index tells them, or in any order.
        let all = [root].into_iter().chain(index.descendants(root));
        let mut all: Vec<Entity> = all.collect();
        all.reverse();
        let group = Group::of(&world, &all).unwrap();
        let copies = way(&mut world, &group, 20).unwrap();
        index.update(&world);
        assert_eq!(index.roots().count(), 21);
        let number = |entity| world.get::<Number>(entity).unwrap().0;
        for copy in copies.chunks(100) {
            let mut below: Vec<Entity> = index.descendants(copy[99]).collect();
            for &part in &below {
                let above = index.target(part).unwrap();
                assert_eq!(number(above), (number(part) - 1) / 3);
            }
            let mut own = copy[..99].to_vec();
            own.sort();
            below.sort();
            assert_eq!(below, own);
        }
        assert_eq!(index.destroy_tree(&mut world, copies[99]), 100);
        assert_eq!(world.count(), 20 * 100);
    }
}

/// A hash of all entities and their plain values.
fn hash(world: &World) -> u64 {
    let options = SnapshotOptions::new().skip_not_plain();
    world.state_hash(&options).unwrap()
}

#[test]
fn in_ordered_universes_ids_and_all_else_are_the_same_for_any_number_of_threads() {
    for way in WAYS {
        let made = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.unwrap().install(|| {
                let mut world = ordered();
                let (_, all) = ship(&mut world, &Arc::new(AtomicUsize::new(0)));
                let group = Group::of(&world, &all).unwrap();
                let first = way(&mut world, &group, 7_000).unwrap();
                let second = way(&mut world, &group, 1).unwrap();
                sound(&world);
                (first, second, hash(&world))
            })
        };
        let alone = made(1);
        assert!(made(3) == alone);
        assert!(made(2) == alone);
    }
}

#[test]
fn whatever_panics_nothing_is_left() {
    // So few that this thread, which has the fuse, does all.
    for (way, most) in WAYS.into_iter().zip([150, 1]) {
        let alive = Arc::new(AtomicUsize::new(0));
        let mut world = world_of(Universe::new());
        let (track, all) = ship(&mut world, &alive);
        let group = Group::of(&world, &all).unwrap();
        let before = (world.count(), world.universe().count());
        // A clone of each copy, and then what leads it over.
        for call in 1..=2 * most {
            FUSE.set(call);
            let make = AssertUnwindSafe(|| way(&mut world, &group, most));
            let made = catch_unwind(make);
            assert!(made.is_err(), "call {call}");
            assert_eq!(FUSE.replace(0), 0);
            assert!(world.flush().is_clean());
            assert_eq!(alive.load(Ordering::Relaxed), 2, "call {call}");
            assert_eq!(
                (world.count(), world.universe().count()),
                before,
                "call {call}"
            );
            if call % 100 == 1 {
                sound(&world);
            }
        }
        let copies = way(&mut world, &group, 2).unwrap();
        is_ship(&world, track, all[1], &copies[4..]);
        sound(&world);
    }
}

#[test]
fn a_clone_that_panics_leaves_no_group() {
    let alive = Arc::new(AtomicUsize::new(0));
    let mut world = world_of(Universe::new());
    let (_, all) = ship(&mut world, &alive);
    let (_, others) = ship(&mut world, &alive);
    let both = [all, others].concat();
    FUSE.set(2);
    catch_unwind(AssertUnwindSafe(|| Group::of(&world, &both))).unwrap_err();
    FUSE.set(0);
    assert_eq!(alive.load(Ordering::Relaxed), 2);
    drop(Group::of(&world, &both).unwrap());
    assert_eq!(alive.load(Ordering::Relaxed), 2);
}

#[test]
fn without_memory_nothing_is_left() {
    struct Filler(#[expect(dead_code, reason = "it takes room")] [u64; 500]);
    for way in WAYS {
        let alive = Arc::new(AtomicUsize::new(0));
        let index = IndexOptions::new().huge_pages(false);
        let chunks = ChunkOptions::new().huge_pages(false).at_most(2);
        let mut world = world_of(Universe::with(&index, &chunks).unwrap());
        let (track, all) = ship(&mut world, &alive);
        let group = Group::of(&world, &all).unwrap();
        for left in [0, 1, 2, 3] {
            let mut fillers = Vec::new();
            while let Ok(filler) = world.create((Filler([0; 500]),)) {
                fillers.push(filler);
            }
            for &filler in fillers.iter().rev().take(left * 8) {
                world.destroy(filler).unwrap();
            }
            world.trim();
            let before = (world.count(), world.universe().count());
            let error = world.create_groups(&group, 100_000).unwrap_err();
            assert!(matches!(error, WorldError::Chunk(_)), "{error}");
            assert_eq!((world.count(), world.universe().count()), before);
            assert_eq!(alive.load(Ordering::Relaxed), 2);
            sound(&world);
            // A recorder needs chunks of its own: as many copies as there are are whole.
            let made = way(&mut world, &group, 1);
            let copies = (alive.load(Ordering::Relaxed) - 2, world.count() - before.0);
            match &made {
                Ok(copy) => {
                    is_ship(&world, track, all[1], copy);
                    assert_eq!(copies, (1, 4));
                    assert_eq!(world.destroy_slice(copy).done, 4);
                }
                Err(error) => {
                    assert!(matches!(error, WorldError::Chunk(_)), "{error}");
                    assert_eq!(copies, (0, 0));
                }
            }
            sound(&world);
            let ended = world.destroy_slice(&fillers).done;
            assert!(ended <= fillers.len());
            world.trim();
        }
        let copies = way(&mut world, &group, 10).unwrap();
        is_ship(&world, track, all[1], &copies[36..]);
    }
}

#[test]
fn what_cannot_be_a_group_is_refused_by_name() {
    struct Secret;
    let mut world = world_of(Universe::new());
    let one = world.create((Number(1),)).unwrap();
    let secret = world.create((Secret,)).unwrap();
    let dead = world.create(()).unwrap();
    world.destroy(dead).unwrap();
    let error = Group::of(&world, &[one, secret, one]).unwrap_err();
    assert_eq!(error, WorldError::Twice { entity: one });
    let error = Group::of(&world, &[one, secret]).unwrap_err();
    assert!(matches!(error, WorldError::NotCloneable { .. }), "{error}");
    let error = Group::of(&world, &[one, dead]).unwrap_err();
    assert!(matches!(error, WorldError::Entity(_)), "{error}");

    let group = Group::of(&world, &[one]).unwrap();
    let mut other = world_of(Universe::new());
    for way in WAYS {
        let error = way(&mut other, &group, 1).unwrap_err();
        assert_eq!(error, WorldError::OtherUniverse);
    }
    assert!(!group.is_of(other.registry()));
    let error = world.create_groups(&group, usize::MAX).unwrap_err();
    assert!(matches!(error, WorldError::Full(_)), "{error}");
    // Of nobody there are as many copies as you like.
    let nobody = Group::of(&world, &[]).unwrap();
    assert_eq!((nobody.is_empty(), nobody.len()), (true, 0));
    for way in WAYS {
        assert_eq!(way(&mut world, &nobody, 5).unwrap(), []);
    }
    assert_eq!(world.count(), 2);
}

#[test]
fn another_world_of_the_universe_makes_copies_too() {
    let universe = Arc::new(Universe::new());
    let mut world = World::of(&universe).unwrap();
    register(&world);
    let (track, all) = ship(&mut world, &Arc::new(AtomicUsize::new(0)));
    let group = Group::of(&world, &all).unwrap();
    drop(world);
    for way in WAYS {
        let mut other = World::of(&universe).unwrap();
        let copies = way(&mut other, &group, 2).unwrap();
        is_ship(&other, track, all[1], &copies[4..]);
    }
}

#[test]
fn observers_see_a_batch_for_each_composition_with_values_as_they_stay() {
    let mut world = world_of(Universe::new());
    let (track, all) = ship(&mut world, &Arc::new(AtomicUsize::new(0)));
    let (send, seen) = std::sync::mpsc::channel();
    let watch = move |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
        let mut all = Vec::new();
        let each = |(entity, of): (Entity, &ChildOf)| all.push((entity, of.0));
        batch.for_each::<(Entity, &ChildOf)>(each).unwrap();
        send.send(all).unwrap();
    };
    world
        .observe::<ChildOf, ()>(Observed::CREATE, watch)
        .unwrap();
    // The lamps have one composition, in two groups of it, and come first.
    let members = [all[2], all[0], all[3], all[1]];
    let group = Group::of(&world, &members).unwrap();
    let made = world.create_groups(&group, 3).unwrap();
    let batches: Vec<Vec<(Entity, Entity)>> = seen.try_iter().collect();
    let of = |at: usize| -> Vec<Entity> { made.iter().skip(at).step_by(4).copied().collect() };
    let [lamps, hulls, others, decks] = [0, 1, 2, 3].map(of);
    let pairs = |of: &[Entity], to: &[Entity]| -> Vec<(Entity, Entity)> {
        of.iter().copied().zip(to.iter().copied()).collect()
    };
    let expected = [
        [pairs(&lamps, &decks), pairs(&others, &decks)].concat(),
        pairs(&hulls, &[track; 3]),
        pairs(&decks, &hulls),
    ];
    assert_eq!(batches, expected);
}

#[test]
fn handles_of_the_dead_and_of_a_slots_others_stay() {
    for way in WAYS {
        let mut world = world_of(Universe::new());
        let dead = world.create((Number(1),)).unwrap();
        world.destroy(dead).unwrap();
        let now = world.create((Number(2),)).unwrap();
        assert_eq!(now.index(), dead.index());
        let line = |ends| Line { number: 7, ends };
        let one = world.create((line([dead, now]),)).unwrap();
        let group = Group::of(&world, &[now, one]).unwrap();
        let copy = way(&mut world, &group, 1).unwrap();
        assert_eq!(world.get::<Line>(copy[1]).unwrap(), &line([dead, copy[0]]));
        // Itself, too.
        world.set(one, line([one, one])).unwrap();
        let group = Group::of(&world, &[one]).unwrap();
        let copy = way(&mut world, &group, 1).unwrap();
        assert_eq!(world.get::<Line>(copy[0]).unwrap(), &line([copy[0]; 2]));
    }
}

/// Plain, and what leads it over panics when it is to name somebody else than nobody.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
struct Moody(Entity);

// SAFETY: a handle, of which one is made again.
unsafe impl Plain for Moody {
    const IS_VALUE: Option<fn(&[u8]) -> bool> = Entity::IS_VALUE;
    const MAP_ENTITIES: Option<MapEntities> = Some(|bytes, entities| {
        let map = Entity::MAP_ENTITIES.unwrap();
        let mut of = bytes.to_vec();
        map(&mut of, entities);
        bytes.fill(0);
        if of != Entity::PLACEHOLDER.to_bits().to_ne_bytes() {
            resume_unwind(Box::new("not now"));
        }
        bytes.copy_from_slice(&of);
    });
}

#[test]
fn a_plain_value_is_no_more_seen_when_what_leads_it_over_has_panicked() {
    for way in WAYS {
        let alive = Arc::new(AtomicUsize::new(0));
        let mut world = world_of(Universe::new());
        world.registry().register_plain::<Moody>().unwrap();
        world.registry().register_clone::<Counted>().unwrap();
        let root = world.create((Counted::new(&alive),)).unwrap();
        let child = world.create((Moody(root), Counted::new(&alive))).unwrap();
        let group = Group::of(&world, &[root, child]).unwrap();
        let made = catch_unwind(AssertUnwindSafe(|| way(&mut world, &group, 1)));
        assert_eq!(made.unwrap_err().downcast_ref(), Some(&"not now"));
        assert!(world.flush().is_clean());
        assert_eq!((world.count(), alive.load(Ordering::Relaxed)), (2, 4));
        sound(&world);
    }
}

#[test]
fn what_ends_with_a_group_ends_once_also_if_it_panics() {
    /// Panics in the `drop` of all.
    struct Sour(Arc<AtomicUsize>);
    impl Clone for Sour {
        fn clone(&self) -> Self {
            self.0.fetch_add(1, Ordering::Relaxed);
            Self(Arc::clone(&self.0))
        }
    }
    impl Drop for Sour {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::Relaxed);
            resume_unwind(Box::new("sour"));
        }
    }
    let alive = Arc::new(AtomicUsize::new(3));
    let mut world = World::new();
    world.registry().register_clone::<Sour>().unwrap();
    let sour = || (Sour(Arc::clone(&alive)),);
    let all = [(); 3].map(|()| world.create(sour()).unwrap());
    let group = Group::of(&world, &all).unwrap();
    assert_eq!(alive.load(Ordering::Relaxed), 6);
    catch_unwind(AssertUnwindSafe(|| drop(group))).unwrap_err();
    assert_eq!(alive.load(Ordering::Relaxed), 3);
    // One that is refused in the middle.
    struct Secret;
    let secret = world.create((Secret,)).unwrap();
    let members = [all[0], all[1], secret];
    catch_unwind(AssertUnwindSafe(|| Group::of(&world, &members))).unwrap_err();
    assert_eq!(alive.load(Ordering::Relaxed), 3);
    let _ = catch_unwind(AssertUnwindSafe(|| drop(world)));
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn what_leads_over_is_said_once_and_of_fragments() {
    let world = world_of(Universe::new());
    let crew = world.registry().of::<Crew>().unwrap().id();
    let again = |_: &mut Crew, _: &EntityMap| unreachable!("the first one stays");
    let again = world.registry().register_map_entities(again);
    assert_eq!(again.map(|info| info.id()), Ok::<_, FragmentError>(crew));
    let mut world = world;
    let (track, all) = ship(&mut world, &Arc::new(AtomicUsize::new(0)));
    let group = Group::of(&world, &all).unwrap();
    let copy = world.create_groups(&group, 1).unwrap();
    is_ship(&world, track, all[1], &copy);
}
