//! Which model is expected to find which mutant: asked first, so that the gate is quick. If that
//! model does not, all others are asked.

/// Mutant, model.
pub(super) const EXPECTED: &[(&str, &str)] = &[];

#[cfg(test)]
mod tests {
    use megachunk::sync::mutant::MUTANTS;

    use super::*;

    #[test]
    fn every_mutant_has_one_model_that_is_asked_first() {
        let mutants: Vec<&str> = MUTANTS.iter().map(|(mutant, _)| *mutant).collect();
        let expected: Vec<&str> = EXPECTED.iter().map(|(mutant, _)| *mutant).collect();
        assert_eq!(expected, mutants);
    }
}
