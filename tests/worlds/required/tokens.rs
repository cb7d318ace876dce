//! A tag that is required is a value, too: its maker makes it, for each entity once, though it lies nowhere.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;
use megachunk::query::Any;
use megachunk::world::Prototype;

use super::record;

#[derive(Clone, Copy, Debug)]
struct Owner(u32);
/// An owner without a column: whole chunks are handed over to where it comes.
#[derive(Clone, Copy, Debug)]
struct Badge;
#[derive(Clone, Copy, Debug)]
struct Other(u32);
/// Nobody else can make one.
struct Token(());

/// A world in which owners come with tokens; how many of those were made.
fn world() -> (World, Arc<AtomicUsize>) {
    let world = World::new();
    let made = Arc::new(AtomicUsize::new(0));
    for badge in [false, true] {
        let counted = Arc::clone(&made);
        let make = move || {
            counted.fetch_add(1, Ordering::Relaxed);
            Token(())
        };
        let registry = world.registry();
        let required = match badge {
            false => registry.require_with::<Owner, Token>(make),
            true => registry.require_with::<Badge, Token>(make),
        };
        required.unwrap();
    }
    (world, made)
}

fn others(world: &mut World, count: u32) -> Vec<Entity> {
    let batch = world.create_batch((0..count).map(|n| (Other(n),))).unwrap();
    batch.iter(world).collect()
}

fn dynamic(world: &World) -> DynamicBundle {
    Value::cloneable(world.registry(), Owner(1)).unwrap().into()
}

fn prototype(world: &World) -> Prototype {
    Prototype::new(world.registry(), dynamic(world)).unwrap()
}

type Way = fn(&mut World);

const WAYS: &[(&str, Way)] = &[
    ("create", |world| _ = world.create((Owner(1),)).unwrap()),
    ("create a tag", |world| _ = world.create((Badge,)).unwrap()),
    ("create with shared values", |world| {
        world.create((Owner(1),).shared(3_u8)).unwrap();
    }),
    ("build", |world| {
        let entity = world.reserve().unwrap();
        world.build(entity, (Owner(1),)).unwrap();
    }),
    ("create a batch", |world| {
        let _ = world.create_batch((0..3_000).map(|n| (Owner(n),))).unwrap();
        let _ = world.create_batch((0..300).map(|_| (Badge,))).unwrap();
    }),
    ("create by numbers", |world| {
        world.create_dynamic(dynamic(world)).unwrap();
    }),
    ("create copies", |world| {
        let _ = world.create_copies(&prototype(world), 3_000).unwrap();
    }),
    ("create copies with", |world| {
        let prototype = prototype(world);
        let written = |n| (Other(n as u32),);
        let _ = world.create_copies_with(&prototype, 300, written).unwrap();
    }),
    ("add", |world| {
        let all = others(world, 2);
        world.add(all[0], (Owner(1),)).unwrap();
        world.add(all[1], (Badge,)).unwrap();
    }),
    ("add with shared values", |world| {
        let all = others(world, 1);
        world.add(all[0], (Owner(1),).shared(3_u8)).unwrap();
    }),
    ("add by numbers", |world| {
        let all = others(world, 1);
        world.add_dynamic(all[0], dynamic(world)).unwrap();
    }),
    ("swap", |world| {
        let all = others(world, 2);
        world.swap::<(Other,), _>(all[0], (Owner(1),)).unwrap();
        world.swap::<(Other,), _>(all[1], (Badge,)).unwrap();
    }),
    ("add to a slice", |world| {
        let all = others(world, 3_000);
        let some: Vec<Entity> = all.iter().copied().step_by(7).collect();
        for slice in [&some, &all] {
            let report = world.add_slice(slice, |at| (Owner(at as u32),));
            assert_eq!(report.done, slice.len());
        }
        let all = others(world, 3_000);
        assert_eq!(world.add_slice(&all, |_| (Badge,)).done, 3_000);
    }),
    ("add to a slice by numbers", |world| {
        let all = others(world, 3_000);
        let prototype = prototype(world);
        let report = world.add_slice_dynamic(&all, &prototype).unwrap();
        assert_eq!(report.done, 3_000);
    }),
    ("add to all that match", |world| {
        let _ = others(world, 3_000);
        let mut query = Query::<&Other>::new(world).unwrap();
        let count = query.change(world).add(|other| (Owner(other.0),));
        assert_eq!(count.unwrap(), 3_000);
    }),
    ("add a tag to all that match", |world| {
        let _ = others(world, 3_000);
        let count = world.matching::<With<Other>>().unwrap().add(|_| (Badge,));
        assert_eq!(count.unwrap(), 3_000);
    }),
    ("recorded: create", |world| {
        record(world, |commands| {
            for n in 0..700 {
                commands.create((Owner(n),)).unwrap();
            }
            commands.create((Badge,)).unwrap();
            commands.create((Owner(1),).shared(3_u8)).unwrap();
        });
    }),
    ("recorded: create a batch", |world| {
        record(world, |commands| {
            let _ = commands
                .create_batch((0..3_000).map(|n| (Owner(n),)))
                .unwrap();
            let _ = commands.create_batch((0..300).map(|_| (Badge,))).unwrap();
        });
    }),
    ("recorded: create by numbers", |world| {
        let all = [0; 3].map(|_| dynamic(world));
        record(world, |commands| {
            for bundle in all {
                commands.create_dynamic(bundle).unwrap();
            }
        });
    }),
    ("recorded: create copies", |world| {
        let prototype = prototype(world);
        record(world, |commands| {
            let _ = commands.create_copies(&prototype, 3_000).unwrap();
        });
    }),
    ("recorded: add to one", |world| {
        let all = others(world, 2);
        record(world, |commands| {
            commands.add(all[0], (Owner(1),)).unwrap();
        });
        record(world, |commands| {
            commands.add(all[1], (Badge,)).unwrap();
        });
    }),
    ("recorded: add to many", |world| {
        let all = others(world, 3_000);
        record(world, |commands| {
            for &other in &all {
                commands.add(other, (Owner(1),)).unwrap();
            }
        });
    }),
    ("recorded: add a tag to whole chunks", |world| {
        let all = others(world, 3_000);
        record(world, |commands| {
            for &other in &all {
                commands.add(other, (Badge,)).unwrap();
            }
        });
    }),
    ("recorded: add a tag to some", |world| {
        let all = others(world, 3_000);
        record(world, |commands| {
            for &other in all.iter().step_by(5) {
                commands.add(other, (Badge,)).unwrap();
            }
        });
    }),
    ("what is loaded or was taken away", |world| {
        let _ = world.create_batch((0..90).map(|n| (Owner(n),))).unwrap();
        let _ = world
            .matching::<With<Owner>>()
            .unwrap()
            .remove::<(Token,)>()
            .unwrap();
        assert_eq!(world.add_required(), Ok(90));
    }),
];

