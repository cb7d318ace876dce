//! The hash of a world's state: the same wherever its entities lie.
//!
//! The hash of an entity runs through its handle, its composition, its values and its bits, in the order of
//! fragments' names. The hashes of all entities are added, so that their order does not matter; so are those of
//! resources.

use crate::archetype::{Archetype, Chunk, read_bit};
use crate::fragment::{FragmentInfo, FragmentKind};
use crate::workers::fork_join;
use crate::world::World;
use crate::world::snapshot::besides;
use crate::world::snapshot::checksum::{Checksum, avalanche};
use crate::world::snapshot::fragment_keys::{FragmentKey, hash_of};
use crate::world::snapshot::options::Purpose;
use crate::world::snapshot::written::{WrittenColumns, write_value};
use crate::world::snapshot::{SnapshotError, SnapshotOptions};

/// An odd number without pattern: what words are multiplied by.
const FACTOR: u64 = 0x9fb2_1c65_1e98_df25;
/// So many entities of an archetype are worth a thread: those that it has to be woken for take as long as that.
const WORTH: usize = 512;
/// Or so many times 16 KiB, where entities are large.
const WORTH_CHUNKS: usize = 4;

impl World {
    /// A hash of the logical state, as far as the [options](SnapshotOptions) say that it belongs to it: entities with their ids and versions, their compositions by fragments'
    /// names, roles and sizes, the bytes of their values, or those that are
    /// [written](crate::fragment::FragmentRegistry::register_written_as) of them, their shared values, what is switched off;
    /// and resources of types that are [registered as part of the
    /// state](crate::fragment::FragmentRegistry::register_state).
    ///
    /// The same for the same state, however the world came to it and wherever its memory lies: the
    /// order of operations, chunks and rows, numbers of fragments, the number of threads do not
    /// count. Nor do names of entities, other resources, the values of chunk fragments, reserved
    /// entities, versions of dead ones, versions of changes, the world's time (but where it is [a
    /// resource that is part of the state](crate::processor::Time::register)), and signals, delayed
    /// ones among them. It is of this machine's byte order and
    /// this version of the crate: to be compared, not to be kept for years. In what two worlds differ is said by
    /// [`state_hashes`](Self::state_hashes), a number for each fragment and resource, and by
    /// [`differences`](Self::differences), where both are at hand.
    ///
    /// So worlds with one hash may part later, without a mistake: a world that has created and destroyed an entity gives
    /// the next one another handle than one that has not. Whether two go on alike says
    /// [`continuation_hash`](Self::continuation_hash).
    ///
    /// O(bytes of all values), chunks on as many threads of the current rayon pool as have time and the values are worth.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let (mut one, mut two) = (World::new(), World::new());
    /// for world in [&one, &two] {
    ///     world.registry().register_plain::<u32>()?;
    /// }
    /// let ants: Vec<_> = (0..2_u32).map(|n| one.create((n,))).collect::<Result<_, _>>()?;
    /// let bees: Vec<_> = (0..2_u32).map(|_| two.create((9_u32,))).collect::<Result<_, _>>()?;
    /// assert_eq!(ants, bees);
    /// assert_ne!(one.state_hash(&Default::default()).unwrap(), two.state_hash(&Default::default()).unwrap());
    /// two.add(bees[1], (1_u32,))?;
    /// two.add(bees[0], (0_u32,))?;
    /// assert_eq!(one.state_hash(&Default::default()).unwrap(), two.state_hash(&Default::default()).unwrap());
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// [`SnapshotError::NotPlain`] names a fragment of some entity whose bytes mean nothing;
    /// [`SnapshotError::Ambiguous`]; [`SnapshotError::NotWritten`]; [`SnapshotError::StateNotWritten`].
    pub fn state_hash(&self, options: &SnapshotOptions) -> Result<u64, SnapshotError> {
        let mut sum = 0_u64;
        // Each is written once, however many chunks have it.
        let mut shared = WrittenColumns::default();
        for archetype in self.archetypes.iter().filter(|data| data.entities > 0) {
            let fragments = options.of_archetype(self, archetype, Purpose::Hash)?;
            let begin = composition(fragments.iter().map(|info| FragmentKey::of(info)));
            let of_chunks = || archetype.chunks.iter().filter(|chunk| chunk.len > 0);
            for info in fragments.iter().filter(|info| info.is_written()) {
                if archetype.shared_at(info.id()).is_some() {
                    of_chunks()
                        .try_for_each(|chunk| shared.add_shared(self, archetype, chunk, info))?;
                }
            }
            let data = (archetype, &fragments[..], &shared);
            let hash = |chunk: &Chunk| chunk_hash(self, data, chunk, begin);
            if archetype.chunks.len() == 1 {
                // Nothing is allocated to list its hash.
                for chunk in of_chunks() {
                    sum = sum.wrapping_add(hash(chunk)?);
                }
                continue;
            }
            let units = || {
                archetype
                    .chunks
                    .iter()
                    .map(|chunk| chunk.run.len() as usize)
                    .sum::<usize>()
            };
            let wanted = match fragments.iter().any(|info| info.is_written()) {
                // A program's own code, which may take any time.
                true => usize::MAX,
                false => (archetype.entities / WORTH).max(units() / WORTH_CHUNKS),
            };
            let threads = match wanted {
                0 | 1 => 1,
                worth => fork_join::threads().min(worth),
            };
            for hash in fork_join::map_on(threads, of_chunks().collect(), hash) {
                sum = sum.wrapping_add(hash?);
            }
        }
        for resource in besides::resources(self, options)? {
            sum = sum.wrapping_add(resource_hash(resource.name, &resource.bytes));
        }
        Ok(avalanche(mix(sum, self.count() as u64)))
    }
}

