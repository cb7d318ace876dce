//! Queries that are put together at run time: what they see, what they lend, what they refuse; against typed
//! queries and against the plain definition, on random worlds.

use core::alloc::Layout;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::Dice;
use megachunk::fragment::{DynamicBundle, FragmentError, FragmentId, Value};
use megachunk::prelude::*;
use megachunk::query::{Access, ChunkView, DynamicQuery, Presence};
use megachunk::world::Version;

struct Asleep;
struct Wet;

/// Numbers of the fragments of a random world.
#[derive(Clone, Copy, Debug)]
struct Ids {
    number: FragmentId,
    big: FragmentId,
    small: FragmentId,
    asleep: FragmentId,
    wet: FragmentId,
    team: FragmentId,
    flag: FragmentId,
    heat: FragmentId,
}

impl Ids {
    fn new(world: &World) -> Self {
        let registry = world.registry();
        Self {
            number: registry.register::<u32>().unwrap().id(),
            big: registry.register_enableable::<u64>().unwrap().id(),
            small: registry.register::<u8>().unwrap().id(),
            asleep: registry.register::<Asleep>().unwrap().id(),
            wet: registry.register_enableable::<Wet>().unwrap().id(),
            team: registry.register_shared::<i16>().unwrap().id(),
            flag: registry.register_const_shared::<bool>().unwrap().id(),
            heat: registry.register_chunk::<i64>().unwrap().id(),
        }
    }

    fn all(self) -> [FragmentId; 8] {
        let Self {
            number,
            big,
            small,
            asleep,
            wet,
            team,
            flag,
            heat,
        } = self;
        [number, big, small, asleep, wet, team, flag, heat]
    }
}

/// A world of `count` entities of random compositions and values, some switched off, some gone.
fn random_world(dice: &mut Dice, count: usize) -> (World, Ids, Vec<Entity>) {
    let mut world = World::new();
    let ids = Ids::new(&world);
    let mut entities = Vec::new();
    for at in 0..count {
        let entity = world.create(()).unwrap();
        for part in 0..8 {
            if dice.below(2) == 0 {
                continue;
            }
            match part {
                0 => world.add(entity, (at as u32,)).unwrap(),
                1 => world.add(entity, (at as u64 * 3,)).unwrap(),
                2 => world.add(entity, (at as u8,)).unwrap(),
                3 => world.add(entity, (Asleep,)).unwrap(),
                4 => world.add(entity, (Wet,)).unwrap(),
                5 => world.add(entity, ().shared(dice.below(3) as i16)).unwrap(),
                6 => world
                    .add(entity, ().const_shared(dice.below(2) == 0))
                    .unwrap(),
                _ => world.add(entity, ().per_chunk(7_i64)).unwrap(),
            }
        }
        for id in [ids.big, ids.wet] {
            if world.has_dynamic(entity, id).unwrap() && dice.below(3) == 0 {
                world.set_enabled_dynamic(entity, id, false).unwrap();
            }
        }
        entities.push(entity);
    }
    for _ in 0..count / 4 {
        let gone = entities.swap_remove(dice.below(entities.len()));
        world.destroy(gone).unwrap();
    }
    (world, ids, entities)
}

fn seen(query: &mut DynamicQuery, world: &mut World) -> Vec<Entity> {
    query.on(world).unwrap().entities().collect()
}

#[test]
fn all_any_none_and_optional_match_what_the_table_says() {
    let mut world = World::new();
    let f = world.registry().register::<f32>().unwrap().id();
    let i = world.registry().register::<i32>().unwrap().id();
    world.create((1.0_f32,)).unwrap();
    world.create((1_i32,)).unwrap();
    world.create((1.0_f32, 1_i32)).unwrap();
    let count = |builder: megachunk::query::DynamicQueryBuilder<'_>| {
        let mut query = builder.build().unwrap();
        query.read(&world).unwrap().count()
    };
    let builder = || DynamicQuery::builder(&world);
    assert_eq!(count(builder().optional(i, Access::Read)), 2);
    assert_eq!(count(builder().read(f).optional(i, Access::Read)), 2);
    assert_eq!(count(builder().any(&[f, i])), 3);
    assert_eq!(count(builder().any(&[i])), 2);
    assert_eq!(count(builder().read(f).without(i)), 1);
    assert_eq!(count(builder().with(f).with(i)), 1);
    let mut query = builder().read(f).optional(i, Access::Read).build().unwrap();
    let mut run = query.read(&world).unwrap();
    let with_i: Vec<bool> = run
        .chunks()
        .map(|mut chunk| chunk.read(i).is_ok())
        .collect();
    assert_eq!(with_i, [false, true]);
}

