//! Writing a trace: the same bytes that [`Trace::from_reader`] reads.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use flate2::{Compression, GzBuilder};

use super::Trace;
use crate::whole_file;

impl Trace {
    /// Writes the trace as text. Reading it gives an equal trace.
    ///
    /// # Errors
    /// What `writer` says.
    pub fn to_writer(&self, mut writer: impl Write) -> io::Result<()> {
        let summary = self.summary();
        writeln!(
            writer,
            "# entity-trace 1: one event a line: THREAD OP OBJECT; \
             OP + creates OBJECT, - destroys it"
        )?;
        writeln!(
            writer,
            "# threads={} events={} created={} peak_live={} destroyed_by_another_thread={}",
            summary.threads,
            summary.events,
            summary.created,
            summary.peak_live,
            summary.destroyed_by_another_thread
        )?;
        for (thread, event) in self.events() {
            let operation = if event.is_create() { '+' } else { '-' };
            writeln!(writer, "{thread} {operation} {}", event.object())?;
        }
        writer.flush()
    }

    /// Writes the trace to the file `path`, gzip where its name ends in `.gz`. Equal traces give
    /// equal bytes: no time and no name is stored. A file that is there is replaced when all is
    /// written, and is as it was if that fails; a device or a pipe is written to.
    ///
    /// # Errors
    /// What the system says.
    pub fn save(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref();
        let gzip = is_gzip(path);
        match fs::metadata(path) {
            Ok(there) if !there.is_file() => {
                self.write(OpenOptions::new().write(true).open(path)?, gzip)
            }
            _ => whole_file::replace(path, |file| self.write(file, gzip)),
        }
    }

    /// Writes the trace as [`save`](Self::save) does, whatever `out` is.
    pub(crate) fn write(&self, out: impl Write, gzip: bool) -> io::Result<()> {
        let out = BufWriter::new(out);
        if gzip {
            let mut gzip = GzBuilder::new().write(out, Compression::best());
            self.to_writer(&mut gzip)?;
            gzip.finish()?.flush()
        } else {
            self.to_writer(out)
        }
    }
}

/// Whether a trace of this name is gzip.
pub(crate) fn is_gzip(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}
