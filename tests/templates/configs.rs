//! The behaviour of entity configs, a test for each row.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::config_folder::Folder;
use crate::template_traits::{Gait, OnFoot, Route, Speed, traits};
use megachunk::prelude::*;
use megachunk::template::TemplateFault;
use serde::Deserialize;

/// What `Note` has noted, in the order of the traits.
#[derive(Clone, Debug, Default, PartialEq)]
struct Notes(Vec<String>);

/// Notes a word. Of several classes.
#[derive(Deserialize)]
struct Note {
    word: String,
}

impl EntityTrait for Note {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        let word = format!("{}={}", context.class(), self.word);
        context.get_or_add(Notes::default).0.push(word);
        Ok(())
    }
}

fn noting() -> TraitRegistry {
    let mut traits = TraitRegistry::new();
    for class in ["a", "b", "c", "z"] {
        traits.register::<Note>(class).unwrap();
    }
    traits
}

fn notes(registry: &TemplateRegistry, id: &str) -> Vec<String> {
    let template = registry.template(id).unwrap();
    template.get::<Notes>().cloned().unwrap_or_default().0
}

#[test]
fn a_config_is_a_file_with_id_name_parent_and_traits_with_parameters() {
    let folder = Folder::new("whole_config");
    folder.write(
        "agents/agent.toml",
        "id = 'agent'\nabstract = true\n[traits.feet]\n[traits.walk]\nspeed = 1",
    );
    folder.write(
        "pedestrian.toml",
        "id = 'pedestrian'\nname = 'Pedestrian'\nparent = 'agent'\n\
         [traits.walk]\nspeed = 1.4\ngait = 'trot'\n\
         [traits.steer.route]\nlooped = true\npoints = [[0, 1], [2.5, 3]]",
    );
    folder.write("notes.txt", "not a config");
    folder.write(".pedestrian.toml", "of an editor");
    let mut world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    let changes = registry.load_dir(folder.path()).unwrap();
    assert_eq!(changes.added, ["agent", "pedestrian"]);
    assert!(changes.changed.is_empty() && changes.removed.is_empty());
    let pedestrian = registry.template("pedestrian").unwrap();
    assert_eq!(
        (pedestrian.id(), pedestrian.name()),
        ("pedestrian", "Pedestrian")
    );
    let entity = pedestrian.create(&mut world).unwrap();
    assert_eq!(world.get::<Speed>(entity).unwrap(), &Speed(1.4));
    assert_eq!(world.get::<Gait>(entity).unwrap(), &Gait::Trot);
    let route = Route(vec![[0.0, 1.0], [2.5, 3.0], [0.0, 1.0]]);
    assert_eq!(world.get::<Route>(entity).unwrap(), &route);
    assert!(world.has::<OnFoot>(entity).unwrap());
    folder.remove("notes.txt");
    assert!(registry.refresh().unwrap().is_empty());
    let file = registry.file_of("agent").unwrap();
    assert_eq!(file, folder.path().join("agents/agent.toml"));
}

#[test]
fn traits_build_in_the_order_of_the_file_however_they_are_written() {
    let world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), noting());
    registry
        .load_texts([
            ("one", "id = 'one'\n[traits.z]\nword = '1'\n[traits.a]\nword = '2'\n[traits.b]\nword = '3'"),
            ("two", "id = 'two'\ntraits.z.word = '1'\ntraits.a.word = '2'\ntraits.b = { word = '3' }"),
            ("three", "traits = { z = { word = '1' }, a = { word = '2' }, b.word = '3' }\nid = 'three'"),
        ])
        .unwrap();
    for id in ["one", "two", "three"] {
        assert_eq!(notes(&registry, id), ["z=1", "a=2", "b=3"]);
    }
}

#[test]
fn parents_traits_come_first_and_a_childs_trait_of_the_same_class_takes_their_place() {
    let world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), noting());
    // In whatever order the files come.
    registry
        .load_texts([
            ("1", "id = 'child'\nparent = 'parent'\n[traits.c]\nword = 'c'\n[traits.a]\nword = 'child'"),
            ("2", "id = 'parent'\nparent = 'eldest'\n[traits.b]\nword = 'b'"),
            ("3", "id = 'eldest'\n[traits.z]\nword = 'z'\n[traits.a]\nword = 'eldest'"),
        ])
        .unwrap();
    assert_eq!(notes(&registry, "eldest"), ["z=z", "a=eldest"]);
    assert_eq!(notes(&registry, "parent"), ["z=z", "a=eldest", "b=b"]);
    assert_eq!(notes(&registry, "child"), ["z=z", "a=child", "b=b", "c=c"]);
}

