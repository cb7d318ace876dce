//! The table of spans and events in the crate's documentation has all that the library says.

use crate::heard::Heard;

/// What is documented of spans and events: a row of the table in the crate's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    target: &'static str,
    level: &'static str,
    kind: &'static str,
    name: &'static str,
    fields: &'static str,
}

pub(crate) fn documented() -> Vec<Row> {
    let lines = include_str!("../../src/lib.rs").lines();
    let rows = lines.filter(|line| line.starts_with("//! | `megachunk::"));
    let row = |line: &'static str| {
        let mut cells = line
            .split('|')
            .skip(1)
            .map(|cell| cell.trim().trim_matches('`'));
        let mut next = || cells.next().expect("a row has five cells");
        Row {
            target: next(),
            level: next(),
            kind: next(),
            name: next(),
            fields: next(),
        }
    };
    rows.map(row).collect()
}

impl Row {
    fn has(self, field: &str) -> bool {
        let mut fields = self.fields.split(", ").map(|field| field.trim_matches('`'));
        field == "message" || fields.any(|known| known == field)
    }

    /// Whether this is what was heard, and has all of its fields.
    pub(crate) fn describes(self, heard: &Heard) -> bool {
        let metadata = heard.metadata;
        let kind = if metadata.is_span() { "span" } else { "event" };
        let level = metadata.level().as_str().to_lowercase();
        self.target == metadata.target()
            && (self.level, self.kind, self.name) == (&level, kind, metadata.name())
            && metadata.fields().iter().all(|field| self.has(field.name()))
    }
}

/// What the library's source says of its spans and events, without their fields.
fn said(folder: &std::path::Path, rows: &mut Vec<(String, String, String, String)>) {
    for entry in std::fs::read_dir(folder).expect("it is there") {
        let path = entry.expect("it is there").path();
        if path.is_dir() {
            // The program talks to people.
            if !path.ends_with("cli") {
                said(&path, rows);
            }
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("it is text");
        // Tests listen, and tell something.
        let text = text.split("#[cfg(all(test").next().expect("there is one");
        let text = text.split("#[cfg(test)]").next().expect("there is one");
        for (level, call) in text.split("tracing::").skip(1).filter_map(|rest| {
            let (call, rest) = rest.split_once("!(")?;
            call.bytes()
                .all(|letter| letter.is_ascii_lowercase() || letter == b'_')
                .then_some((call, rest))
        }) {
            let call: String = call.split_whitespace().collect::<Vec<_>>().join(" ");
            let row = read(level, &call);
            let row = row.unwrap_or_else(|| panic!("{}: {level}!({call:.80}", path.display()));
            rows.push(row);
        }
    }
}

/// Target, level, kind and name.
fn read(level: &str, call: &str) -> Option<(String, String, String, String)> {
    let quoted = |text: &str, before: &str| {
        let quoted = text.strip_prefix(before)?.strip_prefix('"')?;
        let (quoted, rest) = quoted.split_once('"')?;
        Some((quoted.to_owned(), rest.trim_start_matches(", ").to_owned()))
    };
    if let Some(level) = level.strip_suffix("_span") {
        let (target, mut rest) = quoted(call, "target: ")?;
        if rest.starts_with("parent: ") {
            rest = rest.split_once(", ")?.1.to_owned();
        }
        let (name, _) = quoted(&rest, "")?;
        return Some((target, level.into(), "span".into(), name));
    }
    let (name, rest) = quoted(call, "name: ")?;
    let (target, _) = quoted(&rest, "target: ")?;
    Some((target, level.into(), "event".into(), name))
}

#[test]
fn the_table_has_what_the_library_says_and_nothing_else() {
    let mut said_rows = Vec::new();
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    said(&source, &mut said_rows);
    said_rows.sort();
    said_rows.dedup();
    let mut table: Vec<_> = documented()
        .into_iter()
        .map(|row| (row.target, row.level, row.kind, row.name))
        .map(|(a, b, c, d)| (a.to_owned(), b.to_owned(), c.to_owned(), d.to_owned()))
        .collect();
    table.sort();
    assert_eq!(said_rows, table);
}
