//! Each way in which an entity is given a value, and what is told of it.

use std::sync::Arc;

use megachunk::fragment::{DynamicBundle, Value};
use megachunk::prelude::*;
use megachunk::world::{Budget, Prototype};

use super::{Calls, Given, Label, all, hear_heat};
use crate::observers::{Heat, Team, Weight, Wet, sorted, taken, watch_where};

/// A world in which three entities are hot, and three are not; and another world of its universe.
struct Scene {
    world: World,
    other: World,
    /// Their heat is their position.
    hot: Vec<Entity>,
    cold: Vec<Entity>,
    calls: Calls,
}

impl Scene {
    fn new() -> Self {
        let universe = Arc::new(Universe::new());
        universe.registry().register_clone::<Heat>().unwrap();
        universe.registry().register_clone::<Label>().unwrap();
        let mut world = World::of(&universe).unwrap();
        let other = World::of(&universe).unwrap();
        let hot = world.create_batch((0..3).map(|n| (Heat(n), Label("hot".into()))));
        let hot = hot.unwrap().to_vec(&world);
        let cold = world.create_batch((0..3).map(|n| (Weight(n), Wet)));
        let cold = cold.unwrap().to_vec(&world);
        let all = Observed::COME | Observed::GO | Observed::SET;
        let calls = hear_heat(&mut world, all);
        Self {
            world,
            other,
            hot,
            cold,
            calls,
        }
    }

    /// A bundle that says its types at run time.
    fn dynamic(&self, heat: u32) -> DynamicBundle {
        DynamicBundle::new().with(Value::cloneable(self.world.registry(), Heat(heat)).unwrap())
    }

    fn prototype(&self, heat: u32) -> Prototype {
        Prototype::new(self.world.registry(), self.dynamic(heat)).unwrap()
    }

