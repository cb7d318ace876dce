//! The behaviour of templates, a test for each row: traits in code, and what they build.

use std::sync::Arc;

use megachunk::fragment::{ConstShared, FragmentError, FragmentRegistry, PerChunk, Shared, Value};
use megachunk::prelude::*;
use megachunk::template::TemplateFault;
use megachunk::world::WorldError as Refusal;

#[derive(Clone, Debug, PartialEq)]
struct Speed(f32);
#[derive(Clone, Debug, PartialEq)]
struct Mass(f32);
#[derive(Clone, Debug, PartialEq)]
struct Bounds(u32);
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Team(u8);
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Mesh(&'static str);
#[derive(Clone)]
struct OnFoot;
#[derive(Clone)]
struct Ghost;

/// A trait that does what a closure says.
struct Does<F>(F);

impl<F> EntityTrait for Does<F>
where
    F: Fn(&mut BuildContext<'_>) + Send + Sync + 'static,
{
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        (self.0)(context);
        Ok(())
    }
}

/// A trait that only looks at what the others have built.
struct Checks<F>(F);

impl<F> EntityTrait for Checks<F>
where
    F: Fn(&Template) -> Result<(), TraitError> + Send + Sync + 'static,
{
    fn build(&self, _context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        Ok(())
    }
    fn validate(&self, template: &Template) -> Result<(), TraitError> {
        (self.0)(template)
    }
}

trait With {
    fn does(
        self,
        class: &str,
        build: impl Fn(&mut BuildContext<'_>) + Send + Sync + 'static,
    ) -> Self;
}

impl With for TemplateBuilder {
    fn does(
        self,
        class: &str,
        build: impl Fn(&mut BuildContext<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.with_class(class, Does(build))
    }
}

fn id<T: 'static + Send + Sync>(registry: &FragmentRegistry) -> megachunk::fragment::FragmentId {
    registry.register::<T>().unwrap().id()
}

/// What is wrong, each fault as shown.
fn faults(builder: &TemplateBuilder, world: &World) -> Vec<String> {
    let errors = builder.finish(world).unwrap_err();
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn a_trait_adds_fragments_tags_chunk_and_shared_fragments_with_values() {
    let mut world = World::new();
    let builder = TemplateBuilder::new("ant").does("all", |context| {
        context
            .add(Speed(1.5))
            .add_tag(OnFoot)
            .per_chunk(Bounds(7))
            .shared(Team(3))
            .const_shared(Mesh("ant"));
    });
    let ant = builder.finish(&world).unwrap();
    assert_eq!(ant.composition().len(), 5);
    for _ in 0..2 {
        let entity = ant.create(&mut world).unwrap();
        assert_eq!(world.get::<Speed>(entity).unwrap(), &Speed(1.5));
        assert!(world.has::<OnFoot>(entity).unwrap());
        assert_eq!(world.chunk_fragment::<Bounds>(entity).unwrap(), &Bounds(7));
        assert_eq!(world.shared::<Team>(entity).unwrap(), &Team(3));
        assert_eq!(world.const_shared::<Mesh>(entity).unwrap(), &Mesh("ant"));
        assert_eq!(&world.composition(entity).unwrap(), ant.composition());
    }
}

#[test]
fn a_template_says_what_it_has_and_who_added_it() {
    let world = World::new();
    let ant = TemplateBuilder::new("ant")
        .name("Ant")
        .does("walk", |context| {
            context.add(Speed(1.5)).add_tag(OnFoot);
        })
        .does("team", |context| {
            context
                .shared(Team(3))
                .per_chunk(Bounds(1))
                .const_shared(Mesh("a"));
        })
        .finish(&world)
        .unwrap();
    assert_eq!((ant.id(), ant.name()), ("ant", "Ant"));
    assert_eq!(ant.traits().collect::<Vec<_>>(), ["walk", "team"]);
    assert_eq!(ant.get::<Speed>(), Some(&Speed(1.5)));
    assert_eq!(ant.shared::<Team>(), Some(&Team(3)));
    assert_eq!(ant.per_chunk::<Bounds>(), Some(&Bounds(1)));
    assert_eq!(ant.const_shared::<Mesh>(), Some(&Mesh("a")));
    assert!(ant.has::<OnFoot>() && ant.has::<Shared<Team>>() && ant.has::<PerChunk<Bounds>>());
    assert!(ant.has::<ConstShared<Mesh>>() && !ant.has::<Team>() && !ant.has::<Ghost>());
    assert_eq!(ant.get::<Mass>(), None);
    let registry = world.registry();
    assert_eq!(ant.added_by(id::<Speed>(registry)), Some("walk"));
    assert_eq!(ant.added_by(id::<OnFoot>(registry)), Some("walk"));
    assert_eq!(ant.added_by(id::<Mass>(registry)), None);
    let team = registry.register::<Shared<Team>>().unwrap().id();
    assert_eq!(ant.added_by(team), Some("team"));
}

#[test]
fn traits_share_a_fragment_by_getting_or_adding_it() {
    let world = World::new();
    let heavier = |context: &mut BuildContext<'_>| context.get_or_add(|| Mass(1.0)).0 *= 3.0;
    let ant = TemplateBuilder::new("ant")
        .does("body", heavier)
        .does("load", heavier)
        .does("look", |context| {
            assert_eq!(context.get::<Mass>(), Some(&Mass(9.0)));
            assert_eq!(context.get::<Speed>(), None);
        })
        .finish(&world)
        .unwrap();
    assert_eq!(ant.get::<Mass>(), Some(&Mass(9.0)));
    assert_eq!(ant.added_by(id::<Mass>(world.registry())), Some("body"));
}

#[test]
fn a_fragment_that_two_traits_add_is_an_error_that_names_both() {
    let world = World::new();
    let builder = TemplateBuilder::new("ant")
        .does("walk", |context| {
            context.add(Speed(1.0)).shared(Team(1));
        })
        .does("run", |context| {
            context.add(Speed(2.0)).shared(Team(1));
        });
    let speed = core::any::type_name::<Speed>();
    let team = core::any::type_name::<Team>();
    let says = |fragment| {
        format!(
            "template `ant`: `run` adds {fragment}, which `walk` has added: share it with \
             `get_or_add`"
        )
    };
    assert_eq!(faults(&builder, &world), [says(speed), says(team)]);
}

#[test]
fn one_type_may_be_there_in_several_roles() {
    let world = World::new();
    let builder = TemplateBuilder::new("ant").does("all", |context| {
        context
            .add(Team(1))
            .shared(Team(2))
            .const_shared(Team(3))
            .per_chunk(Team(4));
    });
    let ant = builder.finish(&world).unwrap();
    assert_eq!(ant.get::<Team>(), Some(&Team(1)));
    assert_eq!(ant.shared::<Team>(), Some(&Team(2)));
    assert_eq!(ant.const_shared::<Team>(), Some(&Team(3)));
    assert_eq!(ant.per_chunk::<Team>(), Some(&Team(4)));
}

#[test]
fn a_trait_requires_what_another_adds_before_or_after() {
    let world = World::new();
    let needs = |context: &mut BuildContext<'_>| {
        context
            .require::<Speed>()
            .require::<OnFoot>()
            .require::<Shared<Team>>();
        context.require_trait("walk");
    };
    let walk = |context: &mut BuildContext<'_>| {
        context.add(Speed(1.0)).add_tag(OnFoot).shared(Team(1));
    };
    let before = TemplateBuilder::new("a")
        .does("walk", walk)
        .does("steer", needs);
    let after = TemplateBuilder::new("b")
        .does("steer", needs)
        .does("walk", walk);
    before.finish(&world).unwrap();
    after.finish(&world).unwrap();
}

#[test]
fn a_missing_requirement_is_an_error_that_says_who_requires_it() {
    let world = World::new();
    let health = world
        .registry()
        .define_plain("health", core::alloc::Layout::new::<u32>());
    let health = health.unwrap().id();
    let builder = TemplateBuilder::new("ant")
        .does("wlak", |context| {
            context.add(Team(1));
        })
        .does("steer", move |context| {
            context
                .require::<Speed>()
                .require::<Shared<Team>>()
                .require_trait("walk");
            context.require_fragment(health);
        });
    assert_eq!(
        faults(&builder, &world),
        [
            format!(
                "template `ant`: `steer` requires {}, which no trait adds",
                core::any::type_name::<Speed>()
            ),
            format!(
                "template `ant`: `steer` requires {}, which no trait adds",
                core::any::type_name::<Shared<Team>>()
            ),
            "template `ant`: `steer` requires the trait `walk`, which is not there: did you mean \
             `wlak`?"
                .into(),
            "template `ant`: `steer` requires health, which no trait adds".into(),
        ]
    );
}

#[test]
fn a_requirement_of_what_is_no_fragment_here_is_an_error_that_says_so() {
    let elsewhere = World::new();
    let registry = elsewhere.registry();
    registry.register::<Speed>().unwrap();
    registry.register::<Mass>().unwrap();
    let unknown = registry.register::<Bounds>().unwrap().id();
    let world = World::new();
    let builder = TemplateBuilder::new("ant").does("steer", move |context| {
        context.add(Speed(1.0)).require_fragment(unknown);
    });
    let errors = builder.finish(&world).unwrap_err();
    let faults: Vec<&TemplateFault> = errors.iter().map(|error| &error.fault).collect();
    let [TemplateFault::Fragment { class, error, .. }] = faults[..] else {
        panic!("{faults:?}");
    };
    assert_eq!(&**class, "steer");
    assert_eq!(error, &FragmentError::Unknown { id: unknown });
    builder.finish(&elsewhere).unwrap_err();
}

#[test]
fn a_trait_removes_a_tag_that_a_parent_adds() {
    let world = World::new();
    let agent = TemplateBuilder::new("agent").does("walk", |context| {
        context.add(Speed(1.0)).add_tag(OnFoot);
    });
    let ghost = agent.child("ghost").does("float", |context| {
        context.remove_tag::<OnFoot>().add_tag(Ghost);
    });
    let poltergeist = ghost.child("poltergeist").does("land", |context| {
        context.add_tag(OnFoot);
    });
    assert!(agent.finish(&world).unwrap().has::<OnFoot>());
    let ghost = ghost.finish(&world).unwrap();
    assert!(!ghost.has::<OnFoot>() && ghost.has::<Ghost>());
    assert!(poltergeist.finish(&world).unwrap().has::<OnFoot>());
}

#[test]
fn what_a_child_says_of_a_tag_counts_wherever_its_trait_builds() {
    let world = World::new();
    let agent = TemplateBuilder::new("agent")
        .does("first", |_| {})
        .does("walk", |context| {
            context.add_tag(OnFoot);
        });
    // It takes the place of the parent's first trait, and builds before the one that adds the tag.
    let ghost = agent.child("ghost").does("first", |context| {
        context.remove_tag::<OnFoot>();
    });
    assert!(!ghost.finish(&world).unwrap().has::<OnFoot>());
}

#[test]
fn to_add_and_to_remove_a_tag_in_one_config_is_an_error() {
    let world = World::new();
    let builder = TemplateBuilder::new("ant")
        .does("float", |context| {
            context.remove_tag::<OnFoot>();
        })
        .does("walk", |context| {
            context.add_tag(OnFoot);
        });
    let on_foot = core::any::type_name::<OnFoot>();
    let says =
        format!("template `ant`: `float` removes {on_foot}, and `walk` of the same config adds it");
    assert_eq!(faults(&builder, &world), [says]);
    // A tag that nobody adds may be removed.
    let alone = TemplateBuilder::new("bee").does("float", |context| {
        context.remove_tag::<OnFoot>();
    });
    assert!(alone.finish(&world).unwrap().composition().is_empty());
}

#[test]
fn several_traits_may_add_one_tag() {
    let world = World::new();
    let add = |context: &mut BuildContext<'_>| {
        context.add_tag(OnFoot);
    };
    let ant = TemplateBuilder::new("ant")
        .does("walk", add)
        .does("run", add);
    let ant = ant.finish(&world).unwrap();
    assert_eq!(ant.added_by(id::<OnFoot>(world.registry())), Some("walk"));
}

