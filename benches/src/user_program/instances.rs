//! What the compiler makes of generic functions for a program: the functions of its crate, as LLVM is given them.
//!
//! Counted without optimisations and in one part, so that the same compiler makes the same of the same sources on every
//! machine.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};

use megachunk::cli::{CliError, shown_path};

use super::package::Package;

/// The functions of a program's crate.
#[derive(Debug, Default)]
pub(super) struct Instances {
    /// By their names without what they are generic over: how many there are, and the lines of all of them.
    by_name: HashMap<String, Made>,
}

/// How many functions there are, and lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) functions: usize,
    pub(super) lines: usize,
}

impl Instances {
    /// Those of a package.
    ///
    /// # Errors
    /// Cargo fails, or the system.
    pub(super) fn of(package: &Package) -> Result<Self, CliError> {
        let path = package.instances();
        // Whatever was there: cargo does not say whether it has done something.
        let _ = fs::remove_file(&path);
        package.touch()?;
        let mut rustc = package.cargo("rustc");
        // Debug information is not counted, and takes long.
        rustc.env("CARGO_PROFILE_DEV_DEBUG", "0");
        rustc.args(["--", "-Ccodegen-units=1"]);
        rustc.arg(format!("--emit=llvm-ir={}", path.display()));
        package.run(&mut rustc)?;
        let read = fs::File::open(&path).and_then(|file| Self::read(BufReader::new(file)));
        let read =
            read.map_err(|error| CliError::Failed(format!("{}: {error}", shown_path(&path))));
        let _ = fs::remove_file(&path);
        read
    }

    /// Those in LLVM's text: each is told in a comment before it begins with `define`.
    fn read(text: impl BufRead) -> std::io::Result<Self> {
        let mut all = Self::default();
        let mut name = String::new();
        let mut lines_of_one = None;
        for line in text.split(b'\n') {
            let line = line?;
            match (&mut lines_of_one, &line[..]) {
                (Some(lines), line) => {
                    *lines += 1;
                    if line.starts_with(b"}") {
                        let made = all.by_name.entry(core::mem::take(&mut name)).or_default();
                        made.functions += 1;
                        made.lines += *lines;
                        lines_of_one = None;
                    }
                }
                (None, line) if line.starts_with(b"define ") => lines_of_one = Some(1),
                (None, line) => {
                    let said = line.strip_prefix(b"; ");
                    if let Some(said) = said.filter(|said| !said.starts_with(b"Function Attrs")) {
                        name = String::from_utf8_lossy(said).into_owned();
                    }
                }
            }
        }
        Ok(all)
    }

    pub(super) fn total(&self) -> Made {
        let mut total = Made::default();
        for made in self.by_name.values() {
            total.functions += made.functions;
            total.lines += made.lines;
        }
        total
    }

    /// Those with the most lines, the first so many.
    pub(super) fn most(&self, count: usize) -> Vec<(&str, Made)> {
        let mut all: Vec<(&str, Made)> = self
            .by_name
            .iter()
            .map(|(name, made)| (&**name, *made))
            .collect();
        all.sort_unstable_by_key(|&(name, made)| (core::cmp::Reverse(made.lines), name));
        all.truncate(count);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_counted_by_their_names_with_their_lines() {
        let text = "\
; <a::B as c::D>::e
; Function Attrs: nonlazybind
define internal void @_ZN1() {
start:
  ret void
}

; f::g
define void @_ZN2() {
}
; f::g
define void @_ZN3() {
  ret void
}
declare void @_ZN4()
";
        let all = Instances::read(text.as_bytes()).unwrap();
        assert_eq!(
            all.total(),
            Made {
                functions: 3,
                lines: 9
            }
        );
        let made = [(
            "f::g",
            Made {
                functions: 2,
                lines: 5,
            },
        )];
        assert_eq!(all.most(1), made, "more lines in two than in one of four");
        assert_eq!(
            all.most(9)[1].1,
            Made {
                functions: 1,
                lines: 4
            }
        );
    }
}
