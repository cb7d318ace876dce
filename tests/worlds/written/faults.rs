//! Closures that fail, panic or do more than they should, and files that are damaged: no world, no file and no value comes of
//! them, and those that were there are as they were.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::entity::EntityMap;
use megachunk::prelude::*;
use megachunk::world::{SnapshotError, SnapshotState};

use crate::counted::{Counted, FUSE, burnt};
use crate::written::all;
use crate::written::forms::{Faction, Name, Order, filled, read_name, universe, write_name};

/// A value that counts itself.
pub(super) struct Kept(
    pub(super) u32,
    #[expect(dead_code, reason = "it is dropped")] pub(super) Counted,
);

/// Where `Kept` fails: with an error, or with a panic.
pub(super) fn counting(universe: Universe, alive: &Arc<AtomicUsize>, panics: bool) -> Universe {
    let fail = move || match panics {
        true => resume_unwind(Box::new("burnt")),
        false => Err("burnt"),
    };
    let write = move |kept: &Kept, bytes: &mut Vec<u8>| {
        bytes.extend(kept.0.to_le_bytes());
        if burnt() { fail() } else { Ok(()) }
    };
    let alive = Arc::clone(alive);
    let read = move |bytes: &[u8], _: &EntityMap| {
        let kept = Kept(
            bytes.try_into().map_or(0, u32::from_le_bytes),
            Counted::new(&alive),
        );
        if burnt() {
            fail().map(|()| kept)
        } else {
            Ok(kept)
        }
    };
    universe
        .registry()
        .register_written_as::<Kept, _, _>("kept", write, read)
        .unwrap();
    universe
}

