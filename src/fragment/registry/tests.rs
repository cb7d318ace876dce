//! The registry's tables, entry by entry.

use super::*;
use crate::fragment::{ConstShared, FragmentKind, PerChunk, Shared};

#[test]
fn a_type_has_one_number_for_each_role() {
    let registry = FragmentRegistry::new();
    let plain = registry.register::<u64>().unwrap().id();
    let chunk = registry.register::<PerChunk<u64>>().unwrap().id();
    let shared = registry.register::<Shared<u64>>().unwrap().id();
    let constant = registry.register::<ConstShared<u64>>().unwrap().id();
    let all = [plain, chunk, shared, constant];
    assert_eq!(all.map(FragmentId::number), [0, 1, 2, 3]);
    assert_eq!(registry.of::<u64>().unwrap().id(), plain);
    assert_eq!(registry.of::<PerChunk<u64>>().unwrap().id(), chunk);
    assert_eq!(registry.of::<Shared<u64>>().unwrap().id(), shared);
    assert_eq!(registry.get(shared).unwrap().kind(), FragmentKind::Shared);
}

#[test]
fn names_that_end_alike_begin_at_different_entries() {
    for (prefix, suffix) in [
        ("", "_component"),
        ("component_", ""),
        ("a", "/x/y/position"),
    ] {
        let names = (0..8_000).map(|n| format!("{prefix}{n}{suffix}"));
        let entries = names.map(|name| hash_of(Key::Name(&name)) % ENTRIES);
        let mut entries: Vec<_> = entries.collect();
        entries.sort_unstable();
        entries.dedup();
        // By chance it would be some 7,760.
        assert!(
            entries.len() > 7_500,
            "{prefix}_{suffix}: {}",
            entries.len()
        );
    }
}

#[test]
fn a_full_registry_finds_every_name_in_a_few_steps() {
    let registry = FragmentRegistry::new();
    let names = || (0..CAPACITY).map(|number| format!("{number}_component"));
    for name in names() {
        let layout = core::alloc::Layout::new::<u32>();
        registry.define_plain(&name, layout).unwrap();
    }
    let steps = names().map(|name| {
        let key = Key::Name(&name);
        let (at, info) = registry.entry(key).expect("it is defined");
        assert_eq!(info.name(), name);
        let mut way = Way::of(key);
        while way.entry() != at {
            way = way.next();
        }
        way.step
    });
    // By chance it would be some 35.
    let longest = steps.max().unwrap();
    assert!(longest < 128, "{longest}");
    let refused = registry.register::<u8>().unwrap_err();
    assert!(refused.to_string().starts_with("u8 cannot"), "{refused}");
}

#[test]
fn some_hundred_fragments_stand_in_four_pages_of_a_table() {
    let registry = FragmentRegistry::new();
    let layout = core::alloc::Layout::new::<u32>();
    for number in 0..300 {
        registry.define_plain(&format!("{number}"), layout).unwrap();
    }
    let entries = (0..300).map(|number| {
        let name = format!("{number}");
        registry.entry(Key::Name(&name)).expect("it is defined").0
    });
    // By chance all but one: one in seven entries is taken in the end, and three are looked at.
    assert!(entries.filter(|&at| at >= NEAR).count() <= 6);
}

#[test]
fn a_way_comes_past_every_entry_that_is_not_near() {
    let mut seen = vec![false; ENTRIES];
    let mut way = Way::of(Key::Name("position"));
    for _ in 0..NEAR_STEPS + ENTRIES - NEAR {
        seen[way.entry()] = true;
        way = way.next();
    }
    let near = seen[..NEAR].iter().filter(|&&seen| seen).count();
    assert_eq!(near, NEAR_STEPS);
    assert!(seen[NEAR..].iter().all(|&seen| seen));
}

#[test]
fn the_first_of_a_name_has_its_entry_and_no_other_is_defined() {
    let registry = FragmentRegistry::new();
    let shared = registry.register::<Shared<u64>>().unwrap().id();
    let plain = registry.register::<u64>().unwrap().id();
    let entry = registry.by_key(Key::Name("u64")).expect("it has one");
    assert_eq!(entry.id(), shared);
    assert_eq!(registry.find("u64").unwrap().id(), shared);
    let layout = core::alloc::Layout::new::<u64>();
    let refused = registry.define_plain("u64", layout).unwrap_err();
    assert!(matches!(refused, FragmentError::NameTaken { .. }));
    // A type comes later than a definition of its name.
    let defined = registry.define_plain("u8", layout).unwrap().id();
    let byte = registry.register::<u8>().unwrap().id();
    assert_eq!(registry.find("u8").unwrap().id(), defined);
    let all: Vec<_> = registry.iter().map(FragmentInfo::id).collect();
    assert_eq!(all, [shared, plain, defined, byte]);
}

