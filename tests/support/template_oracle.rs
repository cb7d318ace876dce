//! Entity configs as data, and what a reader who knows nothing but the rules makes of them.
//!
//! A registry loads texts; [`Model`] reads them with the TOML crate's own reader and merges them with their parents in the
//! plainest way. They must agree on what is refused, on which configs there are and which have changed, and on each
//! template's fragments, who added them, and the entities that are made of it. Used by `tests/templates/model.rs` and the
//! fuzz target `config_file`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

use megachunk::fragment::{FragmentId, FragmentRegistry, Shared};
use megachunk::prelude::*;
use serde::Deserialize;
use toml::Table;

/// What a trait of each class does with its argument.
pub(crate) const CLASSES: [&str; 9] = [
    "a", "also_a", "b", "sum", "more", "tag", "untag", "team", "needs",
];

/// One config.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spec {
    pub(crate) id: String,
    pub(crate) parent: Option<String>,
    pub(crate) is_abstract: bool,
    /// Classes, each once, with its argument.
    pub(crate) traits: Vec<(&'static str, i64)>,
}

impl Spec {
    pub(crate) fn text(&self) -> String {
        let mut text = format!("id = '{}'\n", self.id);
        if let Some(parent) = &self.parent {
            writeln!(text, "parent = \"{parent}\"").unwrap();
        }
        if self.is_abstract {
            text.push_str("abstract = true\n");
        }
        for (class, argument) in &self.traits {
            writeln!(text, "[traits.{class}]\nn = {argument}").unwrap();
        }
        text
    }

    /// The config that a text is, if it is one.
    fn read(text: &str) -> Option<Self> {
        let table: Table = toml::from_str(text).ok()?;
        let mut spec = Self {
            id: table.get("id")?.as_str()?.to_owned(),
            parent: None,
            is_abstract: false,
            traits: Vec::new(),
        };
        for (key, value) in &table {
            match &**key {
                "id" if spec.id.trim().is_empty() => return None,
                "id" => {}
                "name" => drop(value.as_str()?),
                "parent" => spec.parent = Some(value.as_str()?.to_owned()),
                "abstract" => spec.is_abstract = value.as_bool()?,
                "traits" => {
                    for (class, parameters) in value.as_table()? {
                        let class = CLASSES.into_iter().find(|known| known == class)?;
                        let parameters = parameters.as_table()?;
                        let n = parameters.get("n")?.as_integer()?;
                        if parameters.len() != 1 {
                            return None;
                        }
                        spec.traits.push((class, n));
                    }
                }
                _ => return None,
            }
        }
        Some(spec)
    }
}

#[derive(Clone, Debug, PartialEq)]
struct A(i64);
#[derive(Clone, Debug, PartialEq)]
struct B(i64);
#[derive(Clone, Debug, PartialEq)]
struct Sum(i64);
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Team(i64);
#[derive(Clone, Debug, PartialEq)]
struct Tag;

/// A sum that is larger than this is refused by the finished template.
const LARGEST: i64 = 5;

/// A trait of any class.
#[derive(Deserialize)]
struct Does {
    n: i64,
}

impl EntityTrait for Does {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        let class = context.class().to_owned();
        match &*class {
            "a" => drop(context.add(A(self.n))),
            "also_a" => drop(context.add(A(self.n.wrapping_mul(10)))),
            "b" if self.n == 0 => return Err(TraitError::at("n", "is 0")),
            "b" => drop(context.add(B(self.n))),
            "sum" | "more" => {
                let sum = &mut context.get_or_add(|| Sum(0)).0;
                *sum = sum.wrapping_add(self.n);
            }
            "tag" => drop(context.add_tag(Tag)),
            "untag" => drop(context.remove_tag::<Tag>()),
            "team" => drop(context.shared(Team(self.n))),
            _ if self.n % 2 == 0 => drop(context.require::<A>()),
            _ => drop(context.require_trait("b")),
        }
        Ok(())
    }

    fn validate(&self, template: &Template) -> Result<(), TraitError> {
        match template.get::<Sum>() {
            Some(Sum(sum)) if *sum > LARGEST => Err(TraitError::new("too much")),
            _ => Ok(()),
        }
    }
}

