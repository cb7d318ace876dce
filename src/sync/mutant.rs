//! Mutants: the faults that the models must find.
//!
//! A check that has never failed proves little. Each mutant is one small, well known way to get a
//! protocol wrong (a weaker ordering, a dropped recheck, a decision taken on the wrong word), put
//! in at the very spot where it would be made. The mutation gate of the package `loom-tests`
//! runs the models against each and fails if one survives.
//!
//! Protocol code asks `active` or `ordering` at the mutated spot. What must always hold: both
//! are constants in every build but the model checker's, so that the product carries no trace of
//! them; there the environment variable `MEGACHUNK_MUTANT` names the mutant, so that **one** build
//! serves all of them (a `cfg` per mutant would need one build each, some twenty minutes in all).
//! Every name used is listed in [`MUTANTS`], and the model checker panics at one that is not.

use super::atomic::Ordering;

/// Every mutant: its name, and what it breaks.
#[cfg(any(loom, feature = "probe"))]
pub const MUTANTS: &[(&str, &str)] = &[
    ("batch_no_generation", "as no_generation, in a batch"),
    (
        "bury_without_second_look",
        "an entity created while its phase was read is taken for condemned",
    ),
    (
        "claim_relaxed",
        "a claim does not see what the last owner of the slots did",
    ),
    (
        "kill_ignores_phase",
        "destroying looks at the version only: a double free succeeds twice",
    ),
    (
        "kill_relaxed",
        "destroying does not see the slot as the last destroyer left it",
    ),
    (
        "kill_release",
        "who sees a death does not see what the destroyer saw",
    ),
    (
        "no_full_scan",
        "\"full\" is reported on the word of the hints",
    ),
    (
        "no_generation",
        "a death leaves no trace in the group once its bit has flipped back",
    ),
    (
        "no_help",
        "a condemned entity is refused as dead while look-ups still find it alive",
    ),
    (
        "no_retire",
        "versions wrap: an old handle lives again (as published)",
    ),
    (
        "publish_by_store",
        "a place is stored, not compared and swapped: it can hit the next owner",
    ),
    (
        "publish_second_look",
        "a publish that took effect is refused if the entity died since",
    ),
    (
        "release_relaxed",
        "the next owner of a slot does not see what the last one did",
    ),
    (
        "summary_clear_one_level",
        "an opened child is not reported to the levels above",
    ),
    (
        "summary_clear_relaxed",
        "who sets a hint again does not see the child opened",
    ),
    (
        "summary_no_recheck",
        "a hint is set without a second look at the child (as published)",
    ),
    (
        "summary_set_relaxed",
        "the second look may see the child as it was before",
    ),
    (
        "summary_skip_if_clear",
        "an opener leaves a hint alone that looks clear",
    ),
];

/// Whether the fault `name` is in force.
#[cfg(not(loom))]
#[inline(always)]
#[must_use]
pub(crate) fn active(_name: &'static str) -> bool {
    false
}

/// Whether the fault `name` is in force.
#[cfg(loom)]
#[must_use]
pub(crate) fn active(name: &'static str) -> bool {
    // The façade's types would be part of the model; this choice is made before any model runs.
    static CHOSEN: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    assert!(
        MUTANTS.iter().any(|(listed, _)| *listed == name),
        "mutant `{name}` is used but not listed"
    );
    let chosen = CHOSEN.get_or_init(|| {
        let chosen = std::env::var("MEGACHUNK_MUTANT").ok()?;
        assert!(
            MUTANTS.iter().any(|(listed, _)| *listed == chosen),
            "MEGACHUNK_MUTANT names no mutant: `{chosen}`"
        );
        Some(chosen)
    });
    chosen.as_deref() == Some(name)
}

/// `sound`, or [`Ordering::Relaxed`] while the mutant `name` is in force.
#[inline(always)]
#[must_use]
pub(crate) fn ordering(name: &'static str, sound: Ordering) -> Ordering {
    if active(name) {
        Ordering::Relaxed
    } else {
        sound
    }
}
