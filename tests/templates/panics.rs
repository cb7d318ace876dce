//! Users' code that panics while templates are built, loaded or let go: nothing is half done, nothing is lost.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicIsize, Ordering};

use megachunk::prelude::*;
use serde::{Deserialize, Deserializer};

thread_local! {
    /// Which of the places where users' code runs panics: so many from now on.
    static FUSE: Cell<usize> = const { Cell::new(usize::MAX) };
}

fn burn() {
    let left = FUSE.get().wrapping_sub(1);
    FUSE.set(left);
    if left == 0 {
        FUSE.set(usize::MAX);
        std::panic::resume_unwind(Box::new("the fuse"));
    }
}

/// Does `work` again and again, each time with a panic one step later, until there is none.
fn at_each_step(mut work: impl FnMut()) -> usize {
    for step in 1.. {
        FUSE.set(step);
        let done = catch_unwind(AssertUnwindSafe(&mut work));
        FUSE.set(usize::MAX);
        if done.is_ok() {
            return step - 1;
        }
    }
    unreachable!("it ends")
}

static ALIVE: AtomicIsize = AtomicIsize::new(0);
static BUILT: AtomicIsize = AtomicIsize::new(0);
/// The tests count in the same cells.
static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// A value that is counted, and whose clone and drop may panic.
#[derive(Debug)]
struct Counted<const N: usize>;

impl<const N: usize> Counted<N> {
    fn new() -> Self {
        ALIVE.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl<const N: usize> Clone for Counted<N> {
    fn clone(&self) -> Self {
        burn();
        Self::new()
    }
}

impl<const N: usize> Drop for Counted<N> {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A trait all of whose code may panic.
struct Fused<const N: usize>(Counted<N>);

impl<'de, const N: usize> Deserialize<'de> for Fused<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Nothing;
        let one = Self(Counted::new());
        burn();
        Nothing::deserialize(deserializer)?;
        Ok(one)
    }
}

impl<const N: usize> EntityTrait for Fused<N> {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        burn();
        // A tag that must be dropped, and a value that must be.
        context.add(self.0.clone());
        context.add([Box::new(N)]);
        let shared = context.get_or_add(|| {
            burn();
            vec![N]
        });
        shared.push(N);
        burn();
        BUILT.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn validate(&self, _template: &Template) -> Result<(), TraitError> {
        burn();
        Ok(())
    }

    fn destroy(&self) {
        BUILT.fetch_sub(1, Ordering::Relaxed);
        burn();
    }
}

fn traits() -> TraitRegistry {
    let mut traits = TraitRegistry::new();
    traits.register::<Fused<1>>("one").unwrap();
    traits.register::<Plain>("two").unwrap();
    traits
}

/// A second trait, so that some have built when one panics.
struct Plain(Fused<2>);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Fused::deserialize(deserializer).map(Self)
    }
}

impl EntityTrait for Plain {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        burn();
        context.add(self.0.0.clone());
        burn();
        BUILT.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn validate(&self, template: &Template) -> Result<(), TraitError> {
        self.0.validate(template)
    }

    fn destroy(&self) {
        self.0.destroy();
    }
}

const TEXTS: [(&str, &str); 2] = [
    ("a", "id = 'a'\n[traits.one]"),
    ("b", "id = 'b'\nparent = 'a'\n[traits.two]"),
];

#[test]
fn loading_that_panics_leaves_the_registry_as_before_and_loses_nothing() {
    let _one = ONE_AT_A_TIME.lock();
    let world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    let mut panics = 0;
    let steps = at_each_step(|| {
        if panics > 0 {
            assert_eq!(registry.ids().count(), 0);
            assert_eq!(ALIVE.load(Ordering::Relaxed), 0);
            assert_eq!(BUILT.load(Ordering::Relaxed), 0);
        }
        panics += 1;
        registry.load_texts(TEXTS).unwrap();
    });
    assert!(steps > 10, "{steps}");
    assert_eq!(registry.ids().count(), 2);
    assert_eq!(BUILT.load(Ordering::Relaxed), 0, "built on trial");
    drop(registry);
    assert_eq!(ALIVE.load(Ordering::Relaxed), 0);
}

