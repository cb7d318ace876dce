//! Whoever comes to have a fragment comes to have those with it that it requires, whichever way it comes.
//!
//! Each way is gone twice: in a world in which the owner requires what it needs, and in one in which every call names all
//! that comes. Both must come to the same [`World::state_hash`], and observers must be told the same.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::command::Commands;
use megachunk::fragment::{FragmentError, FragmentRegistry};
use megachunk::observer::{Observed, ObservedBatch};
use megachunk::prelude::*;
use megachunk::world::{Group, Prototype, SnapshotOptions};

use crate::counted::{Counted, FUSE, burn};

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Sprite(u32);
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Transform(u32);
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(transparent)]
struct Depth(u16);
#[derive(Clone, Copy, Debug, Default)]
struct Drawn;
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
struct Other(u64);
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
struct Team(u8);

megachunk::plain!(Sprite { 0 });
megachunk::plain!(Transform { 0 });
megachunk::plain!(Depth { 0 });
megachunk::plain!(Drawn {});
megachunk::plain!(Other { 0 });
megachunk::plain!(Team { 0 });

const TRANSFORM: Transform = Transform(7);

/// Entities that observers were told of: what was observed, and each with what it had then.
type Heard = Vec<(&'static str, Entity, Option<u32>)>;

fn register(registry: &FragmentRegistry, requires: bool) {
    registry.register_plain::<Sprite>().unwrap();
    registry.register_plain::<Transform>().unwrap();
    registry.register_plain::<Depth>().unwrap();
    registry.register_plain::<Drawn>().unwrap();
    registry.register_plain::<Other>().unwrap();
    registry.register_plain_shared::<Team>().unwrap();
    if requires {
        registry
            .require_with::<Sprite, Transform>(|| TRANSFORM)
            .unwrap();
        registry.require::<Transform, Depth>().unwrap();
        registry.require::<Sprite, Drawn>().unwrap();
        // A cycle.
        registry
            .require_with::<Depth, Transform>(|| Transform(8))
            .unwrap();
    }
}

/// A world with an observer of all that comes; it requires, or not.
fn world(requires: bool) -> World {
    let mut world = World::of(&Arc::new(Universe::ordered())).unwrap();
    register(world.registry(), requires);
    world.resources_mut().insert(Heard::new());
    for (what, name) in [(Observed::CREATE, "create"), (Observed::ADD, "add")] {
        let hear = move |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
            let mut all = Heard::new();
            batch
                .for_each::<(Entity, Option<&Transform>)>(|(entity, transform)| {
                    all.push((name, entity, transform.map(|transform| transform.0)));
                })
                .unwrap();
            batch
                .resources_mut()
                .get_mut::<Heard>()
                .unwrap()
                .extend(all);
        };
        world.observe::<Transform, ()>(what, hear).unwrap();
        world.observe::<Depth, ()>(what, hear).unwrap();
    }
    world
}

/// Gives what `$give` does with the bundle of a sprite: with all that comes, or with the sprite alone.
macro_rules! give {
    ($all:expr, $sprite:expr, |$bundle:ident| $give:expr) => {
        if $all {
            let $bundle = ($sprite, TRANSFORM, Depth(0), Drawn);
            $give
        } else {
            let $bundle = ($sprite,);
            $give
        }
    };
}

/// The same of an entity that has a transform already.
macro_rules! give_rest {
    ($all:expr, $sprite:expr, |$bundle:ident| $give:expr) => {
        if $all {
            let $bundle = ($sprite, Depth(0), Drawn);
            $give
        } else {
            let $bundle = ($sprite,);
            $give
        }
    };
}

/// Values of a sprite, whose types are known at run time only.
fn dynamic(world: &World, all: bool, sprite: u32) -> DynamicBundle {
    let registry = world.registry();
    let mut bundle = DynamicBundle::new().with(Value::cloneable(registry, Sprite(sprite)).unwrap());
    if all {
        bundle.push(Value::cloneable(registry, Drawn).unwrap());
        bundle.push(Value::cloneable(registry, TRANSFORM).unwrap());
        bundle.push(Value::cloneable(registry, Depth(0)).unwrap());
    }
    bundle
}

