//! Resources that a query asks for by their numbers.

use megachunk::prelude::*;
use megachunk::query::{Access, DynamicQuery, QueryError, ResourceId};

#[test]
fn resources_of_unknown_types_are_read_and_written_in_the_same_account_as_typed_ones() {
    let mut world = World::new();
    world.resources_mut().insert(7_u32);
    world.resources_mut().insert("text".to_owned());
    let (number, text) = (ResourceId::of::<u32>(), ResourceId::of::<String>());
    let mut query = DynamicQuery::builder(&world)
        .resource(number, Access::Write)
        .resource(text, Access::Read)
        .resource(ResourceId::of::<char>(), Access::None)
        .build()
        .unwrap();
    {
        let (_, mut lent) = query.with_resources(&mut world).unwrap();
        *lent
            .write_any(number)
            .unwrap()
            .downcast_mut::<u32>()
            .unwrap() += 1;
        for refused in [
            lent.read_any(number).map(drop),
            lent.write_any(number).map(drop),
            lent.read::<u32>().map(drop),
            lent.write::<u32>().map(drop),
        ] {
            assert!(matches!(refused, Err(QueryError::Lent { .. })));
        }
        let (one, two) = (lent.read_any(text).unwrap(), lent.read_any(text).unwrap());
        assert_eq!(one.downcast_ref::<String>(), two.downcast_ref::<String>());
        assert!(matches!(
            lent.write_any(text),
            Err(QueryError::ReadOnly { .. })
        ));
        let other = ResourceId::of::<char>();
        assert!(matches!(
            lent.read_any(other),
            Err(QueryError::NotAsked { .. })
        ));
        assert!(matches!(
            lent.write_any(other),
            Err(QueryError::NotAsked { .. })
        ));
    }
    {
        let (_, mut lent) = query.with_resources(&mut world).unwrap();
        assert_eq!(lent.read::<u32>(), Ok(&8));
        assert_eq!(
            lent.read_any(number).unwrap().downcast_ref::<u32>(),
            Some(&8)
        );
        assert!(matches!(
            lent.write_any(number),
            Err(QueryError::Lent { .. })
        ));
    }
    world.resources_mut().remove::<u32>();
    let (_, mut lent) = query.with_resources(&mut world).unwrap();
    for refused in [
        lent.read_any(number).map(drop),
        lent.write_any(number).map(drop),
    ] {
        assert!(matches!(refused, Err(QueryError::NoResource { .. })));
    }
}

#[test]
fn a_resource_is_asked_for_once() {
    let world = World::new();
    let number = ResourceId::of::<u32>();
    let builder = || DynamicQuery::builder(&world).resource(number, Access::Read);
    let twice = builder().read_resource::<u32>().build();
    assert!(matches!(twice, Err(QueryError::ResourceTwice { .. })));
    let both = builder().resource(number, Access::Write).build();
    assert!(matches!(both, Err(QueryError::Conflict { .. })));
}

#[test]
fn a_script_writes_what_it_knows_by_number_and_a_conditional_of_changes_sees_it() {
    let mut world = World::new();
    world.resources_mut().insert(7_u32);
    let number = ResourceId::of::<u32>();
    let script = |name: &str, world: &World| {
        let query = DynamicQuery::builder(world)
            .resource(number, Access::Write)
            .build();
        dynamic_processor(
            name,
            [query.unwrap()],
            move |mut params| -> ProcessorResult {
                let value = params.resources().write_any(number)?;
                if let Some(value) = value.downcast_mut::<u32>() {
                    *value *= 2;
                }
                Ok(())
            },
        )
    };
    let mut schedule = Schedule::new();
    schedule
        .add(script("one", &world))
        .add(script("two", &world));
    schedule.run(&mut world).unwrap();
    assert_eq!(world.resources().get::<u32>(), Some(&28));
    world.resources_mut().remove::<u32>();
    assert!(schedule.run(&mut world).is_err());
}
