//! Resources whose types are known at run time only.

use core::any::{Any, TypeId};
use std::sync::Arc;

use megachunk::prelude::*;
use megachunk::query::ResourceId;
use megachunk::world::Checkpoints;

#[derive(Debug, PartialEq)]
struct Gravity(f32);

#[test]
fn all_resources_are_told_with_their_types_and_may_be_changed() {
    let mut world = World::new();
    assert_eq!(world.resources().iter().count(), 0);
    world.resources_mut().insert(Gravity(9.8));
    world.resources_mut().insert(String::from("calm"));
    world.resources_mut().insert(7_u8);
    let mut told: Vec<_> = world.resources().iter().collect();
    told.sort_by_key(|(id, _)| id.name());
    let ids: Vec<ResourceId> = told.iter().map(|&(id, _)| id).collect();
    let expected = [
        ResourceId::of::<String>(),
        ResourceId::of::<u8>(),
        ResourceId::of::<Gravity>(),
    ];
    assert!(ids.iter().all(|id| expected.contains(id)) && ids.len() == 3);
    for (id, value) in told {
        assert_eq!(id.of_type(), value.type_id(), "{}", id.name());
        let same = world.resources().get_any(id).unwrap();
        assert!(core::ptr::addr_eq(same, value));
    }
    let id = ResourceId::of::<Gravity>();
    assert_eq!(id.of_type(), TypeId::of::<Gravity>());
    let gravity: &mut (dyn Any + Send + Sync) = world.resources_mut().get_any_mut(id).unwrap();
    *gravity.downcast_mut().unwrap() = Gravity(1.6);
    assert!(gravity.downcast_mut::<u8>().is_none());
    assert_eq!(world.resources().get(), Some(&Gravity(1.6)));
    world.resources_mut().remove::<Gravity>();
    assert!(world.resources().get_any(id).is_none());
    assert!(world.resources_mut().get_any_mut(id).is_none());
}

#[test]
fn what_is_written_replaced_or_taken_out_and_put_in_again_has_another_count_each_time() {
    fn count(world: &World) -> Option<u64> {
        world.resources().change_count::<u32>()
    }
    let mut world = World::new();
    assert_eq!(count(&world), None);
    let changes: [fn(&mut World); 10] = [
        |world| _ = world.resources_mut().insert(1_u32),
        |world| *world.resources_mut().get_mut::<u32>().unwrap() += 1,
        // Fewer writes than the one before: it counts on.
        |world| _ = world.resources_mut().insert(1_u32),
        |world| {
            world.resources_mut().remove::<u32>().unwrap();
            world.resources_mut().insert(1_u32);
        },
        |world| {
            world.resources_mut().remove::<u32>().unwrap();
            world.resources_mut().get_or_insert_with(|| 1_u32);
        },
        |world| _ = world.resources_mut().get_or_insert_with(|| 7_u32),
        // One stands in its place meanwhile.
        |world| {
            let before = count(world);
            world.with_resource(|world, _: &mut u32| {
                assert_eq!(count(world), None);
                world.resources_mut().insert(1_u32);
                assert!(count(world) > before);
            });
        },
        |world| _ = world.with_resource(|_, _: &mut u32| ()),
        |world| {
            let mut schedule = Schedule::new();
            schedule.add(processor("write", |number: &mut u32| *number += 1));
            schedule.run(world).unwrap();
        },
        |world| _ = world.resources_mut().insert(1_u32),
    ];
    let mut seen = Vec::new();
    for (nth, change) in changes.into_iter().cycle().take(40).enumerate() {
        let meanwhile = count(&world);
        change(&mut world);
        let now = count(&world).unwrap();
        assert!(seen.iter().all(|&before| before < now), "{nth}");
        assert!(meanwhile < Some(now));
        seen.push(now);
        // Who only looks, and who writes others, changes nothing.
        assert!(world.resources().get::<u32>().is_some());
        world.resources_mut().insert(1_u64);
        assert_eq!(count(&world), Some(now));
    }
}

#[test]
fn the_count_of_what_goes_back_with_the_world_is_another_one() {
    let mut world = World::of(&Arc::new(Universe::ordered())).unwrap();
    world.registry().register_state_as::<u32>("number").unwrap();
    world.resources_mut().insert(1_u32);
    let mut checkpoints = Checkpoints::new(1);
    let taken = checkpoints.take(&mut world).unwrap();
    for _ in 0..3 {
        *world.resources_mut().get_mut::<u32>().unwrap() = 2;
        let two = world.resources().change_count::<u32>();
        checkpoints.roll_back(&mut world, taken).unwrap();
        assert_eq!(world.resources().get::<u32>(), Some(&1));
        assert!(world.resources().change_count::<u32>() > two);
    }
}