#[test]
fn typed_and_dynamic_queries_see_and_lend_the_same_rows() {
    for seed in 0..30 {
        let mut dice = Dice::new(seed);
        let (mut world, ids, _) = random_world(&mut dice, 300);

        type Typed<'a> = (Entity, &'a mut u32, Option<&'a u8>);
        let typed: Vec<(Entity, u32, Option<u8>)> = world
            .query::<Typed<'_>, (Without<Asleep>, Any<(u64, Wet)>)>()
            .unwrap()
            .iter()
            .map(|(entity, number, small)| (entity, *number, small.copied()))
            .collect();
        let mut query = DynamicQuery::builder(&world)
            .write(ids.number)
            .optional(ids.small, Access::Read)
            .without(ids.asleep)
            .any(&[ids.big, ids.wet])
            .build()
            .unwrap();
        let mut dynamic = Vec::new();
        query.on(&mut world).unwrap().for_each_chunk(|mut chunk| {
            let small = chunk
                .read(ids.small)
                .map(|values| values.slice::<u8>().unwrap());
            let numbers = chunk.write(ids.number).unwrap().slice::<u32>().unwrap();
            for row in chunk.rows() {
                let small = small.as_ref().ok().map(|small| small[row]);
                dynamic.push((chunk.entities()[row], numbers[row], small));
            }
        });
        assert_eq!(typed, dynamic, "seed {seed}");

        let typed: Vec<(Entity, u8, Option<i16>)> = world
            .query::<(Entity, &u8, Option<megachunk::fragment::Shared<i16>>), ()>()
            .unwrap()
            .iter()
            .map(|(entity, &small, team)| (entity, small, team.copied()))
            .collect();
        let mut query = DynamicQuery::builder(&world)
            .read(ids.small)
            .optional(ids.team, Access::Read)
            .build()
            .unwrap();
        let mut dynamic = Vec::new();
        query.read(&world).unwrap().for_each_chunk(|mut chunk| {
            let small = chunk.read(ids.small).unwrap().slice::<u8>().unwrap();
            let team = chunk.read(ids.team).ok();
            let team = team.map(|team| *team.value::<i16>().unwrap());
            dynamic.extend(
                chunk
                    .rows()
                    .map(|row| (chunk.entities()[row], small[row], team)),
            );
        });
        assert_eq!(typed, dynamic, "seed {seed}");

        let typed: Vec<(Entity, u64, i16)> = world
            .query::<(Entity, &u64, megachunk::fragment::Shared<i16>), Without<Wet>>()
            .unwrap()
            .iter()
            .map(|(entity, &big, &team)| (entity, big, team))
            .collect();
        let mut query = DynamicQuery::builder(&world)
            .read(ids.big)
            .read(ids.team)
            .without(ids.wet)
            .build()
            .unwrap();
        let mut dynamic = Vec::new();
        query.read(&world).unwrap().for_each_chunk(|mut chunk| {
            let big = chunk.read(ids.big).unwrap().slice::<u64>().unwrap();
            let team = *chunk.read(ids.team).unwrap().value::<i16>().unwrap();
            dynamic.extend(
                chunk
                    .rows()
                    .map(|row| (chunk.entities()[row], big[row], team)),
            );
        });
        assert_eq!(typed, dynamic, "seed {seed}");
    }
}

/// One random requirement of each fragment: presence, or none.
fn random_terms(dice: &mut Dice, ids: Ids) -> Vec<(Presence, FragmentId)> {
    let mut terms = Vec::new();
    for id in ids.all() {
        terms.extend(match dice.below(8) {
            0 => Some((Presence::All, id)),
            1 => Some((Presence::None, id)),
            2 => Some((Presence::Any, id)),
            3 => Some((Presence::Optional, id)),
            _ => None,
        });
    }
    dice.shuffle(&mut terms);
    terms
}

