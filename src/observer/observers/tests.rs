use super::*;
use crate::fragment::{DynamicBundle, Value};
use crate::query::Access;
use core::alloc::Layout;
use std::sync::Arc;

#[test]
fn archetypes_are_watched_as_their_observers_say_whichever_came_first() {
    let mut world = World::new();
    let ids: Vec<FragmentId> = (0..6)
        .map(|n| {
            let registry = world.registry();
            let id = registry.define_plain(&format!("{n}"), Layout::new::<u32>());
            id.unwrap().id()
        })
        .collect();
    let mut state = 1_u64;
    let mut number = move |limit| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 33) as usize % limit
    };
    let mut observers = Vec::new();
    let mut lives = Vec::new();
    for round in 0..600 {
        match number(6) {
            0 => {
                let mut bundle = DynamicBundle::new();
                for &id in ids.iter().filter(|_| number(2) == 0) {
                    bundle = bundle.with(Value::from_bytes(world.registry(), id, &[0; 4]).unwrap());
                }
                world.create_dynamic(bundle).unwrap();
            }
            1 | 2 => {
                let (fragment, other) = (ids[number(6)], ids[number(6)]);
                let mut requirements = Requirements::new();
                match number(3) {
                    0 => requirements.all(other, Access::None),
                    1 if other != fragment => requirements.none(other),
                    _ => {}
                }
                let observed = Observed::from_bits(1 << number(4) | 1 << number(4));
                let life = (number(2) == 0).then(|| Arc::new(()));
                let weak = life.as_ref().map(Arc::downgrade);
                let own = Precedence::OF_WORLD;
                let run = |_: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {};
                let id = world.observe_living(own, observed, fragment, requirements, weak, run);
                match life {
                    Some(life) => lives.push((id.unwrap(), life)),
                    None => observers.push(id.unwrap()),
                }
            }
            3 if !lives.is_empty() => {
                let (dead, life) = lives.swap_remove(number(lives.len()));
                drop(life);
                // Nobody has looked yet, or somebody asks for it.
                assert!(number(2) == 0 || !world.unobserve(dead));
            }
            _ if !observers.is_empty() => {
                let gone = observers.swap_remove(number(observers.len()));
                assert!(world.unobserve(gone) && !world.unobserve(gone));
            }
            _ => {}
        }
        if round == 300 {
            world.collect_archetypes();
        }
        let kinds = world.watcher::<Observers>().kinds();
        for bit in [0, 1, 2, 3] {
            assert_eq!(world.is_watched(1 << bit), kinds & 1 << bit != 0);
        }
        for data in &world.archetypes {
            assert_eq!(data.watched, world.watched_kinds(data));
        }
    }
    assert!(world.archetypes.len() > 30);
}

#[test]
fn the_dead_are_forgotten_when_they_would_be_told_and_when_another_comes() {
    let mut world = World::new();
    world.create((1_u8,)).unwrap();
    world.create((1_u8, 2_u16)).unwrap();
    let watched = |world: &World| [0, 1].map(|at| world.archetypes[at].watched);
    let heard = Arc::new(crate::sync::Mutex::new(Vec::new()));
    let observe = |world: &mut World, number, life: Option<&Arc<()>>| {
        let heard = Arc::clone(&heard);
        let run = move |_: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
            heard.lock().push(number);
        };
        match life {
            Some(life) => {
                let life = Arc::downgrade(life);
                let register = FragmentRegistry::register::<u8>;
                let own = Precedence::OF_WORLD;
                world.observe_while::<()>(register, own, life, Observed::COME, run)
            }
            None => world.observe::<u16, ()>(Observed::GO, run),
        }
    };
    // More than a few, and few.
    for count in [30, 3] {
        let lives: Vec<Arc<()>> = (0..count).map(|_| Arc::new(())).collect();
        let mut ids = Vec::new();
        for (number, life) in (0..).zip(&lives) {
            ids.push(observe(&mut world, number, Some(life)).unwrap());
        }
        let stays = observe(&mut world, 100, None).unwrap();
        let come = Observed::COME.bits();
        assert_eq!(watched(&world), [come, come | Observed::GO.bits()]);
        let mut lives: Vec<Option<Arc<()>>> = lives.into_iter().map(Some).collect();
        lives[1] = None;
        assert_eq!(world.show_existing(ids[1]), 0);
        assert_eq!(world.show_existing(ids[0]), 2);
        heard.lock().clear();
        // A change that it would not have been told of.
        let entity = world.create((2_u16,)).unwrap();
        world.destroy(entity).unwrap();
        assert_eq!(core::mem::take(&mut *heard.lock()), [100]);
        assert_eq!(world.watcher::<Observers>().all.len(), count + 1);
        let entity = world.create((1_u8,)).unwrap();
        assert_eq!(world.watcher::<Observers>().all.len(), count);
        world.destroy(entity).unwrap();
        let told = core::mem::take(&mut *heard.lock());
        let living = (0..count).filter(|&number| number != 1);
        assert_eq!(told, living.collect::<Vec<_>>());
        lives.clear();
        assert!(!world.unobserve(ids[0]) && !world.unobserve(ids[1]));
        assert_eq!(world.watcher::<Observers>().all.len(), 1);
        assert_eq!(watched(&world), [0, Observed::GO.bits()]);
        assert!(!world.is_watched(come));
        assert!(world.unobserve(stays));
        assert_eq!(watched(&world), [0, 0]);
    }
    for _ in 0..100 {
        observe(&mut world, 0, Some(&Arc::new(()))).unwrap();
        assert_eq!(world.watcher::<Observers>().all.len(), 1);
    }
    // The last one is met when it would be told.
    let last = Arc::strong_count(&heard);
    world.create((1_u8,)).unwrap();
    assert_eq!(Arc::strong_count(&heard), last - 1);
    assert_eq!(watched(&world), [0, 0]);
    assert!(!world.is_watched(u8::MAX) && heard.lock().is_empty());
    world.check().unwrap();
}

