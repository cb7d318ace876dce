//! Why a query does not see an entity, or none at all: what is said is what a run does.

use megachunk::fragment::FragmentKind;
use megachunk::prelude::*;
use megachunk::query::Mismatch;

#[derive(Debug, PartialEq, Eq, Hash)]
struct Team(u32);
struct Awake;
struct Armed;

fn named(text: &str) -> String {
    text.into()
}

/// A world in which `Awake` and `Armed` can be switched.
fn world() -> World {
    let world = World::new();
    world.registry().register_enableable::<Awake>().unwrap();
    world.registry().register_enableable::<Armed>().unwrap();
    world
}

#[test]
fn switches_of_the_entity_itself_are_told() {
    let mut world = world();
    let [one, other] = [1_u32, 2].map(|n| world.create((n, Awake, Armed)).unwrap());
    let (awake, armed) = (
        named(core::any::type_name::<Awake>()),
        named(core::any::type_name::<Armed>()),
    );
    world.set_enabled::<Awake>(one, false).unwrap();
    let with = Query::<&u32, With<Awake>>::new(&world).unwrap();
    assert_eq!(
        with.explain(&world, one).unwrap(),
        [Mismatch::SwitchedOff(awake.clone())]
    );
    assert_eq!(with.explain(&world, other).unwrap(), []);
    let without = Query::<&u32, Without<Awake>>::new(&world).unwrap();
    assert_eq!(without.explain(&world, one).unwrap(), []);
    assert_eq!(
        without.explain(&world, other).unwrap(),
        [Mismatch::SwitchedOn(awake.clone())]
    );
    let any = Query::<&u32, Any<(Awake, Armed)>>::new(&world).unwrap();
    assert_eq!(any.explain(&world, one).unwrap(), []);
    world.set_enabled::<Armed>(one, false).unwrap();
    let [off] = &any.explain(&world, one).unwrap()[..] else {
        panic!("both are off");
    };
    let mut names = [awake.clone(), armed];
    names.sort();
    let Mismatch::AllSwitchedOff(mut said) = off.clone() else {
        panic!("{off}");
    };
    said.sort();
    assert_eq!(said, names);
    // All rows off: the composition matches, and nobody is seen.
    world.set_enabled::<Awake>(other, false).unwrap();
    let why = with.explain_none(&world).unwrap().unwrap();
    assert_eq!(why.nearest[0].entities, 2);
    assert_eq!(why.nearest[0].mismatches, [Mismatch::SwitchedOff(awake)]);
    let near = why.nearest[0].to_string();
    assert!(
        near.starts_with("of 2 entities of {") && near.ends_with(", which is switched off"),
        "{near}"
    );
    assert!(why.to_string().contains(&near), "{why}");
    world.set_enabled::<Awake>(other, true).unwrap();
    assert_eq!(with.explain_none(&world).unwrap(), None);
}

