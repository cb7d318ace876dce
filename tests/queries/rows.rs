//! STACK's section "Queries", a test a row; those of how queries are walked are in `walks.rs`.

use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::fragment::{ConstShared, FragmentError, PerChunk, Shared};
use megachunk::prelude::*;
use megachunk::query::{Access, DynamicQuery, Moved, QueryFilter};

pub(super) type F = f32;
pub(super) type I = i32;
pub(super) struct Tag;

/// One of {F}, one of {I}, one of {F, I}.
pub(super) fn three() -> (World, [Entity; 3]) {
    let mut world = World::new();
    let f = world.create((1.0_f32,)).unwrap();
    let i = world.create((1_i32,)).unwrap();
    let both = world.create((2.0_f32, 2_i32)).unwrap();
    (world, [f, i, both])
}

#[test]
fn presence_all_any_none_optional_match_what_the_table_says() {
    let (mut world, _) = three();
    assert_eq!(world.query::<Option<&I>, ()>().unwrap().count(), 2);
    assert_eq!(
        world
            .query::<(Option<&I>, Option<&Tag>), ()>()
            .unwrap()
            .count(),
        2
    );
    // Every entity has a handle, and can be asked what it has: such a query asks for all.
    assert_eq!(
        world.query::<(Entity, Option<&I>), ()>().unwrap().count(),
        3
    );
    assert_eq!(
        world.query::<(Has<Tag>, Option<&I>), ()>().unwrap().count(),
        3
    );
    let mut both = world.query::<(&F, Option<&I>), ()>().unwrap();
    let is_there: Vec<_> = both.iter().map(|(_, i)| i.is_some()).collect();
    assert_eq!(is_there, [false, true]);
    assert_eq!(world.query::<&F, Without<I>>().unwrap().count(), 1);
    assert_eq!(world.query::<Entity, Any<(F, I)>>().unwrap().count(), 3);
    assert_eq!(
        world.query::<Entity, (With<F>, With<I>)>().unwrap().count(),
        1
    );
    assert_eq!(
        world
            .query::<Entity, (Without<F>, Without<I>)>()
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn a_tag_is_lent_as_a_value_without_size() {
    struct Tag;
    let mut world = World::new();
    world.create((1_u8, Tag)).unwrap();
    world.create((2_u8,)).unwrap();
    let mut tagged = Query::<(&u8, &Tag)>::new(&world).unwrap();
    let seen: Vec<u8> = tagged.read(&world).iter().map(|(n, _)| *n).collect();
    assert_eq!(seen, [1]);
    let mut tags = Query::<&mut Tag>::new(&world).unwrap();
    assert_eq!(tags.on(&mut world).count(), 1);
}

#[test]
fn any_pools_fragments_and_tags() {
    let (mut world, [f, i, _]) = three();
    world.add(i, (Tag,)).unwrap();
    let mut any = world.query::<Entity, Any<(F, Tag)>>().unwrap();
    assert_eq!(any.count(), 3);
    world.remove::<(Tag,)>(i).unwrap();
    world.remove::<(F,)>(f).unwrap();
    assert_eq!(world.query::<Entity, Any<(F, Tag)>>().unwrap().count(), 1);
}

#[test]
fn access_none_read_and_write_over_fragments_tags_chunk_and_shared_fragments() {
    let mut world = World::new();
    let ant = world
        .create(
            (1_u8, Tag, 2_u16)
                .shared(3_u32)
                .const_shared(4_u64)
                .per_chunk(5_i8),
        )
        .unwrap();
    world.create((1_u8, Tag)).unwrap();
    type All = (
        Entity,
        &'static u8,
        &'static mut u16,
        Has<Tag>,
        Shared<u32>,
        ConstShared<u64>,
        PerChunk<i8>,
    );
    let mut query = Query::<All, With<Tag>>::new(&world).unwrap();
    let registry = world.registry();
    let requirements = query.requirements();
    let (read, written) = (
        registry.of::<u8>().unwrap().id(),
        registry.of::<u16>().unwrap().id(),
    );
    let tag = registry.of::<Tag>().unwrap().id();
    assert!(requirements.reads().contains(read) && !requirements.writes().contains(read));
    assert!(requirements.writes().contains(written) && requirements.required().contains(tag));
    assert!(!requirements.reads().contains(tag) && !requirements.writes().contains(tag));
    let mut run = query.on(&mut world);
    let (entity, byte, short, tag, shared, for_ever, chunk) = run.single().unwrap();
    *short += 1;
    assert_eq!((entity, *byte, *short, tag), (ant, 1, 3, true));
    assert_eq!((*shared, *for_ever, *chunk), (3, 4, 5));
}

#[test]
fn matches_are_cached_and_only_new_archetypes_are_looked_at() {
    let (mut world, _) = three();
    let mut query = Query::<Entity, Any<(F, I)>>::new(&world).unwrap();
    let known = |query: &Query<Entity, Any<(F, I)>>, count: usize| {
        assert!(
            format!("{query:?}").contains(&format!("matches: {count}")),
            "{query:?}"
        );
    };
    known(&query, 0);
    for _ in 0..3 {
        assert_eq!(query.read(&world).count(), 3);
        known(&query, 3);
    }
    world.create((1_u8,)).unwrap();
    world.create((1_u8, 1_i32)).unwrap();
    known(&query, 3);
    assert_eq!(query.on(&mut world).count(), 4);
    known(&query, 4);
    // Another world is another matter.
    let (other, _) = three();
    assert_eq!(query.read(&other).count(), 3);
    assert_eq!(query.read(&world).count(), 4);
}

#[test]
fn a_contradictory_query_is_an_error_when_it_is_built() {
    let (mut world, _) = three();
    let contradiction = world.query::<&F, Without<F>>().map(drop);
    assert!(
        matches!(&contradiction, Err(QueryError::Contradiction { name, .. }) if &**name == "f32")
    );
    let contradiction = world.query::<Entity, (With<Tag>, Without<Tag>)>().map(drop);
    assert!(matches!(
        contradiction,
        Err(QueryError::Contradiction { .. })
    ));
    let conflicts = [
        world.query::<(&F, &mut F), ()>().map(drop),
        world.query::<(&mut F, &F), ()>().map(drop),
        world.query::<(&mut F, &mut F), ()>().map(drop),
        world.query::<(&mut F, Option<&mut F>), ()>().map(drop),
        world
            .query::<((Entity, &mut F), (&I, Option<&F>)), ()>()
            .map(drop),
    ];
    for conflict in conflicts {
        assert!(matches!(&conflict, Err(QueryError::Conflict { name, .. }) if &**name == "f32"));
        let said = conflict.unwrap_err().to_string();
        assert!(said.ends_with(": take it once, as `&mut`"), "{said}");
    }
    let twice = world.query::<(&F, Option<&F>), ()>().map(drop);
    assert!(matches!(
        twice,
        Err(QueryError::Fragment(FragmentError::Twice { .. }))
    ));
}

#[test]
fn the_chunk_filter_decides_per_chunk_before_entities_are_bound() {
    let mut world = World::new();
    for n in 0..100_u32 {
        world.create((n,).shared(n % 4).per_chunk(0_i64)).unwrap();
    }
    let asked = AtomicUsize::new(0);
    let mut query = Query::<&u32>::new(&world).unwrap();
    let mut run = query.read(&world).filter_chunks(|chunk| {
        asked.fetch_add(1, Ordering::Relaxed);
        assert_eq!((chunk.chunk_fragment::<i64>(), chunk.len()), (Some(&0), 25));
        chunk.shared::<u32>().is_some_and(|team| team % 2 == 1)
    });
    let mut sum = 0;
    run.for_each(|n| {
        assert_eq!(n % 2, 1);
        sum += n;
    });
    drop(run);
    assert_eq!((sum, asked.load(Ordering::Relaxed)), (2_500, 4));
    let both = query
        .read(&world)
        .filter_chunks(|c| c.len() == 25)
        .sharing(&3_u32)
        .count();
    assert_eq!(both, 25);
}

#[test]
fn the_filter_of_a_shared_value_sees_const_ones_too() {
    let mut world = World::new();
    let loose = world.create((1_u8,).shared(7_u32)).unwrap();
    let fixed = world.create((2_u8,).const_shared(7_u32)).unwrap();
    let both = (3_u8,).shared(8_u32).const_shared(7_u32);
    let both = world.create(both).unwrap();
    world.create((4_u8,).const_shared(9_u32)).unwrap();
    let mut query = Query::<Entity, With<u8>>::new(&world).unwrap();
    let mut with =
        |value: u32| -> Vec<Entity> { query.on(&mut world).sharing(&value).iter().collect() };
    assert_eq!(with(7), [loose, fixed, both]);
    assert_eq!(with(8), [both]);
    assert_eq!(with(10), []);
    let mut values = Vec::new();
    let mut query = Query::<Entity>::new(&world).unwrap();
    query.on(&mut world).for_each_chunk(|chunk, _| {
        values.push((
            chunk.shared::<u32>().copied(),
            chunk.const_shared::<u32>().copied(),
        ));
    });
    values.sort_unstable();
    assert_eq!(
        values,
        [
            (None, Some(7)),
            (None, Some(9)),
            (Some(7), None),
            (Some(8), Some(7))
        ]
    );
    assert_eq!(query.change(&mut world).sharing(&7_u32).destroy(), 3);
}

#[test]
fn shared_value_change_and_order_filters() {
    let mut world = World::new();
    let ants: Vec<_> = (0..10_u32)
        .map(|n| world.create((n,).shared(n % 2)).unwrap())
        .collect();
    let mut odd = Query::<&u32>::new(&world).unwrap();
    assert!(odd.read(&world).sharing(&1_u32).iter().all(|n| n % 2 == 1));
    assert_eq!(odd.read(&world).sharing(&7_u32).count(), 0);
    let mut changed = Query::<Entity, Changed<u32>>::new(&world).unwrap();
    let mut moved = Query::<Entity, Moved>::new(&world).unwrap();
    let _ = (changed.read(&world).count(), moved.read(&world).count());
    odd.on(&mut world).for_each(|_| {});
    assert_eq!(changed.read(&world).count(), 0, "reading changes nothing");
    world.set_shared(ants[0], 1_u32).unwrap();
    assert_eq!(
        (changed.read(&world).count(), moved.read(&world).count()),
        (6, 10)
    );
}

#[test]
fn any_of_fragments_that_can_be_switched_off_asks_for_one_that_is_on() {
    let mut world = World::new();
    world.registry().register_enableable::<F>().unwrap();
    world.registry().register_enableable::<Tag>().unwrap();
    let both = world.create((1.0_f32, Tag)).unwrap();
    let one = world.create((2.0_f32,)).unwrap();
    let other = world.create((1_i32, Tag)).unwrap();
    let mut any = Query::<Entity, Any<(F, Tag)>>::new(&world).unwrap();
    let mut certain = Query::<Entity, Any<(I, Tag)>>::new(&world).unwrap();
    let mut without = Query::<Entity, (Any<(F, Tag)>, Without<F>)>::new(&world).unwrap();
    let mut seen = |world: &World| -> Vec<Entity> { any.read(world).iter().collect() };
    assert_eq!(seen(&world), [both, one, other]);
    world.set_enabled::<F>(both, false).unwrap();
    world.set_enabled::<F>(one, false).unwrap();
    world.set_enabled::<Tag>(other, false).unwrap();
    assert_eq!(seen(&world), [both], "its tag is on");
    assert_eq!(without.read(&world).iter().collect::<Vec<_>>(), [both]);
    world.set_enabled::<Tag>(both, false).unwrap();
    assert!(seen(&world).is_empty() && any.get(&world, both).is_err());
    // A fragment that cannot be switched off is on.
    assert_eq!(certain.read(&world).iter().collect::<Vec<_>>(), [other]);
    world.set_enabled::<F>(both, true).unwrap();
    assert_eq!(any.read(&world).single(), Some(both));
}

#[test]
fn resources_are_required_read_and_written_beside_the_entities() {
    struct Time(u32);
    struct Score(AtomicUsize);
    let (mut world, _) = three();
    type Resources = (&'static Time, &'static mut Score, Option<&'static String>);
    let mut query = Query::<&mut I, (), Resources>::new(&world).unwrap();
    let missing = query.with_resources(&mut world).map(drop).unwrap_err();
    assert!(matches!(&missing, QueryError::NoResource { name, .. } if name.ends_with("Time")));
    world.resources_mut().insert(Time(5));
    world.resources_mut().insert(Score(AtomicUsize::new(0)));
    let (mut run, (time, score, none)) = query.with_resources(&mut world).unwrap();
    assert!(none.is_none());
    score.0 = AtomicUsize::new(100);
    let shared = &*score;
    run.par_for_each(|i| {
        *i += time.0 as i32;
        shared.0.fetch_add(1, Ordering::Relaxed);
    });
    drop(run);
    assert_eq!(
        world
            .resources()
            .get::<Score>()
            .unwrap()
            .0
            .load(Ordering::Relaxed),
        102
    );
    let sum: i32 = world.read::<&I, ()>().unwrap().iter().sum();
    assert_eq!(sum, 13);
    let access = query.requirements().resources();
    assert_eq!((access.reads().len(), access.writes().len()), (2, 1));
    let reader = Query::<&I, (), (&Time,)>::new(&world).unwrap();
    assert!(!access.conflicts_with(reader.requirements().resources()));
    let writer = Query::<&I, (), &mut Time>::new(&world).unwrap();
    assert!(access.conflicts_with(writer.requirements().resources()));
    let conflict = Query::<&I, (), (&Time, &mut Time)>::new(&world).map(drop);
    assert!(matches!(conflict, Err(QueryError::Conflict { .. })));
    let twice = Query::<&I, (), (&Time, Option<&Time>)>::new(&world).map(drop);
    assert!(matches!(twice, Err(QueryError::ResourceTwice { .. })));
    // The same for a query that is put together at run time.
    let id = world.registry().of::<I>().unwrap().id();
    let builder = || {
        DynamicQuery::builder(&world)
            .write(id)
            .read_resource::<Time>()
    };
    let conflict = builder().write_resource::<Time>().build().unwrap_err();
    assert!(matches!(conflict, QueryError::Conflict { .. }));
    let said = conflict.to_string();
    assert!(
        said.ends_with("take it once, by `write_resource`"),
        "{said}"
    );
    let mut query = builder().write_resource::<Score>().build().unwrap();
    let (mut run, mut resources) = query.with_resources(&mut world).unwrap();
    let time = resources.read::<Time>().unwrap();
    let score = resources.write::<Score>().unwrap();
    run.for_each_chunk(|mut chunk| {
        let numbers = chunk.write(id).unwrap().slice::<I>().unwrap();
        numbers.iter_mut().for_each(|n| *n -= time.0 as i32);
        *score.0.get_mut() += numbers.len();
    });
    assert!(matches!(
        resources.read::<Score>(),
        Err(QueryError::Lent { .. })
    ));
    assert!(matches!(
        resources.write::<Time>(),
        Err(QueryError::ReadOnly { .. })
    ));
    assert!(matches!(
        resources.read::<u8>(),
        Err(QueryError::NotAsked { .. })
    ));
    drop(run);
    assert_eq!(
        world
            .resources()
            .get::<Score>()
            .unwrap()
            .0
            .load(Ordering::Relaxed),
        104
    );
}

#[test]
fn typed_and_dynamic_queries_refuse_the_same() {
    let (mut world, _) = three();
    let registry = world.registry();
    let (f, tag) = (
        registry.of::<F>().unwrap().id(),
        registry.register::<Tag>().unwrap().id(),
    );
    let builder = || DynamicQuery::builder(&world);
    let verdict = |result: Result<(), QueryError>| match result {
        Ok(()) => "allowed",
        Err(QueryError::Conflict { .. }) => "conflict",
        Err(QueryError::Contradiction { .. }) => "contradiction",
        Err(QueryError::Fragment(FragmentError::Twice { .. })) => "twice",
        Err(error) => panic!("{error}"),
    };
    let dynamic = [
        builder().read(f).read(f),
        builder().read(f).optional(f, Access::Read),
        builder().read(f).write(f),
        builder().write(f).write(f),
        builder().read(f).without(f),
        builder().with(f).without(f),
        builder().read(f).with(f),
        builder().with(f).with(f),
        builder().without(f).without(f),
        builder().read(f).any(&[f, tag]),
        builder().optional(f, Access::Read).without(f),
        builder().read(f).changed(f),
    ];
    let dynamic = dynamic.map(|builder| verdict(builder.build().map(drop)));
    let typed = [
        world.query::<(&F, &F), ()>().map(drop),
        world.query::<(&F, Option<&F>), ()>().map(drop),
        world.query::<(&F, &mut F), ()>().map(drop),
        world.query::<(&mut F, &mut F), ()>().map(drop),
        world.query::<&F, Without<F>>().map(drop),
        world.query::<Entity, (With<F>, Without<F>)>().map(drop),
        world.query::<&F, With<F>>().map(drop),
        world.query::<Entity, (With<F>, With<F>)>().map(drop),
        world.query::<Entity, (Without<F>, Without<F>)>().map(drop),
        world.query::<&F, Any<(F, Tag)>>().map(drop),
        world.query::<Option<&F>, Without<F>>().map(drop),
        world.query::<&F, Changed<F>>().map(drop),
    ];
    let typed = typed.map(verdict);
    assert_eq!(typed, dynamic);
    let (refused, allowed) = typed.split_at(6);
    assert_eq!(
        refused,
        [
            "twice",
            "twice",
            "conflict",
            "conflict",
            "contradiction",
            "contradiction"
        ]
    );
    assert!(allowed.iter().all(|verdict| *verdict == "allowed"));
}

#[test]
fn collections_of_entities_are_split_at_chunk_borders() {
    let mut world = World::new();
    world.set_chunk_size(1);
    let batch = world.create_batch((0..5_000_u64).map(|n| (n,))).unwrap();
    let all: Vec<Entity> = batch.iter(&world).collect();
    let some: Vec<Entity> = all.iter().copied().step_by(3).collect();
    let mut query = Query::<(Entity, &mut u64)>::new(&world).unwrap();
    let mut seen = Vec::new();
    let report = query.on(&mut world).for_each_in(&some, |(entity, n)| {
        *n += 1;
        seen.push(entity);
    });
    assert_eq!((report.done, report.is_clean()), (some.len(), true));
    seen.sort_unstable();
    assert_eq!(seen, some);
    let mut pieces = 0;
    let mut of = std::collections::BTreeMap::new();
    query.on(&mut world).for_each_chunk(|chunk, (entities, _)| {
        of.extend(entities.iter().map(|&entity| (entity, chunk.entities()[0])));
    });
    let report = query
        .on(&mut world)
        .for_each_chunk_in(&all, |_, _, (entities, _)| {
            pieces += 1;
            assert!(
                entities.iter().all(|entity| of[entity] == of[&entities[0]]),
                "one chunk"
            );
        });
    assert_eq!((report.done, pieces), (5_000, world.stats().chunks));
}

#[test]
fn writing_through_a_read_only_requirement_is_an_error() {
    // Of typed queries the compiler says so: see `ReadOnly`.
    let (mut world, _) = three();
    let (f, i) = (
        world.registry().of::<F>().unwrap().id(),
        world.registry().of::<I>().unwrap().id(),
    );
    let mut query = DynamicQuery::builder(&world)
        .read(f)
        .write(i)
        .build()
        .unwrap();
    query.on(&mut world).unwrap().for_each_chunk(|mut chunk| {
        assert!(
            matches!(chunk.write(f), Err(QueryError::ReadOnly { name, .. }) if &*name == "f32")
        );
        assert!(chunk.read(f).is_ok() && chunk.write(i).is_ok());
    });
    assert!(matches!(
        query.read(&world).map(drop),
        Err(QueryError::Writes { .. })
    ));
}

#[test]
fn a_role_is_part_of_what_is_asked_for() {
    #[derive(Clone, Copy, PartialEq, Eq, Hash)]
    struct Team(u8);
    let mut world = World::new();
    let own = world.create((1_u8, Team(1))).unwrap();
    let shared = world.create((2_u8,).shared(Team(2))).unwrap();
    let fixed = world.create((3_u8,).const_shared(Team(3))).unwrap();
    let chunks = world.create((4_u8,).per_chunk(Team(4))).unwrap();
    let all = [own, shared, fixed, chunks];
    fn seen<F: QueryFilter>(world: &mut World) -> Vec<Entity> {
        let all = world.query::<Entity, F>().unwrap();
        all.into_iter().collect()
    }
    assert_eq!(seen::<With<Team>>(&mut world), [own]);
    assert_eq!(seen::<With<Shared<Team>>>(&mut world), [shared]);
    assert_eq!(seen::<With<ConstShared<Team>>>(&mut world), [fixed]);
    assert_eq!(seen::<With<PerChunk<Team>>>(&mut world), [chunks]);
    assert_eq!(
        seen::<Without<Shared<Team>>>(&mut world),
        [own, fixed, chunks]
    );
    type Neither = (Without<ConstShared<Team>>, Without<PerChunk<Team>>);
    assert_eq!(seen::<(Without<Team>, Neither)>(&mut world), [shared]);
    let mut roles = Query::<(
        Has<Team>,
        Has<Shared<Team>>,
        Has<ConstShared<Team>>,
        Has<PerChunk<Team>>,
    )>::new(&world)
    .unwrap();
    for (at, entity) in all.into_iter().enumerate() {
        let has = roles.get(&world, entity).unwrap();
        let has = [has.0, has.1, has.2, has.3];
        assert!((0..4).all(|role| has[role] == (role == at)));
        let asked = [
            world.has::<Team>(entity).unwrap(),
            world.has::<Shared<Team>>(entity).unwrap(),
            world.has::<ConstShared<Team>>(entity).unwrap(),
            world.has::<PerChunk<Team>>(entity).unwrap(),
        ];
        assert_eq!(asked, has);
    }
    assert_eq!(
        seen::<Any<(Team, PerChunk<Team>)>>(&mut world),
        [own, chunks]
    );
    assert_eq!(
        seen::<(Any<(Shared<Team>, ConstShared<Team>)>, With<u8>)>(&mut world),
        [shared, fixed]
    );
    type Both = (With<Shared<Team>>, Without<Shared<Team>>);
    let refused = Query::<Entity, Both>::new(&world).map(|_| ());
    assert!(matches!(refused, Err(QueryError::Contradiction { .. })));
    let gone = world.matching::<With<Shared<Team>>>().unwrap();
    assert_eq!(gone.destroy(), 1);
    assert!(!world.exists(shared));
}

#[test]
fn a_walk_goes_on_to_its_end_by_fold_from_wherever_it_stands() {
    let mut world = World::new();
    world.registry().register_enableable::<u8>().unwrap();
    let all = world
        .create_batch((0..1_000_u32).map(|n| (n, 0_u8)))
        .unwrap();
    let all: Vec<Entity> = all.iter(&world).collect();
    // Words with all rows on, none, and some: alone, and side by side.
    let is_on = |n: u32| match n / 64 {
        0 | 3 | 4 | 15 => true,
        1 | 7 => false,
        8 => n.is_multiple_of(2),
        word => n % 64 > 2 * word,
    };
    for (&entity, n) in all.iter().zip(0..) {
        world.set_enabled::<u8>(entity, is_on(n)).unwrap();
    }
    let on: Vec<u32> = (0..1_000).filter(|&n| is_on(n)).collect();
    let mut query = Query::<&u32, With<u8>>::new(&world).unwrap();
    assert_eq!(query.on(&mut world).count(), on.len());
    let mut lent = Vec::new();
    query.on(&mut world).for_each(|&n| lent.push(n));
    assert_eq!(lent, on);
    for taken in [0, 1, 63, 64, 65, 200, on.len(), on.len() + 1] {
        let rest = &on[taken.min(on.len())..];
        let mut run = query.on(&mut world);
        let (mut lent, mut used) = (run.iter(), Vec::new());
        lent.by_ref().take(taken).for_each(drop);
        lent.for_each(|&n| used.push(n));
        assert_eq!(used, rest, "lent, behind {taken}");
        drop(run);
        let (mut items, mut used) = (query.on(&mut world).into_iter(), Vec::new());
        for _ in 0..taken {
            items.next();
        }
        items.for_each(|&n| used.push(n));
        assert_eq!(used, rest, "used up, behind {taken}");
    }
}

#[test]
fn the_only_one_is_not_the_first_of_several() {
    let mut world = World::new();
    world.registry().register_enableable::<u8>().unwrap();
    let mut query = Query::<&u32, With<u8>>::new(&world).unwrap();
    assert_eq!(query.on(&mut world).first(), None);
    assert_eq!(query.on(&mut world).single(), None);
    let one = world.create((1_u32, 0_u8)).unwrap();
    assert_eq!(query.on(&mut world).single(), Some(&1));
    let same = world.create((2_u32, 0_u8)).unwrap();
    let other = world.create((3_u32, 0_u8, "other")).unwrap();
    for (off, first, single) in [
        (vec![], Some(&1), None),
        (vec![one], Some(&2), None),
        (vec![same, other], Some(&1), Some(&1)),
        (vec![one, other], Some(&2), Some(&2)),
        (vec![one, same], Some(&3), Some(&3)),
        (vec![one, same, other], None, None),
    ] {
        for entity in [one, same, other] {
            let on = !off.contains(&entity);
            world.set_enabled::<u8>(entity, on).unwrap();
        }
        assert_eq!(query.on(&mut world).first(), first);
        assert_eq!(query.on(&mut world).single(), single);
        let mut once = world.query::<&u32, With<u8>>().unwrap();
        assert_eq!(once.first(), first);
        assert_eq!(once.single(), single);
    }
}