fn prototype(world: &World, all: bool) -> Prototype {
    Prototype::new(world.registry(), dynamic(world, all, 3)).unwrap()
}

fn others(world: &mut World, count: u64) -> Vec<Entity> {
    let batch = world.create_batch((0..count).map(|n| (Other(n),))).unwrap();
    batch.iter(world).collect()
}

/// Records, and flushes.
fn record(world: &mut World, record: impl FnOnce(&mut Commands<'_>)) {
    let mut commands = world.commands();
    record(&mut commands);
    drop(commands);
    let report = world.flush();
    assert!(report.is_clean(), "{report:?}");
}

struct Paints(bool);

impl EntityTrait for Paints {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        context.add(Sprite(5));
        if self.0 {
            context.add(TRANSFORM);
            context.add(Depth(0));
            context.add(Drawn);
        }
        Ok(())
    }
}

/// A way in which entities come to have a sprite. `true`: all that comes is named.
type Way = fn(&mut World, bool);

const WAYS: &[(&str, Way)] = &[
    ("create", |world, all| {
        give!(all, Sprite(1), |bundle| world.create(bundle).unwrap());
    }),
    ("create with what is required", |world, all| {
        match all {
            true => world.create((Sprite(1), Transform(9), Depth(0), Drawn)),
            false => world.create((Sprite(1), Transform(9))),
        }
        .unwrap();
    }),
    ("create with shared values", |world, all| {
        give!(all, Sprite(1), |bundle| world
            .create(bundle.shared(Team(1)))
            .unwrap());
    }),
    ("build", |world, all| {
        let entity = world.reserve().unwrap();
        give!(all, Sprite(1), |bundle| world
            .build(entity, bundle)
            .unwrap());
    }),
    ("create a batch", |world, all| {
        if all {
            let bundles = (0..3_000).map(|n| (Sprite(n), TRANSFORM, Depth(0), Drawn));
            let _ = world.create_batch(bundles).unwrap();
        } else {
            let _ = world
                .create_batch((0..3_000).map(|n| (Sprite(n),)))
                .unwrap();
        }
    }),
    ("create a batch with shared values", |world, all| {
        let team = |n| Team((n % 3) as u8);
        if all {
            let bundles = (0..50).map(|n| (Sprite(n), TRANSFORM, Depth(0), Drawn).shared(team(n)));
            let _ = world.create_batch(bundles).unwrap();
        } else {
            let bundles = (0..50).map(|n| (Sprite(n),).shared(team(n)));
            let _ = world.create_batch(bundles).unwrap();
        }
    }),
    ("create by numbers", |world, all| {
        world.create_dynamic(dynamic(world, all, 2)).unwrap();
    }),
    ("build by numbers", |world, all| {
        let entity = world.reserve().unwrap();
        world.build_dynamic(entity, dynamic(world, all, 2)).unwrap();
    }),
    ("create copies", |world, all| {
        let _ = world.create_copies(&prototype(world, all), 3_000).unwrap();
    }),
    ("create copies with", |world, all| {
        let prototype = prototype(world, all);
        let _ = world
            .create_copies_with(&prototype, 300, |n| (Other(n as u64),))
            .unwrap();
    }),
    ("build a copy", |world, all| {
        let entity = world.reserve().unwrap();
        world.build_copy(entity, &prototype(world, all)).unwrap();
    }),
    ("create a group", |world, all| {
        let members = [
            world.create((Other(0),)).unwrap(),
            world.create((Other(1),)).unwrap(),
        ];
        give!(all, Sprite(1), |bundle| world
            .add(members[1], bundle)
            .unwrap());
        let group = Group::of(world, &members).unwrap();
        world.create_groups(&group, 5).unwrap();
    }),
    ("a template", |world, all| {
        let template = TemplateBuilder::new("painted")
            .with(Paints(all))
            .finish(world)
            .unwrap();
        template.create(world).unwrap();
        let _ = template.create_batch(world, 10).unwrap();
        record(world, |commands| _ = template.record(commands).unwrap());
    }),
    ("add", |world, all| {
        let other = world.create((Other(1),)).unwrap();
        give!(all, Sprite(1), |bundle| world.add(other, bundle).unwrap());
        let placed = world.create((Transform(9), Depth(1))).unwrap();
        world.remove::<(Depth,)>(placed).unwrap();
        give_rest!(all, Sprite(1), |bundle| world.add(placed, bundle).unwrap());
        assert_eq!(world.get::<Transform>(placed), Ok(&Transform(9)));
    }),
    ("add with shared values", |world, all| {
        let other = world.create((Other(1),)).unwrap();
        give!(all, Sprite(1), |bundle| world
            .add(other, bundle.shared(Team(1)))
            .unwrap());
    }),
    ("add by numbers", |world, all| {
        let other = world.create((Other(1),)).unwrap();
        world.add_dynamic(other, dynamic(world, all, 2)).unwrap();
    }),
    ("swap", |world, all| {
        let other = world.create((Other(1),)).unwrap();
        give!(all, Sprite(1), |bundle| world
            .swap::<(Other,), _>(other, bundle)
            .unwrap());
    }),
    ("swap by numbers", |world, all| {
        let other = world.create((Other(1),)).unwrap();
        let gone = world.registry().of::<Other>().unwrap().id();
        world
            .swap_dynamic(other, &[gone], dynamic(world, all, 2))
            .unwrap();
    }),
    ("add to a slice", |world, all| {
        let all_others = others(world, 3_000);
        let scattered: Vec<Entity> = all_others.iter().copied().step_by(7).collect();
        for slice in [&scattered, &all_others] {
            let sprite = |at| Sprite(at as u32);
            let report = match all {
                true => world.add_slice(slice, |at| (sprite(at), TRANSFORM, Depth(0), Drawn)),
                false => world.add_slice(slice, |at| (sprite(at),)),
            };
            assert_eq!(report.done, slice.len());
        }
    }),
    ("add to a slice by numbers", |world, all| {
        let slice = others(world, 3_000);
        let prototype = prototype(world, all);
        let report = world
            .add_slice_dynamic(&slice[5..2_900], &prototype)
            .unwrap();
        assert_eq!(report.done, 2_895);
        assert_eq!(
            world
                .add_slice_dynamic(&slice[..2], &prototype)
                .unwrap()
                .done,
            2
        );
    }),
    ("swap in a slice", |world, all| {
        let slice = others(world, 300);
        let sprite = |at| Sprite(at as u32);
        let report = match all {
            true => world
                .swap_slice::<(Other,), _>(&slice, |at| (sprite(at), TRANSFORM, Depth(0), Drawn)),
            false => world.swap_slice::<(Other,), _>(&slice, |at| (sprite(at),)),
        };
        assert_eq!(report.done, 300);
    }),
    ("add to all that match", |world, all| {
        let _ = others(world, 3_000);
        let mut query = Query::<&Other>::new(world).unwrap();
        let matching = query.change(world);
        let count = match all {
            true => matching.add(|other| (Sprite(other.0 as u32), TRANSFORM, Depth(0), Drawn)),
            false => matching.add(|other| (Sprite(other.0 as u32),)),
        };
        assert_eq!(count.unwrap(), 3_000);
    }),
    ("swap in all that match", |world, all| {
        let _ = others(world, 3_000);
        let mut query = Query::<&Other>::new(world).unwrap();
        let matching = query.change(world);
        let sprite = |other: &Other| Sprite(other.0 as u32);
        let count = match all {
            true => {
                matching.swap::<(Other,), _>(|other| (sprite(other), TRANSFORM, Depth(0), Drawn))
            }
            false => matching.swap::<(Other,), _>(|other| (sprite(other),)),
        };
        assert_eq!(count.unwrap(), 3_000);
    }),
    ("recorded: create", |world, all| {
        record(world, |commands| {
            for n in 0..700 {
                give!(all, Sprite(n), |bundle| commands.create(bundle).unwrap());
            }
            give!(all, Sprite(1), |bundle| commands
                .create(bundle.shared(Team(1)))
                .unwrap());
            let entity = commands.reserve().unwrap();
            give!(all, Sprite(1), |bundle| commands
                .build(entity, bundle)
                .unwrap());
            let made = give!(all, Sprite(1), |bundle| commands.create(bundle).unwrap());
            assert_eq!(commands.get::<Transform>(made), Ok(&TRANSFORM));
        });
    }),
    ("recorded: create a batch", |world, all| {
        record(world, |commands| {
            if all {
                let bundles = (0..3_000).map(|n| (Sprite(n), TRANSFORM, Depth(0), Drawn));
                let _ = commands.create_batch(bundles).unwrap();
            } else {
                let _ = commands
                    .create_batch((0..3_000).map(|n| (Sprite(n),)))
                    .unwrap();
            }
        });
    }),
    ("recorded: create by numbers", |world, all| {
        let (one, other) = (dynamic(world, all, 1), dynamic(world, all, 2));
        record(world, |commands| {
            commands.create_dynamic(one).unwrap();
            let entity = commands.reserve().unwrap();
            commands.build_dynamic(entity, other).unwrap();
        });
    }),
    ("recorded: create copies", |world, all| {
        let prototype = prototype(world, all);
        record(world, |commands| {
            let _ = commands.create_copies(&prototype, 3_000).unwrap();
            let _ = commands
                .create_copies_with(&prototype, 30, |n| (Other(n as u64),))
                .unwrap();
            let entity = commands.reserve().unwrap();
            commands.build_copy(entity, &prototype).unwrap();
        });
    }),
    ("recorded: add to one", |world, all| {
        let other = world.create((Other(1),)).unwrap();
        record(world, |commands| {
            give!(all, Sprite(1), |bundle| commands
                .add(other, bundle)
                .unwrap());
        });
        let placed = world.create((Transform(9), Depth(4))).unwrap();
        record(world, |commands| {
            match all {
                true => commands.add(placed, (Sprite(1), Drawn)).unwrap(),
                false => commands.add(placed, (Sprite(1),)).unwrap(),
            };
        });
        assert_eq!(world.get::<Depth>(placed), Ok(&Depth(4)));
    }),
    ("recorded: add to many", |world, all| {
        let slice = others(world, 3_000);
        record(world, |commands| {
            for (&other, n) in slice.iter().zip(0..) {
                give!(all, Sprite(n), |bundle| commands
                    .add(other, bundle)
                    .unwrap());
            }
        });
        let slice = others(world, 3_000);
        record(world, |commands| {
            for (&other, n) in slice.iter().zip(0..).step_by(3) {
                give!(all, Sprite(n), |bundle| commands
                    .add(other, bundle)
                    .unwrap());
            }
        });
    }),
    (
        "recorded: add by numbers, with shared values, and swap",
        |world, all| {
            let slice = others(world, 4);
            let gone = world.registry().of::<Other>().unwrap().id();
            let (one, other) = (dynamic(world, all, 1), dynamic(world, all, 2));
            record(world, |commands| {
                commands.add_dynamic(slice[0], one).unwrap();
                commands.swap_dynamic(slice[1], &[gone], other).unwrap();
                give!(all, Sprite(1), |bundle| commands
                    .add(slice[2], bundle.shared(Team(1)))
                    .unwrap());
                give!(all, Sprite(1), |bundle| commands
                    .swap::<(Other,), _>(slice[3], bundle)
                    .unwrap());
            });
        },
    ),
    ("recorded: in what was created before", |world, all| {
        record(world, |commands| {
            let other = commands.create((Other(1),)).unwrap();
            give!(all, Sprite(1), |bundle| commands
                .add(other, bundle)
                .unwrap());
        });
    }),
];

