//! What becomes of templates: entities, one by one and many at once, and their traits' last call.

use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;

#[derive(Clone, Debug, PartialEq)]
struct Speed(f32);
#[derive(Clone, Debug, PartialEq)]
struct Bounds(u32);
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Team(u8);
#[derive(Clone)]
struct OnFoot;

/// Adds something of each kind.
struct All;

impl EntityTrait for All {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        context
            .add(Speed(1.5))
            .add_tag(OnFoot)
            .shared(Team(3))
            .per_chunk(Bounds(7));
        Ok(())
    }
}

/// Refuses the finished template.
struct Never;

impl EntityTrait for Never {
    fn build(&self, _: &mut BuildContext<'_>) -> Result<(), TraitError> {
        Ok(())
    }
    fn validate(&self, _: &Template) -> Result<(), TraitError> {
        Err(TraitError::new("no"))
    }
}

/// Requires what nobody adds.
struct Needs;

impl EntityTrait for Needs {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        context.require::<u8>();
        Ok(())
    }
}

#[test]
fn a_template_that_meets_a_world_of_another_universe_is_named() {
    let ant = TemplateBuilder::new("ant").with(All).finish(&World::new());
    let (ant, mut world) = (ant.unwrap(), World::new());
    let created = ant.create(&mut world).unwrap_err();
    let recorded = ant.record(&mut world.commands()).unwrap_err();
    for error in [created, recorded] {
        let told = "template \"ant\" is of another universe than the world, as its fragments are";
        assert_eq!(error.to_string(), told);
    }
    assert!(world.is_empty());
}

#[test]
fn destroy_is_called_once_for_each_template_when_it_goes_last_trait_first() {
    static ORDER: std::sync::Mutex<Vec<u8>> = std::sync::Mutex::new(Vec::new());
    struct Part(u8);
    impl EntityTrait for Part {
        fn build(&self, _: &mut BuildContext<'_>) -> Result<(), TraitError> {
            Ok(())
        }
        fn destroy(&self) {
            ORDER.lock().unwrap().push(self.0);
        }
    }
    let world = World::new();
    let builder = TemplateBuilder::new("ant")
        .with_class("a", Part(1))
        .with_class("b", Part(2));
    let (one, two) = (
        builder.finish(&world).unwrap(),
        builder.finish(&world).unwrap(),
    );
    drop(one);
    assert_eq!(*ORDER.lock().unwrap(), [2, 1]);
    drop((two, builder));
    assert_eq!(*ORDER.lock().unwrap(), [2, 1, 2, 1]);
}

#[test]
fn each_build_that_succeeds_is_followed_by_one_destroy_also_if_there_is_no_template() {
    static ALIVE: AtomicUsize = AtomicUsize::new(0);
    struct Counts;
    impl EntityTrait for Counts {
        fn build(&self, _: &mut BuildContext<'_>) -> Result<(), TraitError> {
            ALIVE.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
        fn destroy(&self) {
            ALIVE.fetch_sub(1, Ordering::Relaxed);
        }
    }
    let world = World::new();
    let counts = TemplateBuilder::new("ant").with(Counts);
    let refused = counts.clone().with(Needs);
    assert!(refused.finish(&world).is_err());
    assert_eq!(ALIVE.load(Ordering::Relaxed), 0);
    assert!(counts.clone().with(Never).finish(&world).is_err());
    assert_eq!(ALIVE.load(Ordering::Relaxed), 0);
    let template = counts.finish(&world).unwrap();
    assert_eq!(ALIVE.load(Ordering::Relaxed), 1);
    drop(template);
    assert_eq!(ALIVE.load(Ordering::Relaxed), 0);
}

#[test]
fn a_template_makes_many_entities_at_once_or_none() {
    let mut world = World::new();
    let builder = TemplateBuilder::new("ant").with(All);
    let ant = builder.finish(&world).unwrap();
    let ants = ant.create_batch(&mut world, 5_000).unwrap();
    assert_eq!((ants.len(), world.count()), (5_000, 5_000));
    for entity in ants.iter(&world) {
        assert_eq!(world.get::<Speed>(entity).unwrap(), &Speed(1.5));
        assert_eq!(world.shared::<Team>(entity).unwrap(), &Team(3));
    }
    assert!(ant.create_batch(&mut world, usize::MAX).is_err());
    assert_eq!(world.count(), 5_000);
    assert_eq!(ant.create_batch(&mut world, 0).unwrap().len(), 0);
}

#[test]
fn templates_and_errors_go_to_other_threads() {
    fn goes<T: Send + Sync + 'static>() {}
    goes::<Template>();
    goes::<TemplateBuilder>();
    goes::<megachunk::template::TemplateErrors>();
    goes::<TraitError>();
}

#[test]
fn a_trait_sees_whose_it_is_and_a_template_shows_its_values() {
    #[derive(Clone, Debug, PartialEq)]
    struct Whose(String);
    struct Tells;
    impl EntityTrait for Tells {
        fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
            let whose = Whose(context.template().into());
            context.add(whose);
            Ok(())
        }
    }
    let world = World::new();
    let ant = TemplateBuilder::new("ant").with(Tells);
    let queen = ant.child("queen").with(All);
    let ant = ant.finish_in(world.universe()).unwrap();
    let queen = queen.finish_in(world.universe()).unwrap();
    let [whose, speed] = [
        world.registry().register::<Whose>().unwrap().id(),
        world.registry().register::<Speed>().unwrap().id(),
    ];
    for (template, id) in [(&ant, "ant"), (&queen, "queen")] {
        let value = template.value(whose).unwrap();
        assert_eq!(value.value::<Whose>(), Ok(&Whose(id.into())));
        let prototype = template.prototype();
        assert!(prototype.has(whose) && prototype.is_of(world.registry()));
        assert_eq!(&prototype.composition(), template.composition());
    }
    assert!(ant.value(speed).is_none() && queen.value(speed).is_some());
}