/// What the hashes of all entities with these fragments begin with.
pub(super) fn composition<'f>(fragments: impl Iterator<Item = FragmentKey<'f>>) -> u64 {
    let mut names = Checksum::new();
    for fragment in fragments {
        names.add(&fragment.name_hash.to_le_bytes());
        names.add(&[fragment.kind as u8]);
        let size = match fragment.is_written {
            // What no value has.
            true => u64::MAX,
            false => fragment.size as u64,
        };
        names.add(&size.to_le_bytes());
    }
    names.finish()
}

/// The hash of a resource.
pub(super) fn resource_hash(name: &str, bytes: &[u8]) -> u64 {
    // The name first, and then the value: to be the other way round is another state.
    let name = mix(0, hash_of(name));
    avalanche(mix(name, Checksum::of(bytes)))
}

/// The sum of the hashes of a chunk's entities; its shared values that are written are among those that were.
fn chunk_hash(
    world: &World,
    (archetype, fragments, written): (&Archetype, &[&FragmentInfo], &WrittenColumns),
    chunk: &Chunk,
    begin: u64,
) -> Result<u64, SnapshotError> {
    let mut begin = begin;
    let mut bytes = Vec::new();
    // (Of a chunk without entities nothing counts.)
    let shared = fragments.iter().filter(|_| chunk.len > 0);
    for info in shared {
        if let Some(at) = archetype.shared_at(info.id()) {
            let value = world.shared_at(archetype, chunk, at);
            if info.is_written() {
                begin = written_hash(begin, written.shared(value, info.id()));
                continue;
            }
            // SAFETY: a plain value of this fragment.
            begin = unsafe { value_hash(begin, value, info.layout().size()) };
        }
    }
    let entities = chunk.entities().iter();
    let mut hashes: Vec<u64> = entities
        .map(|entity| mix(begin, entity.to_bits()))
        .collect();
    for info in fragments {
        if info.kind() == FragmentKind::Fragment
            && let Some(at) = archetype.column_of(info.id())
        {
            let size = archetype.columns[at].size as usize;
            let column = chunk.array(archetype.columns[at].offset);
            if info.is_written() {
                for (row, hash) in hashes.iter_mut().enumerate() {
                    let (entity, value) = (chunk.entities()[row], column.wrapping_add(row * size));
                    // SAFETY: a value of this fragment, in a row of a world that is lent.
                    unsafe { write_value(info, entity, value, &mut bytes) }?;
                    *hash = written_hash(*hash, &bytes);
                }
                continue;
            }
            // SAFETY: plain values of this size, one a row.
            let values = unsafe { core::slice::from_raw_parts(column, hashes.len() * size) };
            column_hash(&mut hashes, values, size);
        }
    }
    // Only what is off counts: an archetype without such bits is one where all is on.
    for (at, info) in fragments.iter().enumerate() {
        if let Some(bits) = archetype.enabled_of(info.id()) {
            for (row, hash) in hashes.iter_mut().enumerate() {
                // SAFETY: a row of the chunk.
                if !unsafe { read_bit(chunk.array(bits.offset), row as u32) } {
                    *hash = mix(*hash, at as u64);
                }
            }
        }
    }
    let sum = |sum: u64, &hash| sum.wrapping_add(avalanche(hash));
    Ok(hashes.iter().fold(0, sum))
}

