//! The compositions of a world, listed for whoever knows none of them beforehand.

use megachunk::prelude::*;
use megachunk::query::DynamicQuery;

/// The fragments' names and the count of each.
fn listed(world: &World) -> Vec<(Vec<String>, usize)> {
    let archetypes = world.archetypes();
    let listed = archetypes.map(|archetype| {
        let mut names: Vec<String> = archetype
            .fragments()
            .map(|info| info.name().to_owned())
            .collect();
        names.sort_unstable();
        (names, archetype.len())
    });
    listed.collect()
}

#[test]
fn compositions_are_listed_as_they_were_met_those_without_entities_and_in_the_order_of_stats() {
    let mut world = World::new();
    assert_eq!(world.archetypes().len(), 0);
    let ant = world.create((1_u8,)).unwrap();
    world.add(ant, (2_u16, 'x')).unwrap();
    world.create(().shared(7_i16)).unwrap();
    let archetypes = world.archetypes();
    assert_eq!((archetypes.len(), world.archetypes().len()), (3, 3));
    assert_eq!(world.archetypes().skip(1).len(), 2);
    let stats = world.stats();
    let from_stats = stats.archetypes.iter();
    let from_stats: Vec<_> = from_stats
        .map(|data| (data.fragments.clone(), data.entities))
        .collect();
    assert_eq!(listed(&world), from_stats);
    let first = world.archetypes().next().unwrap();
    assert!(first.is_empty());
    assert_eq!(first.chunks().count(), 0, "what it keeps has no entity");
    assert_eq!(first.fragments().count(), 1);
}

#[test]
fn who_is_collected_is_listed_no_more_and_the_others_move_up() {
    let mut world = World::new();
    let ant = world.create((1_u8,)).unwrap();
    world.add(ant, (2_u16,)).unwrap();
    let bee = world.create((1_u32,)).unwrap();
    let (before, version) = (listed(&world), world.composition_version());
    assert_eq!(world.collect_archetypes(), 1);
    assert_ne!(world.composition_version(), version);
    assert_eq!(listed(&world), before[1..]);
    let last = world.archetypes().last().unwrap();
    assert_eq!(last.chunks().collect::<Vec<_>>(), [&[bee][..]]);
    assert_eq!(
        world.entity(bee).unwrap().archetype().composition(),
        last.composition()
    );
    // It comes again, behind the others.
    world.create((3_u8,)).unwrap();
    assert_eq!(
        listed(&world).last(),
        before.first().map(|(names, _)| (names.clone(), 1)).as_ref()
    );
}

#[test]
fn chunks_are_those_that_queries_walk_with_all_rows() {
    let mut world = World::new();
    let wet = world.registry().register_enableable::<bool>().unwrap().id();
    let batch = world.create_batch((0..50_000_u64).map(|n| (n, n % 2 == 0)));
    let entities = batch.unwrap().to_vec(&world);
    let _ = world.create_batch((0..9_u64).map(|n| (n,).shared((n % 3) as u8)));
    world.set_enabled_dynamic(entities[3], wet, false).unwrap();
    for &entity in &entities[20_000..30_000] {
        world.destroy(entity).unwrap();
    }
    let mut walked = Vec::new();
    let mut all = world.query::<Entity, ()>().unwrap();
    all.for_each_chunk(|_, entities| walked.push(entities.to_vec()));
    let listed: Vec<Vec<Entity>> = world
        .archetypes()
        .flat_map(|archetype| {
            archetype
                .chunks()
                .map(<[Entity]>::to_vec)
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(walked.len() > 4, "{}", walked.len());
    assert_eq!(listed, walked);
    for archetype in world.archetypes() {
        let count: usize = archetype.chunks().map(<[Entity]>::len).sum();
        assert_eq!(count, archetype.len());
    }
}

#[test]
fn an_entity_a_chunk_and_a_list_say_the_same_of_a_composition() {
    let mut world = World::new();
    let number = world.registry().register::<u32>().unwrap().id();
    let team = world.registry().register::<Shared<i16>>().unwrap().id();
    let other = world.registry().register::<u64>().unwrap().id();
    let ant = world.create((1_u32,).shared(5_i16)).unwrap();
    let of_entity = world.composition(ant).unwrap();
    let listed = world.archetypes().next().unwrap();
    assert_eq!(listed.composition(), &of_entity);
    let ids: Vec<_> = listed.fragments().map(|info| info.id()).collect();
    assert_eq!(ids, of_entity.iter().collect::<Vec<_>>());
    assert!(format!("{listed:?}").contains("u32"), "{listed:?}");

    let mut typed = Query::<&u32>::new(&world).unwrap();
    let mut seen = 0;
    typed.on(&mut world).for_each_chunk(|chunk, _| {
        assert_eq!(chunk.composition(), &of_entity);
        assert!(chunk.has_dynamic(number) && chunk.has_dynamic(team) && !chunk.has_dynamic(other));
        seen += 1;
    });
    let mut dynamic = DynamicQuery::builder(&world).with(number).build().unwrap();
    dynamic.on(&mut world).unwrap().for_each_chunk(|chunk| {
        assert_eq!(chunk.composition(), &of_entity);
        seen += 1;
    });
    assert_eq!(seen, 2);
}