/// Whether a query of these requirements sees an entity, by the definition.
fn expected(world: &World, entity: Entity, terms: &[(Presence, FragmentId)]) -> bool {
    let has = |id| world.has_dynamic(entity, id).unwrap();
    let on = |id| has(id) && world.is_enabled_dynamic(entity, id).unwrap_or(true);
    let any: Vec<FragmentId> = terms
        .iter()
        .filter(|(presence, _)| *presence == Presence::Any)
        .map(|&(_, id)| id)
        .collect();
    let of = |wanted| {
        terms
            .iter()
            .filter(move |(presence, _)| *presence == wanted)
    };
    if of(Presence::All).count() + any.len() == 0 && of(Presence::Optional).count() > 0 {
        // Where nothing has to be there, one of those that may be there must be.
        let one = of(Presence::Optional).any(|&(_, id)| has(id));
        if !one {
            return false;
        }
    }
    (any.is_empty() || any.iter().any(|&id| on(id)))
        && terms.iter().all(|&(presence, id)| match presence {
            Presence::All => on(id),
            Presence::None => !on(id),
            Presence::Any | Presence::Optional => true,
        })
}

#[test]
fn random_queries_see_what_their_definition_says_also_of_archetypes_that_come_later() {
    for seed in 0..20 {
        let mut dice = Dice::new(1_000 + seed);
        let (mut world, ids, mut entities) = random_world(&mut dice, 120);
        let mut queries: Vec<_> = (0..25)
            .map(|_| {
                let terms = random_terms(&mut dice, ids);
                let builder = terms
                    .iter()
                    .fold(DynamicQuery::builder(&world), |builder, &(presence, id)| {
                        builder.require(presence, id, Access::None)
                    });
                (builder.build().unwrap(), terms)
            })
            .collect();
        for round in 0..2 {
            for (query, terms) in &mut queries {
                let mut found = seen(query, &mut world);
                let mut wanted: Vec<Entity> = entities.clone();
                wanted.retain(|&entity| expected(&world, entity, terms));
                found.sort_unstable();
                wanted.sort_unstable();
                assert_eq!(found, wanted, "seed {seed} round {round} {terms:?}");
                assert_eq!(query.on(&mut world).unwrap().count(), wanted.len());
                for &entity in entities.iter().take(10) {
                    let mut run = query.on(&mut world).unwrap();
                    let row = run.get_mut(entity).map(|row| row.entities().to_vec());
                    assert_eq!(row.is_ok(), wanted.contains(&entity));
                    assert!(row.is_err() || row.unwrap() == [entity]);
                }
            }
            for _ in 0..40 {
                let entity = entities[dice.below(entities.len())];
                match dice.below(4) {
                    0 => world.add(entity, (1_u32, Asleep)).unwrap(),
                    1 => drop(world.remove::<(u8, Wet)>(entity).unwrap()),
                    2 => world.add(entity, (9_u64,)).unwrap(),
                    _ => entities.push(world.create((5_u8, Wet)).unwrap()),
                }
            }
        }
    }
}

#[test]
fn contradictions_and_conflicts_are_errors_when_the_query_is_built() {
    let world = World::new();
    let ids = Ids::new(&world);
    let builder = || DynamicQuery::builder(&world);
    let contradiction = builder()
        .read(ids.number)
        .without(ids.number)
        .build()
        .unwrap_err();
    assert!(
        matches!(contradiction, QueryError::Contradiction { .. }),
        "{contradiction}"
    );
    let contradiction = builder()
        .changed(ids.number)
        .without(ids.number)
        .build()
        .unwrap_err();
    assert!(matches!(contradiction, QueryError::Contradiction { .. }));
    let lent = builder()
        .require(Presence::None, ids.number, Access::Read)
        .build()
        .unwrap_err();
    assert!(matches!(lent, QueryError::Contradiction { .. }));
    for builder in [
        builder().write(ids.number).write(ids.number),
        builder().read(ids.number).write(ids.number),
        builder()
            .write(ids.number)
            .optional(ids.number, Access::Read),
    ] {
        let conflict = builder.build().unwrap_err();
        assert_eq!(
            conflict.to_string(),
            "the query takes u32 twice, and writes it: take it once, by `write`, or by `optional` with `Access::Write`"
        );
    }
    let twice = builder().read(ids.number).read(ids.number);
    let twice = twice.build().unwrap_err();
    assert!(
        matches!(twice, QueryError::Fragment(FragmentError::Twice { .. })),
        "{twice}"
    );
    let tag = builder().write(ids.asleep).build().unwrap_err();
    assert!(matches!(tag, QueryError::NoValues { .. }), "{tag}");
    for id in [ids.team, ids.flag] {
        let shared = builder().write(id).build().unwrap_err();
        assert!(matches!(shared, QueryError::ReadOnly { .. }), "{shared}");
    }
    let kind = builder().changed(ids.team).build().unwrap_err();
    assert!(matches!(
        kind,
        QueryError::Fragment(FragmentError::WrongKind { .. })
    ));
    let unknown = builder()
        .with(FragmentId::from_number(9_999))
        .build()
        .unwrap_err();
    assert!(matches!(
        unknown,
        QueryError::Fragment(FragmentError::Unknown { .. })
    ));
    let many = (0..129).map(|n| {
        let name = format!("part {n}");
        world
            .registry()
            .define_plain(&name, Layout::new::<u8>())
            .unwrap()
            .id()
    });
    let many = many
        .fold(builder(), |builder, id| builder.read(id))
        .build()
        .unwrap_err();
    assert_eq!(many, QueryError::TooMany { limit: 128 });
}

