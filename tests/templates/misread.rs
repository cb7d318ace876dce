//! Values of a config that are no values of the type that asks for them: what is said of each, and where.

use std::collections::BTreeMap;
use std::fmt;

use megachunk::prelude::*;
use megachunk::template::{TemplateError, TemplateFault};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use crate::config_folder::Folder;
use crate::template_traits::{Walk, traits};

/// Asks for what the other traits do not.
#[derive(Deserialize)]
struct Odd {
    #[expect(dead_code, reason = "it is read")]
    way: Option<Choice>,
    #[expect(dead_code, reason = "it is read")]
    large: Option<u128>,
    #[expect(dead_code, reason = "it is read")]
    numbered: Option<BTreeMap<u8, u8>>,
    #[expect(dead_code, reason = "it is read")]
    winds: Option<BTreeMap<Wind, u8>>,
    #[expect(dead_code, reason = "it is read")]
    hasty: Option<Hasty>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Choice {
    Alone,
    One(#[expect(dead_code, reason = "it is read")] u8),
    Two(
        #[expect(dead_code, reason = "it is read")] u8,
        #[expect(dead_code, reason = "it is read")] u8,
    ),
}

/// A key that is a field of nothing, if it is not this.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Wind;

impl<'de> Deserialize<'de> for Wind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        match &*name {
            "north" => Ok(Self),
            other => Err(D::Error::unknown_field(other, &["north"])),
        }
    }
}

/// Asks for a value before its key.
struct Hasty;

impl<'de> Deserialize<'de> for Hasty {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Asks;
        impl<'de> Visitor<'de> for Asks {
            type Value = Hasty;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Hasty, A::Error> {
                map.next_value::<u8>().map(|_| Hasty)
            }
        }
        deserializer.deserialize_map(Asks)
    }
}

impl EntityTrait for Odd {
    fn build(&self, _: &mut BuildContext<'_>) -> Result<(), TraitError> {
        Ok(())
    }
}

fn registry(world: &World) -> TemplateRegistry {
    let mut traits = traits();
    traits.register::<Odd>("odd").unwrap();
    TemplateRegistry::new(world.universe(), traits)
}

/// What is wrong with one config that has this in its second line.
fn wrong(line: &str) -> String {
    let world = World::new();
    let mut registry = registry(&world);
    let errors = registry
        .load_str("t", &format!("id = 't'\n{line}"))
        .unwrap_err();
    assert_eq!(registry.ids().count(), 0, "nothing is loaded");
    errors.to_string()
}

#[test]
fn what_stands_there_instead_is_named_as_it_was_meant() {
    for (value, found) in [
        ("'fast'", "string \"fast\""),
        ("3", "integer `3`"),
        ("-3", "integer `-3`"),
        ("1_000", "integer `1000`"),
        ("0x10", "integer `16`"),
        ("0xff", "integer `255`"),
        ("0o17", "integer `15`"),
        ("0b101", "integer `5`"),
        ("99999999999999999999", "integer"),
        ("1.5", "floating point `1.5`"),
        ("inf", "floating point `inf`"),
        ("true", "boolean `true`"),
        ("1979-05-27", "date or time"),
        ("1979-05-27T07:32:00Z", "date or time"),
        ("[1]", "list"),
    ] {
        let says = format!("t:2:15: `walk`: invalid type: {found}, expected a table");
        assert_eq!(wrong(&format!("traits.walk = {value}")), says);
    }
    for (value, found) in [
        ("1", "an integer"),
        ("1.5", "a number"),
        ("true", "true or false"),
        ("07:32:00", "a date or time"),
        ("['a']", "a list"),
        ("{ a = 1 }", "a table"),
    ] {
        let says = format!("t:2:8: `name` is to be a text, not {found}");
        assert_eq!(wrong(&format!("name = {value}")), says);
    }
    assert_eq!(
        wrong("abstract = 0.5"),
        "t:2:12: `abstract` is to be true or false, not a number"
    );
}