#[test]
fn a_trait_validates_the_finished_template() {
    let world = World::new();
    let slow = |template: &Template| match template.get::<Speed>() {
        Some(Speed(speed)) if *speed > 10.0 => Err(TraitError::new("too fast for a pedestrian")),
        _ => Ok(()),
    };
    let with_speed = |speed| {
        TemplateBuilder::new("ant")
            .with_class("slow", Checks(slow))
            .does("walk", move |context| {
                context.add(Speed(speed));
            })
    };
    with_speed(10.0).finish(&world).unwrap();
    assert_eq!(
        faults(&with_speed(11.0), &world),
        ["template `ant`: `slow` refuses: too fast for a pedestrian"]
    );
}

#[test]
fn parents_traits_come_first() {
    let world = World::new();
    let note = |class: &'static str| {
        move |context: &mut BuildContext<'_>| {
            context.get_or_add(Vec::<&'static str>::new).push(class);
        }
    };
    let eldest = TemplateBuilder::new("a").does("one", note("one"));
    let parent = eldest.child("b").does("two", note("two"));
    let child = parent
        .child("c")
        .does("three", note("three"))
        .finish(&world)
        .unwrap();
    assert_eq!(child.get::<Vec<&str>>(), Some(&vec!["one", "two", "three"]));
}

