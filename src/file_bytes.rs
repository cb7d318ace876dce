//! Bytes of files that users name: of real files only, and no more than is meant.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// `O_NONBLOCK`, where its number is known here: who opens a pipe does not wait for its other end then.
#[cfg(unix)]
const WITHOUT_WAITING: i32 = if cfg!(all(
    any(target_os = "linux", target_os = "android"),
    not(any(
        target_arch = "mips",
        target_arch = "mips64",
        target_arch = "sparc",
        target_arch = "sparc64"
    ))
)) {
    0o4000
} else if cfg!(any(
    target_vendor = "apple",
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "openbsd",
    target_os = "dragonfly"
)) {
    4
} else {
    0
};

/// Opens a file to be read; how long it is. It is an error if it is none: to open a pipe would wait for its other end, and
/// a device may have no end. What is there is asked before it is opened, and what was opened then: somebody may have put
/// another thing there.
pub(crate) fn open(path: &Path) -> io::Result<(File, u64)> {
    length(&fs::metadata(path)?)?;
    open_unasked(path)
}

fn open_unasked(path: &Path) -> io::Result<(File, u64)> {
    let file = match options().open(path) {
        // A file that another program has a lease on gives it up only to who waits; a pipe says no such thing.
        Err(error) if error.kind() == ErrorKind::WouldBlock => File::open(path)?,
        file => file?,
    };
    let length = length(&file.metadata()?)?;
    Ok((file, length))
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, WITHOUT_WAITING);
    options
}

fn length(found: &Metadata) -> io::Result<u64> {
    match found.is_file() {
        true => Ok(found.len()),
        false => Err(io::Error::other("is not a file")),
    }
}

/// The bytes of a file; `None` if they are more than `limit`. O(limit), also if it grows meanwhile.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let (file, length) = open(path)?;
    if length > limit {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

#[cfg(all(test, unix, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_that_came_after_the_question_is_refused_and_not_waited_for() {
        let pipe = std::env::temp_dir().join(format!("megachunk-pipe-{}", std::process::id()));
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        if !made.is_ok_and(|made| made.success()) || WITHOUT_WAITING == 0 {
            return;
        }
        let opened = open_unasked(&pipe);
        fs::remove_file(&pipe).unwrap();
        assert_eq!(opened.unwrap_err().to_string(), "is not a file");
    }
}
