//! What can be switched off is counted, by one thread and by several.

use super::*;

#[test]
fn a_fragment_that_is_made_enableable_twice_counts_once() {
    let registry = FragmentRegistry::new();
    let first = registry.register_enableable::<u8>().unwrap();
    let second = registry.register_enableable::<u16>().unwrap();
    registry.register_enableable::<u8>().unwrap();
    registry.make_enableable(second.id()).unwrap();
    assert_eq!(registry.enableable(), 2);
    assert!(first.is_enableable_among(1) && !second.is_enableable_among(1));
    assert!(second.is_enableable_among(2));
}

#[test]
fn who_was_stopped_while_he_made_a_fragment_enableable_is_helped() {
    let registry = FragmentRegistry::new();
    let first = registry.register::<u8>().unwrap();
    let second = registry.register::<u16>().unwrap();
    // As a thread leaves it that stops there.
    let begun = Switches(0).with_next(first.id());
    // Ordering: one thread.
    registry.switches.store(begun.0, Ordering::Relaxed);
    assert!(!first.is_enableable());
    registry.enable(second);
    assert!(first.is_enableable_among(1) && second.is_enableable_among(2));
    registry.switches.store(begun.0, Ordering::Relaxed);
    assert_eq!(registry.enableable(), 1);
}

#[test]
fn whatever_threads_make_enableable_each_count_is_of_as_many() {
    for _ in 0..50 {
        let registry = FragmentRegistry::new();
        let layout = core::alloc::Layout::new::<u64>();
        let ids: Vec<FragmentId> = (0..8)
            .map(|number| {
                registry
                    .define_plain(&number.to_string(), layout)
                    .unwrap()
                    .id()
            })
            .collect();
        let among = |count| {
            let infos = ids.iter().map(|&id| registry.get(id).unwrap());
            infos.filter(|info| info.is_enableable_among(count)).count()
        };
        crate::sync::thread::scope(|scope| {
            for first in 0..4 {
                let (registry, ids) = (&registry, &ids);
                scope.spawn(move || {
                    for &id in ids.iter().cycle().skip(first * 2).take(ids.len()) {
                        registry.make_enableable(id).unwrap();
                    }
                });
            }
            for _ in 0..20 {
                let counted = registry.enableable();
                assert_eq!(among(counted), counted as usize);
            }
        });
        assert_eq!(registry.enableable(), 8);
        assert!((0..=8).all(|count| among(count) == count as usize));
    }
}