#[test]
fn nothing_is_lent_twice_and_nothing_read_only_is_written() {
    let mut world = World::new();
    let ids = Ids::new(&world);
    let bundle = (1_u32, 2_u64, 3_u8).per_chunk(4_i64).shared(5_i16);
    world.create(bundle).unwrap();
    let mut query = DynamicQuery::builder(&world)
        .write(ids.number)
        .read(ids.big)
        .with(ids.small)
        .write(ids.heat)
        .read(ids.team)
        .build()
        .unwrap();
    assert!(matches!(query.read(&world), Err(QueryError::Writes { .. })));
    let mut run = query.on(&mut world).unwrap();
    let mut chunk = run.chunks().next().unwrap();
    let numbers = chunk.write(ids.number).unwrap().slice::<u32>().unwrap();
    assert!(matches!(
        chunk.write(ids.number),
        Err(QueryError::Lent { .. })
    ));
    assert!(matches!(
        chunk.read(ids.number),
        Err(QueryError::Lent { .. })
    ));
    let (one, two) = (chunk.read(ids.big).unwrap(), chunk.read(ids.big).unwrap());
    assert_eq!(one.slice::<u64>().unwrap(), two.slice::<u64>().unwrap());
    assert!(matches!(
        chunk.write(ids.big),
        Err(QueryError::ReadOnly { .. })
    ));
    assert!(matches!(
        chunk.write(ids.team),
        Err(QueryError::ReadOnly { .. })
    ));
    assert!(matches!(
        chunk.read(ids.small),
        Err(QueryError::NotAsked { .. })
    ));
    assert!(matches!(
        chunk.read(ids.flag),
        Err(QueryError::NotAsked { .. })
    ));
    assert_eq!(chunk.read(ids.team).unwrap().value::<i16>().unwrap(), &5);
    // What was read first can not be written any more.
    let heat = chunk.read(ids.heat).unwrap().value::<i64>().unwrap();
    assert!(matches!(
        chunk.write(ids.heat),
        Err(QueryError::Lent { .. })
    ));
    numbers[0] = 10;
    assert_eq!((numbers[0], *heat), (10, 4));

    let mut chunk = run.chunks().next().unwrap();
    *chunk.write(ids.heat).unwrap().value::<i64>().unwrap() = 40;
    assert!(matches!(
        chunk.write(ids.number).unwrap().slice::<i32>(),
        Err(FragmentError::WrongType { .. })
    ));
    drop(run);
    assert_eq!(
        world
            .query::<megachunk::fragment::PerChunk<i64>, ()>()
            .unwrap()
            .single(),
        Some(&40)
    );

    let mut elsewhere = World::new();
    assert_eq!(
        query.on(&mut elsewhere).unwrap_err(),
        QueryError::OtherUniverse
    );
}

