//! `Destination`: where a subcommand's results go, opened before anybody works for them.
//!
//! A file, or standard output where the path is `-`. What must hold: a file that is there keeps its
//! contents until the results are written; one that was not there is there only once they are, also if
//! the program is ended before. Only where no other file can be put beside it, or in its place, is it written
//! to as it lies: then it is empty first, and what a program that is ended, or a full disk, leaves of it is a part.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

use super::CliError;
use super::output::{show, show_with, shown_path, tell};
use crate::whole_file::{self, FileFault, FileStep};

/// Whether `path` means standard output, or input where something is read.
pub(super) fn is_standard_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Whether `path` is the file or pipe that standard output goes to, by whatever name. (Of a device nothing is lost if
/// several write to it.)
#[cfg(unix)]
fn is_own_output(path: &Path) -> bool {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let (Ok(there), Ok(output)) = (fs::metadata(path), fs::metadata("/dev/stdout")) else {
        return false;
    };
    let is_device = there.file_type().is_char_device();
    !is_device && (there.dev(), there.ino()) == (output.dev(), output.ino())
}

#[cfg(not(unix))]
fn is_own_output(_: &Path) -> bool {
    false
}

/// A file for results, or standard output.
#[derive(Debug)]
pub struct Destination<'a> {
    /// The argument that names it.
    argument: &'a str,
    path: &'a Path,
    target: Target,
}

#[derive(Debug)]
enum Target {
    Output,
    /// A file, by the name to which all links lead; whether it was there or not, it could be written a moment ago.
    File(PathBuf),
    /// A device or a pipe.
    Stream(File),
}

impl<'a> Destination<'a> {
    /// Opens all that are wanted, each with the argument that names it, or creates none. `inputs` are the files that
    /// the subcommand reads.
    ///
    /// # Errors
    /// A file cannot be written, two results would be mixed on standard output, or one would replace an input.
    pub fn open_all<const N: usize>(
        paths: [(&'a str, Option<&'a Path>); N],
        inputs: &[PathBuf],
    ) -> Result<[Option<Self>; N], CliError> {
        let mut opened = [const { None }; N];
        for (destination, (argument, path)) in opened.iter_mut().zip(paths) {
            *destination = path.map(|path| Self::open(argument, path)).transpose()?;
            let replaces =
                |input: &&PathBuf| destination.as_ref().is_some_and(|one| one.replaces(input));
            if let Some(input) = inputs.iter().find(replaces) {
                return Err(CliError::BadArgument {
                    argument: argument.into(),
                    reason: format!("{} is a file that is read", shown_path(input)),
                });
            }
        }
        for (at, one) in opened.iter().flatten().enumerate() {
            let mut others = opened.iter().flatten().skip(at + 1);
            if let Some(two) = others.find(|two: &&Self| one.is(two)) {
                let place = match &one.target {
                    Target::Output => "standard output",
                    _ => "a file",
                };
                return Err(CliError::BadArgument {
                    argument: two.argument.into(),
                    reason: format!(
                        "only one result can go to {place}; {} goes to {}",
                        one.argument,
                        shown_path(one.path)
                    ),
                });
            }
        }
        Ok(opened)
    }

    /// Whether two results would go to one place where the second would replace the first, or be mixed with it.
    fn is(&self, other: &Self) -> bool {
        match (&self.target, &other.target) {
            (Target::Output, Target::Output) => true,
            (Target::File(one), Target::File(two)) => one == two,
            _ => false,
        }
    }

    /// Whether writing would replace what is in this file; `-` is that from which standard input comes.
    fn replaces(&self, path: &Path) -> bool {
        let Target::File(target) = &self.target else {
            return false;
        };
        let path = match is_standard_stream(path) {
            true => Path::new("/dev/stdin"),
            false => path,
        };
        fs::canonicalize(path).is_ok_and(|path| path == *target)
    }

