//! Files that are replaced whole, or stay as they were.

use core::fmt;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::panics::tell;
use crate::shown::shown_path;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::thread;

/// So many links are followed, one after the other, before it is taken for a circle.
const MOST_LINKS: usize = 40;
/// So many names are tried for a file that is not whole yet.
const MOST_TRIES: usize = 10_000;
/// Nobody writes to a file any more that was not written to for so long.
const ABANDONED: Duration = Duration::from_secs(3_600);
/// So many bytes of a file's name are in the one that it has until it is whole. What follows them has 40 at most, and most
/// systems take names of 255; eCryptfs takes 143.
const MOST_OF_NAME: usize = 100;

/// At which step a file could not be read or written, as [`SnapshotError::File`](crate::world::SnapshotError::File) says:
/// whether what is there could not be used, the folder takes no file, or the disk is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileStep {
    /// What has the name was to be opened, to be read or replaced: it is not there, is no file, or is not to be used so.
    Open,
    /// What was opened was to be read.
    Read,
    /// A file was to be made beside it, in its folder, where it would be until it is whole, with no permission that the one
    /// that is there lacks.
    CreateBeside,
    /// The file beside it was to be written.
    Write,
    /// The disk was asked whether it has the file beside it.
    Sync,
    /// The file beside it was to take its place.
    Rename,
}

/// What was tried, as an error tells it.
impl fmt::Display for FileStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "opening it",
            Self::Read => "reading it",
            Self::CreateBeside => "making a file beside it",
            Self::Write => "writing a file beside it",
            Self::Sync => "bringing a file beside it to the disk",
            Self::Rename => "putting a file in its place",
        })
    }
}

/// What the system said, and of which step.
#[derive(Debug)]
pub(crate) struct FileFault {
    pub(crate) step: FileStep,
    pub(crate) error: io::Error,
}

impl FileStep {
    /// What is wrong with this step.
    pub(crate) fn fault(self, error: io::Error) -> FileFault {
        FileFault { step: self, error }
    }
}

/// [`replace_by_steps`], for who tells no steps.
///
/// # Errors
/// As there.
#[cfg(any(test, feature = "trace"))]
pub(crate) fn replace(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    replace_by_steps(path, write).map_err(|fault| fault.error)
}

/// Makes the file `path`, or replaces what is in it, with what `write` writes: at once, when all is written. If that
/// fails, or the program ends before, the file is as it was, or not there.
///
/// A link is followed: what it leads to is replaced. A file that is there keeps its permissions, which the new one has
/// before anything is in it (fewer, where the system gives a file none but what it was made with); not its owner and group,
/// its access lists and its other names (hard links), for another file takes its place. What programs have left beside it
/// that ended while they wrote it is removed first: it may be what fills the disk.
///
/// It is on the disk then, its name too as far as the system can say so: if it cannot, or that fails, the file is there
/// all the same, so that is no error. After a loss of power the one before may be there again, whole.
///
/// # Errors
/// What the system says; that something is there which is no file, or which must not be written to.
pub(crate) fn replace_by_steps(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), FileFault> {
    let (target, permissions) = there(path).map_err(|error| FileStep::Open.fault(error))?;
    remove_abandoned(&target);
    let (partial, mut file) = create_beside(&target, permissions.as_ref())
        .map_err(|error| FileStep::CreateBeside.fault(error))?;
    let written = write(&mut file).map_err(|error| FileStep::Write.fault(error));
    let synced = written.and_then(|()| {
        let synced = file.sync_all();
        synced.map_err(|error| FileStep::Sync.fault(error))
    });
    drop(file);
    synced.and_then(|()| {
        let renamed = partial.rename(&target);
        renamed.map_err(|error| FileStep::Rename.fault(error))
    })?;
    if let Err(error) = sync_folder(&target) {
        let path = shown_path(&target);
        tell(|| {
            tracing::debug!(
                name: "name_unsure",
                target: "megachunk::file",
                %path,
                %error,
                "whether the file's name is on the disk is not known"
            );
        });
    }
    Ok(())
}

/// The name without links under which a file would be that is not there, after one was made beside it and removed. (Under
/// its own name another process may put one meanwhile, and what ends here would leave an empty one.)
///
/// # Errors
/// What the system says; that it names no file.
#[cfg(any(test, feature = "cli"))]
pub(crate) fn place(path: &Path) -> io::Result<PathBuf> {
    let (Some(name), Some(folder)) = (name(path), folder(path)) else {
        return Err(names_none());
    };
    let (partial, file) = create_partial(path, None)?;
    drop(file);
    drop(partial);
    Ok(fs::canonicalize(folder)?.join(name))
}

