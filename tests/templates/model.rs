//! Entity configs, merged with their parents, against a model that knows nothing but the rules.
//!
//! Properties, for any configs that are loaded in any portions, some of which replace others: what makes no sense is
//! refused, and only that; after a refusal all is as before; otherwise ids, changes, fragments, values and who added
//! them are the model's.

use crate::template_oracle::{CLASSES, Spec, check};
use proptest::prelude::*;
use proptest::sample::select;

fn spec() -> impl Strategy<Value = Spec> {
    let class = select(&CLASSES[..]);
    let traits = proptest::collection::vec((class, 0_i64..4), 0..4);
    let parent = proptest::option::weighted(0.6, 0_u8..5);
    (0_u8..5, parent, proptest::bool::weighted(0.2), traits).prop_map(
        |(id, parent, is_abstract, mut traits)| {
            let mut seen = std::collections::BTreeSet::new();
            traits.retain(|(class, _)| seen.insert(*class));
            Spec {
                id: id.to_string(),
                parent: parent.map(|parent| parent.to_string()),
                is_abstract,
                traits,
            }
        },
    )
}

/// A config in one of a few files.
fn file() -> impl Strategy<Value = (String, String)> {
    (0_u8..5, spec()).prop_map(|(file, spec)| (file.to_string(), spec.text()))
}

/// Configs each of which has an id of its own, and a parent with a smaller one: many of them make sense.
fn family() -> impl Strategy<Value = Vec<(String, String)>> {
    proptest::collection::vec(spec(), 1..5).prop_map(|specs| {
        let numbered = specs.into_iter().zip(0_u8..).map(|(mut spec, id)| {
            spec.id = id.to_string();
            spec.parent = spec.parent.filter(|parent| *parent < spec.id);
            (spec.id.clone(), spec.text())
        });
        numbered.collect()
    })
}

/// What texts are made of.
const PIECES: [&str; 40] = [
    "id = '0'\n",
    "id = \"1\"\n",
    "id = ",
    "'0'",
    "name = ''\n",
    "parent = '0'\n",
    "parent = '1'\n",
    "abstract = true\n",
    "abstract = ",
    "false",
    "[traits]\n",
    "[traits.a]\n",
    "[traits.sum]\n",
    "[traits.tag]\n",
    "[[traits.b]]\n",
    "n = 1\n",
    "n = 2\n",
    "n = 0x_1\n",
    "n = 1.0\n",
    "n = 1_0 # ten\n",
    "n = -0\n",
    "m = 1\n",
    "traits.b.n = 3\n",
    "traits.more = { n = 1 }\n",
    "traits = {",
    "a = {",
    "n = 1",
    "}",
    ",",
    "[",
    "]",
    ".",
    "=",
    "'''",
    "\"",
    "\n",
    "#",
    "\u{feff}",
    "\\",
    "ä",
];

/// A text of such pieces; the first one is an id, mostly.
fn pieces() -> impl Strategy<Value = String> {
    let pieces = proptest::collection::vec(select(&PIECES[..]), 0..8);
    (proptest::bool::weighted(0.8), pieces).prop_map(|(first, mut pieces)| {
        if first {
            pieces.insert(0, PIECES[0]);
        }
        pieces.concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_configs_are_merged_as_the_model_does(
        loads in proptest::collection::vec(proptest::collection::vec(file(), 0..4), 1..5),
    ) {
        check(&loads);
    }

    #[test]
    fn families_are_merged_as_the_model_does(
        first in family(),
        then in proptest::collection::vec(proptest::collection::vec(file(), 0..2), 0..4),
    ) {
        let mut loads = vec![first];
        loads.extend(then);
        check(&loads);
    }

    #[test]
    fn texts_of_random_pieces_are_read_as_the_model_does(
        first in pieces(),
        second in pieces(),
        third in pieces(),
    ) {
        let file = |name: &str, text: String| (name.to_owned(), text);
        check(&[
            vec![file("a", first)],
            vec![file("b", second.clone())],
            vec![file("a", second), file("b", third)],
        ]);
    }
}