#[test]
fn whichever_way_an_owner_comes_what_it_requires_comes_as_if_it_were_named() {
    for &(name, way) in WAYS {
        // What depends on threads must not be seen.
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let [mut requiring, mut naming] = [true, false].map(|requires| {
                let mut world = world(requires);
                pool.install(|| way(&mut world, !requires));
                world
                    .check()
                    .unwrap_or_else(|error| panic!("{name}: {error}"));
                world
            });
            let hashes = [&requiring, &naming].map(|world| world.state_hash().unwrap());
            assert_eq!(hashes[0], hashes[1], "{name}");
            let heard = [&mut requiring, &mut naming].map(|world| {
                let mut heard = world.resources_mut().remove::<Heard>().unwrap();
                heard.sort_unstable();
                heard
            });
            assert!(!heard[0].is_empty(), "{name}");
            assert_eq!(heard[0], heard[1], "{name}");
            for world in [&mut requiring, &mut naming] {
                let lacking = world.matching::<(With<Sprite>, Without<Transform>)>();
                assert_eq!(lacking.unwrap().remove::<(Sprite,)>(), Ok(0), "{name}");
            }
        }
    }
}

#[test]
fn what_is_required_may_go_alone_and_comes_back_with_the_owner() {
    let mut world = world(true);
    let ant = world.create((Sprite(1),)).unwrap();
    assert!(world.remove::<(Transform,)>(ant).unwrap());
    world.add(ant, (Other(1),)).unwrap();
    assert!(!world.has::<Transform>(ant).unwrap());
    let clone = world.clone_entity(ant).unwrap();
    assert!(!world.has::<Transform>(clone).unwrap());
    world.add(ant, (Sprite(2),)).unwrap();
    assert_eq!(world.get::<Transform>(ant), Ok(&TRANSFORM));
    // What is named as going does not come.
    world.swap::<(Transform,), _>(ant, (Sprite(3),)).unwrap();
    assert!(!world.has::<Transform>(ant).unwrap());
    world.swap::<(Sprite,), _>(ant, (Depth(3),)).unwrap();
    assert_eq!(world.get::<Transform>(ant), Ok(&Transform(8)));
    world.check().unwrap();
}