#[test]
fn a_childs_trait_of_the_same_class_takes_the_place_of_its_parents() {
    let world = World::new();
    let note = |word: &'static str| {
        move |context: &mut BuildContext<'_>| {
            context.get_or_add(Vec::<&'static str>::new).push(word);
        }
    };
    let parent = TemplateBuilder::new("a")
        .does("x", note("x"))
        .does("y", note("y"));
    let child = parent
        .child("b")
        .does("z", note("z"))
        .does("x", note("new x"));
    let child = child.finish(&world).unwrap();
    assert_eq!(child.get::<Vec<&str>>(), Some(&vec!["new x", "y", "z"]));
    assert_eq!(child.traits().collect::<Vec<_>>(), ["x", "y", "z"]);
    assert_eq!(
        parent.finish(&world).unwrap().get::<Vec<&str>>(),
        Some(&vec!["x", "y"])
    );
}

#[test]
fn all_mistakes_of_a_template_are_told_together() {
    let world = World::new();
    struct Refuses;
    impl EntityTrait for Refuses {
        fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
            context.add(Speed(3.0)).require::<Mass>();
            Err(TraitError::at("speed", "is a secret"))
        }
    }
    let builder = TemplateBuilder::new("ant")
        .does("walk", |context| {
            context.add(Speed(1.0)).add(Bounds(1)).add(Bounds(2));
        })
        .with(Refuses);
    let errors = builder.finish(&world).unwrap_err();
    assert_eq!(errors.len(), 3);
    let kinds: Vec<_> = errors.iter().map(|error| &error.fault).collect();
    assert!(matches!(kinds[0], TemplateFault::AddedTwice { first, second, .. } if first == second));
    // That something is missing is not said while a trait has stopped halfway.
    assert!(matches!(kinds[1], TemplateFault::Refused { class, .. } if **class == *"Refuses"));
    assert!(matches!(kinds[2], TemplateFault::AddedTwice { .. }));
    assert!(
        errors
            .to_string()
            .contains("`Refuses` refuses: `speed`: is a secret")
    );
}

