//! Files that are snapshots, as bytes.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use memmap2::MmapMut;

use crate::file_bytes;
use crate::whole_file::FileStep;
use crate::world::snapshot::SnapshotError;
use crate::world::snapshot::format::Header;

/// The bytes of a file that begins as a snapshot does, in pages of their own: in a mapping of the file itself others could
/// change them, or take them away.
pub(super) struct FileBytes {
    path: PathBuf,
    bytes: MmapMut,
}

impl FileBytes {
    pub(super) fn open(path: impl AsRef<Path>) -> Result<Self, SnapshotError> {
        let file = path.as_ref().to_owned();
        // Not when a world is on its way: whose path it is may panic.
        drop(path);
        let path = file;
        let begun = begin(&path)?;
        match read_rest(begun) {
            Ok(bytes) => Ok(Self { path, bytes }),
            Err(error) => Err(unread(&path, error)),
        }
    }

    /// Makes something of the bytes.
    pub(super) fn make<T>(
        self,
        make: impl FnOnce(&[u8]) -> Result<T, SnapshotError>,
    ) -> Result<T, SnapshotError> {
        make(&self.bytes).map_err(|error| SnapshotError::In {
            path: self.path,
            error: Box::new(error),
        })
    }
}

/// A file that begins as a snapshot of its length does. It may be any file, of any length, and there is no room for it yet.
struct Begun {
    file: File,
    length: u64,
    begin: Vec<u8>,
    header: Header,
}

fn begin(path: &Path) -> Result<Begun, SnapshotError> {
    let (mut file, length) = file_bytes::open(path)
        .map_err(|error| SnapshotError::file(path, FileStep::Open.fault(error)))?;
    let mut begin = Vec::with_capacity(Header::BYTES);
    let mut first = (&mut file).take(length.min(Header::BYTES as u64));
    (first.read_to_end(&mut begin)).map_err(|error| unread(path, error))?;
    match Header::read(&begin, length) {
        Ok(header) => Ok(Begun {
            file,
            length,
            begin,
            header,
        }),
        Err(error) => Err(SnapshotError::In {
            path: path.to_owned(),
            error: Box::new(error),
        }),
    }
}

fn unread(path: &Path, error: io::Error) -> SnapshotError {
    SnapshotError::file(path, FileStep::Read.fault(error))
}

/// The header of a file, and the bytes of its directory.
pub(super) fn read_directory(path: &Path) -> Result<(Header, Vec<u8>), SnapshotError> {
    let begun = begin(path)?;
    let (mut file, header) = (begun.file, begun.header);
    let read = || -> io::Result<Vec<u8>> {
        let length = begun.length - header.directory;
        let mut directory = Vec::new();
        let room = usize::try_from(length).map_err(|_| ErrorKind::OutOfMemory)?;
        directory
            .try_reserve_exact(room)
            .map_err(|_| ErrorKind::OutOfMemory)?;
        file.seek(SeekFrom::Start(header.directory))?;
        file.take(length).read_to_end(&mut directory)?;
        match directory.len() == room {
            true => Ok(directory),
            false => Err(ErrorKind::UnexpectedEof.into()),
        }
    };
    let directory = read().map_err(|error| unread(path, error))?;
    Ok((header, directory))
}

/// All bytes of a file. Somebody may change the rest of it meanwhile: all is looked at when it is here.
fn read_rest(mut begun: Begun) -> io::Result<MmapMut> {
    let length = usize::try_from(begun.length).map_err(|_| ErrorKind::OutOfMemory)?;
    let mut bytes = MmapMut::map_anon(length)?;
    // Advice: without it only speed differs.
    #[cfg(all(target_os = "linux", not(miri)))]
    let _ = bytes.advise(memmap2::Advice::HugePage);
    let (first, rest) = bytes.split_at_mut(begun.begin.len());
    first.copy_from_slice(&begun.begin);
    begun.file.read_exact(rest)?;
    Ok(bytes)
}
