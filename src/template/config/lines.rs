//! `Lines`: bytes of a text → lines and letters.

use std::path::{Path, PathBuf};

use crate::template::{ConfigPlace, TemplateError, TemplateFault};

/// A text with its name, to say where something stands.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    file: &'a Path,
    text: &'a str,
    /// Where each line begins.
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(file: &'a Path, text: &'a str) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            file,
            text,
            starts: core::iter::once(0).chain(ends).collect(),
        }
    }

    /// The place of a byte. O(letters of the line + log lines).
    pub(super) fn place(&self, byte: usize) -> ConfigPlace {
        let byte = byte.min(self.text.len());
        let line = self.starts.partition_point(|&start| start <= byte);
        let before = self.text.as_bytes()[self.starts[line - 1]..byte].iter();
        // Bytes that begin a letter.
        let letters = before.filter(|&&byte| byte & 0xc0 != 0x80).count();
        ConfigPlace {
            file: PathBuf::from(self.file),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(letters + 1).unwrap_or(u32::MAX),
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
    }
}
