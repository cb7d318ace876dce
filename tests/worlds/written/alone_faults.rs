//! What is wrong with values that are written and read alone, and with their bytes: it is told with names and places, and all is
//! as it was.

use core::alloc::Layout;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::entity::EntityMap;
use megachunk::prelude::*;

use crate::counted::{Counted, FUSE};
use crate::written::alone::written;
use crate::written::faults::{Kept, counting};
use crate::written::forms::{filled, universe};

#[test]
fn bytes_that_end_early_or_are_others_are_refused_or_a_value() {
    let (world, ants) = filled(30);
    let registry = world.registry();
    let awake = registry.register_plain::<bool>().unwrap().id();
    let mut values = vec![(awake, vec![1])];
    for &ant in ants.iter().filter(|&&ant| world.exists(ant)) {
        let infos = world.fragments(ant).unwrap();
        values.extend(infos.map(|info| (info.id(), written(&world, ant, info.id()).unwrap())));
    }
    let refused = |id, bytes: &[u8]| {
        let mut left = bytes;
        match Value::read_from(registry, id, &mut left) {
            Ok(value) => {
                let mut again = Vec::new();
                value.lend(registry).unwrap().write_to(&mut again).unwrap();
                assert_eq!(again, bytes[..bytes.len() - left.len()]);
                None
            }
            Err(error) => {
                assert_eq!(left, bytes, "nothing was taken");
                Some(error)
            }
        }
    };
    let mut flipped = 0;
    for (id, bytes) in values {
        let name = registry.get(id).unwrap().name();
        for end in 0..bytes.len() {
            let error = refused(id, &bytes[..end]).unwrap();
            let FragmentError::NotRead {
                name: of,
                at: 0,
                reason,
                ..
            } = &error
            else {
                panic!("{error}");
            };
            assert!(**of == *name && reason.starts_with("they end before the value does"));
        }
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 0x81;
            if let Some(error) = refused(id, &other) {
                assert!(
                    error.to_string().contains(&format!(" are no {name}: ")),
                    "{error}"
                );
                flipped += 1;
            }
        }
        assert_eq!(refused(id, &bytes), None);
    }
    assert!(flipped > 100);
    let error = refused(awake, &[2]).unwrap();
    let text =
        "the bytes at byte 0 are no bool: it is no value by its type's own `Plain::IS_VALUE`";
    assert_eq!(error.to_string(), text);
    let error = refused(registry.find("name").unwrap().id(), b"\x02\0\0\0\xff\n").unwrap();
    assert!(
        error
            .to_string()
            .starts_with("the bytes at byte 4 are no name: invalid utf-8")
    );
    // Never so long as that.
    let long = refused(registry.find("name").unwrap().id(), &[0xff; 9]).unwrap();
    assert!(matches!(long, FragmentError::NotRead { at: 0, .. }));
}

#[test]
fn closures_that_fail_or_panic_leave_bytes_and_values_as_they_were() {
    let alive = Arc::new(AtomicUsize::new(0));
    for panics in [false, true] {
        let universe = Arc::new(counting(universe(), &alive, panics));
        let kept = universe.registry().find("kept").unwrap().id();
        let mut world = World::of(&universe).unwrap();
        let rows = (0..3_u32).map(|n| (Kept(n, Counted::new(&alive)),));
        let ants: Vec<Entity> = world.create_batch(rows).unwrap().iter(&world).collect();
        let mut query = DynamicQuery::builder(&world).read(kept).build().unwrap();
        let mut bytes = Vec::from(*b"head");
        for fuse in 1..=3 {
            FUSE.set(fuse);
            let refused = catch_unwind(AssertUnwindSafe(|| {
                let mut refused = None;
                query.read(&world).unwrap().for_each_chunk(|mut chunk| {
                    refused = Some(chunk.read(kept).unwrap().write_to(&mut bytes));
                });
                refused.unwrap()
            }));
            assert_eq!(bytes, b"head");
            match refused {
                Ok(refused) => {
                    let refused = refused.unwrap_err().to_string();
                    let row = fuse - 1;
                    assert_eq!(
                        refused,
                        format!("the kept at row {row} cannot be written: burnt")
                    );
                }
                Err(_) => assert!(panics),
            }
        }
        FUSE.set(0);
        let bytes = written(&world, ants[2], kept).unwrap();
        assert_eq!(bytes, [4, 0, 0, 0, 2, 0, 0, 0]);
        for remapped in [false, true] {
            FUSE.set(1);
            let mut left = &bytes[..];
            let refused = catch_unwind(AssertUnwindSafe(|| match remapped {
                true => Value::read_from_remapped(
                    world.registry(),
                    kept,
                    &mut left,
                    &EntityMap::default(),
                ),
                false => Value::read_from(world.registry(), kept, &mut left),
            }));
            assert!(refused.map_or(panics, |refused| refused.is_err() && !panics));
            assert_eq!((left, alive.load(Ordering::Relaxed)), (&bytes[..], 3));
        }
        FUSE.set(0);
        let read = || Value::read_from(world.registry(), kept, &mut &bytes[..]).unwrap();
        let (one, other) = (read(), read());
        assert_eq!(alive.load(Ordering::Relaxed), 5);
        drop(one);
        world.add_dynamic(ants[0], other.into()).unwrap();
        assert_eq!(world.get::<Kept>(ants[0]).unwrap().0, 2);
        assert_eq!(alive.load(Ordering::Relaxed), 3);
        world.check().unwrap();
        drop(world);
        assert_eq!(alive.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn what_nobody_has_said_how_to_write_is_refused_in_its_role() {
    struct Secret(#[expect(dead_code, reason = "it has a size")] u8);
    struct Asleep;
    let mut world = World::new();
    let ant = world
        .create((Secret(7), Asleep).per_chunk('c').shared(7_u8))
        .unwrap();
    let refusals = world.fragments(ant).unwrap().map(|info| {
        let (id, name) = (info.id(), info.name());
        let refused = written(&world, ant, id).unwrap_err();
        let WorldError::Fragment(refused) = refused else {
            panic!("{refused}")
        };
        assert!(matches!(refused, FragmentError::NoWrittenForm { .. }));
        let mut left = &[0; 9][..];
        assert_eq!(
            Value::read_from(world.registry(), id, &mut left).unwrap_err(),
            refused
        );
        assert_eq!(left.len(), 9);
        refused.to_string().replace(name, "it")
    });
    let refusals: Vec<String> = refusals.collect();
    let says = |register: &str| {
        let says = format!("nobody has said how a it is written: register it with {register}");
        assert!(refusals.contains(&says), "{says}: {refusals:?}");
    };
    says(
        "`register_plain` (its type must be `Plain`: see `plain!`), or with `register_written_as`",
    );
    says("`register_plain` (its type must be `Plain`: see `plain!`)");
    says("`register_plain::<PerChunk<…>>` (its type must be `Plain`: see `plain!`)");
    says(
        "`register_plain::<Shared<…>>` (its type must be `Plain`: see `plain!`), or with `register_written_as::<Shared<…>, _, _>`",
    );
    let other = FragmentRegistry::new();
    let far = (0..99).map(|n| {
        other
            .define_plain(&format!("{n}"), Layout::new::<u8>())
            .unwrap()
            .id()
    });
    let far = far.last().unwrap();
    let unknown = Value::read_from(world.registry(), far, &mut &[][..]).unwrap_err();
    assert_eq!(unknown, FragmentError::Unknown { id: far });
}