#[test]
fn a_read_that_fails_or_panics_leaves_no_world_and_no_value() {
    let alive = Arc::new(AtomicUsize::new(0));
    let make = |panics| counting(universe(), &alive, panics);
    let mut world = World::of(&Arc::new(make(false))).unwrap();
    for n in 0..20 {
        let kept = Kept(n, Counted::new(&alive));
        let entity = world.create((n, kept, Name(n.to_string()))).unwrap();
        if n % 2 == 0 {
            world.add(entity, (Order::Idle,)).unwrap();
        }
        if n % 3 == 0 {
            world.add(entity, ().shared(Faction("red".into()))).unwrap();
        }
    }
    let file = world.to_snapshot(&all()).unwrap();
    let before = alive.load(Ordering::Relaxed);
    assert_eq!(before, 20);
    for panics in [false, true] {
        for fuse in 1..=20 {
            FUSE.set(fuse);
            let loaded = catch_unwind(AssertUnwindSafe(|| {
                World::from_snapshot(&file, make(panics), &Default::default())
            }));
            assert_eq!(alive.load(Ordering::Relaxed), before, "fuse {fuse}");
            match loaded {
                Ok(refused) => {
                    assert!(!panics);
                    let refused = refused.unwrap_err();
                    let SnapshotError::NotRead {
                        name, at, reason, ..
                    } = &refused
                    else {
                        panic!("{refused}");
                    };
                    assert_eq!((&**name, &**reason), ("kept", "burnt"));
                    let kept = u32::from_le_bytes(file[*at as usize..][..4].try_into().unwrap());
                    assert!(kept < 20);
                }
                Err(panic) => assert!(panics && panic.is::<&str>()),
            }
            // Beside others, of whom nobody has changed.
            FUSE.set(fuse);
            let universe = Arc::new(make(panics));
            let mut native = World::of(&universe).unwrap();
            let hare = native.create((1_u32,)).unwrap();
            let come = catch_unwind(AssertUnwindSafe(|| {
                World::from_snapshot_remapped(
                    &file,
                    &universe,
                    &EntityMap::default(),
                    &Default::default(),
                )
            }));
            assert!(come.map_or(panics, |come| come.is_err() && !panics));
            assert_eq!(alive.load(Ordering::Relaxed), before, "fuse {fuse}");
            assert_eq!((universe.count(), native.get::<u32>(hare)), (1, Ok(&1)));
            native.check().unwrap();
        }
    }
    FUSE.set(0);
    let loaded = World::from_snapshot(&file, make(true), &Default::default()).unwrap();
    assert_eq!(alive.load(Ordering::Relaxed), 2 * before);
    drop(loaded);
    assert_eq!(alive.load(Ordering::Relaxed), before);
    drop(world);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

/// The last written column of a chunk.
struct Last(u32, #[expect(dead_code, reason = "it is dropped")] Counted);

/// A shared value that counts itself.
struct Team(u32, #[expect(dead_code, reason = "it is dropped")] Counted);

impl PartialEq for Team {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Team {}

impl core::hash::Hash for Team {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// A universe in which reading a `Last`, or a `Team`, fails where its fuse, calls until then, ends; 0: nowhere.
fn with_last(alive: &Arc<AtomicUsize>, fuses: [usize; 2], panics: bool) -> Universe {
    let fused = move |fuse: usize| {
        let left = AtomicUsize::new(fuse);
        let alive = Arc::clone(alive);
        move |bytes: &[u8]| -> Result<(u32, Counted), &'static str> {
            let value = (
                bytes.try_into().map_or(0, u32::from_le_bytes),
                Counted::new(&alive),
            );
            match left.fetch_sub(1, Ordering::Relaxed) {
                1 if panics => resume_unwind(Box::new("burnt")),
                1 => Err("burnt"),
                _ => Ok(value),
            }
        }
    };
    let universe = counting(universe(), alive, panics);
    let [last, team] = fuses.map(fused);
    let registry = universe.registry();
    registry
        .register_written_as::<Last, _, _>(
            "zz",
            |last: &Last, bytes| bytes.extend(last.0.to_le_bytes()),
            move |bytes, _| last(bytes).map(|(number, counted)| Last(number, counted)),
        )
        .unwrap();
    registry
        .register_written_as::<Shared<Team>, _, _>(
            "team",
            |team: &Team, bytes| bytes.extend(team.0.to_le_bytes()),
            move |bytes, _| team(bytes).map(|(number, counted)| Team(number, counted)),
        )
        .unwrap();
    universe
}

#[test]
fn what_fails_behind_other_columns_and_in_a_later_piece_leaves_no_value() {
    const ROWS: usize = 50_000;
    let alive = Arc::new(AtomicUsize::new(0));
    let kept = |n| Kept(n, Counted::new(&alive));
    let of_bytes = |fuses, panics| {
        let universe = with_last(&alive, fuses, panics);
        universe.registry().register_plain_as::<u8>("zzz").unwrap();
        universe
    };
    let mut world = World::of(&Arc::new(of_bytes([0; 2], false))).unwrap();
    // Only the byte of the last one is no `bool`.
    let rows = (0..ROWS as u32).map(|n| {
        let byte = if n as usize + 1 == ROWS { 7_u8 } else { 1 };
        (n, kept(n), Last(n, Counted::new(&alive)), byte)
    });
    let batch = world.create_batch(rows).unwrap();
    let first = batch.iter(&world).next().unwrap();
    for n in 0..3 {
        let team = Team(n, Counted::new(&alive));
        let last = Last(n, Counted::new(&alive));
        world.create((n, kept(n), last).shared(team)).unwrap();
    }
    let file = world.to_snapshot(&all()).unwrap();
    let before = alive.load(Ordering::Relaxed);
    assert_eq!(before, 2 * ROWS + 9);
    // Chunks are cut up: there must be room for bits.
    let narrow = |fuses, panics| {
        let universe = of_bytes(fuses, panics);
        universe.registry().register_enableable::<u32>().unwrap();
        universe.registry().register_enableable::<Kept>().unwrap();
        universe.registry().register_enableable::<Last>().unwrap();
        universe
    };
    for panics in [false, true] {
        for fuses in [[1, 0], [1_500, 0], [ROWS / 2, 0], [ROWS, 0], [0, 1], [0, 3]] {
            let loaded = catch_unwind(AssertUnwindSafe(|| {
                World::from_snapshot(&file, narrow(fuses, panics), &Default::default())
            }));
            assert_eq!(alive.load(Ordering::Relaxed), before, "{fuses:?}");
            match loaded {
                Ok(refused) => {
                    let refused = refused.unwrap_err();
                    let whose = if fuses[0] > 0 { "zz" } else { "team" };
                    let is_it =
                        matches!(&refused, SnapshotError::NotRead { name, .. } if **name == *whose);
                    assert!(is_it && !panics, "{refused}");
                }
                Err(panic) => assert!(panics && panic.is::<&str>()),
            }
        }
    }
    // All columns are read, and then a byte is no value.
    let universe = with_last(&alive, [0; 2], false);
    universe
        .registry()
        .register_plain_as::<bool>("zzz")
        .unwrap();
    let universe = Arc::new(universe);
    let options = LoadOptions::new().ignore_fields("zzz");
    let known = EntityMap::default();
    let refused = World::from_snapshot_remapped(&file, &universe, &known, &options).unwrap_err();
    assert!(
        matches!(&refused, SnapshotError::NotAValue { name, .. } if &**name == "zzz"),
        "{refused}"
    );
    assert_eq!(
        (universe.count(), alive.load(Ordering::Relaxed)),
        (0, before)
    );
    let loaded = World::from_snapshot(&file, narrow([0; 2], true), &Default::default()).unwrap();
    loaded.check().unwrap();
    assert_eq!(loaded.get::<Last>(first).unwrap().0, 0);
    assert_eq!(alive.load(Ordering::Relaxed), 2 * before);
    drop((world, loaded));
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn a_write_that_fails_or_panics_leaves_the_world_and_the_file_as_they_were() {
    let folder = std::env::temp_dir().join(format!("megachunk-written-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("world");
    let alive = Arc::new(AtomicUsize::new(0));
    for panics in [false, true] {
        let mut world = World::of(&Arc::new(counting(universe(), &alive, panics))).unwrap();
        let rows = (0..10).map(|n| (n, Kept(n, Counted::new(&alive))));
        let batch = world.create_batch(rows).unwrap();
        let entities: Vec<Entity> = batch.iter(&world).collect();
        world.save(&path, &Default::default()).unwrap();
        let before = std::fs::read(&path).unwrap();
        let calls: [&dyn Fn() -> Result<(), SnapshotError>; 6] = [
            &|| world.save(&path, &Default::default()),
            &|| world.to_snapshot(&all()).map(drop),
            &|| world.state_hash(&Default::default()).map(drop),
            &|| world.state_hashes(&all()).map(drop),
            &|| world.continuation_hash(&all()).map(drop),
            &|| world.slice_to_snapshot(&entities, &all()).map(drop),
        ];
        for call in calls {
            for fuse in [1, 4, 10] {
                FUSE.set(fuse);
                match catch_unwind(AssertUnwindSafe(call)) {
                    Ok(refused) => {
                        let refused = refused.unwrap_err().to_string();
                        let whose = entities[fuse - 1];
                        let expected =
                            format!("entity {whose}: the kept cannot be saved or hashed: burnt");
                        assert!(refused == expected && !panics, "{refused}");
                    }
                    Err(_) => assert!(panics),
                }
                assert_eq!(FUSE.get(), 0);
            }
        }
        assert_eq!(std::fs::read(&path).unwrap(), before);
        assert_eq!(
            std::fs::read_dir(&folder).unwrap().count(),
            1,
            "nothing lies beside it"
        );
        assert_eq!(world.to_snapshot(&all()).unwrap(), before);
        world.destroy(entities[0]).unwrap();
        world.check().unwrap();
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn a_write_that_takes_away_what_is_there_takes_nothing_of_others() {
    let universe = Universe::ordered();
    // The second one finds the bytes of the first, if there are some.
    let write = |name: &Name, bytes: &mut Vec<u8>| {
        assert!(bytes.is_empty());
        *bytes = name.0.clone().into_bytes();
    };
    universe
        .registry()
        .register_written_as::<Name, _, _>("name", write, read_name)
        .unwrap();
    let mut world = World::of(&Arc::new(universe)).unwrap();
    let names = ["one", "", "three"].map(|name| world.create((Name(name.into()),)).unwrap());
    let file = world.to_snapshot(&all()).unwrap();
    let other = Universe::new();
    other
        .registry()
        .register_written_as::<Name, _, _>("name", write_name, read_name)
        .unwrap();
    let loaded = World::from_snapshot(&file, other, &Default::default()).unwrap();
    assert_eq!(loaded.get::<Name>(names[2]).unwrap().0, "three");
    assert_eq!(loaded.get::<Name>(names[1]).unwrap().0, "");
}

#[test]
fn files_that_are_cut_off_or_changed_are_refused() {
    let (world, _) = filled(30);
    let file = world.to_snapshot(&all()).unwrap();
    for end in (0..file.len()).step_by(7) {
        assert!(
            World::from_snapshot(&file[..end], universe(), &Default::default()).is_err(),
            "{end}"
        );
        assert!(SnapshotState::of(&file[..end]).is_err(), "{end}");
    }
    for at in 0..file.len() {
        let mut changed = file.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(
            World::from_snapshot(&changed, universe(), &Default::default()).is_err(),
            "{at}"
        );
        assert!(SnapshotState::of(&changed).is_err(), "{at}");
    }
}