#[test]
fn several_commands_do_what_they_would_do_one_after_the_other() {
    /// What is done to an entity.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Add,
        AddPlaced,
        Remove,
        RemoveDepth,
        RemoveOwner,
        Swap,
        SwapOwner,
    }
    use Step::*;
    const STEPS: [Step; 7] = [
        Add,
        AddPlaced,
        Remove,
        RemoveDepth,
        RemoveOwner,
        Swap,
        SwapOwner,
    ];
    fn at_once(world: &mut World, ant: Entity, step: Step) {
        match step {
            Add => world.add(ant, (Sprite(1),)).unwrap(),
            AddPlaced => world.add(ant, (Sprite(2), Transform(9))).unwrap(),
            Remove => _ = world.remove::<(Transform,)>(ant).unwrap(),
            RemoveDepth => _ = world.remove::<(Depth,)>(ant).unwrap(),
            RemoveOwner => _ = world.remove::<(Sprite,)>(ant).unwrap(),
            Swap => world.swap::<(Transform,), _>(ant, (Sprite(3),)).unwrap(),
            SwapOwner => world.swap::<(Sprite,), _>(ant, (Transform(4),)).unwrap(),
        }
    }
    fn recorded(commands: &mut Commands<'_>, ant: Entity, step: Step) {
        match step {
            Add => commands.add(ant, (Sprite(1),)),
            AddPlaced => commands.add(ant, (Sprite(2), Transform(9))),
            Remove => commands.remove::<(Transform,)>(ant),
            RemoveDepth => commands.remove::<(Depth,)>(ant),
            RemoveOwner => commands.remove::<(Sprite,)>(ant),
            Swap => commands.swap::<(Transform,), _>(ant, (Sprite(3),)),
            SwapOwner => commands.swap::<(Sprite,), _>(ant, (Transform(4),)),
        }
        .unwrap();
    }
    /// An ant of each composition.
    fn ants(world: &mut World) -> Vec<Entity> {
        let ants = [
            world.create((Other(0),)),
            world.create((Other(1), Transform(5))),
            world.create((Other(2), Sprite(5))),
            world.create((Other(3), Sprite(6), Transform(6), Depth(6))),
            world.create((Other(4), Sprite(7))),
        ];
        let ants = ants.map(Result::unwrap);
        world.remove::<(Transform,)>(ants[4]).unwrap();
        ants.into()
    }
    let [mut one, mut other] = [world(true), world(true)];
    let mut all = [Vec::new(), Vec::new()];
    let mut programs: Vec<Vec<Step>> = Vec::new();
    for a in STEPS {
        for b in STEPS {
            programs.push(vec![a, b]);
            programs.extend(STEPS.map(|c| vec![a, b, c]));
        }
    }
    for _ in &programs {
        all[0].push(ants(&mut one));
        all[1].push(ants(&mut other));
    }
    for (ants, program) in all[0].iter().zip(&programs) {
        for &ant in ants {
            program
                .iter()
                .for_each(|&step| at_once(&mut one, ant, step));
        }
    }
    let mut few = other.commands();
    for (ants, program) in all[1].iter().zip(&programs) {
        for &ant in ants {
            program
                .iter()
                .for_each(|&step| recorded(&mut few, ant, step));
        }
    }
    drop(few);
    assert!(other.flush().is_clean());
    one.check().unwrap();
    other.check().unwrap();
    for ((ants, program), others) in all[0].iter().zip(&programs).zip(&all[1]) {
        for (&ant, &bee) in ants.iter().zip(others) {
            let what = |world: &World, ant| {
                (
                    world.get::<Sprite>(ant).copied().ok(),
                    world.get::<Transform>(ant).copied().ok(),
                    world.get::<Depth>(ant).copied().ok(),
                    world.has::<Drawn>(ant).unwrap(),
                )
            };
            let kind = one.get::<Other>(ant).unwrap().0;
            assert_eq!(what(&other, bee), what(&one, ant), "{program:?} of {kind}");
        }
    }
}

