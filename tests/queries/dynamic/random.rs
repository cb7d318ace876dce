//! On random worlds a query sees what its definition says, and lends what a typed one lends.

use megachunk::fragment::FragmentId;
use megachunk::prelude::*;
use megachunk::query::{Access, DynamicQuery};

use crate::dynamic::{Asleep, Ids, Wet, seen};
use crate::support::Dice;

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

/// Whether a fragment has to be there.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Presence {
    All,
    /// One at least of all that are so marked.
    Any,
    None,
    Optional,
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
                let mut builder = DynamicQuery::builder(&world);
                let mut any = Vec::new();
                for &(presence, id) in &terms {
                    builder = match presence {
                        Presence::All => builder.with(id),
                        Presence::None => builder.without(id),
                        Presence::Optional => builder.optional(id, Access::None),
                        Presence::Any => {
                            any.push(id);
                            builder
                        }
                    };
                }
                if !any.is_empty() {
                    builder = builder.any(&any);
                }
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
