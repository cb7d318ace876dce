//! Templates that are refused, and spawners, whose values panic when they are dropped.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use megachunk::fragment::{DynamicBundle, FragmentRegistry, Value};
use megachunk::prelude::*;
use megachunk::template::spawner::{Generator, Points, SpawnError, SpawnPoint};
use megachunk::world::Prototype;

#[cfg(feature = "config")]
use crate::brittle::held_at_most;
use crate::brittle::{ALWAYS, Brittle, Count, With, arm, burns, ends, holds_nothing};
use crate::ends::ends_all_of;

/// Adds a value and one that is shared; asks for what is not there; refuses.
struct Adds(Count, bool, bool);

#[derive(Clone)]
struct Own(#[expect(dead_code, reason = "it is dropped")] Brittle);

impl EntityTrait for Adds {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        context.add(Own(self.0.brittle(1)));
        context.shared(self.0.brittle(2));
        if self.1 {
            context.require::<u64>();
        }
        Ok(())
    }

    fn validate(&self, _: &Template) -> Result<(), TraitError> {
        match self.2 {
            true => Err(TraitError::new("not like this")),
            false => Ok(()),
        }
    }
}

/// A trait whose end panics.
struct Ends(Count);

impl EntityTrait for Ends {
    fn build(&self, _: &mut BuildContext<'_>) -> Result<(), TraitError> {
        Ok(())
    }

    fn destroy(&self) {
        drop(self.0.brittle(0));
    }
}

#[test]
fn a_template_that_is_refused() {
    for drops in [1, 2, 3, -1] {
        for (asks, refuses) in [(true, false), (false, true)] {
            holds_nothing(|| {
                let count = Count::default();
                let world = World::new();
                let builder = TemplateBuilder::new("t")
                    .with(Adds(count.clone(), asks, refuses))
                    .with(Ends(count.clone()));
                burns(drops, || assert!(builder.finish(&world).is_err()));
                assert_eq!(count.get(), 0);
            });
        }
    }
}

