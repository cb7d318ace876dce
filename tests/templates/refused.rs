//! What traits may not add: values of another universe, and types that a full registry has no number for. All of it is told,
//! and all values end.

use std::alloc::Layout;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use megachunk::prelude::*;
use megachunk::template::TemplateFault;

/// Counts its drops.
#[derive(Clone)]
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Clone)]
struct Marked;

/// A world whose registry has no number left.
fn full_world() -> World {
    let world = World::new();
    let mut defined = 0_usize;
    let refused = loop {
        let name = format!("n{defined}");
        match world.registry().define_plain(&name, Layout::new::<u8>()) {
            Ok(_) => defined += 1,
            Err(refused) => break refused,
        }
    };
    assert!(is_too_many(&refused) && defined > 60_000, "{refused}");
    world
}

fn is_too_many(error: &FragmentError) -> bool {
    matches!(error, FragmentError::TooMany { .. })
}

/// Says to the context whatever it may not.
struct Greedy(Arc<AtomicUsize>);

impl EntityTrait for Greedy {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        let value = || Counted(Arc::clone(&self.0));
        context.add(value()).add_tag(Marked).remove_tag::<Marked>();
        let lent = context.get_or_add(|| (value(), 7_u8));
        assert_eq!(lent.1, 7);
        lent.1 = 8;
        // It is not added: the next one is another, and both are told.
        assert_eq!(context.get_or_add(|| (value(), 7_u8)).1, 7);
        assert!(context.get::<(Counted, u8)>().is_none());
        context.shared(5_u16).const_shared('c').per_chunk(value());
        Ok(())
    }
}

#[test]
fn types_that_a_full_registry_does_not_know_are_told_one_by_one_and_their_values_end() {
    let world = full_world();
    let drops = Arc::new(AtomicUsize::new(0));
    let builder = TemplateBuilder::new("ant").with(Greedy(Arc::clone(&drops)));
    for round in 1..3 {
        let errors = builder.finish(&world).unwrap_err();
        assert_eq!(errors.len(), 8);
        for error in errors.as_slice() {
            assert!(
                matches!(&error.fault, TemplateFault::Fragment { error, .. } if is_too_many(error)),
                "{error}"
            );
        }
        assert!(errors.to_string().contains("Greedy"), "{errors}");
        // One by itself, two that were lent, one for chunks.
        assert_eq!(drops.load(Ordering::Relaxed), 4 * round);
    }
    assert_eq!(Arc::strong_count(&drops), 2, "the trait's and this");
}

/// Adds a value that somebody has made.
struct Brings(Mutex<Option<Value>>);

impl EntityTrait for Brings {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        let value = self.0.lock().unwrap().take();
        context.add_value(value.ok_or_else(|| TraitError::new("it is gone"))?);
        Ok(())
    }
}

#[test]
fn a_value_of_another_universe_is_told_whether_or_not_its_number_is_known_here() {
    let (world, other) = (World::new(), World::new());
    world.registry().register::<u64>().unwrap();
    let bytes = |name: &str| {
        let layout = Layout::new::<u8>();
        let id = other.registry().define_plain(name, layout).unwrap().id();
        Value::from_bytes(other.registry(), id, &[1]).unwrap()
    };
    let known = bytes("first");
    for n in 0..100 {
        drop(bytes(&format!("between {n}")));
    }
    let unknown = bytes("last");
    let fault = |value: Value| {
        let builder = TemplateBuilder::new("ant").with(Brings(Mutex::new(Some(value))));
        let errors = builder.finish(&world).unwrap_err();
        assert_eq!(errors.len(), 1);
        match &errors.as_slice()[0].fault {
            TemplateFault::Fragment { error, .. } => error.clone(),
            fault => panic!("{fault}"),
        }
    };
    let id = known.id();
    assert_eq!(fault(known), FragmentError::OtherUniverse { id });
    let id = unknown.id();
    assert_eq!(fault(unknown), FragmentError::Unknown { id });
}

#[test]
fn a_full_registry_refuses_values_of_new_types_and_ends_them() {
    let mut world = full_world();
    let ant = world.create(()).unwrap();
    let drops = Arc::new(AtomicUsize::new(0));
    struct Shares(Counted);
    impl PartialEq for Shares {
        fn eq(&self, other: &Self) -> bool {
            Arc::ptr_eq(&self.0.0, &other.0.0)
        }
    }
    impl Eq for Shares {}
    impl std::hash::Hash for Shares {
        fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
    }
    let value = || Counted(Arc::clone(&drops));
    type Call<'a> = &'a dyn Fn(&mut World) -> Result<(), WorldError>;
    let calls: [Call<'_>; 11] = [
        &|world| world.create((value(),)).map(drop),
        &|world| world.create(().shared(Shares(value()))).map(drop),
        &|world| world.add(ant, (value(),)),
        &|world| world.add(ant, ().shared(Shares(value()))),
        &|world| world.swap::<(u8,), _>(ant, (value(),)),
        &|world| world.set_shared(ant, Shares(value())),
        &|world| {
            let all = world.matching::<()>()?;
            all.set_shared(Shares(value())).map(drop)
        },
        &|world| world.commands().create((value(),)).map(drop),
        &|world| world.commands().add(ant, (value(),)),
        &|world| world.commands().add(ant, ().shared(Shares(value()))),
        &|world| world.create_batch(std::iter::once((value(),))).map(drop),
    ];
    for (number, call) in calls.iter().enumerate() {
        let refused = call(&mut world).unwrap_err();
        assert!(
            matches!(&refused, WorldError::Fragment(error) if is_too_many(error)),
            "{number}: {refused}"
        );
        assert_eq!(drops.load(Ordering::Relaxed), number + 1);
        assert!(world.flush().is_clean());
        assert_eq!(world.count(), 1);
        world.check().unwrap();
    }
}
