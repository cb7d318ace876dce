//! Mistakes in entity configs: each is told with file, line and nearest name, all of a directory together.

use crate::template_traits::{Gait, traits};
use megachunk::prelude::*;
use megachunk::template::{TemplateError, TemplateFault};

/// What is wrong with `tests/data/template_mistakes`: a line for each mistake, in the order of files and lines.
const MISTAKES: &str = r#"
added_twice.toml:4:9: `run` adds Speed, which `walk` has added: share it with `get_or_add`
below/misspelt_in_a_directory_below.toml:2:9: no trait is called `wlak`: did you mean `walk`?
choice.toml:4:8: `gait` of `walk`: there is no `tort`, only `stroll`, `trot`, `steps`: did you mean `trot`?
contradiction.toml:3:9: `float` removes OnFoot, and `feet` of the same config adds it
duplicate_id_second.toml:2:6: `twin` is the id of duplicate_id_first.toml:1:6 already
duplicate_key.toml:3:1: `name` stands there twice
duplicate_trait.toml:4:9: `walk` stands there twice
empty.toml: is empty: a config begins with `id = "…"`
empty_id.toml:1:6: an id must not be empty
id_of_another_kind.toml:1:6: `id` is to be a text, not an integer
list_too_long.toml:3:23: `route.points[1]` of `steer`: a list of 3 items, where 2 are wanted
loop_a.toml:2:10: the parents are a loop: loop_a → loop_b → loop_c → loop_a
missing_field.toml:2:9: `walk` needs `speed`
missing_fragment.toml:2:9: `steer` requires Speed, which no trait adds
missing_id.toml:1:1: has no `id`
missing_trait.toml:2:9: `crowd` requires the trait `walk`, which is not there
misspelt_field.toml:4:1: `walk` has no `spede`: did you mean `speed`?
misspelt_key.toml:2:1: a config has no `parrent`: did you mean `parent`?
misspelt_nested_field.toml:5:24: `steer` has no `route.lopped`: did you mean `route.looped`?
misspelt_parent.toml:2:10: no config has the id `agnet`: did you mean `agent`?
misspelt_trait.toml:2:8: no trait is called `wakl`: did you mean `walk`?
not_utf8.toml:2:13: is not UTF-8
number_too_large.toml:5:8: `size` of `crowd`: invalid value: integer `300`, expected u8
own_parent.toml:2:10: the parents are a loop: own_parent → own_parent
refused.toml:5:1: `walk` refuses: `speed`: must be more than 0
refused_as_a_whole.toml:4:9: `quiet` refuses: steps can be heard
several.toml:2:1: a config has no `nmae`: did you mean `name`?
several.toml:4:9: `speed` of `walk`: invalid type: boolean `true`, expected f32
several.toml:5:1: `walk` has no `gate`
several.toml:8:1: `run` has no `fast`
syntax.toml:2:15: invalid basic string, expected `"`
too_large.toml:3:9: `whale`: an entity with blubber takes 2097160 bytes, aligned to 1: a chunk of 1048576 bytes cannot hold it
trait_of_another_kind.toml:3:8: `walk`: invalid type: floating point `1.4`, expected a table
traits_of_another_kind.toml:2:10: `traits` is to be a table: `[traits.…]`, not a list
wrong_type.toml:3:9: `speed` of `walk`: invalid type: string "fast", expected f32
wrong_type_in_a_list.toml:8:11: `route.points[1][1]` of `steer`: invalid type: string "3", expected f32
yes_and_no.toml:2:12: `abstract` is to be true or false, not a text
"#;

fn registry(world: &World) -> TemplateRegistry {
    TemplateRegistry::new(world.universe(), traits())
}

/// What is wrong with one text, without the paths of types.
fn wrong(text: &str) -> String {
    let world = World::new();
    let errors = registry(&world).load_str("t", text).unwrap_err();
    plain(&errors.to_string())
}

fn plain(errors: &str) -> String {
    errors.replace(concat!(env!("CARGO_CRATE_NAME"), "::template_traits::"), "")
}

#[test]
fn a_directory_with_each_kind_of_mistake_gives_one_clear_error_for_each() {
    let world = World::new();
    let mut registry = registry(&world);
    let errors = registry
        .load_dir("tests/data/template_mistakes")
        .unwrap_err();
    let told = plain(&errors.to_string()).replace('\\', "/");
    let told = told.replace("tests/data/template_mistakes/", "");
    let told: Vec<&str> = told.lines().collect();
    let expected: Vec<&str> = MISTAKES.trim().lines().collect();
    for (told, expected) in told.iter().zip(&expected) {
        assert_eq!(told, expected);
    }
    assert_eq!(told.len(), expected.len());
    assert_eq!(errors.len(), expected.len());
    assert!(errors.iter().all(|error| error.place.is_some()));
    assert_eq!(registry.ids().count(), 0, "nothing is loaded");
}

