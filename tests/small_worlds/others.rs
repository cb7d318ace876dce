//! Other worlds, recorders and observers.

use std::sync::Arc;

use megachunk::fragment::PerChunk;
use megachunk::prelude::*;

use crate::{Begin, Ending, Padded, Team};

#[test]
fn entities_go_to_another_world_with_all_they_have() {
    let universe = Arc::new(Universe::new());
    let [mut here, mut there] = [(); 2].map(|()| World::of(&universe).unwrap());
    let bundle = |n: u32| {
        (Box::new(n), Padded(1, n))
            .shared(Team(format!("{}", n % 3)))
            .per_chunk(Begin("k".into()))
    };
    let _ = here.create_batch((0..30).map(bundle)).unwrap();
    here.move_all_to(&mut there).unwrap();
    assert_eq!((here.count(), there.count()), (0, 30));
    let one = there.create((Box::new(1_u32),)).unwrap();
    there.registry().register_clone::<Box<u32>>().unwrap();
    there.clone_entity(one).unwrap();
    there.resources_mut().insert(String::new());
    let mut query =
        Query::<(&mut Box<u32>, Shared<Team>, PerChunk<Begin>), (), &mut String>::new(&there)
            .unwrap();
    let (mut run, said) = query.with_resources(&mut there).unwrap();
    run.for_each(|(number, team, begin)| {
        **number += 1;
        said.push_str(&team.0);
        said.push_str(&begin.0);
    });
    assert_eq!(said.len(), 60);
    drop(run);
    there.check().unwrap();
}

#[test]
fn recorded_changes_are_made_and_observers_see_what_goes() {
    let mut world = World::new();
    world.set_chunk_size(1);
    let bundle = |n| {
        let names = [String::from("a"), String::from("b")];
        (Box::new(n), Padded(1, n), names)
    };
    let batch = world.create_batch((0..60_u32).map(bundle)).unwrap();
    let all: Vec<Entity> = batch.iter(&world).collect();
    let mut commands = world.commands();
    for (n, &entity) in all.iter().enumerate() {
        match n % 5 {
            0 => commands.destroy(entity),
            1 => commands.add(entity, (Ending, Box::new(1_u8))).unwrap(),
            2 => commands.remove::<(Padded, Box<u32>)>(entity).unwrap(),
            3 => commands.add(entity, (Box::new(3_u32),)).unwrap(),
            _ => commands
                .add(entity, (1_u16,).shared(Team("w".into())))
                .unwrap(),
        }
    }
    for n in 0..5_u32 {
        let new = commands.create(bundle(n)).unwrap();
        commands.add(new, (String::from("y"),)).unwrap();
        if n == 2 {
            commands.destroy(new);
        }
    }
    commands.defer(|world| drop(world.create((1_u8,))));
    drop(commands);
    assert!(world.flush().is_clean());
    assert_eq!(world.count(), 48 + 4 + 1);
    let mut query = Query::<(&mut Box<u32>, Option<&mut Padded>, &[String; 2])>::new(&world);
    let query = query.as_mut().unwrap();
    query.on(&mut world).for_each(|(number, padded, names)| {
        **number += names[0].len() as u32;
        if let Some(padded) = padded {
            padded.1 += 1;
        }
    });
    let mut other = World::of(&Arc::clone(world.universe())).unwrap();
    let moved = world.move_slice_to(&mut other, &all[21..24]);
    assert!(moved.unwrap().is_clean());
    let mut moved = 0;
    query.on(&mut other).for_each(|(number, _, _)| {
        **number += 1;
        moved += 1;
    });
    assert_eq!(moved, 2);
    world
        .observe::<Padded, ()>(Observed::DESTROY, |batch, _| {
            batch
                .for_each::<&mut Box<u32>>(|number| **number += 1)
                .unwrap();
        })
        .unwrap();
    world.clear();
    world.check().unwrap();
}