#[test]
fn it_is_said_before_an_owner_has_come() {
    let mut world = World::new();
    let registry = world.registry();
    registry
        .require_with::<Sprite, Transform>(|| TRANSFORM)
        .unwrap();
    registry.register::<Depth>().unwrap();
    // Who asks for it does not settle it.
    drop(world.commands());
    assert_eq!(world.matching::<With<Sprite>>().unwrap().destroy(), 0);
    world.registry().require_with::<Sprite, u8>(|| 1).unwrap();
    let ant = world.create((Other(1),)).unwrap();
    let mut commands = world.commands();
    commands.add(ant, (Sprite(1),)).unwrap();
    let late = world.registry().require::<Sprite, Depth>();
    let Err(FragmentError::RequiredLate { owner, needed, .. }) = &late else {
        panic!("{late:?}");
    };
    assert!(owner.ends_with("Sprite") && needed.ends_with("Depth"));
    // And so it is of what came with it.
    let late = world.registry().require::<Transform, Depth>();
    assert!(matches!(late, Err(FragmentError::RequiredLate { .. })));
    // Said again it is no error, and changes nothing.
    world
        .registry()
        .require_with::<Sprite, Transform>(|| Transform(1))
        .unwrap();
    drop(commands);
    assert!(world.flush().is_clean());
    assert_eq!(world.get::<Transform>(ant), Ok(&TRANSFORM));
    // All worlds of a universe agree.
    let universe = Arc::clone(world.universe());
    let mut sea = World::of(&universe).unwrap();
    let fish = sea.create((Sprite(2),)).unwrap();
    assert_eq!(sea.get::<Transform>(fish), Ok(&TRANSFORM));
}

