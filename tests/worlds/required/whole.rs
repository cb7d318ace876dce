//! Chunks that change as a whole stay where they are though tags come by default, at once and in flushes. What makes the tags
//! is called once for each entity, before any chunk goes, and in an order that threads have no part in.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use megachunk::command::Commands;
use megachunk::observer::Observed;
use megachunk::prelude::*;

use crate::counted::{FUSE, burn};

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Wide([u64; 12]);
/// Owners: one is a tag, the other has a column of its own.
#[derive(Clone, Copy, Debug, Default)]
struct Badge;
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Heat(u32);
/// What comes with both: it lies nowhere.
#[derive(Clone, Copy, Debug, Default)]
struct Token;
/// What comes with others, and lies in rows.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Depth(u16);

megachunk::plain!(Wide { 0 });
megachunk::plain!(Badge {});
megachunk::plain!(Heat { 0 });
megachunk::plain!(Token {});
megachunk::plain!(Depth { 0 });

const COUNT: usize = 20_000;

fn ants(world: &mut World, count: usize) -> Vec<Entity> {
    let bundles = (0..count).map(|n| (Wide([n as u64; 12]),));
    let batch = world.create_batch(bundles).unwrap();
    batch.iter(world).collect()
}

fn addresses(world: &World, ants: &[Entity]) -> Vec<*const Wide> {
    let address = |&ant: &Entity| -> *const Wide { world.get::<Wide>(ant).unwrap() };
    ants.iter().map(address).collect()
}

/// How many are where they were.
fn stayed(world: &World, ants: &[Entity], before: &[*const Wide]) -> usize {
    let now = addresses(world, ants);
    now.iter().zip(before).filter(|(a, b)| a == b).count()
}

/// Checks that the ants are the same but for what came to them.
fn check(world: &World, ants: &[Entity]) {
    world.check().unwrap();
    for (&ant, n) in ants.iter().zip(0..) {
        assert_eq!(world.get::<Wide>(ant), Ok(&Wide([n; 12])));
        if let Ok(heat) = world.get::<Heat>(ant) {
            assert_eq!(heat, &Heat(n as u32));
        }
    }
}