/// What a path leads to, and the permissions of the file that is there, which may be written to.
fn there(path: &Path) -> io::Result<(PathBuf, Option<Permissions>)> {
    let target = followed(path)?;
    let permissions = match fs::metadata(&target) {
        Ok(before) if !before.is_file() => {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a file"));
        }
        Ok(before) => {
            // Whoever must not write to it must not replace it.
            OpenOptions::new().write(true).open(&target)?;
            Some(before.permissions())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => match name(&target) {
            Some(_) => None,
            None => return Err(names_none()),
        },
        Err(error) => return Err(error),
    };
    Ok((target, permissions))
}

/// The name of a file that is not there, if a path ends with it: `file/` and `file/.` would be folders.
fn name(path: &Path) -> Option<&OsStr> {
    let bytes = path.as_os_str().as_encoded_bytes();
    path.file_name()
        .filter(|name| bytes.ends_with(name.as_encoded_bytes()))
}

fn names_none() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "it names no file")
}

/// Where a file is until it is whole. If that does not come to pass, also because who writes it panics, it goes.
struct Partial {
    path: PathBuf,
    /// It has gone to its place.
    is_whole: bool,
}

impl Partial {
    fn rename(mut self, to: &Path) -> io::Result<()> {
        rename(&self.path, to)?;
        self.is_whole = true;
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.is_whole {
            // Whether it can be removed or not: what matters is that it could not be written.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Puts a file in the place of another. Windows may refuse that while somebody has the other one open, a scanner for
/// one: then it is tried for a second.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    let mut tries = if cfg!(windows) { 100 } else { 1 };
    loop {
        tries -= 1;
        match fs::rename(from, to) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied && tries > 0 => {
                thread::sleep(Duration::from_millis(10));
            }
            renamed => return renamed,
        }
    }
}

/// Waits until the names in the folder of a path are on the disk. (Windows has no such call, and keeps a journal of names.)
fn sync_folder(path: &Path) -> io::Result<()> {
    match folder(path) {
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

/// Where the name stands that a path ends with.
fn folder(path: &Path) -> Option<&Path> {
    let folder = path.parent()?;
    Some(match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    })
}

/// Removes what was to be the file at this path, and that nobody writes to any more. O(names beside it).
fn remove_abandoned(path: &Path) {
    let (Some(name), Some(folder)) = (path.file_name(), folder(path)) else {
        return;
    };
    let is_old = |entry: &fs::DirEntry| {
        let modified = entry.metadata().and_then(|found| found.modified());
        let age = modified.ok().and_then(|modified| modified.elapsed().ok());
        age.is_some_and(|age| age > ABANDONED)
    };
    let beginning = beginning(name);
    // Most names say already that they are none. Another file's may be among them, whose long name begins alike: nobody
    // writes to that either.
    let is_abandoned =
        |entry: &fs::DirEntry| is_partial(&entry.file_name(), &beginning) && is_old(entry);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(is_abandoned) {
        let _ = fs::remove_file(entry.path());
    }
}

/// Whether a name is one that [`numbered`] gives for a file whose name has this [`beginning`].
fn is_partial(name: &OsStr, beginning: &OsStr) -> bool {
    let beginning = beginning.as_encoded_bytes();
    let Some(rest) = name.as_encoded_bytes().strip_prefix(beginning) else {
        return false;
    };
    let numbers = rest
        .strip_prefix(b".")
        .and_then(|rest| rest.strip_suffix(b".partial"));
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let mut parts = numbers.unwrap_or_default().split(|byte| *byte == b'-');
    matches!((parts.next(), parts.next(), parts.next()), (Some(a), Some(b), None) if is_number(a) && is_number(b))
}

/// Where a path leads, by links, whether something is there or not.
pub(crate) fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(to) = fs::read_link(&target) else {
            return Ok(target);
        };
        // A relative link begins where it stands; an absolute one replaces all.
        target.pop();
        target.push(to);
    }
    Err(io::Error::other("links lead round in a circle"))
}

/// The file until it is whole, with the permissions of the one that is there, or with none that this one lacks.
fn create_beside(path: &Path, before: Option<&Permissions>) -> io::Result<(Partial, File)> {
    let (partial, file) = create_partial(path, before)?;
    if let Some(before) = before {
        keep_permissions(&file, before)?;
    }
    Ok((partial, file))
}

