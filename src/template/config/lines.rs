//! `Lines`: bytes of a text → lines and letters.

use core::cell::Cell;
use std::path::{Path, PathBuf};

use crate::template::{ConfigPlace, TemplateError, TemplateFault};

/// A text with its name, to say where something stands.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    file: &'a Path,
    text: &'a str,
    /// Where each line begins.
    starts: Vec<usize>,
    /// The byte that was asked for last, and its place: errors come in the order of the text, and a line may be long.
    last: Cell<(usize, usize, usize)>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(file: &'a Path, text: &'a str) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            file,
            text,
            starts: core::iter::once(0).chain(ends).collect(),
            last: Cell::new((0, 1, 1)),
        }
    }

    /// The line that a byte is in, as far as it is worth to look at, without the space before it.
    pub(super) fn line_of(&self, byte: usize) -> &'a str {
        const ENOUGH: usize = 100;
        let line = self.starts.partition_point(|&start| start <= byte);
        let start = self.starts[line - 1];
        let mut end = (start..=self.text.len().min(start + ENOUGH)).rev();
        let end = end.find(|&at| self.text.is_char_boundary(at));
        self.text[start..end.unwrap_or(start)].trim_start()
    }

    /// The place of a byte. O(log lines + letters since the byte that was asked for before).
    pub(super) fn place(&self, byte: usize) -> ConfigPlace {
        let byte = byte.min(self.text.len());
        let line = self.starts.partition_point(|&start| start <= byte);
        let (last, last_line, last_column) = self.last.get();
        let (from, before) = if last_line == line && last <= byte {
            (last, last_column)
        } else {
            (self.starts[line - 1], 1)
        };
        let bytes = self.text.as_bytes()[from..byte].iter();
        // Bytes that begin a letter.
        let letters = bytes.filter(|&&byte| byte & 0xc0 != 0x80).count();
        let column = before + letters;
        self.last.set((byte, line, column));
        ConfigPlace {
            file: PathBuf::from(self.file),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }

    pub(super) fn error(&self, byte: usize, fault: TemplateFault) -> TemplateError {
        TemplateError {
            place: Some(self.place(byte)),
            template: None,
            fault,
        }
    }
}

/// An error about a file as a whole.
pub(super) fn about_file(file: &Path, fault: TemplateFault) -> TemplateError {
    TemplateError {
        place: Some(ConfigPlace {
            file: file.into(),
            line: 0,
            column: 0,
        }),
        template: None,
        fault,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_letters_and_not_bytes() {
        let lines = Lines::new(Path::new("a"), "äö\n\nx");
        let place = |byte| {
            let place = lines.place(byte);
            (place.line, place.column)
        };
        assert_eq!([place(0), place(2), place(4)], [(1, 1), (1, 2), (1, 3)]);
        assert_eq!([place(5), place(6), place(99)], [(2, 1), (3, 1), (3, 2)]);
        assert_eq!([place(2), place(0), place(4)], [(1, 2), (1, 1), (1, 3)]);
    }
}