#[test]
fn archetypes_are_unwatched_in_the_middle_of_each_kind_of_change() {
    let change: [fn(&mut World, &[crate::entity::Entity]); 8] = [
        |world, all| world.destroy(all[0]).unwrap(),
        |world, all| drop(world.destroy_slice(all)),
        |world, all| world.add(all[1], (3_u64,)).unwrap(),
        |world, all| drop(world.add_slice(all, |_| (3_u64,))),
        |world, all| assert!(world.remove::<(u16,)>(all[2]).unwrap()),
        |world, all| drop(world.remove_slice::<(u16,)>(all)),
        |world, _| assert_eq!(world.clear(), 5),
        |world, all| {
            let mut commands = world.commands();
            commands.destroy(all[0]);
            commands.add(all[1], (3_u64,)).unwrap();
            commands.remove::<(u16,)>(all[2]).unwrap();
            drop(commands);
            assert_eq!(world.flush().commands, 3);
        },
    ];
    for change in change {
        let mut counts = [true, false].map(|dies| {
            let mut world = World::new();
            world.resources_mut().insert(0_usize);
            let life = Arc::new(());
            let all = Observed::COME | Observed::GO;
            for weak in [
                Some(Arc::downgrade(&life)),
                None,
                Some(Arc::downgrade(&life)),
            ] {
                let living = weak.is_none();
                let run = move |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
                    let count = batch.len() * usize::from(living);
                    *batch.resources_mut().get_mut::<usize>().unwrap() += count;
                };
                let id = world.registry().register::<u16>().unwrap().id();
                let own = Precedence::OF_WORLD;
                let observed = if living {
                    Observed::DESTROY | Observed::ADD
                } else {
                    all
                };
                world
                    .observe_living(own, observed, id, Requirements::new(), weak, run)
                    .unwrap();
            }
            let entities: Vec<_> = (0..5).map(|n| world.create((n, 2_u16))).collect();
            let entities: Vec<_> = entities.into_iter().map(Result::unwrap).collect();
            let kept = (!dies).then_some(life);
            change(&mut world, &entities);
            world.check().unwrap();
            if dies {
                assert_eq!(world.watcher::<Observers>().all.len(), 1);
            }
            let mut data = world.archetypes.iter();
            assert!(data.all(|data| data.watched == world.watched_kinds(data)));
            drop(kept);
            (*world.resources().get::<usize>().unwrap(), world.count())
        });
        counts.sort_unstable();
        assert_eq!(counts[0], counts[1]);
    }
}

#[test]
fn what_is_known_of_archetypes_stays_when_others_come() {
    let mut world = World::new();
    for _ in 0..20 {
        let observed = world.observe::<u8, ()>(Observed::CREATE, |_, _| ());
        observed.unwrap();
    }
    let known = |world: &mut World| -> Vec<bool> {
        let of = &world.watcher::<Observers>().seeing.of;
        of.iter().map(Option::is_some).collect()
    };
    world.create((1_u8,)).unwrap();
    let gone = world.create((1_u16,)).unwrap();
    assert_eq!(known(&mut world), [true]);
    world.create((1_u8, 1_u32)).unwrap();
    assert_eq!(known(&mut world), [true, false, true]);
    // Numbers mean others when one goes.
    world.destroy(gone).unwrap();
    world.collect_archetypes();
    world.create((1_u8, 1_u32)).unwrap();
    assert_eq!(known(&mut world), [false, true]);
}