#[test]
fn errors_are_sorted_by_file_and_line() {
    let world = World::new();
    let errors = registry(&world)
        .load_texts([
            ("b", "id = 'b'\nname = 1\nparent = 'x'"),
            ("a", "\n\nnope = 1"),
        ])
        .unwrap_err();
    let places = errors.iter().map(|error| {
        let place = error.place.as_ref().unwrap();
        (place.file.to_str().unwrap().to_owned(), place.line)
    });
    let places: Vec<(String, u32)> = places.collect();
    let expected = [("a", 1), ("a", 3), ("b", 2), ("b", 3)];
    assert_eq!(places, expected.map(|(file, line)| (file.to_owned(), line)));
}

#[test]
fn a_directory_that_is_not_there_is_an_error() {
    let world = World::new();
    let errors = registry(&world)
        .load_dir("tests/data/no_such_place")
        .unwrap_err();
    // What the system said is there to be asked.
    assert!(matches!(
        &errors.as_slice()[0].fault,
        TemplateFault::Unreadable { error, .. } if error.kind() == std::io::ErrorKind::NotFound
    ));
    let text = errors.to_string();
    assert!(
        text.starts_with("tests/data/no_such_place: cannot be read: "),
        "{text}"
    );
}

#[test]
fn a_file_that_is_not_there_or_no_file_is_an_error() {
    let world = World::new();
    for path in ["tests/data/no_such_place.toml", "tests/data"] {
        let errors = registry(&world).load_file(path).unwrap_err();
        let fault = &errors.as_slice()[0].fault;
        assert!(matches!(fault, TemplateFault::Unreadable { .. }), "{path}");
    }
}

#[test]
fn a_template_that_no_config_describes_is_an_error_with_the_nearest_id() {
    let world = World::new();
    let mut registry = registry(&world);
    registry.load_str("t", "id = 'pedestrian'").unwrap();
    let error = registry.template("pedestrain").unwrap_err();
    assert_eq!(
        error.to_string(),
        "no config has the id `pedestrain`: did you mean `pedestrian`?"
    );
}

#[test]
fn an_abstract_config_is_a_parent_and_no_template() {
    let world = World::new();
    let mut registry = registry(&world);
    registry
        .load_texts([
            (
                "agent.toml",
                "id = 'agent'\nabstract = true\n[traits.steer.route]\npoints = []\nlooped = true",
            ),
            (
                "walker.toml",
                "id = 'walker'\nparent = 'agent'\n[traits.walk]\nspeed = 1",
            ),
        ])
        .unwrap();
    registry.template("walker").unwrap();
    let error = registry.template("agent").unwrap_err();
    assert_eq!(
        error.to_string(),
        "agent.toml:1:6: `agent` is abstract: it is a parent of others, and no template"
    );
    assert_eq!(registry.ids().collect::<Vec<_>>(), ["agent", "walker"]);
    assert_eq!(registry.template_ids().collect::<Vec<_>>(), ["walker"]);
}

#[test]
fn a_choice_is_a_name_or_a_table_with_its_name() {
    let world = World::new();
    let mut good = registry(&world);
    good.load_str(
        "t",
        "id = 't'\ntraits.walk = { speed = 1, gait = { steps = { length = 0.7 } } }",
    )
    .unwrap();
    let template = good.template("t").unwrap();
    let gait = template.get::<Gait>();
    assert_eq!(gait, Some(&Gait::Steps { length: 0.7 }));
    let with = |gait: &str| {
        wrong(&format!(
            "id = 't'\ntraits.walk = {{ speed = 1, gait = {gait} }}"
        ))
    };
    assert_eq!(
        with("{ steps = { lenght = 0.7 } }"),
        "t:2:47: `walk` has no `gait.steps.lenght`: did you mean `gait.steps.length`?"
    );
    assert_eq!(
        with("'steps'"),
        "t:2:35: `gait` of `walk`: `steps` needs a value: { steps = … }"
    );
    assert_eq!(
        with("{ trot = {} , stroll = {} }"),
        "t:2:28: `gait` of `walk`: invalid type: table, expected the name of a choice, or a table with that as its only key"
    );
    assert_eq!(
        with("{ trot = 3 }"),
        "t:2:44: `gait.trot` of `walk`: is a choice without a value"
    );
}

#[test]
fn a_trait_without_parameters_takes_none() {
    assert_eq!(
        wrong("id = 't'\n[traits.feet]\nsize = 43"),
        "t:3:1: `feet` has no `size`"
    );
    assert_eq!(
        wrong("id = 't'\ntraits.feet = true"),
        "t:2:15: `feet`: invalid type: boolean `true`, expected a table without keys"
    );
}

