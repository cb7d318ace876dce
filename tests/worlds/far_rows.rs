//! Slices in no order of worlds whose rows are far away: what is asked for ahead changes nothing but the time.

use std::collections::HashSet;
use std::sync::Arc;

use megachunk::prelude::*;
use megachunk::world::SliceReport;

/// More entities than a processor has rows of at hand.
const LIVE: u32 = 300_000;
/// So many of them are changed.
const CHANGED: usize = 4_000;

/// Members that lie far apart, and handles of all kinds between them that are refused; and where those stand.
fn slice_with_strangers(members: &[Entity], strangers: &[Entity]) -> (Vec<Entity>, HashSet<usize>) {
    let mut slice = Vec::new();
    let mut at = 1_usize;
    let mut refused = HashSet::new();
    for n in 0..CHANGED {
        // A step that has no divisor in common with the number of members comes by each once.
        at = (at + 104_729) % members.len();
        if n % 17 == 3 {
            refused.insert(slice.len());
            slice.push(strangers[n % strangers.len()]);
        }
        slice.push(members[at]);
    }
    (slice, refused)
}

#[test]
fn slices_of_a_large_world_change_those_that_are_named_and_refuse_strangers() {
    let universe = Arc::new(Universe::new());
    let mut world = World::of(&universe).unwrap();
    let mut other = World::of(&universe).unwrap();
    let batch = world.create_batch((0..LIVE).map(|n| (n, [n as u8; 3])));
    let mut members: Vec<Entity> = batch.unwrap().iter(&world).collect();
    let stale = members.pop().unwrap();
    world.destroy(stale).unwrap();
    let abroad = other.create((1_u32,)).unwrap();
    let unborn = Entity::new(stale.index() + 5_000_000, 1).unwrap();
    let strangers = [stale, abroad, unborn, Entity::PLACEHOLDER];
    let (slice, refused) = slice_with_strangers(&members, &strangers);
    let positions = |report: &SliceReport| -> HashSet<usize> {
        report
            .refused
            .iter()
            .map(|&(position, _)| position)
            .collect()
    };
    let named: HashSet<Entity> = slice
        .iter()
        .copied()
        .filter(|e| !strangers.contains(e))
        .collect();
    assert_eq!(named.len(), CHANGED);

    let added = world.add_slice(&slice, |position| (position as u64,));

    assert_eq!((added.done, positions(&added)), (CHANGED, refused.clone()));
    for (position, &entity) in slice.iter().enumerate() {
        if !refused.contains(&position) {
            assert_eq!(world.get::<u64>(entity).unwrap(), &(position as u64));
        }
    }

    let removed = world.remove_slice::<([u8; 3],)>(&slice);

    assert_eq!(
        (removed.done, positions(&removed)),
        (CHANGED, refused.clone())
    );
    for (n, &entity) in (0_u32..).zip(&members) {
        assert_eq!(world.get::<u32>(entity).unwrap(), &n);
        assert_eq!(world.has::<u64>(entity).unwrap(), named.contains(&entity));
        assert_eq!(
            world.has::<[u8; 3]>(entity).unwrap(),
            !named.contains(&entity)
        );
    }

    // So few in a call that they go one by one.
    let mut destroyed = SliceReport::default();
    for (part, pieces) in slice.chunks(15).enumerate() {
        let more = world.destroy_slice(pieces);
        destroyed.done += more.done;
        let refused = more.refused.into_iter();
        destroyed
            .refused
            .extend(refused.map(|(at, error)| (15 * part + at, error)));
    }

    assert_eq!((destroyed.done, positions(&destroyed)), (CHANGED, refused));
    assert_eq!(world.count(), members.len() - CHANGED);
    for (n, &entity) in (0_u32..).zip(&members) {
        assert_eq!(world.exists(entity), !named.contains(&entity));
        if !named.contains(&entity) {
            assert_eq!(world.get::<u32>(entity).unwrap(), &n);
        }
    }
    world.check().unwrap();
    assert_eq!(other.get::<u32>(abroad).unwrap(), &1);
}