#[test]
fn a_value_is_required_by_its_number() {
    let mut world = World::new();
    let registry = world.registry();
    let sprite = registry.register_plain::<Sprite>().unwrap().id();
    let transform = registry.register_plain::<Transform>().unwrap().id();
    registry
        .require_value(sprite, Value::new(registry, TRANSFORM).unwrap())
        .unwrap();
    assert_eq!(registry.required_by(sprite), [transform]);
    let foreign = Value::new(World::new().registry(), 1_u8).unwrap();
    let refused = registry.require_value(sprite, foreign);
    assert!(matches!(refused, Err(FragmentError::OtherUniverse { .. })));
    let unique = Value::new(registry, std::sync::Mutex::new(1)).unwrap();
    let refused = registry.require_value(sprite, unique);
    assert!(matches!(refused, Err(FragmentError::NotCloneable { .. })));
    let shared = Value::shared(registry, Team(1)).unwrap();
    let refused = registry.require_value(sprite, shared);
    assert!(matches!(refused, Err(FragmentError::WrongKind { .. })));
    let ant = world.create((Sprite(1),)).unwrap();
    assert_eq!(world.get::<Transform>(ant), Ok(&TRANSFORM));
}

/// A way in which some of these entities, or new ones, come to have a sprite.
type BrittleWay = fn(&mut World, &[Entity]);

