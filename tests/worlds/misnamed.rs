//! Tuples and references where fragments are named: refused, unless somebody has said that they are meant.

use megachunk::fragment::FragmentError;
use megachunk::observer::Observed;
use megachunk::prelude::*;

/// What a type that is named as a fragment is refused with.
#[track_caller]
fn refused<T>(refused: Result<T, impl Into<Cause>>) -> String {
    let Cause(error) = refused.err().expect("it is refused").into();
    match &error {
        FragmentError::TupleNamed { name, .. } | FragmentError::ReferenceNamed { name, .. } => {
            assert!(error.to_string().contains(&**name), "{error}");
            assert!(
                error.to_string().contains("`FragmentRegistry::register`"),
                "{error}"
            );
            name.to_string()
        }
        other => panic!("refused as {other}"),
    }
}

struct Cause(FragmentError);

impl From<WorldError> for Cause {
    fn from(error: WorldError) -> Self {
        match error {
            WorldError::Fragment(error) => Self(error),
            other => panic!("refused as {other}"),
        }
    }
}

impl From<QueryError> for Cause {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Fragment(error) => Self(error),
            other => panic!("refused as {other}"),
        }
    }
}

#[test]
fn a_tuple_in_a_bundle_is_refused_wherever_it_is_given() {
    fn player() -> impl Bundle {
        (1_u8, 2_u16)
    }
    let mut world = World::new();
    let ant = world.create((3_u32,)).unwrap();
    let compositions = world.archetypes().len();
    for _ in 0..2 {
        assert_eq!(refused(world.create((player(), 3_u32))), "(u8, u16)");
        assert_eq!(refused(world.add(ant, (player(),))), "(u8, u16)");
        assert_eq!(refused(world.remove::<((u8, u16),)>(ant)), "(u8, u16)");
        assert_eq!(refused(world.create_batch([(player(),)])), "(u8, u16)");
        let mut commands = world.commands();
        assert_eq!(refused(commands.create((player(), 'x'))), "(u8, u16)");
        assert_eq!(refused(commands.add(ant, (player(),))), "(u8, u16)");
        drop(commands);
    }
    assert!(world.flush().is_clean());
    assert_eq!((world.count(), world.archetypes().len()), (1, compositions));
    let both = world.create(player().and((3_u32,))).unwrap();
    assert!(world.has::<u8>(both).unwrap() && world.has::<u16>(both).unwrap());
    // What may well be meant.
    world.create(((), "a name")).unwrap();
    world.check().unwrap();
}

#[test]
fn a_tuple_or_a_reference_in_a_query_or_an_observer_is_refused() {
    struct Spot;
    let mut world = World::new();
    world.create((1_u8, 2_u16)).unwrap();
    assert_eq!(
        refused(world.query::<Entity, With<(u8, u16)>>()),
        "(u8, u16)"
    );
    assert_eq!(
        refused(world.query::<Entity, Without<(u8, u16)>>()),
        "(u8, u16)"
    );
    assert_eq!(
        refused(world.query::<Entity, Any<((u8, i8), u16)>>()),
        "(u8, i8)"
    );
    assert_eq!(
        refused(world.query::<Entity, Changed<(u8, u16)>>()),
        "(u8, u16)"
    );
    assert_eq!(
        refused(world.query::<Option<&(u8, u16)>, ()>()),
        "(u8, u16)"
    );
    assert_eq!(refused(world.query::<Has<(u8, u16)>, ()>()), "(u8, u16)");
    assert_eq!(refused(Query::<&mut (u8, u16)>::new(&world)), "(u8, u16)");
    assert!(refused(world.query::<Entity, With<&Spot>>()).ends_with("Spot"));
    let observed = world.observe::<(u8, u16), ()>(Observed::COME, |_, _| {});
    assert_eq!(refused(observed.map(drop)), "(u8, u16)");
    let mut schedule = Schedule::new();
    schedule.add(processor(
        "look",
        |_: QueryRun<'_, Entity, With<(u8, u16)>>| {},
    ));
    let error = schedule.run(&mut world).unwrap_err();
    assert!(
        error.to_string().contains("`(With<A>, With<B>)`"),
        "{error}"
    );
    let both = world
        .query::<Entity, (With<u8>, With<u16>)>()
        .unwrap()
        .count();
    assert_eq!(both, 1);
    assert_eq!(world.query::<Entity, Without<()>>().unwrap().count(), 1);
}

#[test]
fn a_tuple_or_a_reference_that_was_registered_is_a_fragment_like_others() {
    static SPOT: u64 = 5;
    let mut world = World::new();
    world.registry().register::<(u8, u16)>().unwrap();
    world.registry().register::<&u64>().unwrap();
    let nested = world.create(((1_u8, 2_u16), &SPOT)).unwrap();
    assert_eq!(world.get::<(u8, u16)>(nested).unwrap(), &(1, 2));
    let with = world.query::<&&u64, With<(u8, u16)>>().unwrap().count();
    assert_eq!(with, 1);
    // In another universe it was not.
    assert_eq!(refused(World::new().create(((1_u8, 2_u16),))), "(u8, u16)");
}
