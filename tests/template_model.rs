//! Entity configs, merged with their parents, against a model that knows nothing but the rules.
//!
//! Properties, for any configs that are loaded in any portions, some of which replace others: what makes no sense is
//! refused, and only that; after a refusal all is as before; otherwise ids, changes, fragments, values and who added
//! them are the model's.
#![cfg(feature = "config")]

#[path = "support/template_oracle.rs"]
mod template_oracle;

use proptest::prelude::*;
use proptest::sample::select;
use template_oracle::{CLASSES, Spec, check};

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
}
