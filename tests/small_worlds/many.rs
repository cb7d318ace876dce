//! Batches, slices, and all that a query matches.

use megachunk::prelude::*;
use megachunk::world::Budget;

use crate::{Ending, Padded, Team};

#[test]
fn slices_and_matches_change_as_whole_columns() {
    let mut world = World::new();
    let batch = world
        .create_batch((0..40_u32).map(|n| (Box::new(n), Padded(1, n))))
        .unwrap();
    let all: Vec<Entity> = batch.iter(&world).collect();
    let added = world.add_slice(&all[3..30], |n| (Box::new(n as u64), Ending));
    assert!(added.is_clean());
    assert!(world.remove_slice::<(Padded,)>(&all[5..20]).is_clean());
    let mut query = Query::<(Entity, &mut Box<u32>), With<Padded>>::new(&world).unwrap();
    let change = query.change(&mut world);
    let changed = change.add(|(_, number)| {
        **number += 1;
        (String::from("x"),)
    });
    assert_eq!(changed.unwrap(), 25);
    let named = world.matching::<With<String>>().unwrap();
    assert_eq!(named.set_shared(Team("t".into())).unwrap(), 25);
    world.compact(Budget::Unlimited);
    world.check().unwrap();
    assert_eq!(world.matching::<With<Padded>>().unwrap().destroy(), 25);
    assert_eq!(world.count(), 15);
}

#[test]
fn rows_that_go_from_all_over_leave_the_others_whole() {
    let mut world = World::new();
    let batch = world
        .create_batch((0..10_u32).map(|n| (Box::new(n), Padded(2, n))))
        .unwrap();
    let all: Vec<Entity> = batch.iter(&world).collect();
    let gone = [all[0], all[3], all[7]];
    assert!(world.destroy_slice(&gone).is_clean());
    let mut query = Query::<(&Box<u32>, &Padded)>::new(&world).unwrap();
    let mut run = query.read(&world);
    let left = run.iter().map(|(number, padded)| {
        assert_eq!(Padded(2, **number), *padded);
        **number
    });
    assert_eq!(left.sum::<u32>(), 35);
}

#[test]
fn chunks_are_laid_out_anew_in_place() {
    #[derive(Clone)]
    struct Big(
        Box<u32>,
        #[expect(dead_code, reason = "it takes room")] [u64; 100],
        u8,
    );
    let mut world = World::new();
    world.set_chunk_size(1);
    let bundle = |n| (Big(Box::new(n), [1; 100], 3), Padded(1, n));
    let batch = world.create_batch((0..30).map(bundle)).unwrap();
    let all: Vec<Entity> = batch.iter(&world).collect();
    let matching = world.matching::<With<Big>>().unwrap();
    assert_eq!(matching.add(|_| (Box::new(5_u8),)).unwrap(), 30);
    let mut query = Query::<(&mut Big, &mut Box<u8>)>::new(&world).unwrap();
    let touch = |(big, number): (&mut Big, &mut Box<u8>)| {
        *big.0 += u32::from(big.2);
        **number += 1;
    };
    query.on(&mut world).for_each(touch);
    world.destroy(all[1]).unwrap();
    world.add(all[2], (Ending, 1_u64)).unwrap();
    assert!(world.destroy_slice(&[all[5]]).is_clean());
    let matching = world.matching::<With<Big>>().unwrap();
    assert_eq!(matching.remove::<(Padded,)>().unwrap(), 28);
    let matching = world.matching::<With<Big>>().unwrap();
    let swapped = matching.swap::<(Box<u8>,), (String,)>(|_| (String::from("s"),));
    assert_eq!(swapped.unwrap(), 28);
    assert!(world.remove_slice::<(String,)>(&all[10..20]).is_clean());
    world.compact(Budget::Unlimited);
    world.check().unwrap();
    assert_eq!(*world.get::<Big>(all[29]).unwrap().0, 32);
}
