//! Several sets of fragments, of each of which one must be there.

use megachunk::fragment::FragmentError;
use megachunk::observer::Observed;
use megachunk::prelude::*;
use megachunk::query::{Access, DynamicFilter, DynamicQuery, DynamicQueryBuilder, QueryError};

use crate::dynamic::{Asleep, Ids, Wet, seen};

#[test]
fn two_lists_ask_for_one_of_each_as_two_of_a_typed_query_do() {
    let mut world = World::new();
    let ids = Ids::new(&world);
    let both = world.create((1_u32, Asleep)).unwrap();
    let one = world.create((1_u32,)).unwrap();
    let other = world.create((1_u8, Wet)).unwrap();
    let none = world.create(('x',)).unwrap();
    let builder = || DynamicQuery::builder(&world);
    let (first, second) = ([ids.number, ids.small], [ids.asleep, ids.wet]);
    let mut each = builder().any(&first).any(&second).build().unwrap();
    let all_four = [first, second].concat();
    let mut one_list = builder().any(&all_four).build().unwrap();
    let lent = |builder: DynamicQueryBuilder<'_>| {
        let lent = builder.optional(ids.number, Access::Write);
        lent.optional(ids.small, Access::Read).build().unwrap()
    };
    let (mut lent_of_list, mut lent_beside) =
        (lent(builder().any(&all_four)), lent(builder().any(&second)));
    let mut typed = Query::<Entity, (Any<(u32, u8)>, Any<(Asleep, Wet)>)>::new(&world).unwrap();
    assert_eq!(seen(&mut each, &mut world), [both, other]);
    assert_eq!(seen(&mut one_list, &mut world), [both, one, other]);
    // To be lent what may be there asks for nothing, where something has to be.
    assert_eq!(seen(&mut lent_of_list, &mut world), [both, one, other]);
    assert_eq!(seen(&mut lent_beside, &mut world), [both, other]);
    let (small, number) = (ids.small, ids.number);
    lent_beside
        .on(&mut world)
        .unwrap()
        .for_each_chunk(|mut chunk| {
            assert_eq!(chunk.read(small).is_ok(), chunk.has(small));
            assert_eq!(chunk.write(number).is_ok(), chunk.has(number));
        });
    let typed: Vec<Entity> = typed.on(&mut world).iter().collect();
    assert_eq!(typed, [both, other]);
    assert_eq!(each.explain(&world, none).unwrap().len(), 2);
    // Switched off it is not there.
    world.set_enabled::<Wet>(other, false).unwrap();
    assert_eq!(seen(&mut each, &mut world), [both]);
    assert_eq!(each.explain(&world, other).unwrap().len(), 1);
}

#[test]
fn of_no_fragments_none_is_there_and_unknown_ones_are_refused() {
    let mut world = World::new();
    let ids = Ids::new(&world);
    world.create((1_u32,)).unwrap();
    let mut nobody = DynamicQuery::builder(&world).any(&[]).build().unwrap();
    assert_eq!(seen(&mut nobody, &mut world), []);
    let why = nobody.explain_none(&world).unwrap().unwrap().to_string();
    assert!(why.contains("one of no fragments"), "{why}");
    let other = World::new();
    let mut id = ids.number;
    for at in 0..100 {
        let name = format!("fragment {at}");
        let layout = core::alloc::Layout::new::<u8>();
        id = other.registry().define_plain(&name, layout).unwrap().id();
    }
    let refused = DynamicQuery::builder(&world).any(&[ids.number, id]).build();
    assert!(matches!(
        refused,
        Err(QueryError::Fragment(FragmentError::Unknown { id: unknown })) if unknown == id
    ));
    let filter = DynamicFilter::new().any(&[id]);
    assert!(
        world
            .observe_dynamic(Observed::COME, ids.number, filter, |_, _| {})
            .is_err()
    );
}

#[test]
fn observers_ask_for_one_of_each_set() {
    let mut world = World::new();
    let ids = Ids::new(&world);
    world.resources_mut().insert(0_usize);
    let filter = DynamicFilter::new()
        .any(&[ids.small, ids.big])
        .any(&[ids.asleep, ids.wet]);
    assert_ne!(filter, DynamicFilter::new().any(&[ids.small, ids.big]));
    world
        .observe_dynamic(Observed::COME, ids.number, filter, |batch, _| {
            *batch.resources_mut().get_mut::<usize>().unwrap() += batch.len();
        })
        .unwrap();
    world.create((1_u32, 1_u8)).unwrap();
    world.create((1_u32, Wet)).unwrap();
    assert_eq!(world.resources().get::<usize>(), Some(&0));
    world.create((1_u32, 1_u8, Wet)).unwrap();
    world.create((1_u32, 1_u64, Asleep)).unwrap();
    assert_eq!(world.resources().get::<usize>(), Some(&2));
}