/// Gives a new file the permissions of the one before. Where files have no such of their own, on a shared folder or a stick,
/// the system may refuse that to all but who owns them: then it is enough that nobody may do more.
///
/// # Errors
/// What the system says, if somebody may.
fn keep_permissions(file: &File, before: &Permissions) -> io::Result<()> {
    let has = file.metadata()?.permissions();
    if has == *before {
        return Ok(());
    }
    match file.set_permissions(before.clone()) {
        Err(_) if !is_wider(&has, before) => Ok(()),
        set => set,
    }
}

/// Whether permissions allow something that others do not.
#[cfg(unix)]
fn is_wider(one: &Permissions, other: &Permissions) -> bool {
    use std::os::unix::fs::PermissionsExt;
    one.mode() & !other.mode() & 0o7777 != 0
}

#[cfg(not(unix))]
fn is_wider(one: &Permissions, other: &Permissions) -> bool {
    other.readonly() && !one.readonly()
}

/// A file beside a place, under a name that nothing has there. (What another process with this one's number left, or is
/// writing, stays: containers number theirs alike.) It has no permissions that `before` lacks.
fn create_partial(path: &Path, before: Option<&Permissions>) -> io::Result<(Partial, File)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    if let Some(before) = before {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        options.mode(before.mode() & 0o777);
    }
    #[cfg(not(unix))]
    let _ = before;
    let mut tries = 0;
    loop {
        let path = partial(path);
        match options.open(&path) {
            Ok(file) => {
                let is_whole = false;
                return Ok((Partial { path, is_whole }, file));
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists && tries < MOST_TRIES => {
                tries += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// How many names were given.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A name beside a path that no other call of this process has.
fn partial(path: &Path) -> PathBuf {
    // Ordering: only uniqueness matters.
    numbered(path, NEXT.fetch_add(1, Ordering::Relaxed))
}

fn numbered(path: &Path, number: u64) -> PathBuf {
    let name = path.file_name().unwrap_or_default();
    let mut partial = beginning(name).into_owned();
    partial.push(format!(".{}-{number}.partial", std::process::id()));
    path.with_file_name(partial)
}

/// What [`numbered`] takes of a name: all, if it is not so long that with a number it may be longer than a name can be.
fn beginning(name: &OsStr) -> Cow<'_, OsStr> {
    if name.len() <= MOST_OF_NAME {
        return Cow::Borrowed(name);
    }
    let name = name.to_string_lossy();
    let mut ends = (0..=MOST_OF_NAME).rev();
    let end = ends.find(|&end| name.is_char_boundary(end));
    Cow::Owned(name[..end.unwrap_or(0)].into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::time::SystemTime;

    /// A directory of its own.
    struct Room(PathBuf);

    impl Room {
        fn new(name: &str) -> Self {
            let name = format!("megachunk-whole-{name}-{}", std::process::id());
            let room = std::env::temp_dir().join(name);
            fs::create_dir(&room).unwrap();
            Self(room)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let mut names: Vec<_> = entries
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        }
    }

    impl Drop for Room {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_names_no_file_is_refused_before_anything_is_written() {
        let write = |_: &mut File| unreachable!("nothing is opened");
        for path in ["", "no such file/", "no such file/."] {
            let refused = replace_by_steps(Path::new(path), write).unwrap_err();
            assert_eq!(refused.step, FileStep::Open, "{path}");
            assert_eq!(refused.error.to_string(), "it names no file");
        }
    }

    #[test]
    fn a_file_that_could_not_be_written_is_as_it_was() {
        let room = Room::new("kept");
        let path = room.0.join("file");
        let fail = |file: &mut File| {
            file.write_all(b"half")?;
            Err(io::Error::other("no more"))
        };
        assert_eq!(replace(&path, fail).unwrap_err().to_string(), "no more");
        assert!(room.names().is_empty());
        replace(&path, |file| file.write_all(b"one")).unwrap();
        assert!(replace(&path, fail).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"one");
        replace(&path, |file| file.write_all(b"two")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(room.names(), ["file"]);
    }

    #[test]
    fn it_is_told_which_step_failed() {
        let room = Room::new("steps");
        let step = |path: &Path, write: fn(&mut File) -> io::Result<()>| {
            replace_by_steps(path, write).unwrap_err().step
        };
        let good = |_: &mut File| Ok(());
        assert_eq!(step(&room.0, good), FileStep::Open);
        let nowhere = room.0.join("no/such");
        assert_eq!(step(&nowhere, good), FileStep::CreateBeside);
        let fails = |_: &mut File| Err(io::Error::other("no more"));
        assert_eq!(step(&room.0.join("file"), fails), FileStep::Write);
        // Somebody has put a folder there meanwhile.
        let path = room.0.join("taken");
        let taken = replace_by_steps(&path, |_| fs::create_dir_all(path.join("in it")));
        assert_eq!(taken.unwrap_err().step, FileStep::Rename);
    }

    #[test]
    fn a_file_whose_writer_panicked_is_as_it_was_and_nothing_is_beside_it() {
        let room = Room::new("panicked");
        let path = room.0.join("file");
        replace(&path, |file| file.write_all(b"one")).unwrap();
        let panics = |file: &mut File| -> io::Result<()> {
            file.write_all(b"half")?;
            std::panic::resume_unwind(Box::new("a writer"))
        };
        let replaced = std::panic::catch_unwind(|| replace(&path, panics));
        assert_eq!(replaced.unwrap_err().downcast_ref(), Some(&"a writer"));
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(room.names(), ["file"]);
    }

    #[test]
    fn what_another_process_of_this_number_writes_there_stays() {
        let room = Room::new("beside");
        let path = room.0.join("file");
        // Ordering: one thread at a time counts enough: others only make it more.
        let next = NEXT.load(Ordering::Relaxed);
        let theirs: Vec<PathBuf> = (next..next + 200)
            .map(|number| numbered(&path, number))
            .collect();
        theirs
            .iter()
            .for_each(|path| fs::write(path, "theirs").unwrap());
        replace(&path, |file| file.write_all(b"ours")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"ours");
        for path in &theirs {
            assert_eq!(fs::read(path).unwrap(), b"theirs");
        }
        assert_eq!(room.names().len(), theirs.len() + 1);
    }

    #[test]
    fn what_was_left_half_written_goes_when_it_is_old() {
        let room = Room::new("abandoned");
        let path = room.0.join("file");
        let stay = [
            "file.12-7.partial.old",
            "file.12-x.partial",
            "file.12.partial",
            "file.1-2-3.partial",
            "file.-.partial",
            "file2.12-7.partial",
            "file.x12-7.partial",
        ];
        let old = SystemTime::now() - 2 * ABANDONED;
        let make = |name: &str, when| {
            let file = File::create_new(room.0.join(name)).unwrap();
            file.set_modified(when).unwrap();
        };
        stay.into_iter().for_each(|name| make(name, old));
        make("file.12-7.partial", old);
        make("file.123-0.partial", old);
        // Somebody may be at these.
        make("file.99-1.partial", SystemTime::now());
        make("file.99-2.partial", SystemTime::now() + 2 * ABANDONED);
        replace(&path, |file| file.write_all(b"whole")).unwrap();
        let mut expected: Vec<&str> = stay.to_vec();
        expected.extend(["file", "file.99-1.partial", "file.99-2.partial"]);
        expected.sort_unstable();
        assert_eq!(room.names(), expected);
    }

    #[test]
    fn what_was_left_goes_though_the_next_writer_finds_the_disk_full() {
        let room = Room::new("full");
        let path = room.0.join("file");
        let left = File::create_new(room.0.join("file.12-7.partial")).unwrap();
        left.set_modified(SystemTime::now() - 2 * ABANDONED)
            .unwrap();
        drop(left);
        let full = replace(&path, |_| {
            // It may be what filled the disk.
            assert_eq!(room.names().len(), 1);
            Err(ErrorKind::StorageFull.into())
        });
        assert_eq!(full.unwrap_err().kind(), ErrorKind::StorageFull);
        assert!(room.names().is_empty());
    }

    #[test]
    fn whatever_name_a_file_can_have_there_is_one_for_it_until_it_is_whole() {
        let room = Room::new("long");
        let last = "n".repeat(255);
        let names = [1, 100, 101, 214, 215, 239, 254, 255].map(|length| &last[..length]);
        // A cut in the middle of a letter.
        let letters = ["n", &"ß".repeat(127)].concat();
        for name in names.into_iter().chain([&*letters]) {
            let path = room.0.join(name);
            // eCryptfs takes so many, and this is the highest number.
            let highest = numbered(&path, u64::MAX);
            let length = highest.file_name().unwrap().len();
            assert!(length <= 143, "{length} of {name}");
            assert_eq!(highest.parent(), path.parent());
            let left = File::create_new(&highest).unwrap();
            left.set_modified(SystemTime::now() - 2 * ABANDONED)
                .unwrap();
            drop(left);
            replace(&path, |file| file.write_all(b"one")).unwrap();
            replace(&path, |file| file.write_all(b"two")).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"two");
            assert_eq!(room.names(), [name]);
            fs::remove_file(path).unwrap();
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_long_name_that_is_no_text_is_cut_to_the_same_length() {
        use std::os::unix::ffi::OsStrExt;

        let name = OsStr::from_bytes(&[0xff; 255]);
        assert!(beginning(name).len() <= MOST_OF_NAME);
        let numbered = numbered(Path::new(name), 7);
        assert!(is_partial(numbered.as_os_str(), &beginning(name)));
    }

    #[test]
    fn the_place_of_a_file_that_is_not_there_is_tried_under_another_name() {
        let room = Room::new("place");
        let whole = fs::canonicalize(&room.0).unwrap();
        assert_eq!(place(&room.0.join("file")).unwrap(), whole.join("file"));
        assert!(room.names().is_empty());
        for path in ["file/", "file/.", ".."] {
            let refused = place(&room.0.join(path)).unwrap_err();
            assert_eq!(refused.to_string(), "it names no file", "{path}");
        }
        assert!(place(&room.0.join("no/such")).is_err());
        assert!(room.names().is_empty());
    }

    /// The name of a thread is a file whose permissions nobody can change, whatever the user.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_whose_permissions_cannot_be_set_is_taken_if_it_is_for_nobody_else() {
        use std::os::unix::fs::PermissionsExt;

        let file = File::open("/proc/thread-self/comm").unwrap();
        let has = file.metadata().unwrap().permissions();
        assert_eq!(has.mode() & 0o777, 0o644);
        let refused = file.set_permissions(has.clone()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        keep_permissions(&file, &has).unwrap();
        for wider in [0o645, 0o664, 0o777] {
            keep_permissions(&file, &Permissions::from_mode(wider)).unwrap();
        }
        for narrower in [0o600, 0o640, 0o444, 0o277] {
            let kept = keep_permissions(&file, &Permissions::from_mode(narrower));
            assert_eq!(kept.unwrap_err().kind(), ErrorKind::PermissionDenied);
        }
    }

    #[test]
    fn the_folder_of_a_path_is_synced_also_of_a_name_alone() {
        let room = Room::new("synced");
        assert_eq!(folder(Path::new("name")), Some(Path::new(".")));
        sync_folder(Path::new("name")).unwrap();
        sync_folder(&room.0.join("file")).unwrap();
        let nowhere = sync_folder(&room.0.join("no/such"));
        assert_eq!(nowhere.is_err(), cfg!(unix));
    }

    #[test]
    fn what_is_no_file_is_refused_and_left_alone() {
        let room = Room::new("refused");
        let write = |file: &mut File| file.write_all(b"one");
        assert!(replace(&room.0, write).is_err());
        assert!(replace(&room.0.join("no/such"), write).is_err());
        assert!(room.names().is_empty());
        if cfg!(unix) {
            let error = replace(Path::new("/dev/null"), write).unwrap_err();
            assert_eq!(error.to_string(), "it is not a file");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_and_permissions_too() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let room = Room::new("links");
        let in_room = |name: &str| room.0.join(name);
        symlink("deeper", in_room("link")).unwrap();
        symlink(in_room("file"), in_room("deeper")).unwrap();
        // A link that leads nowhere yet.
        replace(&in_room("link"), |file| file.write_all(b"one")).unwrap();
        // The second is more than a new file has of itself.
        for mode in [0o600, 0o666] {
            let before = Permissions::from_mode(mode);
            fs::set_permissions(in_room("file"), before.clone()).unwrap();
            replace(&in_room("link"), |file| file.write_all(b"two")).unwrap();
            assert_eq!(fs::read(in_room("file")).unwrap(), b"two");
            let permissions = fs::metadata(in_room("file")).unwrap().permissions();
            assert_eq!(permissions.mode() & 0o777, mode);
            assert_eq!(room.names(), ["deeper", "file", "link"]);
            // None that it lacks, not even before it has them.
            let (partial, file) = create_partial(&in_room("file"), Some(&before)).unwrap();
            let begins = file.metadata().unwrap().permissions();
            assert!(!is_wider(&begins, &before));
            drop((partial, file));
        }

        symlink("round", in_room("about")).unwrap();
        symlink("about", in_room("round")).unwrap();
        assert!(replace(&in_room("about"), |file| file.write_all(b"three")).is_err());
    }
}
