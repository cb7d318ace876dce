//! Standard output, as a program should use it.

use std::io::{ErrorKind, Write};

use comfy_table::{Table, TableComponent, presets};

use super::CliError;

/// A table as the terminal shows it: a line under the header, nothing else.
pub(super) fn plain_table() -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_style(TableComponent::HeaderLines, '─')
        .set_style(TableComponent::MiddleHeaderIntersections, '─');
    table
}

/// Writes `text` to standard output. Whoever reads it may stop reading (`| head`): no error.
pub(super) fn show(text: &str) -> Result<(), CliError> {
    let mut output = std::io::stdout().lock();
    match output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
    {
        Err(source) if source.kind() != ErrorKind::BrokenPipe => Err(CliError::File {
            path: "standard output".into(),
            source,
        }),
        _ => Ok(()),
    }
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