#[test]
fn what_must_have_changed_is_told_as_the_next_run_would_see_it() {
    let mut world = world();
    let ant = world.create((1_u32, 2_u64, Awake)).unwrap();
    let id = |world: &World| world.registry().of::<u32>().unwrap().id();
    let mut changed = Query::<Entity, Changed<u32>>::new(&world).unwrap();
    let mut tag = Query::<Entity, Changed<Awake>>::new(&world).unwrap();
    let mut both = Query::<Entity, (Changed<u32>, Changed<u64>)>::new(&world).unwrap();
    let mut either = Query::<Entity, Or<(Changed<u32>, Changed<u64>)>>::new(&world).unwrap();
    let mut moved = Query::<Entity, Moved>::new(&world).unwrap();
    let mut or_moved = Query::<Entity, Or<(Changed<u32>, Moved)>>::new(&world).unwrap();
    let mut dynamic = DynamicQuery::builder(&world)
        .changed(id(&world))
        .moved()
        .build()
        .unwrap();
    for step in 0..9 {
        match step {
            1 => world.get_mut::<u32>(ant).map(|n| *n += 1).unwrap(),
            3 => world.get_mut::<u64>(ant).map(|n| *n += 1).unwrap(),
            5 => drop(world.create((1_u32, 2_u64, Awake)).unwrap()),
            7 => world.set_enabled::<Awake>(ant, false).unwrap(),
            _ => {}
        }
        macro_rules! same {
            ($($query:ident),*) => {$(
                let why = $query.explain(&world, ant).unwrap();
                let none = $query.explain_none(&world).unwrap();
                let seen: Vec<Entity> = $query.on(&mut world).iter().collect();
                let sees = seen.contains(&ant);
                assert_eq!(why.is_empty(), sees, "{step}: {} {why:?}", stringify!($query));
                let nobody = seen.is_empty();
                assert_eq!(none.is_some(), nobody, "{step}: {} {none:?}", stringify!($query));
            )*};
        }
        same!(changed, tag, both, either, moved, or_moved);
        let why = dynamic.explain(&world, ant).unwrap();
        let sees = dynamic.on(&mut world).unwrap().count() > 0;
        assert_eq!(why.is_empty(), sees, "{step}: {why:?}");
    }
    let name = named("u32");
    assert_eq!(
        both.explain(&world, ant).unwrap()[0],
        Mismatch::IfChanged(name.clone())
    );
    let why = dynamic.explain(&world, ant).unwrap();
    assert_eq!(why, [Mismatch::IfChanged(name.clone()), Mismatch::IfMoved]);
    // Nothing else is known of a requirement alone.
    let asked = changed.requirements().explain(&world, ant).unwrap();
    assert_eq!(asked, [Mismatch::IfChanged(name)]);
    assert_eq!(changed.requirements().explain_none(&world), None);
    assert!(matches!(
        &either.explain(&world, ant).unwrap()[..],
        [Mismatch::IfOneChanged(names)] if names.len() == 2
    ));
}

#[test]
fn of_a_query_that_sees_nobody_the_nearest_compositions_and_other_roles_are_told() {
    let mut world = world();
    let _ = world.create_batch((0..5_u32).map(|n| (n, 'a'))).unwrap();
    world.create((1_u8,)).unwrap();
    let red = world.create((1_u32, 1_u64).shared(Team(1))).unwrap();
    let query = Query::<(&u32, &u64, &Team), Without<char>>::new(&world).unwrap();
    let why = query.explain_none(&world).unwrap().unwrap();
    let team = named(core::any::type_name::<Team>());
    let role = Mismatch::OtherRole {
        name: team.clone(),
        role: FragmentKind::Shared,
    };
    assert_eq!(why.roles, std::slice::from_ref(&role));
    assert_eq!(why.nearest[0].entities, 1);
    assert_eq!(
        why.nearest[0].mismatches,
        [Mismatch::Lacks(team), role.clone()]
    );
    assert_eq!(why.nearest.len(), 3);
    assert_eq!(why.nearest[1].entities, 5, "{why}");
    assert_eq!(
        query.explain(&world, red).unwrap(),
        why.nearest[0].mismatches
    );
    assert!(why.to_string().contains("as a shared fragment"), "{why}");
    // A composition that matches, and that nobody is of, is near, and not seen.
    let lone = world.create((7_i8,)).unwrap();
    world.destroy(lone).unwrap();
    let empty = Query::<&i8>::new(&world).unwrap();
    let why = empty.explain_none(&world).unwrap().unwrap();
    let near = &why.nearest[0];
    assert_eq!((near.entities, &near.mismatches[..]), (0, &[][..]));
    assert!(why.to_string().contains("none is there"), "{why}");
}

#[test]
fn handles_and_worlds_that_are_refused_are_errors_and_another_universe_has_its_own_numbers() {
    let mut one = World::new();
    let ant = one.create((1_u32,)).unwrap();
    let mut other = World::new();
    let bee = other.create((1_u64, 'b')).unwrap();
    let query = Query::<&u32>::new(&one).unwrap();
    assert_eq!(query.explain(&one, ant).unwrap(), []);
    let lacks = query.explain(&other, bee).unwrap();
    assert_eq!(lacks, [Mismatch::Lacks("u32".into())]);
    one.destroy(ant).unwrap();
    assert!(query.explain(&one, ant).is_err());
    let id = one.registry().of::<u32>().unwrap().id();
    let dynamic = DynamicQuery::builder(&one).read(id).build().unwrap();
    assert!(matches!(
        dynamic.explain_none(&other),
        Err(WorldError::OtherUniverse)
    ));
}