#[test]
fn change_order_chunk_and_shared_value_filters_work_on_dynamic_queries() {
    let mut world = World::new();
    let ids = Ids::new(&world);
    let ants: Vec<Entity> = (0..6_u32)
        .map(|n| world.create((n, n as u8).shared((n % 3) as i16)).unwrap())
        .collect();
    let mut writer = DynamicQuery::builder(&world)
        .write(ids.number)
        .read(ids.team)
        .build()
        .unwrap();
    let mut changed = DynamicQuery::builder(&world)
        .read(ids.number)
        .changed(ids.number)
        .build()
        .unwrap();
    let mut moved = DynamicQuery::builder(&world)
        .with(ids.number)
        .moved()
        .build()
        .unwrap();
    assert_eq!(seen(&mut changed, &mut world).len(), 6);
    assert_eq!(seen(&mut changed, &mut world).len(), 0);
    assert_eq!(seen(&mut moved, &mut world).len(), 6);

    let red = Value::shared(world.registry(), 1_i16).unwrap();
    let run = writer.on(&mut world).unwrap();
    let found: Vec<Entity> = run.sharing(&red).unwrap().entities().collect();
    assert_eq!(found, [ants[1], ants[4]]);
    assert_eq!(
        seen(&mut changed, &mut world).len(),
        0,
        "nothing was lent to be written"
    );
    let run = writer.on(&mut world).unwrap();
    run.filter_chunks(|chunk| chunk.shared::<i16>() == Some(&2))
        .for_each_chunk(|mut chunk| {
            chunk
                .write(ids.number)
                .unwrap()
                .slice::<u32>()
                .unwrap()
                .fill(0);
        });
    assert_eq!(seen(&mut changed, &mut world), [ants[2], ants[5]]);
    assert_eq!(seen(&mut moved, &mut world).len(), 0);
    world.destroy(ants[0]).unwrap();
    assert_eq!(seen(&mut moved, &mut world), [ants[3]]);
    let all = changed
        .on(&mut world)
        .unwrap()
        .since(Version::START)
        .count();
    assert_eq!(all, 5);

    let other = World::new();
    let foreign = Value::shared(other.registry(), 1_i16).unwrap();
    let refused = writer
        .on(&mut world)
        .unwrap()
        .sharing(&foreign)
        .unwrap_err();
    assert!(matches!(
        refused,
        QueryError::Fragment(FragmentError::OtherUniverse { .. })
    ));
}

#[test]
fn collections_are_split_at_chunk_borders_and_seen_once() {
    let mut world = World::new();
    let number = world.registry().register::<u32>().unwrap().id();
    let batch = world.create_batch((0..10_000_u32).map(|n| (n,))).unwrap();
    let ants: Vec<Entity> = batch.iter(&world).collect();
    let bee = world.create(("bee",)).unwrap();
    let gone = world.create((0_u32,)).unwrap();
    world.destroy(gone).unwrap();

    let mut dice = Dice::new(7);
    let mut some: Vec<Entity> = (100..9_000).map(|n| ants[n]).collect();
    some.retain(|_| dice.below(10) > 0);
    let wanted = some.len();
    some.extend_from_within(..50);
    some.extend([bee, gone]);
    dice.shuffle(&mut some);

    let mut dynamic = DynamicQuery::builder(&world).write(number).build().unwrap();
    let mut pieces = 0;
    let report = dynamic
        .on(&mut world)
        .unwrap()
        .for_each_in(&some, |mut piece| {
            pieces += 1;
            let rows = piece.len();
            let numbers = piece.write(number).unwrap().slice::<u32>().unwrap();
            assert_eq!(numbers.len(), rows);
            for (number, &entity) in numbers.iter_mut().zip(piece.entities()) {
                assert_eq!(ants[*number as usize], entity);
                *number += 100_000;
            }
        });
    assert_eq!((report.done, report.refused.len()), (wanted, 1));
    assert_eq!(some[report.refused[0].0], gone);
    assert!(pieces > 5);

    let mut typed = Query::<&mut u32>::new(&world).unwrap();
    let report = typed
        .on(&mut world)
        .for_each_in(&some, |number| *number += 100_000);
    assert_eq!((report.done, report.refused.len()), (wanted, 1));
    let mut slices = 0;
    let report = typed
        .on(&mut world)
        .for_each_chunk_in(&some, |chunk, rows, numbers| {
            assert_eq!(chunk.entities()[rows].len(), numbers.len());
            assert!(numbers.iter().all(|&number| number >= 200_000));
            slices += numbers.len();
        });
    assert_eq!((report.done, slices), (wanted, wanted));

    let touched = AtomicUsize::new(0);
    let report = dynamic
        .on(&mut world)
        .unwrap()
        .par_for_each_in(&some, |mut piece| {
            piece
                .write(number)
                .unwrap()
                .slice::<u32>()
                .unwrap()
                .fill(1_000_000);
            touched.fetch_add(piece.len(), Ordering::Relaxed);
        });
    assert_eq!((report.done, touched.into_inner()), (wanted, wanted));
    let report = typed
        .on(&mut world)
        .par_for_each_in(&some, |number| *number += 1);
    assert_eq!(report.done, wanted);
    let changed = world
        .query::<&u32, ()>()
        .unwrap()
        .iter()
        .filter(|&&number| number == 1_000_001)
        .count();
    assert_eq!(changed, wanted);
}

