//! `TemplateError`, `TemplateErrors`: what is wrong with templates, and where.

use core::fmt::{self, Write};
use std::path::PathBuf;

use crate::shown::shown_path;
use crate::template::TemplateFault;

/// A place in a file. Ordered by file, then by line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigPlace {
    /// The file's path, as it was given or found below the directory that was given; or the name of a text.
    pub file: PathBuf,
    /// The line, from 1 on; 0 if it is about the file as a whole.
    pub line: u32,
    /// The letter in the line, from 1 on; 0 if it is about the file as a whole.
    pub column: u32,
}

impl fmt::Display for ConfigPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown_path(&self.file))?;
        match self.line {
            0 => Ok(()),
            line => write!(f, ":{line}:{}", self.column),
        }
    }
}

/// Something is wrong with a template, or the file that it comes from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct TemplateError {
    /// Where it stands, if in a file.
    pub place: Option<ConfigPlace>,
    /// The id of the template that it is about, if that is not the config that stands there: a child, which lacks what
    /// the trait of a parent requires.
    pub template: Option<Box<str>>,
    /// What is wrong.
    pub fault: TemplateFault,
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = OneLine(f);
        match (&self.place, &self.template) {
            (Some(place), Some(child)) => write!(f, "{place}: {}, in `{child}`", self.fault),
            (Some(place), None) => write!(f, "{place}: {}", self.fault),
            (None, Some(template)) => write!(f, "template `{template}`: {}", self.fault),
            (None, None) => write!(f, "{}", self.fault),
        }
    }
}

/// Writes the ends of lines as escapes: names and messages may have some.
struct OneLine<'a, 'f>(&'a mut fmt::Formatter<'f>);

impl fmt::Write for OneLine<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|letter| match ends_line(letter) {
            true => write!(self.0, "{}", letter.escape_default()),
            false => self.0.write_char(letter),
        })
    }
}

/// Whether a line ends with this letter, for those that show it.
fn ends_line(letter: char) -> bool {
    matches!(
        letter,
        '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// All that is wrong, sorted by file and line: one at least. Nothing has changed then.
///
/// Shown, it has a line for each.
#[derive(Clone, PartialEq, Eq)]
pub struct TemplateErrors(Vec<TemplateError>);

impl TemplateErrors {
    /// Sorted, and each once: what is wrong with a parent is wrong with each of its children.
    pub(super) fn of(mut errors: Vec<TemplateError>) -> Result<(), Self> {
        if errors.is_empty() {
            return Ok(());
        }
        // Those of templates that stand in no file keep their order.
        errors.sort_by(|a, b| a.place.cmp(&b.place));
        let mut each: Vec<TemplateError> = Vec::with_capacity(errors.len());
        for error in errors {
            let again = |other: &TemplateError| error.place.is_some() && *other == error;
            let same_place = each.iter().rev().take_while(|e| e.place == error.place);
            if !same_place.into_iter().any(again) {
                each.push(error);
            }
        }
        Err(Self(each))
    }

    /// Each of them, sorted by file and line.
    #[must_use]
    pub fn as_slice(&self) -> &[TemplateError] {
        &self.0
    }

    /// Each of them, sorted by file and line.
    pub fn iter(&self) -> core::slice::Iter<'_, TemplateError> {
        self.0.iter()
    }

    /// How many there are; one at least.
    #[expect(clippy::len_without_is_empty, reason = "there is one at least")]
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// As it is shown: `fn main` prints what it returns so.
impl fmt::Debug for TemplateErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for TemplateErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, error) in self.0.iter().enumerate() {
            let line_end = if number > 0 { "\n" } else { "" };
            write!(f, "{line_end}{error}")?;
        }
        Ok(())
    }
}

impl core::error::Error for TemplateErrors {}

impl From<TemplateError> for TemplateErrors {
    fn from(error: TemplateError) -> Self {
        Self(vec![error])
    }
}

impl IntoIterator for TemplateErrors {
    type Item = TemplateError;
    type IntoIter = std::vec::IntoIter<TemplateError>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a TemplateErrors {
    type Item = &'a TemplateError;
    type IntoIter = core::slice::Iter<'a, TemplateError>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
