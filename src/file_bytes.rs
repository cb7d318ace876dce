//! Bytes of files that users name: of real files only, and no more than is meant.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// How long a file is. It is an error if it is none: to open a pipe would wait for its other end, and a device may have
/// no end.
pub(crate) fn length(path: &Path) -> io::Result<u64> {
    let found = fs::metadata(path)?;
    match found.is_file() {
        true => Ok(found.len()),
        false => Err(io::Error::other("is not a file")),
    }
}

/// The bytes of a file; `None` if they are more than `limit`. O(limit), also if it grows meanwhile.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    if length(path)? > limit {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}
