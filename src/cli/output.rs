//! Standard output and standard error, as a program should use them: whoever reads them may stop.

use std::io::{ErrorKind, Write};
use std::path::Path;

use comfy_table::{Table, TableComponent, presets};

use super::CliError;
use super::bar::above;

/// A table as the terminal shows it: a line under the header, nothing else.
pub(super) fn plain_table() -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_style(TableComponent::HeaderLines, '─')
        .set_style(TableComponent::MiddleHeaderIntersections, '─');
    table
}

/// The path of a file as it is told on a terminal: in one line, whole, with what is not to be seen, or changes how the
/// rest is seen, escaped. O(its characters).
///
/// ```
/// use megachunk::cli::shown_path;
///
/// assert_eq!(shown_path("saved games/one.mega"), "saved games/one.mega");
/// assert_eq!(shown_path("\x1b[2Jone\n"), r"\u{1b}[2Jone\n");
/// ```
pub fn shown_path(path: impl AsRef<Path>) -> String {
    crate::shown::shown_path(path)
}

/// Writes `text` to standard output. Whoever reads it may stop reading (`| head`): no error.
pub(super) fn show(text: &str) -> Result<(), CliError> {
    show_with(|output| output.write_all(text.as_bytes()))
}

/// [`show`] for what need not be text: whatever `write` writes.
pub(super) fn show_with(
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), CliError> {
    let mut output = std::io::stdout().lock();
    match write(&mut output).and_then(|()| output.flush()) {
        Err(source) if source.kind() != ErrorKind::BrokenPipe => Err(CliError::File {
            argument: None,
            path: "standard output".into(),
            source,
        }),
        _ => Ok(()),
    }
}

/// Writes `text` to standard error, where nobody is left to be told if that fails.
pub(super) fn tell(text: &str) {
    let _ = above(|| std::io::stderr().lock().write_all(text.as_bytes()));
}

/// `text` as lines of so many characters at most, if no word is longer; those after the first one begin with so many
/// spaces. O(characters).
pub(super) fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let mut lines = String::with_capacity(text.len());
    let mut room = width;
    for word in text.split(' ') {
        let letters = word.chars().count();
        if lines.is_empty() {
            room = width.saturating_sub(letters);
        } else if letters < room {
            lines.push(' ');
            room -= letters + 1;
        } else {
            lines.push('\n');
            lines.extend(std::iter::repeat_n(' ', indent));
            room = width.saturating_sub(indent + letters);
        }
        lines.push_str(word);
    }
    lines
}

/// `1 thread`, `12,345 threads`.
pub(super) fn plural(count: usize, noun: &str) -> String {
    format!(
        "{} {noun}{}",
        grouped(count),
        if count == 1 { "" } else { "s" }
    )
}

/// `1234567` as `1,234,567`.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_drawn_with_a_line_under_its_header_and_no_other() {
        let mut table = plain_table();
        table.set_header(["a", "b"]).add_row(["1", "2"]);
        let text = table.to_string();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[1].chars().all(|one| one == '─'), "{text}");
        assert!(!text.contains(['+', '|', '-']), "{text}");
    }

    #[test]
    fn lines_are_broken_between_words() {
        for (text, width, expected) in [
            ("", 10, ""),
            ("one two", 7, "one two"),
            ("one two", 6, "one\n  two"),
            ("one two three", 7, "one two\n  three"),
            ("größer als", 10, "größer als"),
            ("longer than that", 4, "longer\n  than\n  that"),
        ] {
            assert_eq!(wrapped(text, width, 2), expected, "{text} in {width}");
        }
    }

    #[test]
    fn one_has_no_plural() {
        assert_eq!(plural(1, "object"), "1 object");
        assert_eq!(plural(1_234, "object"), "1,234 objects");
    }
}
