//! Resources whose types are known at run time only.

use core::any::{Any, TypeId};

use megachunk::prelude::*;
use megachunk::query::ResourceId;

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