#[test]
fn numbers_that_do_not_fit_are_errors() {
    let speed = |speed: &str| wrong(&format!("id = 't'\n[traits.walk]\nspeed = {speed}"));
    assert_eq!(
        speed("1e300"),
        "t:3:9: `speed` of `walk`: a number that is too large"
    );
    assert_eq!(
        speed("1e999"),
        "t:3:9: `speed` of `walk`: a number that is too large"
    );
    let long = "9".repeat(60);
    assert_eq!(
        speed(&long),
        "t:3:9: `speed` of `walk`: a number of more than 128 bits"
    );
}

#[test]
fn a_byte_order_mark_and_other_line_ends_are_no_mistakes() {
    let world = World::new();
    let mut registry = registry(&world);
    registry
        .load_str("t", "\u{feff}id = 't'\r\n[traits.walk]\r\nspeed = 1.0\r\n")
        .unwrap();
    assert_eq!(
        wrong("\u{feff}id = 't'\r\n\r\n[traits.wlak]\r\n"),
        "t:3:9: no trait is called `wlak`: did you mean `walk`?"
    );
}

#[test]
fn a_text_that_is_nested_beyond_reason_is_an_error_and_nothing_worse() {
    let place = |text: &str| {
        let told = wrong(text);
        let place = told.strip_suffix(": is nested more than 64 times");
        place.map_or_else(|| told.clone(), Into::into)
    };
    let lists = "[".repeat(100_000) + &"]".repeat(100_000);
    assert_eq!(place(&format!("id = 't'\nx = {lists}")), "t:2:69");
    let dotted = vec!["a"; 100_000].join(".");
    assert_eq!(place(&format!("id = 't'\n{dotted} = 1")), "t:2:130");
    assert_eq!(place(&format!("id = 't'\n[{dotted}]")), "t:2:129");
    // As deep as the parser goes: tables in tables, each behind a long key.
    let key = vec!["a"; 79].join(".");
    let nested = format!("{}1{}", format!("{{ {key} = ").repeat(79), " }".repeat(79));
    assert_eq!(
        place(&format!("id = 't'\nx = {nested}\nx = {nested}")),
        "t:2:134"
    );
    // Behind what only looks as if a text began.
    for before in [
        "\"\"\"x\"\"\"\", ",
        "'''x'''', ",
        "x', ",
        "#\r",
        "{ a.b = ], ",
    ] {
        let told = wrong(&format!("id = 't'\nx = [{before}{nested}]"));
        assert!(told.ends_with(": is nested more than 64 times"), "{told}");
    }
    // Not text, and not comments.
    let dots = ".[{".repeat(100);
    let text =
        format!("id = 't' # {dots}\nname = \"{dots}\\\"{dots}\"\n[traits.walk]\nspeed = '{dots}'");
    assert_eq!(
        wrong(&text),
        format!("t:4:9: `speed` of `walk`: invalid type: string \"{dots}\", expected f32")
    );
}

#[test]
fn a_text_with_very_many_mistakes_has_them_all_told() {
    // In one line, so that each place has the whole line before it.
    let fields: Vec<String> = (0..30_000).map(|n| format!("f{n} = 1")).collect();
    let told = wrong(&format!(
        "id = 't'\ntraits.walk = {{ {} }}",
        fields.join(", ")
    ));
    // And the one that is missing.
    assert_eq!(told.lines().count(), 30_001);
    assert!(told.ends_with("`walk` has no `f29999`"));
    let twice = vec!["speed = 1"; 30_000].join(", ");
    let told = wrong(&format!("id = 't'\ntraits.walk = {{ {twice} }}"));
    assert_eq!(told.lines().count(), 29_999);
    let tables = vec!["[traits.walk]\nspeed = 1"; 10_000].join("\n");
    let told = wrong(&format!("id = 't'\n{tables}"));
    assert_eq!(told.lines().count(), 9_999);
}

#[test]
fn very_long_names_are_told_without_a_hint() {
    let world = World::new();
    let mut registry = registry(&world);
    let (id, parent) = ("i".repeat(400_000), format!("{}j", "i".repeat(399_999)));
    let child = format!("id = 'child'\nparent = '{parent}'");
    let known = format!("id = '{id}'");
    let errors = registry
        .load_texts([("a", &*known), ("b", &*child)])
        .unwrap_err();
    let fault = &errors.as_slice()[0].fault;
    assert!(matches!(
        fault,
        TemplateFault::UnknownParent { nearest: None, .. }
    ));
}

#[test]
fn of_a_text_that_is_no_toml_only_that_is_told() {
    assert!(wrong("speed").starts_with("t:1:6: "), "{}", wrong("speed"));
    let wrong = wrong("id = 't'\nspeed = = 3\nnope = 1\n[traits.wlak]");
    assert_eq!(wrong.lines().count(), 1, "{wrong}");
}

