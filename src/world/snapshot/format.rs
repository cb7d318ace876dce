//! The form of a snapshot file, for who writes it and who reads it.
//!
//! Numbers are little-endian, but for handles and values, which are as this machine has them; the header says
//! which order that is. Nothing is padded.
//!
//! ```text
//! header     64 bytes: see `Header`
//! versions   slots × 4: the version of each slot of the entity index, from 0 on, as after the death of all
//!            entities that are not in these worlds; nothing if only those that live were saved
//! chunks     one after the other, world by world, in the order of the directory; of each
//!              len × 8              handles
//!              for each fragment of the archetype, in its order
//!                len × size         values, if entities have one each
//!                  of one whose values are written: len × 4, the length of each, and then their bytes
//!                ⌈len / 64⌉ × 8     bits, if it can be switched off
//!                size               the chunk's value, if it is a chunk fragment
//! directory  checksum of the versions 8
//!            fragments 4; of each: role 1, some entity has it 1, can be switched off 1, alignment 4, size 8, shape 8
//!              (`Plain::SHAPE`, 0: not known), from format 6 on whether its values are written 1, length of the name 4, name,
//!              in format 7 variants 4 (0: not told); of each: length of the name 4, name, value
//!            worlds 4; of each: chunk size for new archetypes 4, whether chunks grow 1
//!            what chunks begin with 4; of each: chunk fragment 4, value
//!            shared values 4; of each: fragment 4, value; of one that is written: length 4, bytes
//!            archetypes 4; of each: fragments 4, each a number 4, ascending; length of the shortest chunks 4,
//!              whether chunks grow 1; for each chunk fragment the value that its new chunks begin with; chunks 4; of
//!              each chunk: len 4, length 4, place in the list of the chunks with room that have the same shared
//!              values 4 (`FULL_CHUNK`: it has none), for each shared fragment the number of the value 4, for each one
//!              whose values are written, and that entities have one each of, bytes of the column 8, checksum 8. Lengths of
//!              chunks are in 16 KiB.
//!            resources 4; of each, by name: the name of its type, shape 8, length 8, bytes as the type has written them
//!            names of entities 4; of each, in their order: name, entities 4, of each: handle 8
//!            time 8
//!            signals that wait for their time 4; of each, in the order in which they arrive: time 8, handle 8, whether
//!              it has a name 1, name, the name of the type that it carries, shape 8, length 8, bytes
//! ```
//!
//! What stands behind the archetypes has names as length 8, text. Format 4 had no shapes, format 3 had nothing behind the
//! archetypes either. Format 6 is that of files with a fragment whose values [are
//! written](crate::fragment::FragmentRegistry::register_written_as); all others are of format 5, so that programs that know no
//! other load them. Format 7 is that of files with a fragment of [`WithinState`](crate::processor::WithinState) of an enum, of
//! which they tell the variants. Alignment and size of a fragment that is written are those of its type where it was saved: by
//! them it is told how much memory a file takes, and nobody asks for more.
//!
//! All that decides where a new entity comes to lie stands there, so that a world which is loaded goes on as the saved
//! one: archetypes that no entity has and chunks without entities too, and which chunk is filled before which.

use crate::fragment::FragmentKind;
use crate::world::snapshot::SnapshotError;
use crate::world::snapshot::checksum::Checksum;

/// How a snapshot begins.
pub(super) const MAGIC: [u8; 8] = *b"MEGACHNK";
/// The newest that is read.
pub(super) const NEWEST: u32 = WITH_VARIANTS;
/// The one that is written if all values are plain, and no variants are told.
pub(super) const FORMAT: u32 = WITH_SHAPES;
/// The oldest that is read: the first with all that decides where a new entity comes to lie.
const OLDEST: u32 = 3;
/// The first with what a world has besides its entities.
const WITH_BESIDES: u32 = 4;
/// The first with the shapes of types.
const WITH_SHAPES: u32 = 5;
/// The first with values that are written as closures say; the one that is written if there are such.
pub(super) const WITH_WRITTEN: u32 = 6;
/// The first with the variants of enums; the one that is written if some are told.
pub(super) const WITH_VARIANTS: u32 = 7;
/// Instead of a place in the list of chunks with room: it is full.
pub(super) const FULL_CHUNK: u32 = u32::MAX;
/// Instead of a number of slots: their versions were left out.
const NO_VERSIONS: u64 = u64::MAX;
/// Written as this machine writes numbers.
const BYTE_ORDER: u32 = 0x0102_0304;

/// The first bytes of a file: where the rest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The format of the rest.
    pub(super) format: u32,
    /// Bytes of the whole file.
    pub(super) bytes: u64,
    /// Where the directory begins, and how many bytes it has: it is the last part.
    pub(super) directory: u64,
    pub(super) directory_checksum: u64,
    /// Slots whose versions are there; `None` if they were left out.
    pub(super) slots: Option<u64>,
}

impl Header {
    /// Bytes of a header.
    pub(super) const BYTES: usize = 64;

    /// Whether behind archetypes stands what a world has besides.
    pub(super) fn has_besides(self) -> bool {
        self.format >= WITH_BESIDES
    }

    /// Whether the shapes of types are told.
    pub(super) fn has_shapes(self) -> bool {
        self.format >= WITH_SHAPES
    }

    /// Whether values may be written.
    pub(super) fn has_written(self) -> bool {
        self.format >= WITH_WRITTEN
    }

    /// Whether variants of enums may be told.
    pub(super) fn has_variants(self) -> bool {
        self.format >= WITH_VARIANTS
    }