/// Ways that are refused, or end, where a value cannot be made.
const BRITTLE: &[(&str, BrittleWay)] = &[
    ("create", |world, _| _ = world.create((Sprite(1),))),
    ("create with shared values", |world, _| {
        _ = world.create((Sprite(1),).shared(Team(1)))
    }),
    ("create a batch", |world, _| {
        _ = world.create_batch((0..5).map(|n| (Sprite(n),))).map(|_| ());
    }),
    ("create by numbers", |world, _| {
        let value = Value::new(world.registry(), Sprite(1)).unwrap();
        _ = world.create_dynamic(value.into());
    }),
    ("copies", |world, _| {
        let value = Value::cloneable(world.registry(), Sprite(1)).unwrap();
        let prototype = Prototype::new(world.registry(), value.into()).unwrap();
        _ = world.create_copies(&prototype, 5).map(|_| ());
    }),
    ("build a copy", |world, _| {
        let value = Value::cloneable(world.registry(), Sprite(1)).unwrap();
        let prototype = Prototype::new(world.registry(), value.into()).unwrap();
        let entity = world.reserve().unwrap();
        let built = catch_unwind(AssertUnwindSafe(|| world.build_copy(entity, &prototype)));
        if let Err(panic) = built {
            world.release(entity).unwrap();
            std::panic::resume_unwind(panic);
        }
    }),
    ("add", |world, others| {
        _ = world.add(others[0], (Sprite(1),))
    }),
    ("add with shared values", |world, others| {
        _ = world.add(others[0], (Sprite(1),).shared(Team(1)));
    }),
    ("swap", |world, others| {
        _ = world.swap::<(Other,), _>(others[0], (Sprite(1),))
    }),
    ("add to a slice", |world, others| {
        _ = world.add_slice(others, |at| (Sprite(at as u32),));
    }),
    ("add to all that match", |world, _| {
        _ = world
            .matching::<With<Other>>()
            .unwrap()
            .add(|_| (Sprite(1),));
    }),
    ("recorded: create", |world, _| {
        let mut commands = world.commands();
        _ = commands.create((Sprite(1),));
        _ = commands
            .create_batch((0..3).map(|n| (Sprite(n),)))
            .map(|_| ());
    }),
    ("recorded: copies", |world, _| {
        let value = Value::cloneable(world.registry(), Sprite(1)).unwrap();
        let prototype = Prototype::new(world.registry(), value.into()).unwrap();
        let mut commands = world.commands();
        _ = commands.create_copies(&prototype, 3).map(|_| ());
    }),
    ("recorded: add", |world, others| {
        let mut commands = world.commands();
        for (&other, n) in others.iter().zip(0..) {
            _ = commands.add(other, (Sprite(n),));
        }
        drop(commands);
        let _ = world.flush();
    }),
    ("recorded: what went before", |world, others| {
        let mut commands = world.commands();
        for &other in others {
            _ = commands.remove::<(Counted,)>(other);
            _ = commands.add(other, (Sprite(1),));
        }
        drop(commands);
        let _ = world.flush();
    }),
];

