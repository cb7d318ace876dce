//! What stands at the end of each `--help`: examples, and with which code the program ends.

/// Of the program.
pub(super) const EXIT_CODES: &str = "\
Exit codes: 0, all is well; 1, something failed, and standard error says what; 2, an argument is wrong; 130, the run was \
interrupted (Ctrl-C, SIGTERM), and what there was until then is shown and written.
RUST_LOG says what the library tells on standard error [default: warn]. Where TERM is dumb or unset, how far a run is \
comes in lines, in place of a line that changes; NO_COLOR, set to anything, keeps colours away.";

/// `text`, and the exit codes after it.
fn with_codes(text: &str) -> String {
    format!("{text}\n\n{EXIT_CODES}")
}

/// Of `bench`.
pub(super) fn bench() -> String {
    with_codes(
        "\
Examples:
  megachunk bench --quick --filter '^(pair|chunk_pair)$'
  megachunk bench --threads 8, --contenders naive,megachunk --json bench.json",
    )
}

/// Of `ecs`.
pub(super) fn ecs() -> String {
    with_codes(
        "\
Examples:
  megachunk ecs --quick --filter '^simple_'
  megachunk ecs --list",
    )
}

/// Of `replay`.
pub(super) fn replay() -> String {
    with_codes(
        "\
Examples:
  megachunk replay own.trace.gz --verify --json own.json
  megachunk replay gcc --events 50000..100000 --save part.trace.gz

A trace is text, plain or gzip: two lines that say what it is, then one event a line, THREAD OP OBJECT, in one order that \
really happened. + creates the object, - destroys it:

  # entity-trace 1: one event a line
  # threads=2 events=3 created=2 peak_live=2 destroyed_by_another_thread=1
  0 + 0
  1 + 1
  1 - 0

Threads and objects are numbered from 0, objects in the order of their creation. Each object is destroyed once at most; \
those that still live at the end never are. The second line counts what follows.",
    )
}

/// Of `check`.
pub(super) fn check() -> String {
    with_codes(
        "\
Examples:
  megachunk check --quick --only stall,histories
  megachunk check --only fuzz --fuzz 60 --json fuzz.json",
    )
}

/// Of `map`.
pub(super) fn map() -> String {
    with_codes(
        "\
Examples:
  megachunk map gcc --at peak --svg gcc.svg
  megachunk map --world churned --size 20000",
    )
}

/// Of `snapshot`.
pub(super) fn snapshot() -> String {
    with_codes(
        "\
Examples:
  megachunk snapshot saved.mega
  megachunk snapshot mine.mega theirs.mega --most 100 --json differences.json

The types of a game are not known here: entities are compared by their handles, fragments by name, role and size, values \
by their bytes. Two files that differ end it with 1, as one does that is damaged or no snapshot.",
    )
}

/// Of `city`.
pub(super) fn city() -> String {
    with_codes(
        "\
Examples:
  megachunk city data/maps/monaco.osm.pbf --png city.png
  megachunk city data/maps/andorra.osm.pbf --agents 200000 --seconds 60 --check --json city.json",
    )
}