    /// The header's bytes: magic, format, byte order, length, directory, its length, its checksum, slots, and
    /// the checksum of all that.
    pub(super) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = Vec::with_capacity(Self::BYTES);
        bytes.extend(MAGIC);
        bytes.extend(self.format.to_le_bytes());
        bytes.extend(BYTE_ORDER.to_ne_bytes());
        for number in [
            self.bytes,
            self.directory,
            self.bytes - self.directory,
            self.directory_checksum,
            self.slots.unwrap_or(NO_VERSIONS),
        ] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(Checksum::of(&bytes).to_le_bytes());
        let mut header = [0; Self::BYTES];
        header.copy_from_slice(&bytes);
        header
    }

    /// Reads the header of a file that begins with these bytes, and has so many.
    pub(super) fn read(begin: &[u8], length: u64) -> Result<Self, SnapshotError> {
        if !begin.starts_with(&MAGIC) && !MAGIC.starts_with(begin) {
            return Err(SnapshotError::Foreign);
        }
        let Some(bytes) = begin.first_chunk::<{ Self::BYTES }>() else {
            return Err(SnapshotError::Length {
                expected: Self::BYTES as u64,
                found: begin.len() as u64,
            });
        };
        let mut reader = Reader::new(bytes, 0);
        reader.take(MAGIC.len(), "the header")?;
        let format = reader.u32("the header")?;
        if !(OLDEST..=NEWEST).contains(&format) {
            return Err(SnapshotError::Format {
                found: format,
                oldest: OLDEST,
                known: NEWEST,
            });
        }
        let order = reader.take(4, "the header")?;
        if order != BYTE_ORDER.to_ne_bytes() {
            return Err(SnapshotError::ByteOrder);
        }
        let mut number = || reader.u64("the header");
        let header = Self {
            format,
            bytes: number()?,
            directory: number()?,
            directory_checksum: {
                number()?;
                number()?
            },
            slots: Some(number()?).filter(|&slots| slots != NO_VERSIONS),
        };
        verify(&bytes[..56], number()?, 0, "the header's checksum is wrong")?;
        if header.bytes != length {
            return Err(SnapshotError::Length {
                expected: header.bytes,
                found: length,
            });
        }
        let versions = header.slots.unwrap_or(0).checked_mul(4);
        let behind_versions = versions.and_then(|bytes| bytes.checked_add(Self::BYTES as u64));
        let in_order = |behind: u64| behind <= header.directory && header.directory <= header.bytes;
        if !behind_versions.is_some_and(in_order) {
            return Err(SnapshotError::Damaged {
                what: "its parts are not one behind the other",
                at: 0,
            });
        }
        Ok(header)
    }
}

/// Whether bytes that begin at `at` have this checksum. A fuzzer, who can not guess it, goes on without.
pub(super) fn verify(
    bytes: &[u8],
    checksum: u64,
    at: u64,
    what: &'static str,
) -> Result<(), SnapshotError> {
    if Checksum::of(bytes) == checksum || cfg!(fuzzing) {
        Ok(())
    } else {
        Err(SnapshotError::Damaged { what, at })
    }
}

/// The byte of a role.
pub(super) const fn kind_byte(kind: FragmentKind) -> u8 {
    match kind {
        FragmentKind::Fragment => 0,
        FragmentKind::Tag => 1,
        FragmentKind::Chunk => 2,
        FragmentKind::Shared => 3,
        FragmentKind::ConstShared => 4,
    }
}

/// The role of a byte.
pub(super) const fn kind_of_byte(byte: u8) -> Option<FragmentKind> {
    Some(match byte {
        0 => FragmentKind::Fragment,
        1 => FragmentKind::Tag,
        2 => FragmentKind::Chunk,
        3 => FragmentKind::Shared,
        4 => FragmentKind::ConstShared,
        _ => return None,
    })
}

/// Bytes of the bits of so many rows.
pub(super) const fn bit_bytes(len: u64) -> u64 {
    len.div_ceil(64) * 8
}

/// Reads a part of a file from front to back.
#[derive(Clone, Debug)]
pub(super) struct Reader<'f> {
    left: &'f [u8],
    /// Where what is left begins in the file.
    at: u64,
}

impl<'f> Reader<'f> {
    /// A reader of bytes that begin at `at` in the file.
    pub(super) fn new(bytes: &'f [u8], at: u64) -> Self {
        Self { left: bytes, at }
    }

    /// Where what comes next begins in the file.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Whether nothing is left.
    pub(super) fn is_done(&self) -> bool {
        self.left.is_empty()
    }

    /// The error that says what is wrong with what comes next.
    pub(super) fn damaged(&self, what: &'static str) -> SnapshotError {
        SnapshotError::Damaged { what, at: self.at }
    }

    /// The next `count` bytes, which are `what`'s.
    pub(super) fn take(
        &mut self,
        count: usize,
        what: &'static str,
    ) -> Result<&'f [u8], SnapshotError> {
        let Some((taken, left)) = self.left.split_at_checked(count) else {
            return Err(self.damaged(what));
        };
        self.left = left;
        self.at += count as u64;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], SnapshotError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, what)?);
        Ok(array)
    }

    pub(super) fn u8(&mut self, what: &'static str) -> Result<u8, SnapshotError> {
        Ok(self.array::<1>(what)?[0])
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, SnapshotError> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    /// One that was written as this machine has numbers.
    pub(super) fn u32_of_this_machine(&mut self, what: &'static str) -> Result<u32, SnapshotError> {
        Ok(u32::from_ne_bytes(self.array(what)?))
    }

    pub(super) fn u64(&mut self, what: &'static str) -> Result<u64, SnapshotError> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }
}