#[test]
fn an_unknown_parent_of_very_many_children_is_told_for_each_with_another_ones_id() {
    // So long that to compare all with all would take half an hour.
    let stem = "child".repeat(16);
    let config = |n| format!("id = '{stem}{n}'\nparent = '{stem}0x'");
    let texts: Vec<(String, String)> = (0..2_000).map(|n| (n.to_string(), config(n))).collect();
    let texts = texts.iter().map(|(name, text)| (&**name, &**text));
    let world = World::new();
    let errors = registry(&world).load_texts(texts).unwrap_err();
    assert_eq!(errors.len(), 2_000);
    let first = format!("{stem}0");
    for error in &errors {
        let TemplateFault::UnknownParent { nearest, .. } = &error.fault else {
            panic!("{error}");
        };
        let is_first = error.place.as_ref().unwrap().file.as_os_str() == "0";
        assert_eq!(nearest.as_ref().map(|id| **id == *first), Some(!is_first));
    }
}

#[test]
fn of_a_text_that_is_no_toml_a_key_that_is_not_there_does_not_stand_there_twice() {
    let told = wrong("id = 't'\n= 1\n= 2");
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.starts_with("t:2:1: "), "{told}");
    // A key that is empty can.
    assert_eq!(
        wrong("id = 't'\n\"\" = 1\n\"\" = 2").lines().last(),
        Some("t:3:1: `` stands there twice")
    );
}

#[test]
fn each_error_is_shown_in_one_line() {
    let errors = wrong("id = 't'\nparent = \"a\\nb\"\n\"c\\r\\nd\" = 1");
    assert_eq!(
        errors,
        "t:2:10: no config has the id `a\\nb`\nt:3:1: a config has no `c\\r\\nd`"
    );
    let world = World::new();
    struct Wordy;
    impl EntityTrait for Wordy {
        fn build(&self, _context: &mut BuildContext<'_>) -> Result<(), TraitError> {
            Err(TraitError::new("this\nand\u{2028}that"))
        }
    }
    let builder = TemplateBuilder::new("t").with(Wordy);
    let errors = builder.finish(&world).unwrap_err();
    let shown = "template `t`: `Wordy` refuses: this\\nand\\u{2028}that";
    assert_eq!(errors.to_string(), shown);
    assert_eq!(errors.as_slice()[0].to_string(), shown);
}

#[test]
fn a_trait_that_takes_the_place_of_a_parents_and_lacks_a_parameter_is_told_so() {
    let world = World::new();
    let mut registry = registry(&world);
    let texts = [
        ("a", "id = 'a'\n[traits.walk]\nspeed = 1.0"),
        ("b", "id = 'b'\nparent = 'a'"),
        ("c", "id = 'c'\nparent = 'b'\n[traits.walk]\ngait = 'trot'"),
        ("d", "id = 'd'\nparent = 'e'\n[traits.walk]"),
        ("e", "id = 'e'\nparent = 'd'"),
    ];
    let errors = registry.load_texts(texts).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "c:3:9: `walk` needs `speed`: it takes the place of that of `a` as a whole, and gets no parameter from there\n\
         d:2:10: the parents are a loop: d → e → d\n\
         d:3:9: `walk` needs `speed`"
    );
}

/// `fn main` shows what it returns as it is debugged.
#[test]
fn errors_are_debugged_as_they_are_shown() {
    let world = World::new();
    let errors = registry(&world).load_str("t", "ip = 't'\n[traits.wlk]");
    let errors = errors.unwrap_err();
    assert!(errors.len() > 1);
    assert_eq!(format!("{errors:?}"), errors.to_string());
    let boxed: Box<dyn std::error::Error> = errors.into();
    assert!(format!("{boxed:?}").starts_with("t:1:1: "));
}

#[test]
fn very_many_unknown_parents_are_all_told_and_the_first_of_them_with_a_hint() {
    // To compare each of them with all would take the square of so many.
    let config = |n| format!("id = 'child-{n:04}'\nparent = 'chill-{n:04}'");
    let texts: Vec<(String, String)> = (0..1_000).map(|n| (format!("{n:04}"), config(n))).collect();
    let texts = texts.iter().map(|(name, text)| (&**name, &**text));
    let world = World::new();
    let errors = registry(&world).load_texts(texts).unwrap_err();
    assert_eq!(errors.len(), 1_000);
    let has_hint = |error: &TemplateError| match &error.fault {
        TemplateFault::UnknownParent { nearest, .. } => nearest.is_some(),
        _ => panic!("{error}"),
    };
    let hints: Vec<bool> = errors.iter().map(has_hint).collect();
    assert!(hints[..50].iter().all(|&told| told));
    assert!(hints[200..].iter().all(|&told| !told));
}
