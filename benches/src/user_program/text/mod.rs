//! The program's text, for each store as its documentation writes it.

use std::fmt::Write as _;

use super::plan::{Kind, Plan, Query};
use super::store::Store;

mod bevy;
mod hecs;
mod megachunk;

/// What follows where a line is written: writing to a string cannot fail.
macro_rules! put {
    ($text:expr, $($format:tt)*) => {{
        let _ = writeln!($text, $($format)*);
    }};
}
use put;

/// The source of the program for `store`.
#[must_use]
pub(super) fn source(plan: &Plan, store: Store) -> String {
    let mut text = String::new();
    put!(
        text,
        "//! Written by `megachunk-benches program`: a program as users of {} have it.\n",
        store.name()
    );
    match store {
        Store::Megachunk => megachunk::write(&mut text, plan),
        Store::Hecs => hecs::write(&mut text, plan),
        Store::Bevy => bevy::write(&mut text, plan),
    }
    text
}

/// The fragments' types, each with `derive` before it, and a function for each kind of entities that gives one's values.
fn write_types(text: &mut String, plan: &Plan, derive: &str) {
    for (number, len) in plan.values() {
        put!(text, "{derive}struct F{number}([f32; {len}]);");
    }
    for number in plan.tags() {
        put!(text, "{derive}struct F{number};");
    }
    for kind in plan.kinds() {
        let types = list(kind.values.iter().map(|value| format!("F{value}")));
        put!(text, "\nfn kind_{}(n: u32) -> ({types}) {{", kind.number);
        let values = list(kind.values.iter().map(|&value| {
            let len = value % 4 + 1;
            format!("F{value}([(n % {}) as f32; {len}])", value % 5 + 2)
        }));
        put!(text, "    ({values})\n}}");
    }
}

/// What a query's loop does with the values of one entity, which are named by their fragments: `{ … }`'s inside.
fn step(query: &Query) -> String {
    let writes = query.writes;
    let terms = query.reads.iter().map(|read| format!("f{read}.0[0]"));
    let sum = terms.collect::<Vec<_>>().join(" + ");
    format!("f{writes}.0.iter_mut().for_each(|value| *value += {sum});")
}

/// What a query lends: `&mut F0, &F1`, each written by `lends` from its number.
fn lent(query: &Query) -> String {
    let reads = query.reads.iter().map(|read| format!("&F{read}"));
    let all = core::iter::once(format!("&mut F{}", query.writes)).chain(reads);
    list(all)
}

/// The names under which a loop has what its query lends: `f0, f1`, `mut` before the first where `binding` says so.
fn names(query: &Query, binding: &str) -> String {
    let reads = query.reads.iter().map(|read| format!("f{read}"));
    list(core::iter::once(format!("{binding}f{}", query.writes)).chain(reads))
}

/// The fragment of a kind that one of its entities loses, and the one that another has written.
fn changed(kind: &Kind) -> (usize, usize) {
    (kind.values[2], kind.values[0])
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_store_has_the_same_types_loops_and_systems() {
        let plan = Plan::new(16, 12, 6).unwrap();
        let sources = Store::ALL.map(|store| source(&plan, store));
        let count = |text: &str, what: &str| text.matches(what).count();
        for what in [
            "struct F",
            "fn kind_",
            "fn spawn_",
            "fn system_",
            ".for_each(|value| *value += ",
        ] {
            let counts = sources.each_ref().map(|text| count(text, what));
            assert!(
                counts[0] > 0 && counts.iter().all(|count| *count == counts[0]),
                "{what}: {counts:?}"
            );
        }
        assert_eq!(count(&sources[0], "fn system_"), 6);
        assert_eq!(count(&sources[0], ".for_each(|value| *value += "), 12);
    }

    #[test]
    fn brackets_close_and_the_same_plan_is_the_same_text() {
        let plan = Plan::new(40, 60, 30).unwrap();
        for store in Store::ALL {
            let text = source(&plan, store);
            assert_eq!(text, source(&plan, store));
            for (opens, closes) in [('{', '}'), ('(', ')'), ('[', ']')] {
                let open = text.matches(opens).count();
                assert_eq!(
                    open,
                    text.matches(closes).count(),
                    "{}: {opens}",
                    store.name()
                );
            }
            assert!(text.contains("fn main()"), "{}", store.name());
        }
    }
}
