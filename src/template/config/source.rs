//! `Source`: where configs come from, and their texts.

use core::mem::{Discriminant, discriminant};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::lines::{Lines, about_file};
use smallvec::SmallVec;

use crate::file_bytes;
use crate::template::{TemplateError, TemplateFault};

/// Bytes that a config can have: a thousand times what people write.
const LONGEST: u64 = 1 << 20;

/// Where configs come from.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// All files below it that end in `.toml`, in small or large letters.
    Directory(PathBuf),
    File(PathBuf),
    /// A text with its name, which stands for a path.
    Text(PathBuf, Arc<str>),
}

/// Sources by their numbers, in the order in which they were loaded first. A number stays as long as its source does.
pub(super) type Sources = BTreeMap<usize, Source>;

impl Source {
    /// The directory, the file, or the name of the text.
    pub(super) fn path(&self) -> &Path {
        let (Self::Directory(path) | Self::File(path) | Self::Text(path, _)) = self;
        path
    }

    /// What a source is known by: one that is loaded again takes the place of that with the same.
    pub(super) fn key(&self) -> (Discriminant<Self>, PathBuf) {
        (discriminant(self), self.path().into())
    }
}

/// By what a text is found again: the path, and whether it is only a name.
pub(super) type TextKey = (PathBuf, bool);

/// A text, and the numbers of the sources that it is of, each once: a file may be one by itself, and lie in a directory
/// that is one.
#[derive(Clone, Debug)]
pub(super) struct SourceText {
    pub(super) text: Arc<str>,
    pub(super) sources: SmallVec<[usize; 2]>,
}

impl SourceText {
    fn is_of(&mut self, source: usize) {
        if !self.sources.contains(&source) {
            self.sources.push(source);
        }
    }
}

/// The texts of sources while they are gathered.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pub(super) texts: BTreeMap<TextKey, SourceText>,
    /// One file under two paths is read once, under the first of them.
    known: HashMap<PathBuf, PathBuf>,
    pub(super) errors: Vec<TemplateError>,
    /// Of the source that is read now.
    source: usize,
}

impl Texts {
    /// Takes a text over as it is; if its file has been read, as it is now, and under the path that it had.
    pub(super) fn keep(&mut self, key: TextKey, mut text: SourceText) {
        if !key.1
            && let Some(path) = self.known.get(&one_path(&key.0))
        {
            let Some(read) = self.texts.remove(&(path.clone(), false)) else {
                return;
            };
            text.text = read.text;
            read.sources.into_iter().for_each(|read| text.is_of(read));
        }
        self.texts.entry(key).or_insert(text);
    }

    /// Reads a source, which has this number. O(bytes).
    pub(super) fn read(&mut self, number: usize, source: &Source, must_be_there: bool) {
        self.source = number;
        match source {
            Source::Directory(path) => self.directory(path, must_be_there),
            Source::File(path) => self.file(path, must_be_there),
            Source::Text(name, text) => self.found(name, true, Arc::clone(text)),
        }
    }

    fn found(&mut self, path: &Path, is_text: bool, text: Arc<str>) {
        let sources = SmallVec::from_slice(&[self.source]);
        let text = SourceText { text, sources };
        self.texts.insert((path.into(), is_text), text);
    }

    fn unreadable(&mut self, path: &Path, error: io::Error) {
        let error = error.into();
        let fault = TemplateFault::Unreadable { error };
        self.errors.push(about_file(path, fault));
    }

    fn directory(&mut self, path: &Path, must_be_there: bool) {
        match listed(path) {
            Err(error) if error.kind() == ErrorKind::NotFound && !must_be_there => {}
            Err(error) => self.unreadable(path, error),
            Ok((files, directories)) => {
                files.iter().for_each(|file| self.file(file, false));
                for below in &directories {
                    self.directory(below, false);
                }
            }
        }
    }

    fn file(&mut self, path: &Path, must_be_there: bool) {
        match self.known.entry(one_path(path)) {
            Entry::Occupied(known) => {
                if let Some(text) = self.texts.get_mut(&(known.get().clone(), false)) {
                    text.is_of(self.source);
                }
                return;
            }
            Entry::Vacant(unknown) => unknown.insert(path.into()),
        };
        match file_bytes::read(path, LONGEST) {
            Err(error) if error.kind() == ErrorKind::NotFound && !must_be_there => {}
            Err(error) => self.unreadable(path, error),
            Ok(None) => {
                let fault = TemplateFault::TooLong { limit: LONGEST };
                self.errors.push(about_file(path, fault));
            }
            Ok(Some(bytes)) => match String::from_utf8(bytes) {
                Ok(text) => self.found(path, false, text.into()),
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

/// The path of a file that is one for all its paths, if it is there.
pub(super) fn one_path(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.into())
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
        } else if is_config && !path.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    directories.sort();
    Ok((files, directories))
}
