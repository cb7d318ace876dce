//! A part of the mutants and of what fuzz targets begin with: whoever checks often takes another part each time.

use std::env::{self, VarError};
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::cli::CliError;

/// `K/N`: of what is numbered from 0, those that leave K - 1 where they are divided by N.
pub(super) const VARIABLE: &str = "MEGACHUNK_PART";

/// Who has no more begins with all: they take no time.
const FEW: usize = 32;

/// Which part of how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    number: usize,
    of: usize,
}

impl Part {
    /// What the environment asks for.
    ///
    /// # Errors
    /// Where that is no part.
    pub(super) fn asked() -> Result<Option<Self>, CliError> {
        let text = match env::var(VARIABLE) {
            Ok(text) => text,
            Err(VarError::NotPresent) => return Ok(None),
            Err(VarError::NotUnicode(text)) => text.to_string_lossy().into(),
        };
        let part = Self::parse(&text).ok_or_else(|| CliError::BadArgument {
            argument: VARIABLE.to_owned(),
            reason: format!("`{text}` is no K/N, as in 1/3"),
        });
        part.map(Some)
    }

    fn parse(text: &str) -> Option<Self> {
        let (number, of) = text.split_once('/')?;
        let (number, of) = (number.parse().ok()?, of.parse().ok()?);
        (1..=of).contains(&number).then_some(Self { number, of })
    }

    /// Whether it is one of the part.
    fn has(self, number: usize) -> bool {
        number % self.of + 1 == self.number
    }

    /// A folder under `root` with this part of a corpus, copied, if it is one of more than a few: `corpus` otherwise.
    ///
    /// # Errors
    /// Where it cannot be read, or copied.
    pub(super) fn of_corpus(self, root: &Path, corpus: &str) -> Result<String, CliError> {
        self.copy(root, corpus).map_err(|source| CliError::File {
            argument: None,
            path: root.join(corpus),
            source,
        })
    }

    fn copy(self, root: &Path, corpus: &str) -> io::Result<String> {
        let files = fs::read_dir(root.join(corpus))?;
        let files: io::Result<Vec<PathBuf>> =
            files.map(|file| file.map(|file| file.path())).collect();
        let mut files = files?;
        if files.len() <= FEW {
            return Ok(corpus.to_owned());
        }
        files.sort_unstable();
        let folder = format!("target/fuzz-part/{corpus}");
        match fs::remove_dir_all(root.join(&folder)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => fs::create_dir_all(root.join(&folder))?,
        }
        for (number, file) in files.iter().enumerate() {
            if let Some(name) = file.file_name().filter(|_| self.has(number)) {
                fs::copy(file, root.join(&folder).join(name))?;
            }
        }
        Ok(folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_each_number_once() {
        let parts: Vec<Part> = ["1/3", "2/3", "3/3"]
            .map(|text| Part::parse(text).unwrap())
            .into();
        for number in 0..10 {
            assert_eq!(parts.iter().filter(|part| part.has(number)).count(), 1);
        }
        for text in ["", "1", "0/3", "4/3", "1/0", "a/b", "-1/3"] {
            assert_eq!(Part::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_large_corpus_is_parted_and_a_small_one_is_not() {
        let root = std::env::temp_dir().join(format!("megachunk-part-{}", std::process::id()));
        for (name, files) in [("large", 40), ("small", 3)] {
            fs::create_dir_all(root.join(name)).unwrap();
            for file in 0..files {
                fs::write(root.join(name).join(format!("seed-{file}")), name).unwrap();
            }
        }
        let part = |text: &str, corpus: &str| {
            let folder = Part::parse(text).unwrap().of_corpus(&root, corpus).unwrap();
            let files = fs::read_dir(root.join(&folder)).unwrap();
            (
                files
                    .map(|file| file.unwrap().file_name())
                    .collect::<Vec<_>>(),
                folder,
            )
        };
        let mut all = Vec::new();
        for text in ["1/3", "2/3", "3/3"] {
            // Nothing of the part before is left there.
            let (files, folder) = part(text, "large");
            assert_eq!(
                (files.len() / 13, folder.as_str()),
                (1, "target/fuzz-part/large")
            );
            all.extend(files);
            assert_eq!(part(text, "small").0.len(), 3);
        }
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 40);
        fs::remove_dir_all(&root).unwrap();
    }
}