#[test]
fn whichever_way_an_owner_comes_a_tag_that_it_requires_is_made() {
    for &(name, way) in WAYS {
        let (mut world, made) = world();
        way(&mut world);
        let mut lacking =
            Query::<Entity, (Any<(Owner, Badge)>, Without<Token>)>::new(&world).unwrap();
        assert_eq!(lacking.on(&mut world).count(), 0, "{name}");
        let mut tokens = Query::<&Token>::new(&world).unwrap();
        let mut count = 0;
        tokens.on(&mut world).for_each(|Token(())| count += 1);
        assert!(count > 0, "{name}");
        let mut owners = Query::<&Owner>::new(&world).unwrap();
        owners
            .on(&mut world)
            .for_each(|owner| assert!(owner.0 < 3_000));
        let again = if name.starts_with("what is loaded") {
            90
        } else {
            0
        };
        assert_eq!(made.load(Ordering::Relaxed), count + again, "{name}");
        world.check().unwrap();
    }
}

#[test]
fn a_tag_that_nobody_can_make_is_nobodys() {
    enum Never {}

    for &(name, way) in WAYS {
        let (mut world, _) = world();
        let registry = world.registry();
        registry
            .require_with::<Owner, Never>(|| panic!("never"))
            .unwrap();
        registry
            .require_with::<Badge, Never>(|| panic!("never"))
            .unwrap();
        // What it ends with is its own: most ways go on with the panic, a flush refuses.
        let _ = catch_unwind(AssertUnwindSafe(|| way(&mut world)));
        let _ = world.flush();
        let mut all = Query::<Entity, With<Never>>::new(&world).unwrap();
        assert_eq!(all.on(&mut world).count(), 0, "{name}");
        world.check().unwrap();
    }
}

/// What is given beside what cannot be made ends, whatever its `drop` does, and the first panic goes on.
#[test]
fn a_panic_of_what_makes_values_is_the_one_that_goes_on_whatever_ends_beside_it() {
    struct Needed(#[expect(dead_code, reason = "never made")] u8);
    struct Angry(Arc<AtomicUsize>);
    impl Drop for Angry {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
            panic!("dropped");
        }
    }

    type Brittle = fn(&mut World, (Owner, Angry, (Angry,)));
    let ways: [(&str, Brittle); 5] = [
        ("create", |world, bundle| _ = world.create(bundle)),
        ("add", |world, bundle| {
            let other = world.create((Other(1),)).unwrap();
            _ = world.add(other, bundle);
        }),
        ("swap", |world, bundle| {
            let other = world.create((Other(1),)).unwrap();
            _ = world.swap::<(Other,), _>(other, bundle);
        }),
        ("recorded: create", |world, bundle| {
            _ = world.commands().create(bundle);
        }),
        ("recorded: create with a template", |world, bundle| {
            let angry = Angry(Arc::clone(&bundle.1.0));
            _ = world.commands().create(bundle.per_chunk(Boxed(angry)));
        }),
    ];
    /// What chunks begin with can be cloned.
    struct Boxed(Angry);
    impl Clone for Boxed {
        fn clone(&self) -> Self {
            Self(Angry(Arc::clone(&self.0.0)))
        }
    }

    for (name, way) in ways {
        let mut world = World::new();
        let registry = world.registry();
        registry
            .require_with::<Owner, Needed>(|| panic!("not made"))
            .unwrap();
        // A tuple is a fragment only if it is said to be one.
        registry.register::<(Angry,)>().unwrap();
        let dropped = Arc::new(AtomicUsize::new(0));
        let angry = || Angry(Arc::clone(&dropped));
        let bundle = (Owner(1), angry(), (angry(),));
        let ended = catch_unwind(AssertUnwindSafe(|| way(&mut world, bundle)));
        let panic = ended.expect_err(name);
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"not made"), "{name}");
        let all = 2 + usize::from(name.ends_with("template"));
        assert_eq!(dropped.load(Ordering::Relaxed), all, "{name}");
        let mut owners = Query::<Entity, With<Owner>>::new(&world).unwrap();
        assert_eq!(owners.on(&mut world).count(), 0, "{name}");
        world.check().unwrap();
    }
}