#[test]
fn entities_that_are_switched_off_are_not_seen_in_collections() {
    let mut world = World::new();
    let ids = Ids::new(&world);
    let ants: Vec<Entity> = (0..100_u64).map(|n| world.create((n,)).unwrap()).collect();
    for ant in ants.iter().step_by(2) {
        world.set_enabled::<u64>(*ant, false).unwrap();
    }
    let mut on = DynamicQuery::builder(&world)
        .write(ids.big)
        .build()
        .unwrap();
    let mut rows = 0;
    let report = on
        .on(&mut world)
        .unwrap()
        .for_each_in(&ants[10..20], |piece| {
            rows += piece.rows().count();
        });
    assert_eq!((report.done, rows), (5, 5));
    let mut typed = Query::<&u64>::new(&world).unwrap();
    assert_eq!(
        typed.on(&mut world).for_each_in(&ants[10..20], |_| ()).done,
        5
    );
    let mut run = on.on(&mut world).unwrap();
    assert!(run.get_mut(ants[10]).is_err() && run.get_mut(ants[11]).is_ok());
    assert_eq!(run.first().unwrap().entities(), [ants[1]]);
    assert!(run.single().is_none());
}

#[test]
fn a_parallel_dynamic_query_lends_each_chunk_once() {
    let mut world = World::new();
    let ids = Ids::new(&world);
    world.create_batch((0..20_000_u32).map(|n| (n,))).unwrap();
    world
        .create_batch((0..20_000_u32).map(|n| (n, 0_u8)))
        .unwrap();
    let mut query = DynamicQuery::builder(&world)
        .write(ids.number)
        .build()
        .unwrap();
    query
        .on(&mut world)
        .unwrap()
        .par_for_each_chunk(|mut chunk| {
            for number in chunk.write(ids.number).unwrap().slice::<u32>().unwrap() {
                *number += 1;
            }
        });
    let sum: u64 = world
        .query::<&u32, ()>()
        .unwrap()
        .iter()
        .map(|&n| u64::from(n))
        .sum();
    assert_eq!(sum, 2 * (1..=20_000_u64).sum::<u64>());
}

#[test]
fn a_query_on_another_world_of_its_universe_looks_at_that_worlds_archetypes() {
    let mut land = World::new();
    let mut sea = World::of(land.universe()).unwrap();
    let ids = Ids::new(&land);
    let crab = land.create((1_u32,)).unwrap();
    let fish = sea.create((2_u32, 3_u8)).unwrap();
    let mut query = DynamicQuery::builder(&land)
        .read(ids.number)
        .build()
        .unwrap();
    for _ in 0..2 {
        assert_eq!(seen(&mut query, &mut land), [crab]);
        assert_eq!(seen(&mut query, &mut sea), [fish]);
    }
    let bundle = DynamicBundle::new().with(Value::new(land.registry(), 9_u32).unwrap());
    let worm = land.create_dynamic(bundle).unwrap();
    assert_eq!(seen(&mut query, &mut land), [crab, worm]);
}

#[test]
fn first_and_single_ask_the_filter_of_chunks_once() {
    let mut world = World::new();
    let ids = Ids::new(&world);
    let mut query = DynamicQuery::builder(&world)
        .read(ids.number)
        .build()
        .unwrap();
    let ant = world.create((7_u32,)).unwrap();
    for single in [false, true] {
        let asked = AtomicUsize::new(0);
        // Ordering: one thread.
        let once = |_: &ChunkView<'_>| asked.fetch_add(1, Ordering::Relaxed) == 0;
        let mut run = query.on(&mut world).unwrap().filter_chunks(once);
        let row = match single {
            true => run.single(),
            false => run.first(),
        };
        assert_eq!(row.unwrap().entities(), [ant]);
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }
    let _ = world.create((8_u32,)).unwrap();
    assert!(query.on(&mut world).unwrap().single().is_none());
}