pub(crate) fn traits() -> TraitRegistry {
    let mut traits = TraitRegistry::new();
    for class in CLASSES {
        traits.register::<Does>(class).unwrap();
    }
    traits
}

/// Fragments with their values, and who added each.
type Fragments = BTreeMap<&'static str, (i64, &'static str)>;

/// Files with their texts, and what these are.
#[derive(Clone, Default)]
struct Model(BTreeMap<String, (String, Spec)>);

impl Model {
    /// What it is with these files, if that makes sense.
    fn with(&self, files: &BTreeMap<&str, &str>) -> Option<Self> {
        let mut next = self.clone();
        for (&file, &text) in files {
            let read = (text.to_owned(), Spec::read(text)?);
            next.0.insert(file.to_owned(), read);
        }
        let ids = next.ids();
        let whole = ids.len() == next.0.len()
            && ids.iter().all(|id| {
                let line = next.line(id);
                line.is_some_and(|line| {
                    line.last().is_some_and(|spec| spec.is_abstract) || merged(&line).is_some()
                })
            });
        whole.then_some(next)
    }

    /// The file of a config.
    fn file(&self, id: &str) -> Option<(&str, &(String, Spec))> {
        let mut files = self.0.iter();
        let (file, read) = files.find(|(_, (_, spec))| spec.id == id)?;
        Some((file, read))
    }

    /// A config and its ancestors, the eldest first, if all are there.
    fn line(&self, id: &str) -> Option<Vec<&Spec>> {
        let mut line: Vec<&Spec> = Vec::new();
        let mut next = Some(id);
        while let Some(id) = next {
            let (_, (_, spec)) = self.file(id)?;
            if line.iter().any(|other| other.id == id) {
                return None;
            }
            line.push(spec);
            next = spec.parent.as_deref();
        }
        line.reverse();
        Some(line)
    }

    /// The files of a config and its ancestors.
    fn files(&self, id: &str) -> Option<Vec<(&str, &(String, Spec))>> {
        let line = self.line(id)?;
        line.iter().map(|spec| self.file(&spec.id)).collect()
    }

    fn ids(&self) -> BTreeSet<String> {
        self.0.values().map(|(_, spec)| spec.id.clone()).collect()
    }
}

