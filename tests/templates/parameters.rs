//! Parameters that types read in their own way: what they find wrong has a name and a line too.

use std::collections::BTreeMap;
use std::fmt;

use megachunk::prelude::*;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};

/// A colour, by its name.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Color;

impl TryFrom<String> for Color {
    type Error = NoColor;

    fn try_from(name: String) -> Result<Self, NoColor> {
        match &*name {
            "green" => Ok(Self),
            _ => Err(NoColor(name)),
        }
    }
}

struct NoColor(String);

impl fmt::Display for NoColor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no color", self.0)
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
#[expect(dead_code, reason = "only read")]
enum Size {
    Number(u8),
    Pair { width: u8, height: u8 },
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(dead_code, reason = "only read")]
enum Shape {
    Circle { radius: u8 },
}

#[derive(Deserialize)]
enum Paint {
    Plain(Color),
}

fn even<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    match u8::deserialize(deserializer)? {
        odd if odd % 2 == 1 => Err(D::Error::custom(format!("{odd} is odd"))),
        even => Ok(even),
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Look {
    a: u8,
    color: Option<Color>,
    colors: Vec<Color>,
    by_name: BTreeMap<String, Color>,
    size: Option<Size>,
    shape: Option<Shape>,
    paint: Option<Paint>,
    #[serde(deserialize_with = "even")]
    legs: u8,
    #[serde(alias = "arms", alias = "hands")]
    limbs: u8,
}

impl EntityTrait for Look {
    fn build(&self, _context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        Ok(())
    }
}

/// What is wrong with a trait called `look`, whose first parameter stands in the third line.
fn wrong_as<T: EntityTrait + DeserializeOwned>(parameters: &str) -> String {
    let world = World::new();
    let mut traits = TraitRegistry::new();
    traits.register::<T>("look").unwrap();
    let mut registry = TemplateRegistry::new(world.universe(), traits);
    let text = format!("id = 'v'\n[traits.look]\n{parameters}");
    let errors = registry.load_str("v", &text).unwrap_err();
    errors.to_string()
}

fn wrong(parameters: &str) -> String {
    wrong_as::<Look>(parameters)
}

#[test]
fn what_a_type_finds_wrong_after_it_was_read_names_the_parameter_and_its_line() {
    assert_eq!(
        wrong("a = 1\ncolor = 'red'"),
        "v:4:9: `color` of `look`: \"red\" is no color"
    );
    assert_eq!(
        wrong("a = 1\nlegs = 3"),
        "v:4:8: `legs` of `look`: 3 is odd"
    );
    assert_eq!(
        wrong("size = true"),
        "v:3:8: `size` of `look`: data did not match any variant of untagged enum Size"
    );
    assert_eq!(
        wrong("[traits.look.shape]\nkind = 'circle'"),
        "v:3:14: `look` needs `shape.radius`"
    );
    assert_eq!(
        wrong("paint = { Plain = 'red' }"),
        "v:3:19: `paint.Plain` of `look`: \"red\" is no color"
    );
}

#[test]
fn what_a_type_finds_wrong_in_a_list_or_a_map_names_the_item() {
    assert_eq!(
        wrong("colors = [\n'green',\n'red']"),
        "v:5:1: `colors[1]` of `look`: \"red\" is no color"
    );
    assert_eq!(
        wrong("[traits.look.by_name]\nsky = 'green'\ngrass = 'red'"),
        "v:5:9: `by_name.grass` of `look`: \"red\" is no color"
    );
}

#[test]
fn what_a_type_finds_wrong_as_a_whole_names_the_trait() {
    #[derive(Deserialize)]
    #[serde(try_from = "BTreeMap<String, u8>")]
    struct Sum;
    impl TryFrom<BTreeMap<String, u8>> for Sum {
        type Error = &'static str;
        fn try_from(_: BTreeMap<String, u8>) -> Result<Self, &'static str> {
            Err("is not ten")
        }
    }
    impl EntityTrait for Sum {
        fn build(&self, _context: &mut BuildContext<'_>) -> Result<(), TraitError> {
            Ok(())
        }
    }
    assert_eq!(wrong_as::<Sum>("a = 1"), "v:2:9: `look`: is not ten");
}

#[test]
fn a_parameter_that_is_there_under_two_of_its_names_is_an_error_at_the_second() {
    assert_eq!(
        wrong("limbs = 1\na = 1\narms = 1"),
        "v:5:1: `arms` of `look`: `limbs` has a value already"
    );
    assert_eq!(
        wrong("hands = 1\nlimbs = 1"),
        "v:4:1: `limbs` of `look`: `limbs` has a value already"
    );
}