#[test]
fn a_constructor_that_panics_leaves_the_world_whole_and_each_value_is_dropped_once() {
    for &(name, way) in BRITTLE {
        let mut panics = 0;
        for fuse in 0..30 {
            let alive = Arc::new(AtomicUsize::new(0));
            let mut world = World::new();
            let counted = Arc::clone(&alive);
            let made = move || {
                burn();
                Counted::new(&counted)
            };
            world
                .registry()
                .require_with::<Sprite, Counted>(made)
                .unwrap();
            let counted = Arc::clone(&alive);
            let made = move || {
                burn();
                (Counted::new(&counted), 7_u64)
            };
            world
                .registry()
                .require_with::<Sprite, (Counted, u64)>(made)
                .unwrap();
            let batch = world.create_batch((0..7).map(|n| (Other(n),))).unwrap();
            let mut others: Vec<Entity> = batch.iter(&world).collect();
            if name == "recorded: what went before" {
                for &other in &others {
                    world.add(other, (Sprite(0),)).unwrap();
                }
            } else {
                others.push(world.create((Other(7), Counted::new(&alive))).unwrap());
            }
            let before = world.count();
            FUSE.set(fuse);
            let ended = catch_unwind(AssertUnwindSafe(|| way(&mut world, &others)));
            FUSE.set(0);
            panics += usize::from(ended.is_err());
            // What was recorded.
            let _ = world.flush();
            world
                .check()
                .unwrap_or_else(|error| panic!("{name}, {fuse}: {error}"));
            let mut values = 0;
            let mut one = Query::<&Counted>::new(&world).unwrap();
            values += one.on(&mut world).count();
            let mut other = Query::<&(Counted, u64)>::new(&world).unwrap();
            other.on(&mut world).for_each(|(_, seven)| {
                assert_eq!(*seven, 7);
                values += 1;
            });
            assert_eq!(alive.load(Ordering::Relaxed), values, "{name}, {fuse}");
            if ended.is_err() && !name.starts_with("recorded") {
                assert_eq!(world.count(), before, "{name}, {fuse}");
                if fuse <= 2 {
                    let mut sprites = Query::<Entity, With<Sprite>>::new(&world).unwrap();
                    assert_eq!(sprites.on(&mut world).count(), 0, "{name}, {fuse}");
                }
            }
            // It goes on as ever, and who has an owner has what it requires.
            let ant = world.create((Sprite(1),)).unwrap();
            assert!(world.has::<Counted>(ant).unwrap());
            let mut lacking =
                Query::<Entity, (With<Sprite>, Without<(Counted, u64)>)>::new(&world).unwrap();
            assert_eq!(lacking.on(&mut world).count(), 0, "{name}, {fuse}");
            world.clear();
            assert_eq!(alive.load(Ordering::Relaxed), 0, "{name}, {fuse}");
        }
        assert!(panics > 0, "{name}");
    }
}

#[test]
fn what_a_file_lacks_is_added_when_it_is_asked_for() {
    let mut old = world(false);
    let ant = old.create((Sprite(1), Other(1))).unwrap();
    let bee = old.create((Sprite(2), Transform(9))).unwrap();
    let _ = others(&mut old, 3_000);
    let saved = old.to_snapshot(&SnapshotOptions::new()).unwrap();
    let universe = Universe::ordered();
    register(universe.registry(), true);
    let mut new = World::from_snapshot(&saved, universe).unwrap();
    // As it was saved.
    assert!(!new.has::<Transform>(ant).unwrap());
    assert_eq!(new.state_hash().unwrap(), old.state_hash().unwrap());
    assert_eq!(new.add_required().unwrap(), 2);
    assert_eq!(new.get::<Transform>(ant), Ok(&TRANSFORM));
    assert_eq!(new.get::<Transform>(bee), Ok(&Transform(9)));
    assert!(new.has::<Depth>(bee).unwrap() && new.has::<Drawn>(bee).unwrap());
    assert_eq!(new.add_required().unwrap(), 0);
    assert_eq!(old.add_required().unwrap(), 0);
    new.check().unwrap();
}