    fn flush(&mut self, record: impl FnOnce(&mut Commands<'_>)) {
        let mut commands = self.world.commands();
        record(&mut commands);
        drop(commands);
        assert!(self.world.flush().is_clean());
    }
}

type Way = (&'static str, fn(&mut Scene) -> Given);

/// Those who are created with it, or come with it.
const NEW: &[Way] = &[
    ("create", |scene| {
        vec![(scene.world.create((Heat(9),)).unwrap(), 9)]
    }),
    ("create with shared values", |scene| {
        vec![(scene.world.create((Heat(9),).shared(Team(1))).unwrap(), 9)]
    }),
    ("create_batch", |scene| {
        let batch = scene
            .world
            .create_batch((0..2_000).map(|_| (Heat(9), Wet)))
            .unwrap();
        all(&batch.to_vec(&scene.world), 9)
    }),
    ("create_dynamic", |scene| {
        let bundle = scene.dynamic(9);
        vec![(scene.world.create_dynamic(bundle).unwrap(), 9)]
    }),
    ("create_copy", |scene| {
        let prototype = scene.prototype(9);
        vec![(scene.world.create_copy(&prototype).unwrap(), 9)]
    }),
    ("create_copies", |scene| {
        let prototype = scene.prototype(9);
        let batch = scene.world.create_copies(&prototype, 500).unwrap();
        all(&batch.to_vec(&scene.world), 9)
    }),
    ("create_copies_with", |scene| {
        let prototype = scene.prototype(1);
        let batch = scene
            .world
            .create_copies_with(&prototype, 5, |_| (Heat(9),))
            .unwrap();
        all(&batch.to_vec(&scene.world), 9)
    }),
    ("clone_entity", |scene| {
        vec![(scene.world.clone_entity(scene.hot[2]).unwrap(), 2)]
    }),
    ("build", |scene| {
        let entity = scene.world.reserve().unwrap();
        scene.world.build(entity, (Heat(9),)).unwrap();
        vec![(entity, 9)]
    }),
    ("build_clone", |scene| {
        let entity = scene.world.reserve().unwrap();
        scene.world.build_clone(entity, scene.hot[1]).unwrap();
        vec![(entity, 1)]
    }),
    ("build_copy", |scene| {
        let (entity, prototype) = (scene.world.reserve().unwrap(), scene.prototype(9));
        scene.world.build_copy(entity, &prototype).unwrap();
        vec![(entity, 9)]
    }),
    ("required by what is created", |scene| {
        let registry = scene.world.registry();
        registry.require_with::<char, Heat>(|| Heat(9)).unwrap();
        vec![(scene.world.create(('a',)).unwrap(), 9)]
    }),
    ("move_to", |scene| {
        let entity = scene.other.create((Heat(9),)).unwrap();
        scene.other.move_to(&mut scene.world, entity).unwrap();
        vec![(entity, 9)]
    }),
    ("move_slice_to", |scene| {
        let two = [(); 2].map(|()| scene.other.create((Heat(9),)).unwrap());
        assert_eq!(
            scene
                .other
                .move_slice_to(&mut scene.world, &two)
                .unwrap()
                .done,
            2
        );
        all(&two, 9)
    }),
    ("move_all_to", |scene| {
        let batch = scene
            .other
            .create_batch((0..900).map(|_| (Heat(9), Wet)))
            .unwrap();
        let all_there = batch.to_vec(&scene.other);
        assert_eq!(scene.other.move_all_to(&mut scene.world).unwrap(), 900);
        all(&all_there, 9)
    }),
    ("a query's move_to", |scene| {
        let entity = scene.other.create((Heat(9),)).unwrap();
        let hot = scene.other.matching::<With<Heat>>().unwrap();
        assert_eq!(hot.move_to(&mut scene.world).unwrap(), 1);
        vec![(entity, 9)]
    }),
    ("recorded creation", |scene| {
        let mut new = Vec::new();
        scene.flush(|commands| new.push(commands.create((Heat(9),)).unwrap()));
        all(&new, 9)
    }),
    ("recorded creation, and a set of it", |scene| {
        let mut new = Vec::new();
        scene.flush(|commands| {
            new.push(commands.create((Heat(1),)).unwrap());
            commands.get_mut::<Heat>(new[0]).unwrap().0 = 9;
        });
        all(&new, 9)
    }),
    ("a recorded batch", |scene| {
        let mut new = Vec::new();
        scene.flush(|commands| {
            let batch = commands
                .create_batch((0..3_000).map(|_| (Heat(9), Wet)))
                .unwrap();
            new = batch.to_vec(commands);
        });
        all(&new, 9)
    }),
    ("recorded copies", |scene| {
        let prototype = scene.prototype(9);
        let mut new = Vec::new();
        scene.flush(|commands| {
            new = commands
                .create_copies(&prototype, 70)
                .unwrap()
                .to_vec(commands)
        });
        all(&new, 9)
    }),
    ("a recorded clone", |scene| {
        let (of, mut new) = (scene.hot[2], Vec::new());
        scene.flush(|commands| new.push(commands.clone_entity(of).unwrap()));
        all(&new, 2)
    }),
];

/// Those who did not have it.
const ADDED: &[Way] = &[
    ("add", |scene| {
        scene.world.add(scene.cold[0], (Heat(9),)).unwrap();
        all(&scene.cold[..1], 9)
    }),
    ("add with a shared value", |scene| {
        scene
            .world
            .add(scene.cold[0], (Heat(9),).shared(Team(1)))
            .unwrap();
        all(&scene.cold[..1], 9)
    }),
    ("set", |scene| {
        scene.world.set(scene.cold[0], Heat(9)).unwrap();
        all(&scene.cold[..1], 9)
    }),
    ("add_dynamic", |scene| {
        let bundle = scene.dynamic(9);
        scene.world.add_dynamic(scene.cold[0], bundle).unwrap();
        all(&scene.cold[..1], 9)
    }),
    ("swap", |scene| {
        scene
            .world
            .swap::<(Weight,), _>(scene.cold[0], (Heat(9),))
            .unwrap();
        all(&scene.cold[..1], 9)
    }),
    ("swap_dynamic", |scene| {
        let (bundle, wet) = (
            scene.dynamic(9),
            scene.world.registry().register::<Wet>().unwrap().id(),
        );
        scene
            .world
            .swap_dynamic(scene.cold[0], &[wet], bundle)
            .unwrap();
        all(&scene.cold[..1], 9)
    }),
    ("add_slice", |scene| {
        let _ = scene.world.add_slice(&scene.cold, |_| (Heat(9),));
        all(&scene.cold, 9)
    }),
    ("a query's add", |scene| {
        let wet = scene.world.matching::<With<Wet>>().unwrap();
        assert_eq!(wet.add(|_| (Heat(9),)).unwrap(), 3);
        all(&scene.cold, 9)
    }),
    ("required by what is added", |scene| {
        scene
            .world
            .registry()
            .require_with::<char, Heat>(|| Heat(9))
            .unwrap();
        scene.world.add(scene.cold[0], ('a',)).unwrap();
        all(&scene.cold[..1], 9)
    }),
    ("recorded required", |scene| {
        scene
            .world
            .registry()
            .require_with::<char, Heat>(|| Heat(9))
            .unwrap();
        let one = scene.cold[0];
        scene.flush(|commands| commands.add(one, ('a',)).unwrap());
        all(&[one], 9)
    }),
    ("a recorded add", |scene| {
        let one = scene.cold[0];
        scene.flush(|commands| commands.add(one, (Heat(9),)).unwrap());
        all(&[one], 9)
    }),
    ("recorded adds", |scene| {
        let cold = scene.cold.clone();
        scene.flush(|commands| {
            cold.iter()
                .for_each(|&one| commands.add(one, (Heat(9), 'a')).unwrap());
        });
        all(&cold, 9)
    }),
];

/// Those who had it.
const AGAIN: &[Way] = &[
    ("set again", |scene| {
        scene.world.set(scene.hot[0], Heat(9)).unwrap();
        all(&scene.hot[..1], 9)
    }),
    ("set to what it was", |scene| {
        scene.world.set(scene.hot[1], Heat(1)).unwrap();
        all(&scene.hot[1..2], 1)
    }),
    ("a view's set", |scene| {
        scene
            .world
            .entity_mut(scene.hot[0])
            .unwrap()
            .set(Heat(9))
            .unwrap();
        all(&scene.hot[..1], 9)
    }),
    ("add of it and of another", |scene| {
        scene
            .world
            .add(scene.hot[0], (Weight(1), Heat(9), Wet))
            .unwrap();
        all(&scene.hot[..1], 9)
    }),
    ("add with a shared value", |scene| {
        scene
            .world
            .add(scene.hot[0], (Heat(9),).shared(Team(1)))
            .unwrap();
        // It stays in the archetype.
        scene
            .world
            .add(scene.hot[0], (Heat(8),).shared(Team(2)))
            .unwrap();
        let calls = core::mem::take(&mut *scene.calls.lock().unwrap());
        assert_eq!(calls[0], (Observed::SET, all(&scene.hot[..1], 9)));
        scene
            .calls
            .lock()
            .unwrap()
            .extend(calls.into_iter().skip(1));
        all(&scene.hot[..1], 8)
    }),
    ("add_dynamic", |scene| {
        let bundle = scene.dynamic(9);
        scene.world.add_dynamic(scene.hot[0], bundle).unwrap();
        all(&scene.hot[..1], 9)
    }),
    ("swap of it for another value", |scene| {
        scene
            .world
            .swap::<(Heat,), _>(scene.hot[0], (Heat(9),))
            .unwrap();
        all(&scene.hot[..1], 9)
    }),
    ("swap of another for it", |scene| {
        scene
            .world
            .swap::<(Label,), _>(scene.hot[0], (Heat(9),))
            .unwrap();
        all(&scene.hot[..1], 9)
    }),
    ("swap_dynamic", |scene| {
        let (bundle, id) = (
            scene.dynamic(9),
            scene.world.registry().register::<Heat>().unwrap().id(),
        );
        scene
            .world
            .swap_dynamic(scene.hot[0], &[id], bundle)
            .unwrap();
        all(&scene.hot[..1], 9)
    }),
    ("add_slice", |scene| {
        let _ = scene.world.add_slice(&scene.hot, |_| (Heat(9),));
        all(&scene.hot, 9)
    }),
    ("add_slice of it and of another", |scene| {
        let _ = scene.world.add_slice(&scene.hot, |_| (Heat(9), Weight(1)));
        all(&scene.hot, 9)
    }),
    ("add_slice with shared values", |scene| {
        let _ = scene
            .world
            .add_slice(&scene.hot, |at| (Heat(9),).shared(Team(at as u8)));
        all(&scene.hot, 9)
    }),
    ("add_slice of one twice", |scene| {
        let twice = [scene.hot[1], scene.hot[0], scene.hot[1], scene.hot[1]];
        let _ = scene
            .world
            .add_slice(&twice, |at| (Heat(if at < 1 { 1 } else { 9 }), Weight(1)));
        all(&scene.hot[..2], 9)
    }),
    ("swap_slice", |scene| {
        let _ = scene
            .world
            .swap_slice::<(Label,), _>(&scene.hot, |_| (Heat(9),));
        all(&scene.hot, 9)
    }),
    ("add_slice_dynamic", |scene| {
        let prototype = scene.prototype(9);
        let _ = scene
            .world
            .add_slice_dynamic(&scene.hot, &prototype)
            .unwrap();
        all(&scene.hot, 9)
    }),
    ("add_slice_dynamic of what is dropped, too", |scene| {
        let label = Value::cloneable(scene.world.registry(), Label("new".into())).unwrap();
        let bundle = scene.dynamic(9).with(label);
        let prototype = Prototype::new(scene.world.registry(), bundle).unwrap();
        let _ = scene
            .world
            .add_slice_dynamic(&scene.hot, &prototype)
            .unwrap();
        all(&scene.hot, 9)
    }),
    ("swap_slice_dynamic", |scene| {
        let prototype = scene.prototype(9);
        let id = scene.world.registry().register::<Label>().unwrap().id();
        let _ = scene
            .world
            .swap_slice_dynamic(&scene.hot, &[id], &prototype)
            .unwrap();
        all(&scene.hot, 9)
    }),
    ("a query's add", |scene| {
        let hot = scene.world.matching::<With<Heat>>().unwrap();
        assert_eq!(hot.add(|_| (Heat(9),)).unwrap(), 3);
        all(&scene.hot, 9)
    }),
    ("a query's add with shared values", |scene| {
        let hot = scene.world.matching::<With<Heat>>().unwrap();
        assert_eq!(hot.add(|_| (Heat(9),).shared(Team(1))).unwrap(), 3);
        all(&scene.hot, 9)
    }),
    ("a query's swap", |scene| {
        let hot = scene.world.matching::<With<Heat>>().unwrap();
        assert_eq!(hot.swap::<(Label,), _>(|_| (Heat(9), Wet)).unwrap(), 3);
        all(&scene.hot, 9)
    }),
    ("one command", |scene| {
        let one = scene.hot[0];
        scene.flush(|commands| commands.set(one, Heat(9)).unwrap());
        all(&[one], 9)
    }),
    ("one command that brings another, too", |scene| {
        let one = scene.hot[0];
        scene.flush(|commands| commands.add(one, (Heat(9), Weight(1))).unwrap());
        all(&[one], 9)
    }),
    ("commands that are alike", |scene| {
        let hot = scene.hot.clone();
        scene.flush(|commands| {
            hot.iter()
                .for_each(|&one| commands.set(one, Heat(9)).unwrap())
        });
        all(&hot, 9)
    }),
    ("few commands", |scene| {
        let hot = scene.hot.clone();
        scene.flush(|commands| {
            commands.set(hot[2], Heat(9)).unwrap();
            commands.add(hot[0], (Heat(9), Wet)).unwrap();
        });
        all(&[hot[0], hot[2]], 9)
    }),
    ("a recorded swap", |scene| {
        let one = scene.hot[0];
        scene.flush(|commands| commands.swap::<(Label,), _>(one, (Heat(9),)).unwrap());
        all(&[one], 9)
    }),
    ("a recorded dynamic add", |scene| {
        let (one, bundle) = (scene.hot[0], scene.dynamic(9));
        scene.flush(|commands| commands.add_dynamic(one, bundle).unwrap());
        all(&[one], 9)
    }),
    ("commands with a shared value", |scene| {
        let one = scene.hot[0];
        scene.flush(|commands| commands.add(one, (Heat(9),).shared(Team(1))).unwrap());
        all(&[one], 9)
    }),
    ("set twice in a flush", |scene| {
        let one = scene.hot[0];
        scene.flush(|commands| {
            commands.set(one, Heat(8)).unwrap();
            commands.set(one, Heat(9)).unwrap();
        });
        all(&[one], 9)
    }),
    ("removed, and then set", |scene| {
        let one = scene.hot[0];
        scene.flush(|commands| {
            commands.remove::<(Heat,)>(one).unwrap();
            commands.set(one, Heat(9)).unwrap();
        });
        all(&[one], 9)
    }),
    ("removed, and then required", |scene| {
        let one = scene.hot[0];
        scene
            .world
            .registry()
            .require_with::<char, Heat>(|| Heat(9))
            .unwrap();
        scene.flush(|commands| {
            commands.remove::<(Heat,)>(one).unwrap();
            commands.set(one, 'a').unwrap();
        });
        all(&[one], 9)
    }),
];

/// What gives no value.
const NOTHING: &[Way] = &[
    ("values that are written", |scene| {
        scene.world.get_mut::<Heat>(scene.hot[0]).unwrap().0 = 9;
        let mut hot = Query::<&mut Heat>::new(&scene.world).unwrap();
        hot.on(&mut scene.world).for_each(|heat| heat.0 = 9);
        Given::new()
    }),
    ("others that are set", |scene| {
        scene.world.set(scene.hot[0], Label("new".into())).unwrap();
        scene.world.add(scene.hot[0], (Weight(1), Wet)).unwrap();
        scene.world.set_shared(scene.hot[0], Team(1)).unwrap();
        let (one, two) = (scene.hot[0], scene.hot[1]);
        scene.flush(|commands| {
            commands.set(one, Weight(2)).unwrap();
            commands.set(two, Weight(2)).unwrap();
        });
        Given::new()
    }),
    ("set, and then removed or destroyed", |scene| {
        let (one, two) = (scene.cold[0], scene.cold[1]);
        scene.flush(|commands| {
            commands.set(one, Heat(9)).unwrap();
            commands.remove::<(Heat,)>(one).unwrap();
            commands.set(two, Heat(9)).unwrap();
            commands.destroy(two);
        });
        Given::new()
    }),
    ("compaction", |scene| {
        scene.world.compact(Budget::Unlimited);
        Given::new()
    }),
];

/// Runs a way in a world of its own, and compares what was told of it: `come` before what is set.
fn compare((name, way): &Way, come: Option<Observed>) {
    let mut scene = Scene::new();
    let mut given = way(&mut scene);
    given.sort_unstable();
    let mut calls = core::mem::take(&mut *scene.calls.lock().unwrap());
    calls.iter_mut().for_each(|(_, seen)| seen.sort_unstable());
    let expected: Vec<_> = match given.is_empty() {
        true => Vec::new(),
        false => {
            let kinds = come.into_iter().chain([Observed::SET]);
            kinds.map(|kind| (kind, given.clone())).collect()
        }
    };
    assert_eq!(calls, expected, "{name}");
    for (entity, heat) in given {
        assert_eq!(scene.world.get::<Heat>(entity).unwrap().0, heat, "{name}");
    }
    scene.world.check().unwrap();
}

#[test]
fn who_is_created_with_a_value_is_told_as_created_and_then_as_set() {
    NEW.iter()
        .for_each(|way| compare(way, Some(Observed::CREATE)));
}

#[test]
fn who_gets_a_fragment_is_told_as_added_and_then_as_set() {
    ADDED
        .iter()
        .for_each(|way| compare(way, Some(Observed::ADD)));
}

#[test]
fn who_gets_another_value_is_told_as_set_once_and_as_nothing_else() {
    AGAIN.iter().for_each(|way| compare(way, None));
}

#[test]
fn what_gives_no_value_is_not_told() {
    NOTHING.iter().for_each(|way| compare(way, None));
}

#[test]
fn what_an_old_snapshot_lacks_is_set_when_it_is_added() {
    #[derive(Clone, Copy)]
    #[repr(transparent)]
    struct Sprite(u32);
    megachunk::plain!(Sprite { 0 });
    let mut old = World::new();
    old.registry()
        .register_plain_as::<Sprite>("sprite")
        .unwrap();
    let trees = old
        .create_batch((0..900).map(|n| (Sprite(n),)))
        .unwrap()
        .to_vec(&old);
    let file = old.to_snapshot(&Default::default()).unwrap();
    let universe = Universe::new();
    let registry = universe.registry();
    registry.register_plain_as::<Sprite>("sprite").unwrap();
    registry.require_with::<Sprite, Heat>(|| Heat(9)).unwrap();
    let mut world = World::from_snapshot(&file, universe, &Default::default()).unwrap();
    let sprites = watch_where::<Sprite, ()>(&mut world, Observed::SET);
    let calls = hear_heat(&mut world, Observed::COME | Observed::SET);
    assert_eq!(world.add_required().unwrap(), 900);
    let mut told = core::mem::take(&mut *calls.lock().unwrap());
    told.iter_mut().for_each(|(_, all)| all.sort_unstable());
    let given = all(&sorted(trees), 9);
    assert_eq!(
        told,
        [(Observed::ADD, given.clone()), (Observed::SET, given)]
    );
    assert!(taken(&sprites).is_empty());
}
