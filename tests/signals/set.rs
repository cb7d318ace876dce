//! Values that are set: each way in which an entity is given one, and what is told of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use megachunk::fragment::{DynamicBundle, Value};
use megachunk::prelude::*;
use megachunk::query::Enabled;
use megachunk::world::{Budget, Prototype};

use crate::observers::{Heat, Team, Weight, Wet, sorted, taken, watch_where};

/// A fragment whose values are dropped.
#[derive(Clone, Debug, PartialEq)]
struct Label(String);

/// What was called, in order: the kind of change, and the entities with their values.
type Calls = Arc<Mutex<Vec<(Observed, Vec<(Entity, u32)>)>>>;

fn hear_heat(world: &mut World, observed: Observed) -> Calls {
    let calls = Calls::default();
    let mine = Arc::clone(&calls);
    let hear = world.observe::<Heat, ()>(observed, move |batch, _| {
        let mut seen = Vec::new();
        let lent = batch.for_each::<(Entity, &Heat)>(|(entity, heat)| seen.push((entity, heat.0)));
        assert_eq!(lent.unwrap(), seen.len());
        assert!(seen.iter().map(|&(entity, _)| entity).eq(batch.entities()));
        mine.lock().unwrap().push((batch.change(), seen));
    });
    hear.unwrap();
    calls
}

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