/// What the traits of a config and its ancestors make together; `None` if that makes no sense.
fn merged(line: &[&Spec]) -> Option<Fragments> {
    let mut all: Vec<(&'static str, i64, usize)> = Vec::new();
    for (depth, spec) in line.iter().enumerate() {
        for &(class, n) in &spec.traits {
            let new = (class, n, depth);
            match all.iter_mut().find(|(other, ..)| *other == class) {
                Some(same) => *same = new,
                None => all.push(new),
            }
        }
    }
    let mut fragments = Fragments::new();
    for &(class, n, _) in &all {
        let (fragment, value) = match class {
            "a" => ("A", n),
            "also_a" => ("A", n.wrapping_mul(10)),
            "b" if n == 0 => return None,
            "b" => ("B", n),
            "team" => ("Team", n),
            "sum" | "more" => {
                let sum = &mut fragments.entry("Sum").or_insert((0, "sum")).0;
                *sum = sum.wrapping_add(n);
                continue;
            }
            _ => continue,
        };
        if fragments.insert(fragment, (value, class)).is_some() {
            return None;
        }
    }
    let of = |class| all.iter().find(|(other, ..)| *other == class);
    match (of("tag").map(|all| all.2), of("untag").map(|all| all.2)) {
        (Some(adds), Some(removes)) if adds == removes => return None,
        (Some(adds), removes) if removes.is_none_or(|removes| removes < adds) => {
            fragments.insert("Tag", (0, "tag"));
        }
        _ => {}
    }
    for &(class, n, _) in &all {
        let there = match n % 2 {
            0 => fragments.contains_key("A"),
            _ => of("b").is_some(),
        };
        if class == "needs" && !there {
            return None;
        }
    }
    match fragments.get("Sum") {
        // Whoever validates finds it too large: every trait does, and there is one.
        Some((sum, _)) if *sum > LARGEST => None,
        _ => Some(fragments),
    }
}

/// Loads one list of texts, with their names, after the other, and compares with the model after each.
pub(crate) fn check(loads: &[Vec<(String, String)>]) {
    let mut world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    let mut model = Model::default();
    for texts in loads {
        // Of two texts of one name the last counts.
        let files: BTreeMap<&str, &str> = texts.iter().map(|(a, b)| (&**a, &**b)).collect();
        let all = |registry: &TemplateRegistry| -> Vec<Arc<Template>> {
            let ids = registry.template_ids();
            ids.map(|id| registry.template(id).unwrap()).collect()
        };
        let before = all(&registry);
        let loaded = registry.load_texts(texts.iter().map(|(name, text)| (&**name, &**text)));
        match (loaded, model.with(&files)) {
            (Ok(changes), Some(next)) => {
                compare_changes(&changes, &model, &next);
                model = next;
            }
            (Err(errors), None) => {
                assert!(!errors.to_string().is_empty());
                let after = all(&registry);
                assert_eq!(after.len(), before.len());
                assert!(after.iter().zip(&before).all(|(a, b)| Arc::ptr_eq(a, b)));
            }
            (Ok(_), None) => panic!("it should be refused: {files:#?}"),
            (Err(errors), Some(_)) => panic!("{errors}\nit should be loaded: {files:#?}"),
        }
        compare(&registry, &model, &mut world);
    }
    world.check().unwrap();
}

fn compare_changes(changes: &megachunk::template::ConfigChanges, before: &Model, now: &Model) {
    let (old, new) = (before.ids(), now.ids());
    let is = |told: &[String], expected: &mut dyn Iterator<Item = &String>| {
        assert!(told.iter().eq(expected), "{changes:?}");
    };
    is(&changes.added, &mut new.difference(&old));
    is(&changes.removed, &mut old.difference(&new));
    let mut both = new.intersection(&old);
    is(
        &changes.changed,
        &mut both.by_ref().filter(|id| before.files(id) != now.files(id)),
    );
}

fn compare(registry: &TemplateRegistry, model: &Model, world: &mut World) {
    assert!(registry.ids().eq(model.ids().iter()));
    for id in model.ids() {
        let line = model.line(&id).unwrap();
        if line.last().unwrap().is_abstract {
            assert!(registry.template(&id).is_err());
            continue;
        }
        let expected = merged(&line).unwrap();
        let template = registry.template(&id).unwrap();
        assert_eq!(fragments(&template, world.registry()), expected, "{id}");
        assert_eq!(template.composition().len(), expected.len());
        let entity = template.create(world).unwrap();
        assert_eq!(world.get::<A>(entity).ok(), template.get::<A>());
        assert_eq!(world.get::<Sum>(entity).ok(), template.get::<Sum>());
        assert_eq!(world.shared::<Team>(entity).ok(), template.shared::<Team>());
        assert_eq!(
            world.has::<Tag>(entity).unwrap(),
            expected.contains_key("Tag")
        );
        assert_eq!(&world.composition(entity).unwrap(), template.composition());
    }
}

/// What a template has, in the model's words.
fn fragments(template: &Template, registry: &FragmentRegistry) -> Fragments {
    let a = template.get::<A>().map(|a| a.0);
    let b = template.get::<B>().map(|b| b.0);
    let sum = template.get::<Sum>().map(|sum| sum.0);
    let team = template.shared::<Team>().map(|team| team.0);
    let tag = template.has::<Tag>().then_some(0);
    assert_eq!(template.has::<Shared<Team>>(), team.is_some());
    let id = |info: Result<&megachunk::fragment::FragmentInfo, _>| -> FragmentId {
        let info: Result<_, megachunk::fragment::FragmentError> = info;
        info.unwrap().id()
    };
    let all = [
        ("A", a, id(registry.register::<A>())),
        ("B", b, id(registry.register::<B>())),
        ("Sum", sum, id(registry.register::<Sum>())),
        ("Team", team, id(registry.register::<Shared<Team>>())),
        ("Tag", tag, id(registry.register::<Tag>())),
    ];
    let there = all.into_iter().filter_map(|(name, value, id)| {
        let class = template.added_by(id).map(|by| {
            // Which of them came first does not come from this reader, whose tables are sorted.
            let by = if by == "more" { "sum" } else { by };
            let known = CLASSES.into_iter().find(|class| *class == by);
            known.expect("a class")
        });
        assert_eq!(value.is_some(), class.is_some());
        Some((name, (value?, class?)))
    });
    there.collect()
}
