//! Standard output, as a program should use it.

use std::io::{ErrorKind, Write};

use super::CliError;

/// How tables look on the terminal: a line under the header, nothing else.
pub(super) const PLAIN_TABLE: &str = "     ─            ";

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