/// Points with something beside them.
struct Held(#[expect(dead_code, reason = "it is dropped")] Brittle);

impl Points for Held {
    fn write(&self, _: usize, _: &mut [SpawnPoint]) {}
}

impl Generator for Count {
    fn points(&self, _: usize, _: u64) -> Result<Arc<dyn Points>, SpawnError> {
        Ok(Arc::new(Held(self.brittle(0))))
    }
}

#[test]
fn a_spawner_whose_parts_panic_when_they_are_dropped() {
    holds_nothing(|| {
        let count = Count::default();
        let mut world = World::new();
        let registry = world.registry();
        let values = DynamicBundle::new().with(Value::cloneable(registry, 7_u32).unwrap());
        let prototype = Arc::new(Prototype::new(registry, values).unwrap());
        let held = count.brittle(0);
        let place = move |_: &SpawnPoint| (*held.0,);
        let spawner = Spawner::new(300).place(place).generator(count.clone());
        burns(1, || {
            let refused = spawner.prototype("a", &prototype, -1.0);
            assert!(matches!(refused, Err(SpawnError::Proportion { .. })));
        });
        assert_eq!(count.get(), 0);
        let spawner = Spawner::new(300).generator(count.clone());
        let spawner = spawner.prototype("a", &prototype, 1.0).unwrap();
        burns(1, || drop(spawner.spawn(&mut world)));
        assert_eq!((world.count(), count.get()), (300, 0), "it was done");
        let mut elsewhere = World::new();
        burns(1, || {
            let refused = spawner.spawn(&mut elsewhere);
            assert!(matches!(refused, Err(SpawnError::OtherUniverse { .. })));
        });
        assert_eq!((elsewhere.count(), count.get()), (0, 0));
        world.check().unwrap();
    });
}

#[test]
fn spawners_and_their_jobs_drop_all_parts_though_all_panic() {
    /// A generator that is dropped, and so are its points.
    struct Gives(
        #[expect(dead_code, reason = "it is dropped")] Brittle,
        Count,
    );
    impl Generator for Gives {
        fn points(&self, total: usize, seed: u64) -> Result<Arc<dyn Points>, SpawnError> {
            self.1.points(total, seed)
        }
    }
    let count = Count::default();
    let spawner = || {
        let registry = FragmentRegistry::new();
        let spawner = Spawner::new(3).generator(Gives(count.brittle(0), count.clone()));
        let spawner = ["a", "b"].into_iter().fold(spawner, |spawner, name| {
            let value = Value::cloneable(&registry, Own(count.brittle(1))).unwrap();
            let prototype = Prototype::new(&registry, DynamicBundle::new().with(value)).unwrap();
            spawner.prototype(name, &Arc::new(prototype), 1.0).unwrap()
        });
        (0..3).fold(spawner, |spawner, n| {
            let held = count.brittle(n);
            spawner.place(move |_: &SpawnPoint| (*held.0,))
        })
    };
    ends_all_of(&count, spawner);
    // What a spawner and its jobs have together ends with the last of them.
    ends_all_of(&count, || spawner().begin().unwrap());
    let job = spawner().begin().unwrap();
    burns(ALWAYS, || drop(job.finish()));
    assert_eq!(count.get(), 0);
}

#[test]
fn lines_that_are_refused() {
    use megachunk::template::spawner::AlongLines;
    holds_nothing(|| {
        let count = Count::default();
        let lines = With([[[0.0_f32; 3]; 2]].into_iter(), count.brittle(0));
        burns(1, || assert!(AlongLines::new(lines).is_err()));
        let lines = With([[[0.0_f32; 3], [1.0; 3]]].into_iter(), count.brittle(0));
        burns(1, || drop(AlongLines::new(lines)));
        assert_eq!(count.get(), 0);
    });
}

#[test]
fn templates_that_are_refused_although_all_that_they_have_panics() {
    /// A trait of tags and values that asks for what is not there.
    struct Adds(Count);
    #[derive(Clone)]
    struct More(#[expect(dead_code, reason = "it is dropped")] Brittle);
    impl EntityTrait for Adds {
        fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
            context.add(Own(self.0.brittle(1)));
            context.add(More(self.0.brittle(2)));
            context.shared(self.0.brittle(3));
            context.require::<u64>();
            Ok(())
        }
    }
    holds_nothing(|| {
        let count = Count::default();
        let world = World::new();
        let builder = TemplateBuilder::new("t")
            .with(Adds(count.clone()))
            .with(Ends(count.clone()));
        burns(ALWAYS, || assert!(builder.finish(&world).is_err()));
        assert_eq!(count.get(), 0);
    });
}

#[test]
fn values_of_a_recorded_bundle_that_is_refused_end_each_by_itself() {
    #[derive(Clone)]
    struct Began(#[expect(dead_code, reason = "it is dropped")] Brittle);
    for drops in [1, 2, -1] {
        holds_nothing(|| {
            let count = Count::default();
            let world = World::new();
            let mut commands = world.commands();
            let ant = Entity::PLACEHOLDER;
            // Twice the same fragment.
            let bundle = (1_u8, 2_u8)
                .per_chunk(Began(count.brittle(1)))
                .shared(count.brittle(2))
                .const_shared(count.brittle(3));
            ends(drops, || assert!(commands.add(ant, bundle).is_err()));
            let bundle = (1_u8, 2_u8)
                .per_chunk(Began(count.brittle(1)))
                .shared(count.brittle(2))
                .const_shared(count.brittle(3));
            ends(drops, || assert!(commands.create(bundle).is_err()));
            drop(commands);
            drop(world);
            assert_eq!(count.get(), 0);
        });
    }
}

#[test]
fn what_an_observer_panics_with_goes_before_the_end_of_a_template_that_is_replaced() {
    #[derive(Clone)]
    struct Began(#[expect(dead_code, reason = "it is dropped")] Brittle);
    holds_nothing(|| {
        let count = Count::default();
        let mut world = World::new();
        let first = (1_u8,).per_chunk(Began(count.brittle(1)));
        world.create(first).unwrap();
        let panics = Observed::CREATE | Observed::ADD;
        world
            .observe::<u8, ()>(panics, |_, _| {
                std::panic::resume_unwind(Box::new("an observer"))
            })
            .unwrap();
        let second = (2_u8,).per_chunk(Began(count.brittle(2)));
        arm(1);
        let made = catch_unwind(AssertUnwindSafe(|| world.create(second)));
        arm(0);
        let panic = made.expect_err("it was to panic");
        assert_eq!(panic.downcast_ref(), Some(&"an observer"));
        assert_eq!(world.count(), 2);
        world.check().unwrap();
        drop(world);
        assert_eq!(count.get(), 0);
    });
}

/// No drop panics; but here it is known what is held.
#[cfg(feature = "config")]
#[test]
fn a_long_line_of_configs_takes_memory_by_its_length_and_not_by_the_square_of_it() {
    let world = World::new();
    let most = |count: usize| {
        let config = |number: usize| match number {
            0 => "id = '0'".to_owned(),
            _ => format!("id = '{number}'\nparent = '{}'", number - 1),
        };
        let texts: Vec<(String, String)> = (0..count)
            .map(|number| (number.to_string(), config(number)))
            .collect();
        let mut registry = TemplateRegistry::new(world.universe(), TraitRegistry::new());
        held_at_most(|| {
            let texts = texts.iter().map(|(name, text)| (&**name, &**text));
            registry.load_texts(texts).unwrap();
            assert!(registry.refresh().unwrap().is_empty());
        })
    };
    let (short, long) = (most(500), most(2_000));
    assert!(
        long < 5 * short,
        "{short} bytes, {long} of four times as many"
    );
}

#[cfg(feature = "config")]
#[test]
fn registries_drop_all_traits_and_templates_though_all_panic() {
    use megachunk::template::{TemplateRegistry, TraitRegistry};
    thread_local! {
        static COUNT: Count = Count::default();
    }
    fn brittle() -> Brittle {
        COUNT.with(|count| count.brittle(7))
    }
    #[derive(serde::Deserialize)]
    struct Held {
        #[serde(skip, default = "brittle")]
        _held: Brittle,
    }
    impl EntityTrait for Held {
        fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
            context.add(Own(brittle()));
            Ok(())
        }

        fn destroy(&self) {
            drop(brittle());
        }
    }
    let count = COUNT.with(Clone::clone);
    let universe = Arc::new(Universe::new());
    ends_all_of(&count, || {
        let mut traits = TraitRegistry::new();
        traits.register::<Held>("held").unwrap();
        let mut registry = TemplateRegistry::new(&universe, traits);
        for id in ["a", "b", "c"] {
            let text = format!("id = \"{id}\"\n[traits.held]\n");
            registry.load_str(id, &text).unwrap();
            registry.template(id).unwrap();
        }
        assert!(count.get() >= 6);
        registry
    });
}
