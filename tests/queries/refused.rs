//! What queries refuse to lend: rows, fragments and resources that are not there.

use std::panic::{AssertUnwindSafe, catch_unwind};

use megachunk::prelude::*;
use megachunk::query::{Access, DynamicQuery, Enabled, QueryError};

struct Awake;

#[test]
fn a_row_behind_the_last_one_has_no_switch() {
    let mut world = World::new();
    world.registry().register_enableable::<Awake>().unwrap();
    let _ = world.create_batch([(); 3].map(|()| (Awake,))).unwrap();
    let mut query = world.query::<Enabled<Awake>, ()>().unwrap();
    let mut met = 0;
    query.for_each_chunk(|_, switches| {
        met += 1;
        assert_eq!((switches.len(), switches.is_empty()), (3, false));
        assert!((0..3).all(|row| switches.at(row).is_on()));
        for row in [3, 64, usize::MAX] {
            let at = catch_unwind(AssertUnwindSafe(|| switches.at(row).set(false)));
            let panic = at.unwrap_err();
            let said = panic.downcast_ref::<String>().unwrap();
            assert_eq!(*said, format!("no row {row}: there are 3"));
        }
        assert!((0..3).all(|row| switches.at(row).is_on()));
    });
    assert_eq!(met, 1);
}

#[test]
fn an_optional_fragment_that_is_not_there_is_neither_read_nor_written() {
    let mut world = World::new();
    let registry = world.registry();
    let number = registry.register::<u32>().unwrap().id();
    let heat = registry.register::<f32>().unwrap().id();
    world.create((1_u32,)).unwrap();
    world.create((2_u32, 0.5_f32)).unwrap();
    for access in [Access::Read, Access::Write] {
        let builder = DynamicQuery::builder(&world).read(number);
        let mut query = builder.optional(heat, access).build().unwrap();
        let (mut there, mut absent) = (0, 0);
        query.on(&mut world).unwrap().for_each_chunk(|mut chunk| {
            let lent = match access {
                Access::Write => chunk.write(heat).map(drop),
                _ => chunk.read(heat).map(drop),
            };
            let numbers = chunk.read(number).unwrap();
            let hot = numbers.slice::<u32>().unwrap() == [2];
            match lent {
                Ok(()) => there += usize::from(hot),
                Err(QueryError::Absent { name, .. }) => {
                    absent += usize::from(!hot && &*name == "f32")
                }
                Err(error) => panic!("{error}"),
            }
        });
        assert_eq!((there, absent), (1, 1));
    }
}

#[test]
fn a_resource_that_is_not_there_is_neither_read_nor_written_until_it_comes() {
    struct Score(u32);
    let mut world = World::new();
    let number = world.registry().register::<u32>().unwrap().id();
    let builder = DynamicQuery::builder(&world).read(number);
    let mut query = builder.write_resource::<Score>().build().unwrap();
    let missing = |error: QueryError| match error {
        QueryError::NoResource { name, .. } => assert!(name.ends_with("Score"), "{name}"),
        other => panic!("{other}"),
    };
    let (_, mut resources) = query.with_resources(&mut world).unwrap();
    missing(resources.read::<Score>().map(drop).unwrap_err());
    missing(resources.write::<Score>().map(drop).unwrap_err());
    world.resources_mut().insert(Score(4));
    let (_, mut resources) = query.with_resources(&mut world).unwrap();
    resources.write::<Score>().unwrap().0 += 1;
    assert_eq!(world.resources().get::<Score>().unwrap().0, 5);
}

