//! `ChunkLayout`: where what lies in a chunk.

use core::alloc::Layout;

use smallvec::SmallVec;

use crate::chunk::CHUNK_BYTES;
use crate::entity::Entity;
use crate::fragment::FragmentError;
use crate::memory::LINE;

/// The largest alignment that a chunk of any memory has.
pub const MAX_ALIGN: usize = 4_096;

/// What a chunk is to hold for each entity, or once.
#[derive(Clone, Debug)]
pub struct Content<'a> {
    name: &'a str,
    layout: Layout,
}

impl<'a> Content<'a> {
    /// What has this name, for errors and for the order of what is of one size, and values of this size and alignment. O(1).
    #[must_use]
    pub const fn new(name: &'a str, layout: Layout) -> Self {
        Self { name, layout }
    }

    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &'a str {
        self.name
    }

    /// Size and alignment of one value.
    #[must_use]
    pub const fn layout(&self) -> Layout {
        self.layout
    }
}

/// Where what lies in a chunk: the handles first, then an array for each fragment; each begins on a cache line.
///
/// ```
/// use core::alloc::Layout;
/// use megachunk::archetype::{ChunkLayout, Content};
///
/// let position = Content::new("Position", Layout::new::<[f32; 3]>());
/// let layout = ChunkLayout::new(16_384, &[position])?;
/// assert_eq!((layout.capacity(), layout.offsets()), (816, &[6_528][..]));
/// # Ok::<(), megachunk::fragment::FragmentError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkLayout {
    bytes: usize,
    capacity: usize,
    offsets: Few<usize>,
    extra: Few<usize>,
}

/// One for each fragment: of few, which most compositions have, without a heap allocation. A new composition is
/// met in the midst of what creates entities.
pub(super) type Few<T> = SmallVec<[T; 8]>;

