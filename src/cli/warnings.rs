//! What the library says through `tracing`, on standard error: warnings and errors, or what `RUST_LOG` asks for.

use std::io::{self, IsTerminal, Write};

use tracing_subscriber::EnvFilter;

use super::bar::above;
use super::map::wants_colour;
use super::output::tell;

/// Shows the warnings of the library from now on, unless somebody listens already.
pub fn show_warnings() {
    let filter = match std::env::var("RUST_LOG") {
        Ok(wanted) if !wanted.is_empty() => EnvFilter::try_new(&wanted).unwrap_or_else(|error| {
            tell(&format!(
                "RUST_LOG: {error}; warnings are shown, and no more\n"
            ));
            EnvFilter::new("warn")
        }),
        _ => EnvFilter::new("warn"),
    };
    let colours = io::stderr().is_terminal() && wants_colour(|name| std::env::var_os(name));
    // Who has set one already keeps it.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| Above)
        .with_ansi(colours)
        .with_target(false)
        .without_time()
        .try_init();
}

/// Standard error, where nobody is left to be told if that fails.
struct Above;

impl Write for Above {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = above(|| io::stderr().lock().write_all(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