#[test]
fn archetypes_that_match_are_counted_when_a_query_has_met_them_and_for_the_world_that_it_ran_on() {
    let mut world = World::new();
    world.create((1_u32,)).unwrap();
    world.create((1_u32, 'a')).unwrap();
    world.create(('b',)).unwrap();
    let mut other = World::of(world.universe()).unwrap();
    other.create((1_u32, true)).unwrap();
    let number = world.registry().register::<u32>().unwrap().id();
    let mut typed = Query::<&u32>::new(&world).unwrap();
    let mut dynamic = DynamicQuery::builder(&world).read(number).build().unwrap();
    let count = |typed: &mut Query<&u32>, dynamic: &mut DynamicQuery, world: &mut World| {
        let seen = typed.on(world).count();
        let mut met = 0;
        let each = |chunk: megachunk::query::DynamicChunk<'_>| met += chunk.len();
        dynamic.on(world).unwrap().for_each_chunk(each);
        assert_eq!(met, seen);
        (seen, typed.matched(), dynamic.matched())
    };
    assert_eq!((typed.matched(), dynamic.matched()), (0, 0));
    assert_eq!(count(&mut typed, &mut dynamic, &mut world), (2, 2, 2));
    world.create((2_u32, 'a')).unwrap();
    world.create((2_u32, 2_u8)).unwrap();
    assert_eq!((typed.matched(), dynamic.matched()), (2, 2), "not yet");
    assert_eq!(count(&mut typed, &mut dynamic, &mut world), (4, 3, 3));
    assert_eq!(count(&mut typed, &mut dynamic, &mut other), (1, 1, 1));
}

#[test]
fn a_function_that_asks_and_changes_says_once_what_a_query_was_refused_for() {
    fn wake<F: megachunk::query::QueryFilter>(world: &mut World) -> Result<usize, WorldError> {
        world.matching::<F>()?.add(|_| ("awake",))
    }
    let mut world = World::new();
    let ant = world.create((1_u8,)).unwrap();
    assert_eq!(wake::<With<u8>>(&mut world), Ok(1));
    assert_eq!(world.get::<&str>(ant).unwrap(), &"awake");
    let asked = world.query::<Entity, (With<u8>, Without<u8>)>().err();
    let asked: QueryError = asked.unwrap();
    let refused = wake::<(With<u8>, Without<u8>)>(&mut world).unwrap_err();
    assert_eq!(refused, WorldError::Query(asked.clone()));
    assert_eq!(refused.to_string(), asked.to_string());
    assert!(std::error::Error::source(&refused).is_none());
    assert_eq!(refused.entity(), None);
}

#[test]
fn a_change_that_no_chunk_has_room_for_is_refused_to_who_is_watched_as_to_others() {
    struct Huge(#[expect(dead_code, reason = "it takes room")] [u8; 2 << 20]);
    type Seen = Vec<(Entity, bool)>;
    for is_watched in [false, true] {
        let mut world = World::new();
        let ants: Vec<Entity> = (0..40_u32)
            .map(|n| match n % 2 {
                0 => world.create((n, Awake)).unwrap(),
                _ => world.create((n,)).unwrap(),
            })
            .collect();
        world.resources_mut().insert(Seen::new());
        if is_watched {
            let comes = |is_there: bool| {
                move |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
                    let all: Seen = batch.entities().map(|ant| (ant, is_there)).collect();
                    let seen = batch.resources_mut().get_mut::<Seen>();
                    seen.unwrap().extend(all);
                }
            };
            world
                .observe::<u32, ()>(Observed::GO, comes(false))
                .unwrap();
            world
                .observe::<Awake, ()>(Observed::COME, comes(true))
                .unwrap();
        }
        for _ in 0..2 {
            let all = world.matching::<With<u32>>().unwrap();
            let mut calls = 0;
            let refused = all.swap::<(u32,), (Huge,)>(|_: Entity| {
                calls += 1;
                unreachable!("nobody is given one")
            });
            let refused = refused.unwrap_err();
            assert!(
                matches!(
                    &refused,
                    WorldError::Fragment(FragmentError::TooLarge { .. })
                ),
                "{refused}"
            );
            assert_eq!(calls, 0);
            for (&ant, n) in ants.iter().zip(0..) {
                assert_eq!(world.get::<u32>(ant).unwrap(), &n);
                assert_eq!(world.has::<Awake>(ant).unwrap(), n % 2 == 0);
            }
            assert!(world.resources().get::<Seen>().unwrap().is_empty());
            world.check().unwrap();
        }
        // Then what can be done is done, and told.
        let all = world.matching::<With<u32>>().unwrap();
        let swapped = all.swap::<(u32,), (Awake,)>(|_: Entity| (Awake,)).unwrap();
        assert_eq!(swapped, 40);
        let seen = world.resources().get::<Seen>().unwrap();
        let (gone, come): (Seen, Seen) = seen.iter().partition(|(_, is_there)| !is_there);
        let told = if is_watched { (40, 20) } else { (0, 0) };
        assert_eq!((gone.len(), come.len()), told);
        world.check().unwrap();
    }
}
