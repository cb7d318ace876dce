//! `Lines`: the lines of a plain or gzip stream, one at a time, each numbered and bounded.

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

use super::members::Members;
use super::{TraceError, TraceFault};

/// The longest line that is read, its end included. An event takes 17 bytes at most, the format
/// line of version 1 has 90; a comment after the colon may be longer.
pub(super) const MAX_LINE: usize = 1_024;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The stream, its first two bytes read and put back in front.
type Whole<R> = Chain<Cursor<Vec<u8>>, R>;

enum Source<R: Read> {
    Plain(BufReader<Whole<R>>),
    Gzip(Box<BufReader<Members<BufReader<Whole<R>>>>>),
}

/// Reads a stream line by line into one buffer; knows which line it is at.
pub(super) struct Lines<'a, R: Read> {
    name: &'a str,
    source: Source<R>,
    line: Vec<u8>,
    number: u64,
}

impl<'a, R: Read> Lines<'a, R> {
    /// Looks at the first two bytes to see whether the stream is gzip.
    pub(super) fn new(name: &'a str, mut reader: R) -> Result<Self, TraceError> {
        let mut magic = Vec::with_capacity(2);
        let read = reader.by_ref().take(2).read_to_end(&mut magic);
        let gzip = magic == GZIP_MAGIC;
        let empty = magic.is_empty();
        let whole = Cursor::new(magic).chain(reader);
        let source = if gzip {
            let members = Members::new(BufReader::with_capacity(1 << 16, whole));
            Source::Gzip(Box::new(BufReader::with_capacity(1 << 16, members)))
        } else {
            Source::Plain(BufReader::with_capacity(1 << 16, whole))
        };
        let lines = Self {
            name,
            source,
            line: Vec::with_capacity(MAX_LINE),
            number: 1,
        };
        match read {
            Err(error) => Err(lines.fault(TraceFault::Unreadable(error.into()))),
            Ok(_) if empty => Err(lines.fault(TraceFault::Empty)),
            Ok(_) => Ok(Self { number: 0, ..lines }),
        }
    }

    /// The next line without its end, `\n` or `\r\n`; `None` at the end of the stream.
    pub(super) fn advance(&mut self) -> Result<Option<&[u8]>, TraceError> {
        self.line.clear();
        let limit = MAX_LINE as u64;
        let read = match &mut self.source {
            Source::Plain(source) => source.take(limit).read_until(b'\n', &mut self.line),
            Source::Gzip(source) => source.take(limit).read_until(b'\n', &mut self.line),
        };
        self.number += 1;
        if let Err(error) = read {
            return Err(self.read_fault(error));
        }
        match self.line.pop() {
            Some(b'\n') => Ok(Some(self.line.strip_suffix(b"\r").unwrap_or(&self.line))),
            Some(_) if self.line.len() + 1 == MAX_LINE => {
                Err(self.fault(TraceFault::LineTooLong { limit: MAX_LINE }))
            }
            Some(last) => {
                self.line.push(last);
                Err(self.fault(TraceFault::LineCutShort))
            }
            None => Ok(None),
        }
    }

    /// The line that [`advance`](Self::advance) gave last, or as much of it as could be read.
    pub(super) fn current(&self) -> &[u8] {
        &self.line
    }

    /// `fault`, found on the line that was read last.
    #[cold]
    pub(super) fn fault(&self, fault: TraceFault) -> TraceError {
        TraceError::Fault {
            file: self.name.to_owned(),
            line: self.number,
            fault,
        }
    }

    #[cold]
    fn read_fault(&self, error: io::Error) -> TraceError {
        let fault = match (&self.source, error.kind()) {
            (Source::Gzip(source), _) if source.get_ref().is_followed() => TraceFault::GzipFollowed,
            (Source::Gzip(_), io::ErrorKind::UnexpectedEof) => TraceFault::GzipCutShort,
            (Source::Gzip(_), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
                TraceFault::GzipDamaged(error.into())
            }
            _ => TraceFault::Unreadable(error.into()),
        };
        self.fault(fault)
    }
}

/// `line` for an error message: in quotes, escaped, at most 60 characters of it.
#[cold]
pub(super) fn printable(line: &[u8]) -> String {
    let shown = line.get(..60).unwrap_or(line);
    let rest = if shown.len() < line.len() { "…" } else { "" };
    format!("\"{}{rest}\"", shown.escape_ascii())
}
