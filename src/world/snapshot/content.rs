//! `Content`: the logical state of a world as bytes, of one that is there, or of one in a file.
//!
//! It borrows all values where they lie, or where users' closures have written them. What must hold: the columns of a piece are those that its composition names, in
//! its order, and each has a value for every row, or one for all. Fragments without values and switches have no
//! column: for each column a file has a byte at least in the chunk, or a shared value's number with it, so that its content
//! is no larger than the file by more than a factor, some dozens.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::archetype::{Archetype, Chunk, read_bit};
use crate::entity::Entity;
use crate::fragment::{FragmentInfo, FragmentKind};
use crate::world::World;
use crate::world::snapshot::besides;
use crate::world::snapshot::format::bit_bytes;
use crate::world::snapshot::fragment_keys::FragmentKeys;
use crate::world::snapshot::fragments::SavedFragment;
use crate::world::snapshot::options::Purpose;
use crate::world::snapshot::read::{Saved, SavedArchetype, SavedChunk, SavedWorld, is_shared};
use crate::world::snapshot::state::{bytes_hash, column_hash, written_hash};
use crate::world::snapshot::written::{LENGTH, WrittenColumns, ends_of};
use crate::world::snapshot::{SnapshotError, SnapshotOptions};

const WORD_BITS: usize = u64::BITS as usize;

/// The logical state of a world: what its hash covers.
pub(super) struct Content<'a> {
    pub(super) keys: FragmentKeys<'a>,
    pub(super) compositions: Vec<Composition>,
    /// Those that have entities.
    pub(super) pieces: Vec<Piece<'a>>,
    /// By name.
    pub(super) resources: Vec<(&'a str, Cow<'a, [u8]>)>,
}

/// What some entities consist of.
pub(super) struct Composition {
    /// Their numbers among the [keys](Content::keys), ascending.
    pub(super) fragments: Vec<u32>,
    /// The places among them of those that have values or switches: these have columns.
    pub(super) columns: Vec<usize>,
}

/// The entities of a chunk.
pub(super) struct Piece<'a> {
    pub(super) composition: usize,
    pub(super) entities: &'a [Entity],
    pub(super) columns: Vec<Column<'a>>,
}

/// A fragment of the entities of a chunk.
pub(super) struct Column<'a> {
    /// That of each row, in order, or the one that all have.
    pub(super) values: &'a [u8],
    pub(super) size: usize,
    /// Where the value of each row ends, if values are written: then each has its own length.
    ends: Option<Cow<'a, [usize]>>,
    /// Values are written as closures say.
    pub(super) is_written: bool,
    /// All have the same value.
    pub(super) is_shared: bool,
    /// A bit for each row that has it off; no bits if none has.
    off: Vec<u64>,
}

impl<'a> Column<'a> {
    /// The value that all rows have.
    pub(super) fn shared(&self) -> Option<&'a [u8]> {
        self.is_shared.then_some(self.values)
    }

    /// The value of a row.
    #[inline]
    pub(super) fn value(&self, row: usize) -> &'a [u8] {
        match (self.is_shared, &self.ends) {
            (true, _) => self.values,
            (false, None) => &self.values[row * self.size..][..self.size],
            (false, Some(ends)) => {
                let begin = row.checked_sub(1).map_or(0, |before| ends[before]);
                &self.values[begin..ends[row]]
            }
        }
    }

    /// The hash of the value that all rows have, which is given.
    pub(super) fn shared_hash(&self, value: &[u8]) -> u64 {
        match self.is_written {
            true => written_hash(0, value),
            false => bytes_hash(0, value),
        }
    }

    /// Each row's hash and its value, if each has one.
    pub(super) fn add_values(&self, hashes: &mut [u64]) {
        if self.ends.is_none() {
            return column_hash(hashes, self.values, self.size);
        }
        for (row, hash) in hashes.iter_mut().enumerate() {
            *hash = written_hash(*hash, self.value(row));
        }
    }

    /// Whether a row has it switched on.
    #[inline]
    pub(super) fn is_on(&self, row: usize) -> bool {
        let word = self.off.get(row / WORD_BITS);
        word.is_none_or(|word| word >> (row % WORD_BITS) & 1 == 0)
    }

    /// The rows that have it switched off.
    pub(super) fn off(&self) -> impl Iterator<Item = usize> {
        let rows = 0..self.off.len() * WORD_BITS;
        rows.filter(|&row| !self.is_on(row))
    }
}

/// A bit for each of so many rows that is not `on`; none if all are.
fn off_bits(rows: usize, on: impl Fn(usize) -> bool) -> Vec<u64> {
    let mut off = Vec::new();
    for row in (0..rows).filter(|&row| !on(row)) {
        off.resize(rows.div_ceil(WORD_BITS), 0);
        off[row / WORD_BITS] |= 1_u64 << (row % WORD_BITS);
    }
    off
}

