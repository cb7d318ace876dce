//! Observers read values of fragments that are known by their numbers only.

use core::alloc::Layout;
use std::sync::{Arc, Mutex};

use megachunk::fragment::{DynamicBundle, FragmentError, FragmentId, Value, Values, ValuesMut};
use megachunk::prelude::*;
use megachunk::query::DynamicFilter;

use crate::observers::{Burning, Heat, Team, many};

type Lent = Vec<(Observed, Vec<(Entity, u32)>)>;

fn gold(world: &World) -> FragmentId {
    let info = world.registry().define_plain("gold", Layout::new::<u32>());
    info.unwrap().id()
}

fn some(world: &World, gold: FragmentId, of: u32) -> DynamicBundle {
    let value = Value::from_bytes(world.registry(), gold, &of.to_ne_bytes());
    DynamicBundle::new().with(value.unwrap())
}

/// Keeps what is lent of a fragment whenever it comes or goes.
fn lent(world: &mut World, id: FragmentId) -> Arc<Mutex<Lent>> {
    let all = Arc::<Mutex<Lent>>::default();
    let mine = Arc::clone(&all);
    let hear = move |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
        let mut seen = Vec::new();
        let count = batch.for_each_range_dynamic(id, |entities: &[Entity], values: Values<'_>| {
            assert_eq!(entities.len(), values.len());
            let values = values.plain::<u32>().unwrap();
            seen.extend(entities.iter().copied().zip(values.iter().copied()));
        });
        assert_eq!(count.unwrap(), seen.len());
        assert!(seen.iter().map(|&(entity, _)| entity).eq(batch.entities()));
        mine.lock().unwrap().push((batch.change(), seen));
    };
    let all_kinds = Observed::COME | Observed::GO;
    let observed = world.observe_dynamic(all_kinds, id, DynamicFilter::new(), hear);
    observed.unwrap();
    all
}

#[test]
fn values_are_seen_when_they_have_come_and_before_they_go() {
    let mut world = World::new();
    let gold = gold(&world);
    let seen = lent(&mut world, gold);
    let others = many(&mut world, 20);
    let dwarfs: Vec<Entity> = (0..10)
        .map(|n| world.create_dynamic(some(&world, gold, n)).unwrap())
        .collect();
    for (n, &other) in (100..).zip(&others[5..9]) {
        world.add_dynamic(other, some(&world, gold, n)).unwrap();
    }
    let told = |of: Observed| -> Vec<(Entity, u32)> {
        let seen = seen.lock().unwrap();
        let of_kind = seen.iter().filter(|(kind, _)| *kind == of);
        of_kind.flat_map(|(_, lent)| lent.clone()).collect()
    };
    let with = |entities: &[Entity], from: u32| -> Vec<(Entity, u32)> {
        entities.iter().copied().zip(from..).collect()
    };
    assert_eq!(told(Observed::CREATE), with(&dwarfs, 0));
    assert_eq!(told(Observed::ADD), with(&others[5..9], 100));
    // One by one, in slices, by flushes.
    assert!(world.remove_dynamic(others[5], &[gold]).unwrap());
    assert_eq!(
        world
            .remove_slice_dynamic(&others[..8], &[gold])
            .unwrap()
            .done,
        2
    );
    world.commands().remove_dynamic(others[8], &[gold]).unwrap();
    assert!(world.flush().is_clean());
    assert_eq!(told(Observed::REMOVE), with(&others[5..9], 100));
    world.destroy(dwarfs[0]).unwrap();
    assert!(world.destroy_slice(&dwarfs[1..7]).is_clean());
    world.commands().destroy(dwarfs[7]);
    assert!(world.flush().is_clean());
    world.clear();
    let mut gone = told(Observed::DESTROY);
    gone.sort_unstable_by_key(|&(_, gold)| gold);
    assert_eq!(gone, with(&dwarfs, 0));
}

#[test]
fn values_that_have_come_may_be_written_and_count_as_changed() {
    let mut world = World::new();
    let gold = gold(&world);
    let double = move |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
        let each = |_: &[Entity], values: ValuesMut<'_>| {
            values
                .plain::<u32>()
                .unwrap()
                .iter_mut()
                .for_each(|gold| *gold *= 2);
        };
        assert_eq!(batch.for_each_range_dynamic_mut(gold, each).unwrap(), 1);
    };
    let create = Observed::CREATE;
    world
        .observe_dynamic(create, gold, DynamicFilter::new(), double)
        .unwrap();
    let dwarf = world.create_dynamic(some(&world, gold, 21)).unwrap();
    let values = world.get_dynamic(dwarf, gold).unwrap();
    assert_eq!(values.plain::<u32>().unwrap(), [42]);
}

#[test]
fn shared_values_and_chunks_are_one_a_range_and_tags_have_none() {
    #[derive(Clone)]
    struct Weather(u32);
    let mut world = World::new();
    let registry = world.registry();
    let ids = [
        registry.register::<Shared<Team>>().unwrap().id(),
        registry.register::<PerChunk<Weather>>().unwrap().id(),
        registry.register::<Burning>().unwrap().id(),
        registry.register::<Heat>().unwrap().id(),
    ];
    let other = World::new();
    let unknown = (0..100).map(|n| {
        let info = other
            .registry()
            .define_plain(&format!("{n}"), Layout::new::<u8>());
        info.unwrap().id()
    });
    let unknown = unknown.last().unwrap();
    let calls = Arc::new(Mutex::new(0));
    let mine = Arc::clone(&calls);
    let hear = move |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
        let [team, weather, burning, heat] = ids;
        let team_of = |_: &[Entity], teams: Values<'_>| {
            assert_eq!(teams.value::<Team>().unwrap(), &Team(3));
            assert_eq!(teams.len(), 1);
        };
        assert_eq!(batch.for_each_range_dynamic(team, team_of).unwrap(), 4);
        let change = |_: &[Entity], weathers: ValuesMut<'_>| {
            weathers.value::<Weather>().unwrap().0 += 1;
        };
        assert_eq!(
            batch.for_each_range_dynamic_mut(weather, change).unwrap(),
            4
        );
        let none = batch.for_each_range_dynamic(burning, |_, _| panic!("a tag"));
        assert!(matches!(none, Err(QueryError::NoValues { .. })));
        let shared = batch.for_each_range_dynamic_mut(team, |_, _| panic!("shared"));
        assert!(matches!(shared, Err(QueryError::ReadOnly { .. })));
        let unknown = batch.for_each_range_dynamic(unknown, |_, _| panic!("unknown"));
        assert!(matches!(
            unknown,
            Err(QueryError::Fragment(FragmentError::Unknown { .. }))
        ));
        let nobody = batch.for_each_range_dynamic(heat, |_, _| panic!("nobody has it"));
        assert_eq!(nobody.unwrap(), 0);
        *mine.lock().unwrap() += 1;
    };
    let create = Observed::CREATE;
    world
        .observe_dynamic(create, ids[2], DynamicFilter::new(), hear)
        .unwrap();
    let bundle = |_| (Burning,).shared(Team(3)).per_chunk(Weather(6));
    let batch = world.create_batch((0..4).map(bundle)).unwrap();
    let first = batch.iter(&world).next().unwrap();
    assert_eq!(world.chunk_fragment::<Weather>(first).unwrap().0, 7);
    assert_eq!(*calls.lock().unwrap(), 1);
}
