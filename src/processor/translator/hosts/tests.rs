//! Memory that ends in the middle takes no object from an entity that stays.

use super::*;
use crate::archetype::scarce::Scarce;
use crate::prelude::*;

type Host = (HostOf<u32>,);

/// A change of some entities that there is no memory for; the other world may be where they were to go.
type Refused = fn(&mut World, &mut World, &[Entity]);

const REFUSED: [Refused; 9] = [
    |world, other, ants| assert!(world.move_to(other, ants[0]).is_err()),
    |world, other, ants| {
        let report = world.move_slice_to(other, ants).unwrap();
        assert_eq!(report.refused.len(), ants.len());
    },
    |world, other, _| {
        let all = world.matching::<With<u16>>().unwrap();
        all.move_to(other).unwrap_err();
    },
    |world, _, ants| assert!(world.remove::<Host>(ants[0]).is_err()),
    |world, _, ants| assert_eq!(world.remove_slice::<Host>(ants).refused.len(), ants.len()),
    |world, _, ants| {
        let report = world.swap_slice::<Host, _>(ants, |_| ('x',));
        assert_eq!(report.refused.len(), ants.len());
    },
    |world, _, _| {
        let all = world.matching::<With<u16>>().unwrap();
        all.remove::<Host>().unwrap_err();
    },
    |world, _, _| {
        let all = world.matching::<With<u16>>().unwrap();
        all.swap::<Host, _>(|_| ('x',)).unwrap_err();
    },
    |world, _, ants| assert_eq!(world.flush().refused.len(), ants.len()),
];

#[test]
fn who_is_refused_memory_keeps_its_object() {
    for refused in REFUSED {
        let mut scarce = Scarce::new();
        scarce.leave(64);
        let [mut world, mut other] = [(); 2].map(|()| World::of(&scarce.universe).unwrap());
        for world in [&mut world, &mut other] {
            Hosts::<u32>::install(world).unwrap();
        }
        let registered = world.registry().register_enableable::<u16>();
        registered.unwrap();
        // Some of those that share a chunk are switched off: it does not go as a whole.
        let ants: Vec<Entity> = (0..9).map(|_| world.create((1_u16,)).unwrap()).collect();
        for (&ant, n) in ants.iter().zip(0_u32..) {
            Hosts::attach(&mut world, ant, n).unwrap();
            // Nobody was ever what they would be without it: there is no room for that.
            world.add(ant, (1_u8,)).unwrap();
        }
        world.set_enabled::<u16>(ants[8], false).unwrap();
        let mut commands = world.commands();
        (ants[..6].iter()).for_each(|&ant| commands.remove::<Host>(ant).unwrap());
        drop(commands);
        scarce.leave(0);
        refused(&mut world, &mut other, &ants[..6]);
        let mut hosts = world.resources_mut().get_mut::<Hosts<u32>>();
        let hosts = hosts.as_mut().unwrap();
        assert_eq!((hosts.len(), hosts.take_orphans()), (9, Vec::new()));
        for (&ant, n) in ants.iter().zip(0_u32..) {
            let slot = world.get::<HostOf<u32>>(ant).unwrap().slot();
            let hosts = world.resources().get::<Hosts<u32>>().unwrap();
            assert_eq!((hosts.get(slot), hosts.entity(slot)), (Some(&n), Some(ant)));
        }
        world.check().unwrap();
    }
}
