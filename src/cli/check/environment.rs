//! What the environment makes the checks do less of: a record of such a run would claim too much.

/// With which value of a variable less is checked.
enum Weaker {
    /// With any.
    Always,
    /// With a number below the usual one.
    Below(u64),
}

/// The variables, of `loom-tests` but for one, that can make a run check less. (Those of histories are set by `check` itself, and
/// `MEGACHUNK_LOOM_BOUND` and `MEGACHUNK_LOOM_DEEPER` only add.)
const VARIABLES: [(&str, Weaker); 6] = [
    ("MEGACHUNK_LOOM_QUICK", Weaker::Always),
    ("MEGACHUNK_MUTANT", Weaker::Always),
    (super::part::VARIABLE, Weaker::Always),
    ("MEGACHUNK_SCHEDULE", Weaker::Always),
    // `SCHEDULES` in `schedules/mod.rs`.
    ("MEGACHUNK_SCHEDULES", Weaker::Below(500)),
    // `PRODUCT` in `tests/stall.rs`.
    ("MEGACHUNK_STALL_POINTS", Weaker::Below(400)),
];

/// What of the environment, as `variable` gives it, makes the checks weaker: `NAME=VALUE` of each.
pub(super) fn weakening(variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let set = VARIABLES
        .iter()
        .filter_map(|(name, weaker)| Some((name, weaker, variable(name)?)));
    let weakens = |(_, weaker, value): &(_, &Weaker, String)| match weaker {
        Weaker::Always => true,
        // What is no number ends the check anyhow.
        Weaker::Below(usual) => value.parse().map_or(true, |value: u64| value < *usual),
    };
    let weakening = set.filter(weakens);
    weakening
        .map(|(name, _, value)| format!("{name}={value}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_makes_a_run_check_less_weakens_it() {
        for (name, value, weakens) in [
            ("MEGACHUNK_LOOM_QUICK", "1", true),
            ("MEGACHUNK_PART", "1/3", true),
            ("MEGACHUNK_STALL_POINTS", "399", true),
            ("MEGACHUNK_STALL_POINTS", "400", false),
            ("MEGACHUNK_SCHEDULES", "20", true),
            ("MEGACHUNK_SCHEDULES", "100000", false),
            ("MEGACHUNK_LOOM_BOUND", "4", false),
            ("MEGACHUNK_HISTORY_SEED", "7", false),
        ] {
            let variable = |asked: &str| (asked == name).then(|| value.to_owned());
            let found = weakening(variable);
            let expected = weakens.then(|| format!("{name}={value}"));
            assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
        }
    }
}