/// What of a world its content borrows: what is in it, and what closures have written of it.
pub(super) struct Looked<'w> {
    world: &'w World,
    /// Those that some entity has.
    archetypes: Vec<(&'w Archetype, Vec<&'w FragmentInfo>)>,
    written: WrittenColumns,
}

impl<'w> Looked<'w> {
    /// O(compositions × their fragments + bytes that are written).
    pub(super) fn at(world: &'w World, options: &SnapshotOptions) -> Result<Self, SnapshotError> {
        let archetypes = world.archetypes.iter();
        let archetypes = archetypes.filter(|data| data.entities > 0);
        let infos = archetypes.map(|archetype| {
            let infos = options.of_archetype(world, archetype, Purpose::Hash)?;
            Ok((archetype, infos))
        });
        let archetypes: Vec<(&Archetype, Vec<&FragmentInfo>)> =
            infos.collect::<Result<_, SnapshotError>>()?;
        let all = archetypes.iter().map(|(data, infos)| (*data, &infos[..]));
        let written = WrittenColumns::of(world, all)?;
        Ok(Self {
            world,
            archetypes,
            written,
        })
    }
}

impl<'a> Content<'a> {
    /// That of a world. O(chunks × their fragments that have values + what can be switched).
    pub(super) fn of_world(
        looked: &'a Looked<'a>,
        options: &SnapshotOptions,
    ) -> Result<Self, SnapshotError> {
        let (mut compositions, mut pieces) = (Vec::new(), Vec::new());
        let Looked {
            world,
            archetypes,
            written,
        } = looked;
        let infos = archetypes.iter().flat_map(|(_, infos)| infos);
        let (keys, numbers) = FragmentKeys::of_infos(infos.copied());
        for &(archetype, ref infos) in archetypes {
            let has_column = |info: &FragmentInfo| {
                let id = info.id();
                let has_bits = archetype.enabled_of(id).is_some();
                has_bits || archetype.column_of(id).is_some() || archetype.shared_at(id).is_some()
            };
            let columns = infos.iter().enumerate();
            let columns = columns.filter(|(_, info)| has_column(info));
            let columns: Vec<usize> = columns.map(|(at, _)| at).collect();
            for chunk in archetype.chunks.iter().filter(|chunk| chunk.len > 0) {
                let column =
                    |&at: &usize| column_of_chunk((world, written), archetype, chunk, infos[at]);
                pieces.push(Piece {
                    composition: compositions.len(),
                    entities: chunk.entities(),
                    columns: columns.iter().map(column).collect(),
                });
            }
            compositions.push(Composition {
                fragments: infos.iter().map(|info| numbers[&info.id()]).collect(),
                columns,
            });
        }
        let resources = besides::resources(world, options)?.into_iter();
        let resources = resources.map(|written| (written.name, Cow::Owned(written.bytes)));
        Ok(Self {
            keys,
            compositions,
            pieces,
            resources: resources.collect(),
        })
    }

    /// That of a world in a file. O(bytes of the world).
    pub(super) fn of_saved(saved: &'a Saved<'_>, world: &'a SavedWorld<'_>) -> Self {
        let (mut compositions, mut pieces) = (Vec::new(), Vec::new());
        for archetype in world.archetypes.iter().filter(|data| data.is_inhabited()) {
            let order = Order::of(saved, archetype);
            for chunk in archetype.chunks.iter().filter(|chunk| chunk.len > 0) {
                pieces.push(Piece {
                    composition: compositions.len(),
                    entities: saved.handles(chunk),
                    columns: order.columns(saved, world, chunk),
                });
            }
            compositions.push(order.composition);
        }
        let resources = world.besides.resources();
        Self {
            keys: saved.keys(),
            compositions,
            pieces,
            resources: resources
                .map(|(name, bytes)| (name, Cow::Borrowed(bytes)))
                .collect(),
        }
    }
}

/// Sees to it that shared values which are equal, of two states, lie in one place: many entities may have a long one, and it
/// is compared by its place. O(bytes of all shared values + pieces × their columns).
pub(super) fn unite_shared<'a>(here: &mut Content<'a>, there: &mut Content<'a>) {
    let (mut seen, mut places) = (HashMap::new(), HashSet::new());
    for piece in here.pieces.iter_mut().chain(&mut there.pieces) {
        for column in piece.columns.iter_mut().filter(|column| column.is_shared) {
            let values = column.values;
            column.values = *seen.entry(core::ptr::from_ref(values)).or_insert_with(|| {
                // The first of those that are equal stays.
                places.insert(values);
                places.get(values).copied().unwrap_or(values)
            });
        }
    }
}

