//! `Source`: where configs come from, and their texts.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::lines::{Lines, about_file};
use crate::template::{TemplateError, TemplateFault};

/// Bytes that a config can have: a thousand times what people write.
const LONGEST: u64 = 1 << 20;

/// Where configs come from.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Source {
    /// All files below it that end in `.toml`.
    Directory(PathBuf),
    File(PathBuf),
    /// A text with its name, which stands for a path.
    Text(PathBuf, Arc<str>),
}

/// The texts of sources while they are gathered, by their paths.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pub(super) texts: BTreeMap<PathBuf, Arc<str>>,
    /// One file under two paths is read once.
    known: std::collections::HashSet<PathBuf>,
    pub(super) errors: Vec<TemplateError>,
}

impl Texts {
    /// Reads all sources. O(bytes).
    pub(super) fn read(sources: &[Source], fresh: &[Source]) -> Self {
        let mut texts = Self::default();
        for source in sources {
            match source {
                Source::Directory(path) => texts.directory(path),
                // A file that was there, and is not, is a config that is gone.
                Source::File(path) => texts.file(path, fresh.contains(source)),
                Source::Text(name, text) => {
                    texts.texts.insert(name.clone(), Arc::clone(text));
                }
            }
        }
        texts
    }

    fn unreadable(&mut self, path: &Path, error: &io::Error) {
        let message = error.to_string().into();
        let fault = TemplateFault::Unreadable { message };
        self.errors.push(about_file(path, fault));
    }

    fn directory(&mut self, path: &Path) {
        match listed(path) {
            Err(error) => self.unreadable(path, &error),
            Ok((files, directories)) => {
                files.iter().for_each(|file| self.file(file, false));
                directories.iter().for_each(|below| self.directory(below));
            }
        }
    }

    fn file(&mut self, path: &Path, must_be_there: bool) {
        let one = fs::canonicalize(path).unwrap_or_else(|_| path.into());
        if !self.known.insert(one) {
            return;
        }
        match content(path) {
            Err(error) if error.kind() == ErrorKind::NotFound && !must_be_there => {}
            Err(error) => self.unreadable(path, &error),
            Ok(bytes) if bytes.len() as u64 > LONGEST => {
                let fault = TemplateFault::TooLong { limit: LONGEST };
                self.errors.push(about_file(path, fault));
            }
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => {
                    self.texts.insert(path.into(), text.into());
                }
                Err(error) => {
                    let valid = error.utf8_error().valid_up_to();
                    let bytes = &error.as_bytes()[..valid];
                    let before = core::str::from_utf8(bytes).unwrap_or_default();
                    let lines = Lines::new(path, before);
                    self.errors.push(lines.error(valid, TemplateFault::NotUtf8));
                }
            },
        }
    }
}

/// The configs in a directory, and the directories in it that are no links, each sorted by name. Hidden ones are
/// those of editors.
fn listed(path: &Path) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let (mut files, mut directories) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let is_config = path
            .extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("toml"));
        if entry.file_type()?.is_dir() {
            directories.push(path);
        } else if is_config {
            files.push(path);
        }
    }
    files.sort();
    directories.sort();
    Ok((files, directories))
}

/// The bytes of a file, one more than the limit at most.
fn content(path: &Path) -> io::Result<Vec<u8>> {
    // To open a pipe would wait for its other end.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("is not a file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?
        .take(LONGEST + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}