#[test]
fn a_fragment_that_no_chunk_can_hold_is_an_error_that_names_it() {
    let world = World::new();
    let builder = TemplateBuilder::new("whale")
        .does("small", |context| {
            context.add(Speed(1.0));
        })
        .does("large", |context| {
            let registry = context.registry();
            let layout = core::alloc::Layout::array::<u8>(2 << 20).unwrap();
            let blubber = registry.define_plain("blubber", layout).unwrap().id();
            let value = Value::from_bytes(registry, blubber, &vec![0; 2 << 20]).unwrap();
            context.add_value(value);
        });
    let errors = builder.finish(&world).unwrap_err();
    let fault = &errors.as_slice()[0].fault;
    let too_large = |name: &str| name == "blubber";
    assert!(
        matches!(fault, TemplateFault::Fragment { error: FragmentError::TooLarge { name, .. }, .. } if too_large(name)),
        "{errors}"
    );
    let text = errors.to_string();
    assert!(
        text.starts_with("template `whale`: `large`: ") && text.contains("blubber"),
        "{text}"
    );
}

#[test]
fn values_of_fragments_that_a_script_defines_are_added_as_they_are() {
    let mut world = World::new();
    let builder = TemplateBuilder::new("ant").does("script", |context| {
        let registry = context.registry();
        let layout = core::alloc::Layout::new::<u32>();
        let health = registry.define_plain("health", layout).unwrap().id();
        let nothing = core::alloc::Layout::new::<()>();
        let frozen = registry.define_plain("frozen", nothing).unwrap().id();
        context.add_value(Value::from_bytes(registry, health, &7_u32.to_ne_bytes()).unwrap());
        context.add_value(Value::from_bytes(registry, frozen, &[]).unwrap());
    });
    let ant = builder.finish(&world).unwrap();
    let entity = ant.create(&mut world).unwrap();
    let health = world.registry().find("health").unwrap().id();
    let frozen = world.registry().find("frozen").unwrap().id();
    assert_eq!(
        world
            .get_dynamic(entity, health)
            .unwrap()
            .plain::<u32>()
            .unwrap(),
        [7]
    );
    assert!(world.has_dynamic(entity, frozen).unwrap());
}

