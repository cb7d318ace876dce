//! Recorded bundles say what the chunks of new archetypes begin with.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use megachunk::fragment::FragmentError;
use megachunk::prelude::*;

#[test]
fn a_template_comes_along_although_nothing_is_created() {
    let mut world = World::new();
    let ant = world.create((1_u32,)).unwrap();
    world
        .commands()
        .add(ant, (2_u64,).per_chunk(0.5_f64))
        .unwrap();
    let report = world.flush();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(world.chunk_fragment::<f64>(ant).unwrap(), &0.5);
}

/// As at once: each archetype begins with what its first entity came with.
#[test]
fn what_is_created_begins_with_its_own_template() {
    let mut world = World::new();
    let mut commands = world.commands();
    let ant = commands.create((1_u8,).per_chunk(1_i32)).unwrap();
    let bee = commands.create((1_u16,).per_chunk(2_i32)).unwrap();
    let cow = commands.create((2_u8,).per_chunk(3_i32)).unwrap();
    drop(commands);
    assert!(world.flush().is_clean());
    let begins = [ant, bee, cow].map(|one| *world.chunk_fragment::<i32>(one).unwrap());
    assert_eq!(begins, [1, 2, 1]);
}

/// What changes lead to begins with what changes said last, whatever was created meanwhile.
#[test]
fn what_changes_lead_to_begins_with_the_template_said_last() {
    let mut world = World::new();
    let ant = world.create((1_u8,)).unwrap();
    let mut commands = world.commands();
    commands.add(ant, (1_u64,).per_chunk(1_i32)).unwrap();
    commands.add(ant, ('a',).per_chunk(2_i32)).unwrap();
    let bee = commands.create((1_u16,).per_chunk(3_i32)).unwrap();
    drop(commands);
    assert!(world.flush().is_clean());
    assert_eq!(world.chunk_fragment::<i32>(ant).unwrap(), &2);
    assert_eq!(world.chunk_fragment::<i32>(bee).unwrap(), &3);
}

#[test]
fn a_refused_call_leaves_no_template() {
    let twice = |refused: Option<WorldError>| {
        let refused = refused.expect("it is refused");
        assert!(
            matches!(refused, WorldError::Fragment(FragmentError::Twice { .. })),
            "{refused:?}"
        );
    };
    let mut world = World::new();
    let ant = world.create((1_u8,)).unwrap();
    let mut commands = world.commands();
    twice(commands.create((1_u8, 1_u8).per_chunk(1_i32)).err());
    twice(commands.add(ant, ('a', 'b').per_chunk(1_i32)).err());
    let bee = commands.create((1_u16,).per_chunk(2_i32)).unwrap();
    commands.add(ant, (1_u64,).per_chunk(3_i32)).unwrap();
    drop(commands);
    assert!(world.flush().is_clean());
    assert_eq!(world.chunk_fragment::<i32>(bee).unwrap(), &2);
    assert_eq!(world.chunk_fragment::<i32>(ant).unwrap(), &3);
    // Nor does one that was alone.
    twice(world.commands().create(('a', 'b').per_chunk('a')).err());
    assert_eq!(world.flush().rounds, 0);
}

#[test]
fn all_templates_of_a_call_come_also_if_the_drop_of_one_before_panics() {
    #[derive(Clone)]
    struct Bomb(bool);
    impl Drop for Bomb {
        fn drop(&mut self) {
            if core::mem::take(&mut self.0) {
                resume_unwind(Box::new("the bomb"));
            }
        }
    }
    let mut world = World::new();
    let (ant, bee) = (
        world.create((1_u8,)).unwrap(),
        world.create((2_u8,)).unwrap(),
    );
    let mut commands = world.commands();
    commands.add(ant, (1_u16,).per_chunk(Bomb(true))).unwrap();
    let bundle = (2_u16,).per_chunk(Bomb(false)).per_chunk('a');
    catch_unwind(AssertUnwindSafe(|| commands.add(bee, bundle))).unwrap_err();
    drop(commands);
    let report = world.flush();
    assert!(report.is_clean() && report.commands == 2, "{report:?}");
    assert_eq!(world.chunk_fragment::<char>(bee).unwrap(), &'a');
}

/// Many streams and many recorders, whose templates come in no order.
#[test]
fn each_of_many_compositions_begins_with_its_own_template() {
    let mut world = World::new();
    let mut made = Vec::new();
    for recorder in 0..20_i32 {
        let mut commands = world.commands();
        for number in [3_i32, 0, 2, 3, 1, 0, 2] {
            let weather = 100 * recorder + 10 * number;
            let made_here = match number {
                0 => commands.create((1_u8, recorder).per_chunk(weather)),
                1 => commands.create((1_u16, recorder).per_chunk(weather)),
                2 => commands.create((1_u8,).shared(recorder).per_chunk(weather)),
                _ => commands.create((1_u16,).shared(recorder).per_chunk(weather)),
            };
            made.push((number, made_here.unwrap()));
        }
    }
    assert!(world.flush().is_clean());
    for (number, entity) in made {
        // All archetypes are met by the first recorder.
        assert_eq!(world.chunk_fragment::<i32>(entity).unwrap(), &(10 * number));
    }
}

/// What begins with it is made after the closure.
#[test]
fn a_template_that_is_recorded_behind_a_closure_comes_after_what_the_closure_brings() {
    let mut world = World::new();
    let (ant, bee) = (
        world.create((1_u8,)).unwrap(),
        world.create((2_u8,)).unwrap(),
    );
    let mut commands = world.commands();
    commands.defer(|world| {
        world.create((1_u16,).per_chunk(3_i32)).unwrap();
    });
    commands.add(ant, ('a',).per_chunk(2_i32)).unwrap();
    commands.defer(|world| {
        world.create((1_u64,).per_chunk(4_i32)).unwrap();
    });
    commands.add(bee, (0.5_f32,).per_chunk(5_i32)).unwrap();
    drop(commands);
    assert!(world.flush().is_clean());
    // What a recorder said last, as where there are no closures.
    assert_eq!(world.chunk_fragment::<i32>(ant).unwrap(), &5);
    assert_eq!(world.chunk_fragment::<i32>(bee).unwrap(), &5);
}