fn record(
    world: &mut World,
    ants: &[Entity],
    mut each: impl FnMut(&mut Commands<'_>, Entity, u32),
) {
    let mut commands = world.commands();
    for (&ant, n) in ants.iter().zip(0..) {
        each(&mut commands, ant, n);
    }
    drop(commands);
}

/// Gives ants an owner, all the same.
type Owner = fn(&mut Commands<'_>, Entity, u32);

const OWNERS: [(&str, Owner); 2] = [
    ("a tag", |commands, ant, _| {
        commands.add(ant, (Badge,)).unwrap();
    }),
    ("a column", |commands, ant, n| {
        commands.add(ant, (Heat(n),)).unwrap();
    }),
];

#[test]
fn whole_chunks_stay_where_they_are_in_a_flush_though_tags_come_by_default() {
    for (name, owner) in OWNERS {
        let mut world = World::new();
        let made = Arc::new(AtomicUsize::new(0));
        for badge in [false, true] {
            let counted = Arc::clone(&made);
            let make = move || {
                counted.fetch_add(1, Ordering::Relaxed);
                Token
            };
            let required = match badge {
                false => world.registry().require_with::<Heat, Token>(make),
                true => world.registry().require_with::<Badge, Token>(make),
            };
            required.unwrap();
        }
        let told = Arc::new(AtomicUsize::new(0));
        let heard = Arc::clone(&told);
        world
            .observe::<Token, ()>(Observed::ADD, move |batch, _| {
                heard.fetch_add(batch.len(), Ordering::Relaxed);
            })
            .unwrap();
        let ants = ants(&mut world, COUNT);
        let before = addresses(&world, &ants);
        record(&mut world, &ants, owner);
        let report = world.flush();
        assert_eq!((report.moved, report.is_clean()), (COUNT, true), "{name}");
        let stay = stayed(&world, &ants, &before);
        assert!(
            stay > COUNT * 3 / 4,
            "{name}: {stay}, all but the last chunk"
        );
        assert_eq!(made.load(Ordering::Relaxed), COUNT, "{name}");
        assert_eq!(told.load(Ordering::Relaxed), COUNT, "{name}");
        assert!(ants.iter().all(|&ant| world.has::<Token>(ant).unwrap()));
        check(&world, &ants);
    }
}

#[test]
fn what_lies_nowhere_and_is_dropped_leaves_whole_chunks_where_they_are_too() {
    static ALIVE: AtomicUsize = AtomicUsize::new(0);
    struct Ring(());
    impl Ring {
        fn new() -> Self {
            ALIVE.fetch_add(1, Ordering::Relaxed);
            Self(())
        }
    }
    impl Drop for Ring {
        fn drop(&mut self) {
            ALIVE.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn flush(world: &mut World, ants: &[Entity], each: Owner) {
        record(world, ants, each);
        let report = world.flush();
        assert_eq!((report.moved, report.is_clean()), (COUNT, true));
    }
    type Way = fn(&mut World, &[Entity]);
    let ways: [(&str, Way); 6] = [
        ("recorded: a tag", |world, ants| {
            flush(world, ants, OWNERS[0].1)
        }),
        ("recorded: a column", |world, ants| {
            flush(world, ants, OWNERS[1].1)
        }),
        ("recorded: what went before", |world, ants| {
            assert_eq!(world.add_slice(ants, |_| (Ring::new(),)).done, COUNT);
            flush(world, ants, |commands, ant, n| {
                commands.remove::<(Ring,)>(ant).unwrap();
                commands.add(ant, (Heat(n),)).unwrap();
            });
        }),
        ("a slice, a tag", |world, ants| {
            assert_eq!(world.add_slice(ants, |_| (Badge,)).done, COUNT);
        }),
        ("a slice, a column", |world, ants| {
            assert_eq!(world.add_slice(ants, |at| (Heat(at as u32),)).done, COUNT);
        }),
        ("all that match", |world, _| {
            let all = world.matching::<With<Wide>>().unwrap();
            assert_eq!(all.add(|_| (Badge,)), Ok(COUNT));
        }),
    ];
    for (name, way) in ways {
        let mut world = World::new();
        let registry = world.registry();
        registry.require_with::<Badge, Ring>(Ring::new).unwrap();
        registry.require_with::<Heat, Ring>(Ring::new).unwrap();
        let ants = ants(&mut world, COUNT);
        let before = addresses(&world, &ants);
        way(&mut world, &ants);
        let stay = stayed(&world, &ants, &before);
        assert!(
            stay > COUNT * 3 / 4,
            "{name}: {stay}, all but the last chunk"
        );
        assert_eq!(ALIVE.load(Ordering::Relaxed), COUNT, "{name}");
        let mut rings = Query::<&Ring>::new(&world).unwrap();
        let mut count = 0;
        rings.on(&mut world).for_each(|Ring(())| count += 1);
        assert_eq!(count, COUNT, "{name}");
        check(&world, &ants);
        drop(world);
        assert_eq!(ALIVE.load(Ordering::Relaxed), 0, "{name}");
    }
}

/// What was recorded for it ends, and so do the tags that were made.
#[test]
fn where_a_tag_cannot_be_made_its_chunk_stays_as_it_is_and_the_others_go() {
    static ALIVE: AtomicUsize = AtomicUsize::new(0);
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    struct Ring(());
    impl Ring {
        fn new() -> Self {
            CALLS.fetch_add(1, Ordering::Relaxed);
            burn();
            ALIVE.fetch_add(1, Ordering::Relaxed);
            Self(())
        }
    }
    impl Drop for Ring {
        fn drop(&mut self) {
            ALIVE.fetch_sub(1, Ordering::Relaxed);
        }
    }
    /// A column whose values are dropped.
    struct Torch(#[expect(dead_code, reason = "it is dropped")] Arc<()>);

    type Own = fn(&mut Commands<'_>, Entity, &Arc<()>);
    let owners: [(&str, Own); 2] = [
        ("a tag", |commands, ant, _| {
            commands.add(ant, (Badge,)).unwrap();
        }),
        ("a column", |commands, ant, oil| {
            commands.add(ant, (Torch(Arc::clone(oil)),)).unwrap();
        }),
    ];
    for (name, owner) in owners {
        for fuse in [1, 2, 700, 7_000, 13_001, COUNT] {
            let mut world = World::new();
            let registry = world.registry();
            registry.require_with::<Badge, Ring>(Ring::new).unwrap();
            registry.require_with::<Torch, Ring>(Ring::new).unwrap();
            let ants = ants(&mut world, COUNT);
            let before = addresses(&world, &ants);
            let oil = Arc::new(());
            CALLS.store(0, Ordering::Relaxed);
            record(&mut world, &ants, |commands, ant, _| {
                owner(commands, ant, &oil);
            });
            FUSE.set(fuse);
            let ended = catch_unwind(AssertUnwindSafe(|| world.flush()));
            FUSE.set(0);
            let panic = ended.expect_err(name);
            assert_eq!(panic.downcast_ref::<&str>(), Some(&"the fuse"), "{name}");
            check(&world, &ants);
            let has = |ant: &&Entity| world.has::<Ring>(**ant).unwrap();
            let rings = ants.iter().filter(has).count();
            let owns = |ant: &&Entity| {
                let badge = world.has::<Badge>(**ant).unwrap();
                badge || world.has::<Torch>(**ant).unwrap()
            };
            assert!(
                ants.iter().all(|ant| has(&ant) == owns(&ant)),
                "{name}, {fuse}"
            );
            assert_eq!(ALIVE.load(Ordering::Relaxed), rings, "{name}, {fuse}");
            let torches = ants.iter().filter(|ant| world.has::<Torch>(**ant).unwrap());
            assert_eq!(
                Arc::strong_count(&oil),
                1 + torches.count(),
                "{name}, {fuse}"
            );
            // The first ones are neighbours, of one chunk, and all others have what they were to have.
            let lacking: Vec<usize> = (0..COUNT).filter(|&at| !has(&&ants[at])).collect();
            let (first, count) = (lacking[0], lacking.len());
            assert_eq!(
                lacking,
                (first..first + count).collect::<Vec<_>>(),
                "{name}, {fuse}"
            );
            let here = first..first + count;
            let stay = stayed(&world, &ants[here.clone()], &before[here]);
            assert_eq!(stay, count, "{name}, {fuse}");
            // Nobody was asked again.
            let calls = CALLS.load(Ordering::Relaxed);
            assert!(
                calls > rings && calls <= rings + count,
                "{name}, {fuse}: {calls}"
            );
            // It goes on as ever.
            record(
                &mut world,
                &ants[first..first + count],
                |commands, ant, _| {
                    owner(commands, ant, &oil);
                },
            );
            assert!(world.flush().is_clean(), "{name}, {fuse}");
            assert_eq!(ALIVE.load(Ordering::Relaxed), COUNT, "{name}, {fuse}");
            check(&world, &ants);
            drop(world);
            assert_eq!(ALIVE.load(Ordering::Relaxed), 0, "{name}, {fuse}");
        }
    }
}

#[test]
fn where_a_tag_cannot_be_made_in_a_call_nothing_is_left_of_what_was_to_come() {
    static ALIVE: AtomicUsize = AtomicUsize::new(0);
    struct Ring;
    impl Ring {
        fn new() -> Self {
            burn();
            ALIVE.fetch_add(1, Ordering::Relaxed);
            Self
        }
    }
    impl Drop for Ring {
        fn drop(&mut self) {
            ALIVE.fetch_sub(1, Ordering::Relaxed);
        }
    }
    /// A column whose values are dropped.
    struct Torch(#[expect(dead_code, reason = "it is dropped")] Arc<()>);

    for fuse in [1, 2, 7_000, COUNT] {
        let mut world = World::new();
        let registry = world.registry();
        registry.require_with::<Torch, Ring>(Ring::new).unwrap();
        let ants = ants(&mut world, COUNT);
        let oil = Arc::new(());
        FUSE.set(fuse);
        let added = catch_unwind(AssertUnwindSafe(|| {
            world.add_slice(&ants, |_| (Torch(Arc::clone(&oil)),))
        }));
        FUSE.set(0);
        assert!(added.is_err(), "{fuse}");
        check(&world, &ants);
        let has = |ant: &&Entity| world.has::<Ring>(**ant).unwrap();
        let rings = ants.iter().filter(has).count();
        assert!(rings < COUNT, "{fuse}");
        let owns = |ant: &Entity| world.has::<Torch>(*ant).unwrap();
        assert!(ants.iter().all(|ant| has(&ant) == owns(ant)), "{fuse}");
        assert_eq!(ALIVE.load(Ordering::Relaxed), rings, "{fuse}");
        assert_eq!(Arc::strong_count(&oil), 1 + rings, "{fuse}");
        drop(world);
        assert_eq!(ALIVE.load(Ordering::Relaxed), 0, "{fuse}");
    }
}

#[test]
fn the_same_comes_by_default_and_in_the_same_order_whatever_threads_flush() {
    let run = |ordered, threads| {
        let universe = match ordered {
            true => Universe::ordered(),
            false => Universe::new(),
        };
        let mut world = World::of(&Arc::new(universe)).unwrap();
        world.set_flush_threads_from(Some(1));
        let calls = Arc::new(Mutex::new(Vec::new()));
        let note = |name: &'static str| {
            let calls = Arc::clone(&calls);
            move || calls.lock().unwrap().push(name)
        };
        let registry = world.registry();
        registry.register_plain::<Wide>().unwrap();
        registry.register_plain::<Badge>().unwrap();
        registry.register_plain::<Heat>().unwrap();
        registry.register_plain::<Token>().unwrap();
        registry.register_plain::<Depth>().unwrap();
        registry.register_plain::<u8>().unwrap();
        let of_badge = note("token of a badge");
        let make = move || (of_badge(), Token).1;
        registry.require_with::<Badge, Token>(make).unwrap();
        let of_heat = note("token of heat");
        let make = move || (of_heat(), Token).1;
        registry.require_with::<Heat, Token>(make).unwrap();
        let depth = note("depth");
        let make = move || (depth(), Depth(7)).1;
        registry.require_with::<u8, Depth>(make).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().unwrap();
        let ants = ants(&mut world, 3 * COUNT);
        let (badges, rest) = ants.split_at(COUNT);
        let (heats, depths) = rest.split_at(COUNT);
        let mut commands = world.commands();
        for (at, n) in (0..COUNT).zip(0..) {
            commands.add(depths[at], (1_u8,)).unwrap();
            commands.add(badges[at], (Badge,)).unwrap();
            commands.add(heats[at], (Heat(COUNT as u32 + n),)).unwrap();
        }
        drop(commands);
        let report = pool.install(|| world.flush());
        assert_eq!((report.moved, report.is_clean()), (3 * COUNT, true));
        check(&world, &ants);
        let hash = world.state_hash(&Default::default()).unwrap();
        let calls = std::mem::take(&mut *calls.lock().unwrap());
        (hash, calls)
    };
    for ordered in [false, true] {
        let (hash, calls) = run(ordered, 1);
        assert_eq!(calls.len(), 3 * COUNT);
        for threads in [2, 4] {
            let (other, others) = run(ordered, threads);
            assert_eq!(other, hash, "{ordered}, {threads}");
            assert!(others == calls, "{ordered}, {threads}");
        }
    }
}