    fn open(argument: &'a str, path: &'a Path) -> Result<Self, CliError> {
        let opened = |path: &Path| {
            if is_standard_stream(path) || is_own_output(path) {
                return Ok(Target::Output);
            }
            // By its own name: the link to a pipe in /proc leads to no name.
            if fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
                let stream = OpenOptions::new().write(true).open(path);
                return stream.map(Target::Stream);
            }
            let target = whole_file::followed(path)?;
            let place = match OpenOptions::new().write(true).open(&target) {
                Ok(_) => fs::canonicalize(&target),
                Err(error) if error.kind() == ErrorKind::NotFound => whole_file::place(&target),
                Err(error) => Err(error),
            };
            place.map(Target::File)
        };
        match opened(path) {
            Ok(target) => Ok(Self {
                argument,
                path,
                target,
            }),
            Err(source) => Err(CliError::File {
                argument: Some(argument.into()),
                path: path.into(),
                source,
            }),
        }
    }

    /// How it was named.
    pub(super) fn path(&self) -> &'a Path {
        self.path
    }

    /// Whether a file is there afterwards: not standard output, no device, and no pipe.
    pub(super) fn is_file(&self) -> bool {
        matches!(self.target, Target::File(_))
    }

    /// Replaces what is there with `text`.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(self, text: &str) -> Result<(), CliError> {
        self.write_with(|writer| writer.write_all(text.as_bytes()))
    }

    /// Replaces what is there with what `write` writes, which may be called a second time.
    ///
    /// # Errors
    /// What the system says.
    pub fn write_with(
        self,
        write: impl Fn(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CliError> {
        let written = match self.target {
            Target::Output => return show_with(write),
            Target::File(path) => match whole_file::replace_by_steps(&path, |file| write(file)) {
                Err(fault) if may_take_it_as_it_lies(&fault) => {
                    File::create(&path).and_then(|mut file| write(&mut file))
                }
                replaced => replaced.map_err(|fault| fault.error),
            },
            Target::Stream(mut file) => write(&mut file),
        };
        written.map_err(|source| CliError::File {
            argument: Some(self.argument.into()),
            path: self.path.into(),
            source,
        })
    }
}

/// Whether a file that could be opened may still take what could not be put in its place. The folder may be for reading
/// only, or it is a mount of its own, as containers have; which errors say so depends on the system. Where the disk is full
/// it keeps what is in it: emptied, it may not find that room again.
fn may_take_it_as_it_lies(fault: &FileFault) -> bool {
    let is_full = matches!(
        fault.error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    );
    matches!(fault.step, FileStep::CreateBeside | FileStep::Rename) && !is_full
}

/// Where a person reads on: standard output, unless results for a program go there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

impl Screen {
    /// The screen that leaves room for `results`.
    #[must_use]
    pub fn beside<'a>(results: impl IntoIterator<Item = &'a Option<Destination<'a>>>) -> Self {
        let mut results = results.into_iter().flatten();
        if results.any(|result| matches!(result.target, Target::Output)) {
            Self::Error
        } else {
            Self::Output
        }
    }

    /// How many characters a line of it has, if it is a terminal, and says so. (One that nobody has given a size says 0.)
    pub(super) fn width(self) -> Option<usize> {
        let mut table = comfy_table::Table::new();
        if self == Self::Error {
            table.use_stderr();
        }
        table.width().filter(|&width| width > 0).map(usize::from)
    }

    /// Whether it is a terminal.
    pub(super) fn is_terminal(self) -> bool {
        match self {
            Self::Output => io::stdout().is_terminal(),
            Self::Error => io::stderr().is_terminal(),
        }
    }

    /// Shows `text`. Whoever reads it may stop reading.
    ///
    /// # Errors
    /// What the system says of standard output.
    pub fn show(self, text: &str) -> Result<(), CliError> {
        match self {
            Self::Output => show(text),
            Self::Error => {
                tell(text);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    /// A folder of its own.
    struct Room(PathBuf);

    impl Room {
        fn new(name: &str) -> Self {
            let name = format!("megachunk-destination-{name}-{}", std::process::id());
            let room = std::env::temp_dir().join(name);
            fs::create_dir(&room).unwrap();
            Self(room)
        }
    }

    impl Drop for Room {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn open(path: &Path) -> Destination<'_> {
        let [file] = Destination::open_all([("--json", Some(path))], &[]).unwrap();
        file.unwrap()
    }

    #[test]
    fn a_file_with_the_longest_name_is_replaced_whole_too() {
        let room = Room::new("longest");
        let path = room.0.join("d".repeat(255));
        for text in ["one", "two"] {
            open(&path).write(text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        let fails = open(&path).write_with(|writer| {
            writer.write_all(b"half")?;
            Err(io::Error::other("no more"))
        });
        assert!(fails.is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
    }

    #[test]
    fn opening_makes_nothing_under_the_name_of_what_is_not_there() {
        let room = Room::new("unmade");
        let path = room.0.join("file");
        std::thread::scope(|scope| {
            let opens = scope.spawn(|| (0..1_000).for_each(|_| drop(open(&path))));
            while !opens.is_finished() {
                assert!(!path.exists());
            }
        });
        assert_eq!(fs::read_dir(&room.0).unwrap().count(), 0);
    }

    #[test]
    fn what_cannot_be_put_in_its_place_is_written_there_as_it_lies() {
        let room = Room::new("mounted");
        let path = room.0.join("file");
        fs::write(&path, "before").unwrap();
        let calls = Cell::new(0);
        open(&path)
            .write_with(|writer| {
                writer.write_all(b"after")?;
                calls.set(calls.get() + 1);
                // Somebody tidies up: nothing is left that could be renamed.
                let entries = fs::read_dir(&room.0)?.map(|entry| entry.unwrap().path());
                let mut beside = entries.filter(|entry| *entry != path);
                beside.try_for_each(fs::remove_file)
            })
            .unwrap();
        assert_eq!(calls.get(), 2);
        assert_eq!(fs::read_to_string(&path).unwrap(), "after");
    }

    /// The name of a thread is a file in a folder that takes no others, and says that it is not there.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_beside_which_none_can_be_made_is_written_as_it_lies() {
        let path = Path::new("/proc/thread-self/comm");
        let name = fs::canonicalize(path).unwrap();
        let beside = fs::write(name.with_extension("partial"), "").unwrap_err();
        assert_eq!(beside.kind(), ErrorKind::NotFound);
        open(path).write("as it lies").unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), "as it lies\n");
    }

    #[test]
    fn a_file_is_as_it_was_whatever_its_writer_says() {
        let room = Room::new("refused");
        let path = room.0.join("file");
        fs::write(&path, "before").unwrap();
        for kind in [
            ErrorKind::PermissionDenied,
            ErrorKind::InvalidFilename,
            ErrorKind::StorageFull,
        ] {
            let refused = open(&path).write_with(|_| Err(kind.into()));
            assert!(refused.is_err());
            assert_eq!(fs::read_to_string(&path).unwrap(), "before");
        }
    }

    #[test]
    fn only_the_steps_round_the_writing_and_no_full_disk_let_a_file_be_written_as_it_lies() {
        let may =
            |step: FileStep, kind: ErrorKind| may_take_it_as_it_lies(&step.fault(kind.into()));
        for step in [FileStep::CreateBeside, FileStep::Rename] {
            assert!(may(step, ErrorKind::ResourceBusy));
            assert!(may(step, ErrorKind::ReadOnlyFilesystem));
            assert!(may(step, ErrorKind::PermissionDenied));
            assert!(!may(step, ErrorKind::StorageFull));
            assert!(!may(step, ErrorKind::QuotaExceeded));
        }
        for step in [FileStep::Open, FileStep::Write, FileStep::Sync] {
            assert!(!may(step, ErrorKind::PermissionDenied));
        }
    }
}
