//! Which model is expected to find which mutant: asked first, so that the gate is quick. If that
//! model does not, all others are asked.

/// Mutant, model.
pub(super) const EXPECTED: &[(&str, &str)] = &[
    (
        "batch_forgets_surplus",
        "entity_claims::a_batch_that_fails_leaves_nothing_alive_and_loses_nothing",
    ),
    (
        "batch_no_retire",
        "entity_retire::a_batch_of_last_versions_retires_their_slots",
    ),
];

#[cfg(test)]
mod tests {
    use megachunk::sync::mutant::MUTANTS;

    use super::*;

    #[test]
    fn every_mutant_that_is_expected_somewhere_is_listed() {
        for (mutant, model) in EXPECTED {
            assert!(
                MUTANTS.iter().any(|(listed, _)| listed == mutant),
                "{mutant}: {model}"
            );
        }
    }
}