/// A fragment of the entities of a chunk of a world.
fn column_of_chunk<'a>(
    (world, written): (&'a World, &'a WrittenColumns),
    archetype: &'a Archetype,
    chunk: &'a Chunk,
    info: &FragmentInfo,
) -> Column<'a> {
    let (id, size) = (info.id(), info.layout().size());
    let rows = chunk.len as usize;
    let column = archetype.column_of(id);
    let column = column.map(|at| (chunk.array(archetype.columns[at].offset).cast_const(), rows));
    let shared = archetype.shared_at(id);
    let shared = shared.map(|at| (world.shared_at(archetype, chunk, at), 1));
    let is_written = info.is_written();
    let mut ends = None;
    let values = match column.or(shared) {
        Some((first, _)) if is_written => match written.column(first, id) {
            Some(column) => {
                ends = Some(Cow::Borrowed(&column.ends[..]));
                &column.bytes[..]
            }
            None => unreachable!("what is written of a chunk was, before"),
        },
        // SAFETY: plain values of this size, one a row, or one for all: nobody changes them as long as the world is lent.
        Some((first, count)) if size > 0 => unsafe {
            core::slice::from_raw_parts(first, count * size)
        },
        _ => &[],
    };
    let off = archetype.enabled_of(id).map_or_else(Vec::new, |bits| {
        // SAFETY: rows of the chunk.
        off_bits(rows, |row| unsafe {
            read_bit(chunk.array(bits.offset), row as u32)
        })
    });
    Column {
        values,
        size,
        ends,
        is_written,
        is_shared: shared.is_some(),
        off,
    }
}

/// The composition of an archetype in a file, and where its columns lie.
struct Order<'a> {
    composition: Composition,
    /// Of the archetype's fragments, in the file's order, those that have something in each chunk, or a shared value, with
    /// the column: a file may have very many chunks of what has very many tags.
    parts: Vec<(u32, &'a SavedFragment, Option<usize>)>,
}

impl<'a> Order<'a> {
    /// (A file that this crate has not written may have fragments in any order.)
    fn of(saved: &'a Saved<'_>, archetype: &SavedArchetype<'_>) -> Self {
        let fragment = |at: usize| &saved.fragments[archetype.fragments[at] as usize];
        let mut order: Vec<usize> = (0..archetype.fragments.len()).collect();
        let number = |at: usize| saved.order.number(archetype.fragments[at]);
        order.sort_by_key(|&at| number(at));
        let mut columns = Vec::new();
        let mut column_of = vec![None; order.len()];
        for (place, &at) in order.iter().enumerate() {
            let is_column = match fragment(at).kind {
                FragmentKind::Chunk => false,
                FragmentKind::Tag => fragment(at).enableable,
                _ => true,
            };
            if is_column {
                column_of[at] = Some(columns.len());
                columns.push(place);
            }
        }
        let fragments = order.into_iter().map(number);
        let parts = column_of.into_iter().enumerate();
        let parts = parts.map(|(at, column)| (archetype.fragments[at], fragment(at), column));
        let parts = parts.filter(|(_, of, column)| column.is_some() || of.bytes_in(1) > 0);
        Self {
            composition: Composition {
                fragments: fragments.collect(),
                columns,
            },
            parts: parts.collect(),
        }
    }

    /// The columns of a chunk. O(these, and the chunk fragments).
    fn columns(
        &self,
        saved: &'a Saved<'_>,
        world: &'a SavedWorld<'_>,
        chunk: &SavedChunk,
    ) -> Vec<Column<'a>> {
        let rows = chunk.len as usize;
        let mut at = chunk.at + size_of::<Entity>() * rows;
        let mut shared = chunk.shared.iter();
        let mut columns: Vec<Option<Column<'a>>> = Vec::new();
        columns.resize_with(self.composition.columns.len(), || None);
        for &(number, fragment, place) in &self.parts {
            let end = at + chunk.bytes_of(number, fragment);
            let Some(place) = place else {
                at = end;
                continue;
            };
            let mut ends = None;
            let values: &[u8] = match fragment.kind {
                FragmentKind::Fragment if fragment.is_written => {
                    let column = &saved.file[at..][..chunk.written(number)];
                    let (lengths, values) = column.split_at(LENGTH * rows);
                    ends = Some(Cow::Owned(ends_of(lengths, values.len())));
                    values
                }
                FragmentKind::Fragment => &saved.file[at..][..fragment.size * rows],
                kind if is_shared(kind) => match shared.next() {
                    Some(&value) => &world.shared[value as usize].1,
                    None => unreachable!("a chunk has a value of each shared fragment"),
                },
                _ => &[],
            };
            let off = match fragment.enableable {
                false => Vec::new(),
                true => {
                    let bits = &saved.file[end - bit_bytes(chunk.len.into()) as usize..end];
                    off_bits(rows, |row| bits[row / 8] >> (row % 8) & 1 == 1)
                }
            };
            columns[place] = Some(Column {
                values,
                size: fragment.size,
                ends,
                is_written: fragment.is_written,
                is_shared: is_shared(fragment.kind),
                off,
            });
            at = end;
        }
        columns.into_iter().flatten().collect()
    }
}
