//! Each way in which an owner comes, gone twice.

use megachunk::prelude::*;
use megachunk::world::{Group, Prototype};

use super::{
    Depth, Drawn, Heard, Other, Sprite, TRANSFORM, Team, Transform, others, record, world,
};

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
            let hashes =
                [&requiring, &naming].map(|world| world.state_hash(&Default::default()).unwrap());
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