#[test]
fn who_finds_a_name_whose_type_is_not_entered_enters_it() {
    let registry = FragmentRegistry::new();
    let pending = registry.number(FragmentDraft::fragment::<u8>()).unwrap();
    registry.enter(Key::Name(pending.name()), pending);
    assert!(registry.of::<u8>().is_none());
    assert_eq!(registry.iter().count(), 0);
    assert_eq!(registry.find("u8").unwrap().id(), pending.id());
    assert_eq!(registry.of::<u8>().unwrap().id(), pending.id());
    // The name of the one that came second leads to the first.
    let [second, first] = [0; 2].map(|_| registry.number(FragmentDraft::fragment::<i8>()).unwrap());
    let role = Key::Role(TypeId::of::<i8>());
    registry.enter(Key::Name("i8"), second);
    registry.enter(role, first);
    assert!(ptr::eq(registry.enter(role, second), first));
    assert_eq!(registry.find("i8").unwrap().id(), first.id());
}

#[test]
fn a_recycled_registry_has_no_entry_left() {
    let registry = FragmentRegistry::new();
    registry.register::<u8>().unwrap();
    registry.register::<Shared<u8>>().unwrap();
    let layout = core::alloc::Layout::new::<u64>();
    registry.define_plain("health", layout).unwrap();
    registry.register_enableable::<u8>().unwrap();
    registry.register_state::<u8>().unwrap();
    let registry = registry.recycle().expect("it has few");
    assert_eq!(registry.state_forms().count(), 0);
    assert_eq!(registry.enableable(), 0);
    for at in 0..ENTRIES {
        let entries = [&registry.roles, &registry.names].map(|table| table.get(at));
        // Ordering: one thread.
        assert!(entries.map(|entry| entry.load(Ordering::Relaxed).is_null()) == [true; 2]);
    }
    registry.define_plain("u8", layout).unwrap();
    assert_eq!(registry.iter().count(), 1);
}

#[test]
fn a_type_keeps_the_name_that_it_was_given() {
    let registry = FragmentRegistry::new();
    let named = registry.register_plain_as::<u8>("byte").unwrap();
    assert_eq!((named.name(), named.is_plain()), ("byte", true));
    assert_eq!(registry.register::<u8>().unwrap().id(), named.id());
    let again = registry.register_plain_as::<u8>("byte").unwrap();
    assert_eq!(again.id(), named.id());
    assert_eq!(registry.find("byte").unwrap().id(), named.id());
    assert!(registry.find("u8").is_none());
    // In another role it is another fragment.
    let shared = registry.register_plain_as::<Shared<u8>>("palette").unwrap();
    assert_ne!(shared.id(), named.id());
    assert_eq!(registry.register::<Shared<u8>>().unwrap().name(), "palette");
    let fixed = registry.register_plain_as::<ConstShared<u8>>("fixed");
    assert_eq!(fixed.unwrap().kind(), FragmentKind::ConstShared);
    let chunk = registry.register_plain_as::<PerChunk<u8>>("chunk").unwrap();
    assert_eq!(
        (chunk.kind(), chunk.is_plain()),
        (FragmentKind::Chunk, true)
    );

    registry.register::<u16>().unwrap();
    let layout = core::alloc::Layout::new::<u64>();
    registry.define_plain("health", layout).unwrap();
    let numbers = registry.iter().count();
    let taken = |name: &str| FragmentError::NameTaken { name: name.into() };
    let otherwise = |name: &str, asked: &str| FragmentError::NamedOtherwise {
        name: name.into(),
        asked: asked.into(),
    };
    let as_name = |name| registry.register_plain_as::<u32>(name).map(drop);
    for name in ["byte", "palette", "u16", "health"] {
        assert_eq!(as_name(name), Err(taken(name)));
    }
    let refused = registry.register_plain_as::<u16>("short").map(drop);
    assert_eq!(refused, Err(otherwise("u16", "short")));
    let refused = registry.register_plain_as::<u8>("octet").map(drop);
    assert_eq!(refused, Err(otherwise("byte", "octet")));
    assert!(registry.define_plain("byte", layout).is_err());
    // What was refused has left nothing.
    assert_eq!(registry.iter().count(), numbers);
    assert!(registry.of::<u32>().is_none());
    as_name("word").unwrap();
    assert_eq!(registry.iter().count(), numbers + 1);
    // Who has the type's own name as its given one is no other.
    let own = core::any::type_name::<u64>();
    registry.register_plain_as::<u64>(own).unwrap();
    assert_eq!(registry.register::<u64>().unwrap().name(), own);
}

#[test]
fn many_threads_that_register_one_type_agree_on_it() {
    for _ in 0..50 {
        let registry = FragmentRegistry::new();
        let ids: Vec<_> = crate::sync::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| registry.register::<String>().unwrap().id()))
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert!(ids.windows(2).all(|pair| pair[0] == pair[1]));
    }
}

#[test]
fn four_thousand_fragments_can_be_defined_and_found_by_name() {
    let registry = FragmentRegistry::new();
    for number in 0..4_096_u16 {
        let name = format!("health of part {number}");
        let definition = FragmentDefinition::new(&name, core::alloc::Layout::new::<u32>());
        // SAFETY: no functions.
        let info = unsafe { registry.define(definition) }.unwrap();
        assert_eq!(info.id().number(), number);
    }
    assert_eq!(
        registry.find("health of part 4000").unwrap().id().number(),
        4_000
    );
    let taken = FragmentDefinition::new("health of part 7", core::alloc::Layout::new::<u32>());
    // SAFETY: no functions.
    let error = unsafe { registry.define(taken) }.unwrap_err();
    assert!(error.to_string().contains("health of part 7"));
}
