//! Filters of chunks: by change, order, shared value, and by a closure.

use megachunk::fragment::{FragmentError, Value};
use megachunk::prelude::*;
use megachunk::query::DynamicQuery;
use megachunk::world::Version;

use crate::dynamic::{Ids, seen};

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
