//! Values of fragments that are known at run time only are dropped exactly once, on every path, also where a drop panics.

use core::alloc::Layout;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::fragment::{DynamicBundle, FragmentDefinition, FragmentError, Value};
use megachunk::prelude::*;

/// Counts its drops; panics in the drop if it is told to.
#[derive(Clone)]
struct Counted(Arc<AtomicUsize>, bool);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        assert!(!self.1, "told to panic");
    }
}

fn counter() -> Arc<AtomicUsize> {
    Arc::default()
}

fn drops(counter: &Arc<AtomicUsize>) -> usize {
    counter.load(Ordering::Relaxed)
}

#[test]
fn values_of_dynamic_bundles_are_dropped_exactly_once_on_every_path() {
    let counter = counter();
    let value =
        |world: &World| Value::new(world.registry(), Counted(Arc::clone(&counter), false)).unwrap();
    let mut world = World::new();
    let id = world.registry().register::<Counted>().unwrap().id();
    drop(value(&world));
    assert_eq!(drops(&counter), 1, "nobody took it");
    let bundle = DynamicBundle::new().with(value(&world));
    let ant = world.create_dynamic(bundle).unwrap();
    assert_eq!(drops(&counter), 1);
    let bundle = DynamicBundle::new().with(value(&world));
    world.add_dynamic(ant, bundle).unwrap();
    assert_eq!(drops(&counter), 2, "the value that was replaced");
    let bundle = DynamicBundle::new().with(value(&world)).with(value(&world));
    let refused = world.add_dynamic(ant, bundle);
    assert!(matches!(
        refused,
        Err(WorldError::Fragment(FragmentError::Twice { .. }))
    ));
    assert_eq!(drops(&counter), 4, "both that were refused");
    world.add(ant, (1_u8,)).unwrap();
    assert_eq!(drops(&counter), 4, "a move drops nothing");
    assert!(world.remove_dynamic(ant, &[id]).unwrap());
    assert_eq!(drops(&counter), 5);
    let bundle = DynamicBundle::new().with(value(&world));
    world.create_dynamic(bundle).unwrap();
    drop(world);
    assert_eq!(drops(&counter), 6);
}

#[test]
fn a_drop_that_panics_leaves_the_new_value_in_place() {
    let counter = counter();
    let mut world = World::new();
    let id = world.registry().register::<Counted>().unwrap().id();
    let value = |world: &World, panics| {
        let value = Counted(Arc::clone(&counter), panics);
        DynamicBundle::new().with(Value::new(world.registry(), value).unwrap())
    };
    let (bad, good) = (value(&world, true), value(&world, false));
    let ant = world.create_dynamic(bad).unwrap();
    let panic = catch_unwind(AssertUnwindSafe(|| world.add_dynamic(ant, good)));
    assert!(panic.is_err());
    assert_eq!(drops(&counter), 1);
    assert!(!world.get::<Counted>(ant).unwrap().1);
    world.get_mut::<Counted>(ant).unwrap().1 = true;
    let panic = catch_unwind(AssertUnwindSafe(|| world.remove_dynamic(ant, &[id])));
    assert!(panic.is_err());
    assert_eq!(drops(&counter), 2);
    assert!(!world.has_dynamic(ant, id).unwrap());
}

/// A pointer to a box that nobody but the definition's functions knows the type of.
unsafe fn drop_boxes(values: *mut u8, count: usize) {
    for at in 0..count {
        // SAFETY: values are pointers of `Box::into_raw`.
        drop(unsafe { Box::from_raw(*values.cast::<*mut Counted>().add(at)) });
    }
}

unsafe fn clone_box(from: *const u8, to: *mut u8, _: usize) {
    // SAFETY: as above.
    let cloned = unsafe { (**from.cast::<*mut Counted>()).clone() };
    // SAFETY: room for a pointer.
    unsafe {
        to.cast::<*mut Counted>()
            .write(Box::into_raw(Box::new(cloned)))
    };
}

#[test]
fn a_definition_with_functions_is_dropped_and_cloned_by_them() {
    let counter = counter();
    let mut world = World::new();
    let definition = FragmentDefinition::new("script object", Layout::new::<*mut Counted>())
        .drop_values(drop_boxes)
        .clone_value(clone_box);
    // SAFETY: the functions are those of a pointer to a box, whose content is `Send + Sync`.
    let id = unsafe { world.registry().define(definition) }.unwrap().id();
    let object = Box::into_raw(Box::new(Counted(Arc::clone(&counter), false)));
    // SAFETY: a pointer of a box, which nobody else uses.
    let value = unsafe { Value::from_raw(world.registry(), id, (&raw const object).cast()) };
    let ant = world
        .create_dynamic(DynamicBundle::new().with(value.unwrap()))
        .unwrap();
    let bee = world.clone_entity(ant).unwrap();
    assert_eq!(drops(&counter), 0);
    assert!(matches!(
        world.get_dynamic(bee, id).unwrap().bytes(),
        Err(FragmentError::NotPlain { .. })
    ));
    world.destroy(ant).unwrap();
    assert_eq!(drops(&counter), 1);
    assert!(world.remove_dynamic(bee, &[id]).unwrap());
    assert_eq!(drops(&counter), 2);
}