#[test]
fn values_that_cannot_be_cloned_or_are_of_another_universe_are_errors() {
    struct Unique;
    let (world, other) = (World::new(), World::new());
    let elsewhere = Arc::clone(other.universe());
    let builder = TemplateBuilder::new("ant").does("odd", move |context| {
        let registry = context.registry();
        let unique = Value::new(registry, std::sync::Mutex::new(Unique)).unwrap();
        context.add_value(unique);
        let foreign = Value::new(elsewhere.registry(), 3_u8).unwrap();
        context.add_value(foreign);
    });
    let errors = builder.finish(&world).unwrap_err();
    let faults: Vec<_> = errors.iter().map(|error| &error.fault).collect();
    assert!(
        matches!(
            faults[..],
            [
                TemplateFault::NotCloneable { .. },
                TemplateFault::Fragment {
                    error: FragmentError::OtherUniverse { .. } | FragmentError::Unknown { .. },
                    ..
                },
            ]
        ),
        "{errors}"
    );
    let text = errors.to_string();
    assert_eq!(text.matches("template `ant`: `odd`").count(), 2, "{text}");
}

#[test]
fn a_template_makes_entities_in_each_world_of_its_universe_and_in_no_other() {
    let universe = Arc::new(Universe::new());
    let (mut land, mut sea) = (World::of(&universe).unwrap(), World::of(&universe).unwrap());
    let mut elsewhere = World::new();
    let builder = TemplateBuilder::new("ant").does("walk", |context| {
        context.add(Speed(1.0)).shared(Team(1));
    });
    let ant = builder.finish(&land).unwrap();
    assert!(ant.create(&mut land).is_ok() && ant.create(&mut sea).is_ok());
    assert!(matches!(
        ant.create(&mut elsewhere),
        Err(Refusal::Fragment(_))
    ));
    assert!(elsewhere.is_empty());
}

#[test]
fn a_template_without_traits_makes_entities_without_fragments() {
    let mut world = World::new();
    let nothing = TemplateBuilder::new("nothing").finish(&world).unwrap();
    let entity = nothing.create(&mut world).unwrap();
    assert!(world.exists(entity) && world.composition(entity).unwrap().is_empty());
    assert_eq!(nothing.name(), "nothing");
}

#[test]
fn two_traits_of_one_class_in_one_config_are_an_error() {
    let world = World::new();
    let nothing = |_: &mut BuildContext<'_>| {};
    let twice = TemplateBuilder::new("ant")
        .does("walk", nothing)
        .does("walk", nothing);
    assert_eq!(
        faults(&twice, &world),
        ["template `ant`: there are two traits called `walk`"]
    );
    // Also for those who inherit it, unless theirs takes the place of both.
    let bee = twice.child("bee");
    assert!(bee.clone().does("run", nothing).finish(&world).is_err());
    bee.does("walk", nothing).finish(&world).unwrap();
}

#[test]
fn two_types_of_one_name_do_not_take_each_others_place() {
    mod other {
        pub(super) struct Walk;
    }
    struct Walk;
    impl EntityTrait for Walk {
        fn build(&self, _context: &mut BuildContext<'_>) -> Result<(), TraitError> {
            Ok(())
        }
    }
    impl EntityTrait for other::Walk {
        fn build(&self, _context: &mut BuildContext<'_>) -> Result<(), TraitError> {
            Ok(())
        }
    }
    let world = World::new();
    let says = |template: &str| {
        let first = core::any::type_name::<Walk>();
        let second = core::any::type_name::<other::Walk>();
        format!(
            "template `{template}`: `Walk` is {first}, and {second} as well: `with_class` gives one of \
             them another name"
        )
    };
    let ant = TemplateBuilder::new("ant").with(Walk);
    let bee = ant.child("bee").with(other::Walk);
    assert_eq!(faults(&bee, &world), [says("bee")]);
    assert_eq!(faults(&bee.child("fly"), &world), [says("fly")]);
    assert_eq!(
        faults(&ant.clone().with(other::Walk), &world),
        [says("ant")]
    );
    // Two closures are two types.
    let closure = TemplateBuilder::new("a").with(Does(|_: &mut BuildContext<'_>| {}));
    let closure = closure.child("b").with(Does(|_: &mut BuildContext<'_>| {}));
    assert_eq!(faults(&closure, &world).len(), 1);
    // One type replaces itself, and a class whatever has it.
    ant.child("bee").with(Walk).finish(&world).unwrap();
    let bee = ant.child("bee").with_class("Walk", other::Walk);
    bee.finish(&world).unwrap();
    bee.child("fly").with(Walk).finish(&world).unwrap();
}