/// `hash` and the bytes of a value.
///
/// # Safety
/// `size` bytes that are all written, at `value`.
unsafe fn value_hash(hash: u64, value: *const u8, size: usize) -> u64 {
    // SAFETY: the caller's.
    bytes_hash(hash, unsafe { core::slice::from_raw_parts(value, size) })
}

/// `hash` and the bytes that were written of a value, as many as there are.
pub(super) fn written_hash(hash: u64, bytes: &[u8]) -> u64 {
    bytes_hash(mix(hash, bytes.len() as u64), bytes)
}

/// Each row's hash and the bytes of its value; `values` are as many, of `size` bytes each. How many words a value has
/// is decided here for all of them: of most sizes that fragments have no row asks.
pub(super) fn column_hash(hashes: &mut [u64], values: &[u8], size: usize) {
    debug_assert_eq!(values.len(), hashes.len() * size);
    match size {
        0 => {}
        1 => fixed::<1>(hashes, values),
        2 => fixed::<2>(hashes, values),
        4 => fixed::<4>(hashes, values),
        8 => fixed::<8>(hashes, values),
        12 => fixed::<12>(hashes, values),
        16 => fixed::<16>(hashes, values),
        20 => fixed::<20>(hashes, values),
        24 => fixed::<24>(hashes, values),
        28 => fixed::<28>(hashes, values),
        32 => fixed::<32>(hashes, values),
        48 => fixed::<48>(hashes, values),
        64 => fixed::<64>(hashes, values),
        _ => {
            for (hash, value) in hashes.iter_mut().zip(values.chunks_exact(size)) {
                *hash = bytes_hash(*hash, value);
            }
        }
    }
}

/// [`column_hash`] of values of `SIZE` bytes.
fn fixed<const SIZE: usize>(hashes: &mut [u64], values: &[u8]) {
    let (values, _) = values.as_chunks::<SIZE>();
    for (hash, value) in hashes.iter_mut().zip(values) {
        *hash = bytes_hash(*hash, value);
    }
}

/// `hash` and bytes.
#[inline(always)]
pub(super) fn bytes_hash(mut hash: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        hash = mix(hash, u64::from_le_bytes(*word));
    }
    if !rest.is_empty() {
        hash = mix(hash, last_word(bytes, rest));
    }
    hash
}

/// The word that the rest of bytes begins, behind which there are zeros.
#[inline(always)]
fn last_word(bytes: &[u8], rest: &[u8]) -> u64 {
    // The end of a word that the bytes have, where they have one: of no length that only a run tells.
    if let Some(last) = bytes.last_chunk::<8>() {
        return u64::from_le_bytes(*last) >> (u64::BITS as usize - 8 * rest.len());
    }
    let mut word = [0; 8];
    word[..rest.len()].copy_from_slice(rest);
    u64::from_le_bytes(word)
}

/// `hash` and one more word: the two halves of a long product, folded.
#[inline(always)]
pub(super) fn mix(hash: u64, word: u64) -> u64 {
    let product = u128::from((hash ^ word).wrapping_add(FACTOR)) * u128::from(FACTOR);
    (product as u64 ^ (product >> 64) as u64).rotate_left(29)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [`bytes_hash`], byte by byte.
    fn naive(hash: u64, bytes: &[u8]) -> u64 {
        bytes.chunks(8).fold(hash, |hash, bytes| {
            let bytes = bytes.iter().enumerate();
            let word = bytes.fold(0, |word, (at, &byte)| word | u64::from(byte) << (8 * at));
            mix(hash, word)
        })
    }

    #[test]
    fn a_column_has_the_hashes_of_its_values_whatever_their_size() {
        const ROWS: usize = 37;
        for size in (0..=33).chain([40, 48, 63, 64, 65, 100]) {
            let mut byte = 7_u8;
            let values: Vec<u8> = (0..ROWS * size)
                .map(|_| {
                    byte = byte.wrapping_mul(205).wrapping_add(91);
                    byte ^ byte >> 3
                })
                .collect();
            let before: Vec<u64> = (0..ROWS as u64).map(|row| mix(row, !row)).collect();
            let mut hashes = before.clone();
            column_hash(&mut hashes, &values, size);
            for (row, &hash) in before.iter().enumerate() {
                let value = &values[row * size..][..size];
                assert_eq!(hashes[row], naive(hash, value), "{size} bytes");
                assert_eq!(bytes_hash(hash, value), naive(hash, value), "{size} bytes");
            }
        }
    }
}