#[test]
fn a_choice_that_needs_a_value_and_one_that_has_none() {
    let way = |way: &str| wrong(&format!("traits.odd.way = {way}"));
    for name in ["one", "two"] {
        let says = format!("t:2:18: `way` of `odd`: `{name}` needs a value: {{ {name} = … }}");
        assert_eq!(way(&format!("'{name}'")), says);
    }
    assert_eq!(
        way("{ one = 300 }"),
        "t:2:26: `way.one` of `odd`: invalid value: integer `300`, expected u8"
    );
    assert!(way("{ two = [1, 2, 3] }").ends_with("a list of 3 items, where 2 are wanted"));
    for alone in ["{ alone = { a = 1 } }", "{ alone = [] }"] {
        let says = way(alone);
        assert!(says.ends_with("is a choice without a value"), "{says}");
    }
    let world = World::new();
    for right in [
        "'alone'",
        "{ alone = {} }",
        "{ one = 1 }",
        "{ two = [1, 2] }",
    ] {
        let text = format!("id = 't'\ntraits.odd.way = {right}");
        registry(&world).load_str("t", &text).unwrap();
    }
}

#[test]
fn numbers_of_up_to_128_bits_are_read_and_told() {
    let world = World::new();
    let largest = u128::MAX;
    let text = format!("id = 't'\ntraits.odd.large = {largest}");
    registry(&world).load_str("t", &text).unwrap();
    let says = wrong(&format!("traits.walk = {{ speed = {largest} }}"));
    assert!(
        says.starts_with("t:2:25: `speed` of `walk`: invalid type: integer `")
            && says.contains(&largest.to_string()),
        "{says}"
    );
}

#[test]
fn a_key_that_is_none_is_told_with_its_place() {
    assert_eq!(
        wrong("traits.odd.numbered = { x = 3 }"),
        "t:2:25: `numbered.x` of `odd`: invalid type: string \"x\", expected u8"
    );
    assert_eq!(
        wrong("traits.odd.winds = { north = 2, nort = 3 }"),
        "t:2:33: `odd` has no `winds.nort`: did you mean `winds.north`?"
    );
    let says = wrong("traits.odd.hasty = { a = 1 }");
    assert_eq!(
        says,
        "t:2:12: `hasty` of `odd`: a value was asked for before its key"
    );
}

#[test]
fn a_class_is_registered_once() {
    let mut traits = traits();
    let refused = traits.register::<Walk>("walk").map(drop).unwrap_err();
    let TemplateError { place, fault, .. } = &refused;
    assert!(place.is_none());
    assert!(
        matches!(fault, TemplateFault::TraitTaken { class, .. } if &**class == "walk"),
        "{refused}"
    );
    traits.register::<Walk>("stroll").unwrap();
    assert!(traits.classes().any(|class| class == "stroll"));
}

#[test]
fn a_file_that_is_longer_than_the_limit_is_not_read() {
    let folder = Folder::new("a_file_that_is_longer_than_the_limit");
    let comment = "#".repeat(1 << 20);
    folder.write("long.toml", &format!("id = 'long'\n{comment}"));
    folder.write("short.toml", "id = 'short'");
    let world = World::new();
    let mut registry = registry(&world);
    let errors = registry.load_dir(folder.path()).unwrap_err();
    assert_eq!(errors.len(), 1);
    let error = &errors.as_slice()[0];
    assert!(
        matches!(error.fault, TemplateFault::TooLong { limit, .. } if limit == 1 << 20),
        "{error}"
    );
    assert!(error.to_string().contains("long.toml"), "{error}");
    assert_eq!(registry.ids().count(), 0, "nothing is loaded");
    // As long as it may be.
    folder.write("long.toml", &format!("id = 'long'\n{}", &comment[12..]));
    registry.load_dir(folder.path()).unwrap();
    assert_eq!(registry.ids().collect::<Vec<_>>(), ["long", "short"]);
}