#[test]
fn asking_for_a_template_whose_trait_panics_leaves_it_to_be_asked_for_again() {
    let _one = ONE_AT_A_TIME.lock();
    let world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    registry.load_texts(TEXTS).unwrap();
    let alive = ALIVE.load(Ordering::Relaxed);
    let steps = at_each_step(|| {
        assert_eq!(ALIVE.load(Ordering::Relaxed), alive);
        assert_eq!(BUILT.load(Ordering::Relaxed), 0);
        registry.template("b").unwrap();
    });
    assert!(steps > 5, "{steps}");
    assert_eq!(BUILT.load(Ordering::Relaxed), 2);
    drop(registry);
    assert_eq!(
        (ALIVE.load(Ordering::Relaxed), BUILT.load(Ordering::Relaxed)),
        (0, 0)
    );
}

#[test]
fn a_reload_that_panics_is_all_or_nothing() {
    let _one = ONE_AT_A_TIME.lock();
    let world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    registry.load_texts(TEXTS).unwrap();
    let (mut done, mut names) = (0, 0);
    let steps = at_each_step(|| {
        // In use, so that a reload builds it anew.
        let fuse = FUSE.replace(usize::MAX);
        registry.template("b").unwrap();
        FUSE.set(fuse);
        names += 1;
        let text = format!("id = 'a'\nname = '{names}'\n[traits.one]");
        let changes = registry.load_texts([("a", &*text)]);
        done += usize::from(changes.unwrap().changed == ["a", "b"]);
    });
    assert!(steps > 5 && done == 1, "{steps} {done}");
    assert_eq!(BUILT.load(Ordering::Relaxed), 2, "`b`, as it is now");
    registry.template("a").unwrap();
    drop(registry);
    assert_eq!(
        (ALIVE.load(Ordering::Relaxed), BUILT.load(Ordering::Relaxed)),
        (0, 0)
    );
}

#[test]
fn what_was_loaded_is_there_if_the_trait_panics_that_it_takes_the_place_of() {
    #[derive(Clone, PartialEq, Debug)]
    struct Word(String);
    /// Panics when a template that is in use ends which has the word "old".
    #[derive(Deserialize)]
    struct Says {
        word: String,
    }
    impl EntityTrait for Says {
        fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
            context.add(Word(self.word.clone()));
            Ok(())
        }

        fn destroy(&self) {
            if self.word == "old" {
                burn();
            }
        }
    }
    let mut traits = TraitRegistry::new();
    traits.register::<Says>("says").unwrap();
    let world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits);
    let text = |word: &str| format!("id = 'a'\n[traits.says]\nword = '{word}'");
    let word_of = |registry: &TemplateRegistry| {
        let template = registry.template("a").ok()?;
        Some(template.get::<Word>()?.0.clone())
    };
    let mut load = |word: &str, fuse| {
        FUSE.set(fuse);
        let loaded = catch_unwind(AssertUnwindSafe(|| registry.load_str("a", &text(word))));
        FUSE.set(usize::MAX);
        (loaded.is_ok(), registry.ids().count(), word_of(&registry))
    };
    let before = (false, 0, None);
    assert_eq!(load("old", 1), before, "it was built on trial");
    assert_eq!(load("old", usize::MAX), (true, 1, Some("old".into())));
    let after = (false, 1, Some("new".into()));
    assert_eq!(load("new", 1), after, "the old one was in use");
}

#[test]
fn creating_an_entity_whose_clone_panics_creates_none() {
    let _one = ONE_AT_A_TIME.lock();
    let mut world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    registry.load_texts(TEXTS).unwrap();
    let template = registry.template("b").unwrap();
    let alive = ALIVE.load(Ordering::Relaxed);
    let steps = at_each_step(|| {
        assert_eq!(ALIVE.load(Ordering::Relaxed), alive);
        assert!(world.is_empty());
        template.create(&mut world).unwrap();
    });
    assert_eq!(steps, 2);
    world.check().unwrap();
    assert_eq!(world.count(), 1);
    drop((world, template, registry));
    assert_eq!(
        (ALIVE.load(Ordering::Relaxed), BUILT.load(Ordering::Relaxed)),
        (0, 0)
    );
}

#[test]
fn every_trait_hears_of_the_end_also_if_one_panics_then() {
    let _one = ONE_AT_A_TIME.lock();
    let world = World::new();
    let builder = TemplateBuilder::new("t")
        .with(Fused::<1>(Counted::new()))
        .with(Plain(Fused(Counted::new())));
    let template = builder.finish(&world).unwrap();
    drop(builder);
    FUSE.set(1);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(template))).is_err());
    FUSE.set(usize::MAX);
    assert_eq!(
        (ALIVE.load(Ordering::Relaxed), BUILT.load(Ordering::Relaxed)),
        (0, 0)
    );
}