#[test]
fn the_classes_of_a_registry_are_sorted() {
    let sorted = [
        "crowd", "feet", "float", "quiet", "run", "steer", "walk", "whale",
    ];
    assert!(traits().classes().eq(sorted));
}

#[test]
fn a_child_removes_a_tag_that_its_parent_adds() {
    let world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    registry
        .load_texts([
            ("walker", "id = 'walker'\n[traits.feet]"),
            ("ghost", "id = 'ghost'\nparent = 'walker'\n[traits.float]"),
        ])
        .unwrap();
    assert!(registry.template("walker").unwrap().has::<OnFoot>());
    assert!(!registry.template("ghost").unwrap().has::<OnFoot>());
}

#[test]
fn a_template_is_built_on_first_use_and_is_one_for_each_id() {
    static BUILT: AtomicUsize = AtomicUsize::new(0);
    static GONE: AtomicUsize = AtomicUsize::new(0);
    #[derive(Deserialize)]
    struct Counts;
    impl EntityTrait for Counts {
        fn build(&self, _: &mut BuildContext<'_>) -> Result<(), TraitError> {
            BUILT.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
        fn destroy(&self) {
            GONE.fetch_add(1, Ordering::Relaxed);
        }
    }
    let alive = || BUILT.load(Ordering::Relaxed) - GONE.load(Ordering::Relaxed);
    let world = World::new();
    let mut traits = TraitRegistry::new();
    traits.register::<Counts>("counts").unwrap();
    let mut registry = TemplateRegistry::new(world.universe(), traits);
    registry
        .load_texts([
            ("a", "id = 'a'\n[traits.counts]"),
            ("b", "id = 'b'\nparent = 'a'"),
        ])
        .unwrap();
    assert_eq!(alive(), 0, "built on trial, and let go");
    let a = registry.template("a").unwrap();
    assert_eq!(alive(), 1);
    assert!(Arc::ptr_eq(&a, &registry.template("a").unwrap()));
    assert_eq!(alive(), 1);
    let b = registry.template("b").unwrap();
    assert!(!Arc::ptr_eq(&a, &b));
    assert_eq!(alive(), 2);
    drop(registry);
    assert_eq!(alive(), 2, "who has a template keeps it");
    drop((a, b));
    assert_eq!(alive(), 0);
}

#[test]
fn threads_that_ask_at_once_get_one_template() {
    let world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    registry
        .load_str("a", "id = 'a'\n[traits.walk]\nspeed = 1")
        .unwrap();
    let registry = &registry;
    let templates: Vec<Arc<Template>> = std::thread::scope(|scope| {
        let ask = |_| scope.spawn(|| registry.template("a").unwrap());
        let threads: Vec<_> = (0..4).map(ask).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(
        templates
            .iter()
            .all(|template| Arc::ptr_eq(template, &templates[0]))
    );
}

#[test]
fn what_is_wrong_is_refused_as_a_whole_and_the_registry_is_as_before() {
    let world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    registry
        .load_str("a", "id = 'a'\n[traits.walk]\nspeed = 1")
        .unwrap();
    let before = registry.template("a").unwrap();
    for wrong in [
        "id = 'c'\nparent = 'nobody'",
        "id = 'c'\nparent = 'c'",
        "id = 'c'\n[traits.wlak]",
        "id = 'c'\n[traits.crowd]\nsize = 1",
        "id = 'a'",
        "id = 'c",
        "",
    ] {
        let together = [("b", "id = 'b'\nparent = 'a'"), ("c", wrong)];
        let errors = registry.load_texts(together).unwrap_err();
        assert_eq!(errors.len(), 1, "{errors}");
        assert_eq!(registry.ids().collect::<Vec<_>>(), ["a"]);
        assert!(Arc::ptr_eq(&before, &registry.template("a").unwrap()));
        assert!(
            registry.refresh().unwrap().is_empty(),
            "what was refused is forgotten"
        );
    }
    registry.load_str("b", "id = 'b'\nparent = 'a'").unwrap();
    assert_eq!(registry.ids().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn what_is_wrong_with_a_parent_is_told_once() {
    let world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    // A parent that is a template, and one that is none: its children find what is wrong.
    for is_abstract in [false, true] {
        let parent = format!("id = 'p'\nabstract = {is_abstract}\n[traits.walk]\nspeed = 0");
        let errors = registry
            .load_texts([
                ("p", &*parent),
                ("q", "id = 'q'\nparent = 'p'"),
                ("r", "id = 'r'\nparent = 'q'"),
            ])
            .unwrap_err();
        assert_eq!(
            errors.to_string(),
            "p:4:1: `walk` refuses: `speed`: must be more than 0"
        );
    }
}

#[test]
fn a_config_without_traits_is_a_kind_of_entity_without_fragments() {
    let mut world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    registry
        .load_str("nothing", "id = 'nothing'\n[traits]")
        .unwrap();
    let nothing = registry.template("nothing").unwrap();
    let entity = nothing.create(&mut world).unwrap();
    assert!(world.composition(entity).unwrap().is_empty());
}

#[test]
fn a_text_replaces_the_one_of_the_same_name() {
    let world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    registry.load_str("t", "id = 'old'").unwrap();
    let changes = registry.load_str("t", "id = 'new'").unwrap();
    assert_eq!(
        (changes.added, changes.removed),
        (vec!["new".into()], vec!["old".into()])
    );
    assert!(registry.template("old").is_err());
}

#[test]
fn thousands_of_texts_are_loaded_together_and_of_two_of_one_name_the_last_counts() {
    let world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    let texts: Vec<_> = (0..3_000)
        .flat_map(|n| [(n, "first"), (n, "last")])
        .map(|(n, which)| (n.to_string(), format!("id = '{which}{n}'")))
        .collect();
    let texts = || texts.iter().map(|(name, text)| (&**name, &**text));
    assert_eq!(registry.load_texts(texts()).unwrap().added.len(), 3_000);
    assert!(registry.ids().all(|id| id.starts_with("last")));
    assert!(registry.load_texts(texts()).unwrap().is_empty());
}

#[test]
fn a_file_that_is_found_twice_is_one_config() {
    let folder = Folder::new("found_twice");
    folder.write("a.toml", "id = 'a'");
    let world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    registry.load_dir(folder.path()).unwrap();
    let changes = registry.load_file(folder.path().join("a.toml")).unwrap();
    assert!(changes.is_empty());
    let again = folder.path().join("..").join("found_twice");
    assert!(registry.load_dir(again).unwrap().is_empty());
}

#[test]
fn a_file_that_another_source_has_is_read_again_when_it_is_loaded() {
    let folder = Folder::new("read_again");
    folder.write("a.toml", "id = 'a'");
    let world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    registry.load_dir(folder.path()).unwrap();
    folder.write("a.toml", "id = 'b'");
    let changes = registry.load_file(folder.path().join("a.toml")).unwrap();
    assert_eq!(
        (changes.added, changes.removed),
        (vec!["b".into()], vec!["a".into()])
    );
    folder.write("a.toml", "id = 'c'");
    let changes = registry.load_dir(folder.path()).unwrap();
    assert!(changes.added.iter().any(|id| &**id == "c"), "{changes:?}");
    folder.write("a.toml", "id =");
    let fault_of = |registry: &mut TemplateRegistry| {
        let error = registry.load_file(folder.path().join("a.toml"));
        error.unwrap_err().as_slice()[0].fault.clone()
    };
    let fault = fault_of(&mut registry);
    assert!(matches!(fault, TemplateFault::Syntax { .. }), "{fault}");
    std::fs::remove_file(folder.path().join("a.toml")).unwrap();
    let fault = fault_of(&mut registry);
    assert!(matches!(fault, TemplateFault::Unreadable { .. }), "{fault}");
    assert!(registry.template("c").is_ok(), "all is as before");
}

#[test]
fn users_types_read_themselves_as_serde_lets_them() {
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    struct Odd {
        #[serde(alias = "legs")]
        feet: Option<u8>,
        #[serde(default)]
        by_name: std::collections::BTreeMap<String, i64>,
        pair: (char, bool),
        #[serde(rename = "type")]
        kind: Kind,
        since: String,
        big: u64,
        bigger: i128,
        #[serde(default)]
        unset: Option<String>,
    }
    #[derive(Deserialize, Debug, PartialEq)]
    enum Kind {
        One(u8),
        Two(u8, u8),
    }
    #[derive(Clone, Debug, PartialEq)]
    struct Seen(String);
    impl EntityTrait for Odd {
        fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
            let Self {
                feet,
                by_name,
                pair,
                kind,
                since,
                big,
                bigger,
                unset,
            } = self;
            let seen =
                format!("{feet:?} {by_name:?} {pair:?} {kind:?} {since} {big} {bigger} {unset:?}");
            context.add(Seen(seen));
            Ok(())
        }
    }
    #[derive(Deserialize)]
    struct Times(f64);
    impl EntityTrait for Times {
        fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
            context.add(self.0);
            Ok(())
        }
    }
    let world = World::new();
    let mut traits = TraitRegistry::new();
    traits.register::<Odd>("odd").unwrap();
    traits.register::<Times>("times").unwrap();
    let mut registry = TemplateRegistry::new(world.universe(), traits);
    let text = "id = 't'\ntraits.times = 3\n[traits.odd]\nlegs = 0x08\nby-name = { x = -1, a = 2 }\n\
                pair = ['ä', true]\ntype = { Two = [1, 2] }\nsince = 1999-12-31\n\
                big = 18446744073709551615\nbigger = -170141183460469231731687303715884105728";
    registry.load_str("t", text).unwrap();
    let template = registry.template("t").unwrap();
    assert_eq!(
        template.get::<Seen>().unwrap().0,
        "Some(8) {\"a\": 2, \"x\": -1} ('ä', true) Two(1, 2) 1999-12-31 18446744073709551615 \
         -170141183460469231731687303715884105728 None"
    );
    assert_eq!(template.get::<f64>(), Some(&3.0));
    // `One` wants one value, and gets it without a list.
    let text = text.replace("{ Two = [1, 2] }", "{ One = 7 }");
    registry.load_str("t", &text).unwrap();
    let seen = registry
        .template("t")
        .unwrap()
        .get::<Seen>()
        .cloned()
        .unwrap();
    assert!(seen.0.contains("One(7)"), "{}", seen.0);
}

#[test]
fn a_requirement_of_a_parents_trait_that_a_child_lacks_names_the_child() {
    let world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    let errors = registry
        .load_texts([
            ("agent", "id = 'agent'\nabstract = true\n[traits.steer.route]\npoints = []\nlooped = true\n[traits.quiet]"),
            ("a", "id = 'a'\nparent = 'agent'"),
            ("b", "id = 'b'\nparent = 'agent'\n[traits.walk]\nspeed = 0.5"),
            ("c", "id = 'c'\nparent = 'agent'"),
            ("d", "id = 'd'\nparent = 'agent'\n[traits.walk]\nspeed = 1.5"),
        ])
        .unwrap_err();
    let speed = core::any::type_name::<Speed>();
    let expected = format!(
        "agent:3:9: `steer` requires {speed}, which no trait adds, in `a`\n\
         agent:3:9: `steer` requires {speed}, which no trait adds, in `c`\n\
         agent:6:9: `quiet` refuses: steps can be heard, in `d`"
    );
    assert_eq!(errors.to_string(), expected);
}

#[test]
fn a_text_and_a_file_of_one_name_are_two() {
    let folder = Folder::new("one_name");
    folder.write("a.toml", "id = 'file'");
    let world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    let path = folder.path().join("a.toml");
    registry
        .load_str(path.to_str().unwrap(), "id = 'text'")
        .unwrap();
    registry.load_file(&path).unwrap();
    assert_eq!(registry.ids().collect::<Vec<_>>(), ["file", "text"]);
}

#[test]
fn loading_more_does_not_look_at_what_is_loaded() {
    let folder = Folder::new("load_more");
    folder.write("a.toml", "id = 'a'");
    let world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    registry.load_dir(folder.path()).unwrap();
    folder.write("a.toml", "broken");
    registry.load_str("b", "id = 'b'\nparent = 'a'").unwrap();
    for errors in [
        registry.load_dir(folder.path()).unwrap_err(),
        registry.refresh().unwrap_err(),
    ] {
        let fault = &errors.as_slice()[0].fault;
        assert!(matches!(fault, TemplateFault::Syntax { .. }), "{errors}");
    }
    folder.write("a.toml", "id = 'a'");
    assert!(registry.refresh().unwrap().is_empty());
    assert_eq!(registry.ids().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn a_parameter_in_a_parameter_that_a_trait_refuses_has_its_line() {
    #[derive(Deserialize)]
    struct Way {
        points: Vec<[f32; 2]>,
    }
    #[derive(Deserialize)]
    struct Routed {
        route: Way,
    }
    impl EntityTrait for Routed {
        fn build(&self, _: &mut BuildContext<'_>) -> Result<(), TraitError> {
            match self.route.points.len() {
                0 => Err(TraitError::at("route.points", "are none")),
                _ => Err(TraitError::at("way", "is no parameter")),
            }
        }
    }
    let world = World::new();
    let mut traits = TraitRegistry::new();
    traits.register::<Routed>("routed").unwrap();
    let mut registry = TemplateRegistry::new(world.universe(), traits);
    let told = |registry: &mut TemplateRegistry, points: &str| {
        let text = format!("id = 't'\n[traits.routed]\n\n[traits.routed.route]\npoints = {points}");
        registry.load_str("t", &text).unwrap_err().to_string()
    };
    assert_eq!(
        told(&mut registry, "[]"),
        "t:4:16: `routed` refuses: `route.points`: are none"
    );
    assert_eq!(
        told(&mut registry, "[[1, 2]]"),
        "t:2:9: `routed` refuses: `way`: is no parameter"
    );
}

#[test]
fn a_registry_is_a_resource_of_a_world() {
    let mut world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    registry.load_str("a", "id = 'a'").unwrap();
    world.resources_mut().insert(registry);
}