/// Who has been given which heat.
type Given = Vec<(Entity, u32)>;
type Way = (&'static str, fn(&mut Scene) -> Given);

fn all(entities: &[Entity], heat: u32) -> Given {
    entities.iter().map(|&entity| (entity, heat)).collect()
}

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
    let mut world = World::from_snapshot(&file, universe).unwrap();
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

#[test]
fn what_gives_no_value_is_not_told() {
    NOTHING.iter().for_each(|way| compare(way, None));
}

#[test]
fn large_flushes_tell_in_ranges_that_do_not_depend_on_threads() {
    let told = |from: Option<usize>| {
        let mut world = World::new();
        world.set_flush_threads_from(from);
        let ants = world
            .create_batch((0..20_000).map(|n| (Heat(n),)))
            .unwrap()
            .to_vec(&world);
        let ranges = Arc::new(Mutex::new(Vec::new()));
        let mine = Arc::clone(&ranges);
        let hear = world.observe::<Heat, ()>(Observed::SET, move |batch, _| {
            let all: Vec<Vec<Entity>> = batch.ranges().map(<[Entity]>::to_vec).collect();
            mine.lock().unwrap().push(all);
        });
        hear.unwrap();
        let mut commands = world.commands();
        for (n, &ant) in ants.iter().enumerate() {
            match n % 10_000 {
                0..5_000 => commands.set(ant, Heat(1)).unwrap(),
                5_000..7_000 => commands.add(ant, (Heat(2), Weight(1))).unwrap(),
                7_000..8_000 => commands.add(ant, (Weight(1),)).unwrap(),
                _ => {}
            }
        }
        drop(commands);
        assert!(world.flush().is_clean());
        let ranges = core::mem::take(&mut *ranges.lock().unwrap());
        assert_eq!(ranges.len(), 1, "one batch");
        let all: Vec<Entity> = ranges[0].iter().flatten().copied().collect();
        let expected = ants.iter().enumerate().filter(|(n, _)| n % 10_000 < 7_000);
        assert_eq!(sorted(all), sorted(expected.map(|(_, &ant)| ant).collect()));
        ranges
    };
    let alone = told(None);
    assert_eq!(alone, told(Some(1)));
    assert!(
        alone[0].len() < 1_000,
        "ranges, not rows: {}",
        alone[0].len()
    );
}

#[test]
fn a_shared_value_is_set_by_whatever_gives_one_be_it_an_equal_one() {
    type Change = fn(&mut World, &[Entity]);
    let changes: &[(&str, Change)] = &[
        ("set_shared", |world, all| {
            all.iter()
                .for_each(|&one| world.set_shared(one, Team(2)).unwrap());
        }),
        ("add", |world, all| {
            let one = |&one| world.add(one, (Weight(1),).shared(Team(2))).unwrap();
            all.iter().for_each(one);
        }),
        ("add_slice", |world, all| {
            assert!(world.add_slice(all, |_| ().shared(Team(2))).is_clean());
        }),
        ("a query", |world, _| {
            let all = world.matching::<With<Heat>>().unwrap();
            assert_eq!(all.set_shared(Team(2)).unwrap(), 4);
        }),
        ("a flush", |world, all| {
            let mut commands = world.commands();
            all.iter()
                .for_each(|&one| commands.set_shared(one, Team(2)).unwrap());
            drop(commands);
            assert!(world.flush().is_clean());
        }),
        ("a flush that sets another, too", |world, all| {
            let mut commands = world.commands();
            for &one in all {
                commands.set_shared(one, Team(1)).unwrap();
                commands.add(one, (Heat(1),).shared(Team(2))).unwrap();
            }
            drop(commands);
            assert!(world.flush().is_clean());
        }),
    ];
    for (name, change) in changes {
        let mut world = World::new();
        // Some have it, some have another one, and some have none.
        let mut all = vec![world.create((Heat(0),)).unwrap()];
        for team in [1, 2, 2] {
            all.push(world.create((Heat(0),).shared(Team(team))).unwrap());
        }
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mine = Arc::clone(&seen);
        let hear = world.observe_role::<Shared<Team>, ()>(Observed::SET, move |batch, _| {
            let lent = batch.for_each::<(Entity, Shared<Team>)>(|(entity, team)| {
                mine.lock().unwrap().push((entity, *team));
            });
            assert_eq!(lent.unwrap(), batch.len());
        });
        hear.unwrap();
        let others = watch_where::<Label, ()>(&mut world, Observed::SET);
        change(&mut world, &all);
        let mut told = core::mem::take(&mut *seen.lock().unwrap());
        told.sort_unstable_by_key(|(entity, _)| *entity);
        let expected: Vec<_> = sorted(all).into_iter().map(|one| (one, Team(2))).collect();
        assert_eq!(told, expected, "{name}");
        assert!(taken(&others).is_empty());
    }
}

#[test]
fn tags_chunk_fragments_and_const_shared_values_are_set_when_they_come() {
    let mut world = World::new();
    let tag = watch_where::<Wet, ()>(&mut world, Observed::SET);
    let count = Arc::new(Mutex::new((0, 0)));
    let (mine, others) = (Arc::clone(&count), Arc::clone(&count));
    let all = world.observe_role::<ConstShared<Team>, ()>(Observed::SET, move |batch, _| {
        mine.lock().unwrap().0 += batch.len();
    });
    all.unwrap();
    let all = world.observe_role::<PerChunk<u64>, ()>(Observed::SET, move |batch, _| {
        others.lock().unwrap().1 += batch.len();
    });
    all.unwrap();
    let ant = world.create((Heat(1),)).unwrap();
    for _ in 0..2 {
        let bundle = (Wet,).const_shared(Team(1)).per_chunk(7_u64);
        world.add(ant, bundle).unwrap();
        let mut commands = world.commands();
        let bundle = (Wet,).const_shared(Team(1)).per_chunk(7_u64);
        commands.add(ant, bundle).unwrap();
        drop(commands);
        assert!(world.flush().is_clean());
    }
    assert_eq!(taken(&tag), [(Observed::SET, vec![ant])]);
    assert_eq!(*count.lock().unwrap(), (1, 1));
    // What is for ever, for an entity that has it: another one may come if it goes first.
    for team in [2, 2] {
        let mut commands = world.commands();
        commands
            .remove::<megachunk::fragment::WithConstShared<(), Team>>(ant)
            .unwrap();
        commands.add(ant, ().const_shared(Team(team))).unwrap();
        drop(commands);
        assert!(world.flush().is_clean());
        assert_eq!(world.const_shared::<Team>(ant), Ok(&Team(2)));
    }
    assert_eq!(*count.lock().unwrap(), (3, 1));
}

#[test]
fn filters_are_asked_of_what_entities_are_then() {
    let mut world = World::new();
    world.registry().register_enableable::<Weight>().unwrap();
    let dry = watch_where::<Heat, Without<Wet>>(&mut world, Observed::SET);
    let heavy = watch_where::<Heat, With<Weight>>(&mut world, Observed::SET);
    let ants: Vec<Entity> = (0..9)
        .map(|n| world.create((Heat(n), Weight(1))).unwrap())
        .collect();
    let _ = (taken(&dry), taken(&heavy));
    world.set_enabled::<Weight>(ants[4], false).unwrap();
    // The same one comes along several ways; each row is told once.
    let some = [ants[3], ants[5], ants[3], ants[4], ants[5]];
    assert_eq!(world.add_slice(&some, |at| (Heat(at as u32), 'a')).done, 5);
    let told = |seen| {
        taken(seen)
            .into_iter()
            .map(|(_, all)| sorted(all))
            .collect::<Vec<_>>()
    };
    assert_eq!(told(&dry), [ants[3..6].to_vec()]);
    assert_eq!(told(&heavy), [vec![ants[3], ants[5]]]);
    world.add(ants[0], (Heat(1), Wet)).unwrap();
    assert_eq!((told(&dry), told(&heavy)), (vec![], vec![vec![ants[0]]]));
}

#[test]
fn an_observer_that_sets_what_it_hears_of_is_stopped_and_one_that_writes_is_not_called_again() {
    let mut world = World::new();
    let ant = world.create((Heat(0),)).unwrap();
    let writes = world.observe::<Heat, ()>(Observed::SET, |batch, _| {
        batch.for_each::<&mut Heat>(|heat| heat.0 += 1).unwrap();
    });
    let writes = writes.unwrap();
    world.set(ant, Heat(10)).unwrap();
    assert_eq!(world.get::<Heat>(ant).unwrap(), &Heat(11));
    assert!(world.unobserve(writes));
    let sets = world.observe::<Heat, ()>(Observed::SET, |batch, commands| {
        for entity in batch.entities() {
            commands.set(entity, Heat(1)).unwrap();
        }
    });
    sets.unwrap();
    world.set(ant, Heat(2)).unwrap();
    assert_eq!(
        world.get::<Heat>(ant).unwrap(),
        &Heat(2),
        "what is recorded waits"
    );
    let report = world.flush();
    assert!(report.unfinished && report.rounds == 5);
    assert_eq!(world.get::<Heat>(ant).unwrap(), &Heat(1));
}

#[test]
fn observers_come_and_go_in_the_middle() {
    let mut world = World::new();
    let ants: Vec<Entity> = (0..4).map(|n| world.create((Heat(n),)).unwrap()).collect();
    let early = watch_where::<Heat, ()>(&mut world, Observed::SET);
    let late: Arc<Mutex<Option<crate::observers::Seen>>> = Arc::default();
    let mine = Arc::clone(&late);
    let mut commands = world.commands();
    commands.set(ants[0], Heat(7)).unwrap();
    commands.defer(move |world| {
        let first = world.observers().next().unwrap().id;
        assert!(world.unobserve(first));
        *mine.lock().unwrap() = Some(watch_where::<Heat, ()>(world, Observed::SET));
    });
    commands.set(ants[1], Heat(7)).unwrap();
    commands.add(ants[2], (Heat(7), Wet)).unwrap();
    drop(commands);
    assert!(world.flush().is_clean());
    assert_eq!(taken(&early), [(Observed::SET, vec![ants[0]])]);
    let late = late.lock().unwrap().take().unwrap();
    let told: Vec<Entity> = taken(&late).into_iter().flat_map(|(_, all)| all).collect();
    assert_eq!(sorted(told), ants[1..3]);
    // Nobody is left: nothing is told, and nothing is kept to be told.
    let last = world.observers().next().unwrap().id;
    assert!(world.unobserve(last));
    world.set(ants[0], Heat(8)).unwrap();
    assert!(taken(&late).is_empty());
}

#[test]
fn panics_of_observers_and_of_users_code_leave_the_others_told() {
    struct Loud(u32);
    impl Drop for Loud {
        fn drop(&mut self) {
            assert!(self.0 != 7, "dropped");
        }
    }
    let mut world = World::new();
    let ants: Vec<Entity> = (0..4)
        .map(|n| world.create((Heat(n), Loud(n + 6))).unwrap())
        .collect();
    let angry = world
        .observe::<Heat, ()>(Observed::SET, |_, _| panic!("observed"))
        .unwrap();
    let heats = watch_where::<Heat, ()>(&mut world, Observed::SET);
    let louds = watch_where::<Loud, ()>(&mut world, Observed::SET);
    let panics = |world: &mut World, change: &mut dyn FnMut(&mut World)| {
        let result = catch_unwind(AssertUnwindSafe(|| change(world)));
        *result.unwrap_err().downcast_ref::<&str>().unwrap()
    };
    assert_eq!(
        panics(&mut world, &mut |world| world
            .set(ants[0], Heat(5))
            .unwrap()),
        "observed"
    );
    assert_eq!(taken(&heats), [(Observed::SET, vec![ants[0]])]);
    let set = panics(&mut world, &mut |world| {
        let mut commands = world.commands();
        ants.iter()
            .for_each(|&ant| commands.set(ant, Heat(6)).unwrap());
        drop(commands);
        let _ = world.flush();
    });
    assert_eq!(
        (set, taken(&heats)),
        ("observed", vec![(Observed::SET, ants.clone())])
    );
    assert!(world.unobserve(angry));
    // The second one's value panics when it is replaced: it has the new one, and is told of.
    assert_eq!(
        panics(&mut world, &mut |world| world
            .set(ants[1], Loud(1))
            .unwrap()),
        "dropped"
    );
    assert_eq!(taken(&louds), [(Observed::SET, vec![ants[1]])]);
    world.set(ants[1], Loud(7)).unwrap();
    taken(&louds);
    let _ = panics(&mut world, &mut |world| {
        let _ = world.add_slice(&ants[1..2], |_| (Loud(1), Wet));
    });
    assert_eq!(taken(&louds), [(Observed::SET, vec![ants[1]])]);
    // A closure that panics: those before it have theirs.
    let made = panics(&mut world, &mut |world| {
        let _ = world.add_slice(&ants, |at| match at {
            2 => panic!("made"),
            _ => (Heat(3),),
        });
    });
    assert_eq!(
        (made, taken(&heats)),
        ("made", vec![(Observed::SET, ants[..2].to_vec())])
    );
    world.check().unwrap();
}

#[test]
fn who_was_to_go_and_stays_comes_again_and_is_set_again() {
    for destroys in [true, false] {
        let mut world = World::new();
        world.registry().register_enableable::<Wet>().unwrap();
        let ants: Vec<Entity> = (0..3)
            .map(|n| world.create((Heat(n), Wet)).unwrap())
            .collect();
        let calls = hear_heat(&mut world, Observed::GO | Observed::COME | Observed::SET);
        // Whoever hears of the end switches off what the change asks for.
        let hear = world.observe::<Heat, ()>(Observed::GO, |batch, _| {
            let mut number = 0;
            let switched = batch.for_each::<Enabled<Wet>>(|wet| {
                wet.set(number > 0);
                number += 1;
            });
            assert_eq!(switched, Ok(3));
        });
        hear.unwrap();
        let wet = world.matching::<With<Wet>>().unwrap();
        let [goes, comes] = match destroys {
            true => {
                assert_eq!(wet.destroy(), 2);
                [Observed::DESTROY, Observed::CREATE]
            }
            false => {
                assert_eq!(wet.remove::<(Heat,)>().unwrap(), 2);
                [Observed::REMOVE, Observed::ADD]
            }
        };
        let one = vec![(ants[0], 0)];
        let told = core::mem::take(&mut *calls.lock().unwrap());
        assert_eq!((told[0].0, told[0].1.len()), (goes, 3));
        assert_eq!(told[1..], [(comes, one.clone()), (Observed::SET, one)]);
    }
}

#[test]
fn an_index_that_is_kept_by_set_and_go_is_true_of_the_world() {
    use std::collections::BTreeMap;
    let mut world = World::new();
    world.resources_mut().insert(BTreeMap::<Entity, u32>::new());
    let keep = world.observe::<Heat, ()>(Observed::SET | Observed::GO, |batch, _| {
        let change = batch.change();
        batch.with_resource(|batch, index: &mut BTreeMap<Entity, u32>| {
            let lent = batch.for_each::<(Entity, &Heat)>(|(entity, heat)| match change {
                Observed::SET => drop(index.insert(entity, heat.0)),
                _ => drop(index.remove(&entity)),
            });
            lent.unwrap();
        });
    });
    let keep = keep.unwrap();
    let ants = world
        .create_batch((0..100).map(|n| (Heat(n), Weight(1))))
        .unwrap()
        .to_vec(&world);
    world.set(ants[1], Heat(1_000)).unwrap();
    assert!(world.remove::<(Heat,)>(ants[2]).unwrap());
    let mut commands = world.commands();
    for (n, &ant) in ants.iter().enumerate().skip(10) {
        match n % 4 {
            0 => commands.set(ant, Heat(2_000)).unwrap(),
            1 => commands.destroy(ant),
            2 => commands.remove::<(Heat,)>(ant).unwrap(),
            _ => commands.add(ant, (Heat(3_000), Wet)).unwrap(),
        }
    }
    drop(commands);
    assert!(world.flush().is_clean());
    let there = |world: &World| -> BTreeMap<Entity, u32> {
        let mut all = world.read::<(Entity, &Heat), ()>().unwrap();
        let mut there = BTreeMap::new();
        all.for_each(|(entity, heat)| {
            there.insert(entity, heat.0);
        });
        there
    };
    let index = world
        .resources_mut()
        .remove::<BTreeMap<Entity, u32>>()
        .unwrap();
    assert_eq!(index, there(&world));
    // Who comes late is shown who is there.
    world.resources_mut().insert(BTreeMap::<Entity, u32>::new());
    assert_eq!(world.show_existing(keep), index.len());
    assert_eq!(
        world.resources().get::<BTreeMap<Entity, u32>>(),
        Some(&index)
    );
}