impl ChunkLayout {
    /// The layout with the most entities for which all arrays, each aligned to 64 bytes or to what its
    /// type asks for, fit in `bytes` (a multiple of 16 KiB). Arrays stand by size. (In the chunks of worlds they
    /// stand in an order of their own in each composition, which the fragments' names decide; an entity less may fit.)
    ///
    /// # Errors
    /// [`FragmentError::TooLarge`] if not even one entity fits, [`FragmentError::TooAligned`] beyond 4,096.
    pub fn new(bytes: usize, fragments: &[Content<'_>]) -> Result<Self, FragmentError> {
        Self::in_order(by_size(fragments), bytes, fragments, &[], &[])
    }

    /// The same, with a bit an entity for each of `enableable` fragments, and values `once` a chunk; the arrays
    /// in an order that differs from composition to composition.
    ///
    /// Chunks begin 16 KiB apart. If an array began at the same place in the chunks of many small archetypes,
    /// their first lines would share a few sets of the caches, and a walk over them would find hardly any of
    /// them there.
    pub(crate) fn mixed(
        bytes: usize,
        fragments: &[Content<'_>],
        enableable: &[usize],
        once: &[Content<'_>],
    ) -> Result<Self, FragmentError> {
        Self::in_order(by_chance(fragments), bytes, fragments, enableable, once)
    }

    /// The same for who has the [numbers](number_of) of the fragments' names: long ones are gone through once, and not
    /// for each layout. The contents need no names. (Where two names have one number, the order of equal values may be
    /// another then.)
    pub(crate) fn mixed_by_numbers(
        bytes: usize,
        fragments: &[Content<'_>],
        numbers: &[u64],
        enableable: &[usize],
        once: &[Content<'_>],
    ) -> Result<Self, FragmentError> {
        let order = by_numbers(fragments, numbers);
        Self::in_order(order, bytes, fragments, enableable, once)
    }

    /// The layout for arrays in this order.
    fn in_order(
        order: Few<usize>,
        bytes: usize,
        fragments: &[Content<'_>],
        enableable: &[usize],
        once: &[Content<'_>],
    ) -> Result<Self, FragmentError> {
        check_alignment(fragments.iter().chain(once))?;
        let per_entity = per_entity(fragments);
        let last = by_alignment(once);
        let end = |capacity, visit: &mut dyn FnMut(usize)| {
            let arrays = order.iter().map(|&at| &fragments[at].layout);
            let once = last.iter().map(|&at| &once[at].layout);
            arrays_end(capacity, arrays, enableable.len(), once, visit)
        };
        let fits = |capacity| end(capacity, &mut |_| {}).is_some_and(|end| end <= bytes);
        // The end grows with the capacity, but not evenly, because arrays are aligned: search.
        // Mostly little is lost to alignment, and few capacities are left to ask for.
        let lost = LINE * (fragments.len() + enableable.len() + once.len());
        let likely = bytes.saturating_sub(lost) / per_entity;
        let (mut capacity, mut over) = (0, bytes / per_entity + 1);
        match fits(likely) {
            true => capacity = likely,
            false => over = likely,
        }
        while over - capacity > 1 {
            let middle = capacity + (over - capacity) / 2;
            if fits(middle) {
                capacity = middle;
            } else {
                over = middle;
            }
        }
        if capacity == 0 {
            return Err(too_large(bytes, fragments, once, per_entity));
        }
        let mut offsets = Few::from_elem(0, fragments.len());
        let mut extra = Few::from_elem(0, enableable.len() + once.len());
        let bits = 0..enableable.len();
        let mut rest = bits.chain(last.iter().map(|&at| enableable.len() + at));
        let mut begun = order.iter();
        end(capacity, &mut |begin| match begun.next() {
            Some(&at) => offsets[at] = begin,
            None => extra[rest.next().expect("one for each")] = begin,
        });
        Ok(Self {
            bytes,
            capacity,
            offsets,
            extra,
        })
    }

    /// Mass' rule: ⌊(bytes − Σ alignments) / (8 + Σ sizes)⌋ entities; the handles first, then each array
    /// at the next address of its alignment, by size descending and then by name.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn mass(bytes: usize, fragments: &[Content<'_>]) -> Result<Self, FragmentError> {
        check_alignment(fragments.iter())?;
        let per_entity = per_entity(fragments);
        let padding: usize = fragments.iter().map(|f| f.layout.align()).sum();
        let capacity = bytes.saturating_sub(padding) / per_entity;
        if capacity == 0 {
            return Err(too_large(bytes, fragments, &[], per_entity));
        }
        let mut offsets = Few::from_elem(0, fragments.len());
        let mut end = capacity * size_of::<Entity>();
        for at in by_size(fragments) {
            let layout = fragments[at].layout;
            end = end.next_multiple_of(layout.align());
            offsets[at] = end;
            end += capacity * layout.size();
        }
        Ok(Self {
            bytes,
            capacity,
            offsets,
            extra: Few::new(),
        })
    }

    /// Bytes of a chunk.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Entities that a chunk holds.
    #[inline(always)]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Where each fragment's array begins, in the order in which they were passed.
    #[must_use]
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Where the bits of the enableable fragments begin, and then each value that stands there once.
    pub(crate) fn extra(&self) -> &[usize] {
        &self.extra
    }

    /// The fewest 16 KiB chunks in which an entity of these fragments fits well: one, or more where one
    /// would hold fewer than eight entities.
    pub(crate) fn chunks_for(fragments: &[Content<'_>]) -> usize {
        let aligned = fragments.iter().map(|f| f.layout.align().max(LINE));
        let aligned = aligned.fold(0, usize::saturating_add);
        let wanted = per_entity(fragments)
            .saturating_mul(8)
            .saturating_add(aligned)
            .div_ceil(CHUNK_BYTES);
        wanted.clamp(1, crate::chunk::MEGACHUNK_CHUNKS)
    }
}

/// Bytes of an entity, its handle included. Sizes that no memory has are one size.
fn per_entity(fragments: &[Content<'_>]) -> usize {
    let sizes = fragments.iter().map(|f| f.layout.size());
    sizes.fold(size_of::<Entity>(), usize::saturating_add)
}

/// Refuses what wants to be aligned to more than chunks are.
fn check_alignment<'a>(
    contents: impl Iterator<Item = &'a Content<'a>>,
) -> Result<(), FragmentError> {
    for content in contents {
        if content.layout.align() > MAX_ALIGN {
            return Err(FragmentError::TooAligned {
                name: content.name.into(),
                align: content.layout.align(),
                limit: MAX_ALIGN,
            });
        }
    }
    Ok(())
}

/// Where everything ends in a chunk of `capacity` entities, `None` beyond all addresses: the handles, an
/// array for each layout, a bit an entity for each of `bits`, and values `once`. `visit` is told where each
/// of them begins but the handles.
fn arrays_end<'a>(
    capacity: usize,
    arrays: impl Iterator<Item = &'a Layout>,
    bits: usize,
    once: impl Iterator<Item = &'a Layout>,
    visit: &mut dyn FnMut(usize),
) -> Option<usize> {
    let mut end = capacity.checked_mul(size_of::<Entity>())?;
    let arrays = arrays.map(|layout| {
        (
            layout.align().max(LINE),
            capacity.checked_mul(layout.size()),
        )
    });
    let words = (
        size_of::<u64>(),
        capacity.div_ceil(64).checked_mul(size_of::<u64>()),
    );
    let once = once.map(|layout| (layout.align(), Some(layout.size())));
    for (align, bytes) in arrays.chain(core::iter::repeat_n(words, bits)).chain(once) {
        let begin = end.checked_next_multiple_of(align)?;
        visit(begin);
        end = begin.checked_add(bytes?)?;
    }
    Some(end)
}

/// The fragments by size descending, then by name.
fn by_size(fragments: &[Content<'_>]) -> Few<usize> {
    let mut order: Few<usize> = (0..fragments.len()).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&fragments[a], &fragments[b]);
        b.layout
            .size()
            .cmp(&a.layout.size())
            .then_with(|| a.name.cmp(b.name))
    });
    order
}

/// The values that stand there once, without gaps between them; those of one alignment by size and name, whatever their
/// numbers are: these depend on which thread met a type first, and how many entities have room must not.
fn by_alignment(once: &[Content<'_>]) -> Few<usize> {
    let mut order: Few<usize> = (0..once.len()).collect();
    order.sort_by(|&a, &b| {
        let key = |c: &Content<'_>| (c.layout.align(), c.layout.size());
        let (a, b) = (&once[a], &once[b]);
        key(b).cmp(&key(a)).then_with(|| a.name.cmp(b.name))
    });
    order
}

/// The fragments in an order that their names decide together, the same in every process.
fn by_chance(fragments: &[Content<'_>]) -> Few<usize> {
    let numbers: Few<u64> = fragments.iter().map(|c| number_of(c.name)).collect();
    by_numbers(fragments, &numbers)
}

/// The fragments in the order that the numbers of their names decide.
fn by_numbers(fragments: &[Content<'_>], numbers: &[u64]) -> Few<usize> {
    // The seed does not depend on the order in which they are passed.
    let seed = numbers.iter().copied().fold(0, u64::wrapping_add);
    let keys = fragments.iter().zip(numbers).zip(0..);
    let keys = keys.map(|((Content { name, layout }, &number), at)| {
        // What has no size comes last: no array begins at the place of one that has.
        let like = (layout.size(), layout.align());
        (layout.size() == 0, mix(seed ^ mix(number)), *name, like, at)
    });
    let mut keys: Few<_> = keys.collect();
    keys.sort_unstable();
    keys.into_iter().map(|(.., at)| at).collect()
}

/// A number for a name: FNV-1a.
pub(crate) fn number_of(name: &str) -> u64 {
    name.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
    })
}

/// A number in which every bit depends on all bits of another: the finalizer of `SplitMix64`.
fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ number >> 31
}

fn too_large(
    bytes: usize,
    fragments: &[Content<'_>],
    once: &[Content<'_>],
    per_entity: usize,
) -> FragmentError {
    let largest = fragments
        .iter()
        .chain(once)
        .max_by_key(|content| content.layout.size());
    FragmentError::TooLarge {
        name: largest.map_or("", |content| content.name).into(),
        size: (once.iter().map(|c| c.layout.size())).fold(per_entity, usize::saturating_add),
        align: largest.map_or(1, |content| content.layout.align()),
        limit: bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(size: usize, align: usize) -> Content<'static> {
        Content {
            name: "fragment",
            layout: Layout::from_size_align(size, align).unwrap(),
        }
    }

    #[test]
    fn arrays_begin_on_cache_lines_and_never_overlap_and_one_more_would_not_fit() {
        for bytes in [16_384, 65_536, 1 << 20] {
            for sizes in [
                &[(4, 4)][..],
                &[(64, 16), (12, 4), (12, 4), (1, 1)],
                &[(0, 1), (24, 8)],
            ] {
                let fragments: Vec<_> = sizes.iter().map(|&(s, a)| content(s, a)).collect();
                let layout =
                    ChunkLayout::mixed(bytes, &fragments, &[0], &[content(40, 8)]).unwrap();
                let mut spans = vec![(0, layout.capacity() * 8)];
                for (fragment, &offset) in fragments.iter().zip(layout.offsets()) {
                    assert_eq!(offset % 64, 0);
                    spans.push((offset, offset + layout.capacity() * fragment.layout.size()));
                }
                spans.push((
                    layout.extra()[0],
                    layout.extra()[0] + layout.capacity().div_ceil(64) * 8,
                ));
                spans.push((layout.extra()[1], layout.extra()[1] + 40));
                spans.sort_unstable();
                assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0));
                assert!(spans.last().unwrap().1 <= bytes);
                let per_entity = 8 + sizes.iter().map(|&(s, _)| s).sum::<usize>();
                let slack = 64 * (sizes.len() + 2) + 40 + 8 + 2 * per_entity;
                assert!(bytes - layout.capacity() * per_entity <= slack + layout.capacity() / 8);
            }
        }
    }

    #[test]
    fn an_array_lies_elsewhere_in_other_compositions_and_at_one_place_in_the_same() {
        let names: Vec<String> = (0..10).map(|n| format!("mark{n}")).collect();
        let named = |name, size| Content {
            name,
            layout: Layout::from_size_align(size, 4).unwrap(),
        };
        let layout = |subset: usize, turned: bool| {
            let marks = names.iter().enumerate();
            let marks = marks.filter(|(bit, _)| subset >> bit & 1 == 1);
            let mut all = vec![named("place", 12), named("speed", 12)];
            all.extend(marks.map(|(_, name)| named(name, 4)));
            if turned {
                all.reverse();
            }
            let layout = ChunkLayout::mixed(CHUNK_BYTES, &all, &[], &[]).unwrap();
            let at = all.iter().position(|content| content.name == "place");
            layout.offsets()[at.unwrap()]
        };
        let mut places: Vec<usize> = (0..1_000).map(|subset| layout(subset, false)).collect();
        assert!((0..1_000).all(|subset| layout(subset, true) == places[subset]));
        places.sort_unstable();
        let most = places.chunk_by(|a, b| a == b).map(<[_]>::len).max();
        assert!(most.unwrap() < 100, "{most:?} at one place");
    }

    #[test]
    fn what_a_chunk_has_once_lies_without_gaps_in_whatever_order_it_comes() {
        let once = [
            content(1, 1),
            content(64, 64),
            content(4, 4),
            content(64, 8),
        ];
        let turned = [
            content(4, 4),
            content(64, 8),
            content(64, 64),
            content(1, 1),
        ];
        let fragments = [content(2, 2)];
        let [one, other] = [once, turned].map(|once| {
            let layout = ChunkLayout::mixed(16_192, &fragments, &[0], &once).unwrap();
            let ends = layout.extra()[1..].iter().zip(&once);
            for (&begin, content) in ends.clone() {
                assert!(begin.is_multiple_of(content.layout.align()));
            }
            let first = layout.extra()[1..].iter().min().copied().unwrap();
            let end = ends.map(|(begin, content)| begin + content.layout.size());
            assert_eq!(end.max(), Some(first + 133));
            (
                layout.capacity(),
                layout.offsets()[0],
                layout.extra().to_vec(),
            )
        });
        assert_eq!((one.0, one.1, one.2[0]), (other.0, other.1, other.2[0]));
        // Each is told where the one lies that stands at its place.
        let of = |extra: &[usize], order: [usize; 4]| order.map(|at| extra[1 + at]);
        assert_eq!(of(&one.2, [2, 3, 1, 0]), of(&other.2, [0, 1, 2, 3]));
    }

    #[test]
    fn a_fragment_that_is_too_large_or_too_aligned_is_named_with_the_limit() {
        let error = ChunkLayout::new(16_384, &[content(20_000, 8)]).unwrap_err();
        assert!(error.to_string().contains("16384"), "{error}");
        let error = ChunkLayout::new(16_384, &[content(8_192, 8_192)]).unwrap_err();
        assert!(error.to_string().contains("4096"), "{error}");
        assert_eq!(
            ChunkLayout::new(16_384, &[content(4_096, 4_096)])
                .unwrap()
                .capacity(),
            3
        );
    }
}
