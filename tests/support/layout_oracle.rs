//! What a chunk's layout must be, said slowly: every byte has one owner at most, and one entity more would
//! not fit.

use std::alloc::Layout;

use megachunk::archetype::{ChunkLayout, Content, MAX_ALIGN};
use megachunk::fragment::FragmentError;

/// Lays out fragments of any sizes (in bytes) and alignments (as powers of two), by both rules.
///
/// # Panics
/// If a layout is not what it must be, or an error not the right one.
pub(crate) fn check(bytes: usize, fragments: &[(usize, u8)]) {
    let names: Vec<String> = (0..fragments.len())
        .map(|n| format!("fragment {n}"))
        .collect();
    let contents: Vec<Content<'_>> = fragments
        .iter()
        .zip(&names)
        .filter_map(|(&(size, align), name)| {
            let layout = Layout::from_size_align(size, 1_usize.checked_shl(align.into())?).ok()?;
            // What types are: their size is a multiple of their alignment.
            let layout = layout.pad_to_align();
            Some(Content::new(name, layout))
        })
        .collect();
    let own = ChunkLayout::new(bytes, &contents);
    check_one(bytes, &contents, 64, &own);
    if let Ok(own) = &own {
        let one_more = end(own.capacity() as u128 + 1, &contents, 64);
        assert!(
            one_more > bytes as u128,
            "{} entities fit, and one more",
            own.capacity()
        );
    }
    let mass = ChunkLayout::mass(bytes, &contents);
    check_one(bytes, &contents, 1, &mass);
    if let Ok(mass) = &mass {
        let per_entity = 8 + contents.iter().map(|c| c.layout().size()).sum::<usize>();
        let padding: usize = contents.iter().map(|c| c.layout().align()).sum();
        assert_eq!(mass.capacity(), (bytes - padding) / per_entity);
    }
}

fn check_one(
    bytes: usize,
    contents: &[Content<'_>],
    line: usize,
    layout: &Result<ChunkLayout, FragmentError>,
) {
    let layout = match layout {
        Ok(layout) => layout,
        Err(error @ FragmentError::TooAligned { limit, .. }) => {
            assert_eq!(*limit, MAX_ALIGN);
            assert!(
                contents.iter().any(|c| c.layout().align() > MAX_ALIGN),
                "{error}"
            );
            return;
        }
        Err(error @ FragmentError::TooLarge { limit, .. }) => {
            assert_eq!(*limit, bytes);
            // Mass' rule pays for more padding than there need be.
            let padding: u128 = contents.iter().map(|c| c.layout().align() as u128).sum();
            let padding = if line == 1 { padding } else { 0 };
            assert!(end(1, contents, line) + padding > bytes as u128, "{error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    assert_eq!(
        (layout.bytes(), layout.offsets().len()),
        (bytes, contents.len())
    );
    assert!(layout.capacity() > 0);
    let mut spans = vec![(0, layout.capacity() * 8)];
    for (content, &offset) in contents.iter().zip(layout.offsets()) {
        assert!(offset.is_multiple_of(content.layout().align().max(line)));
        spans.push((offset, offset + layout.capacity() * content.layout().size()));
    }
    assert!(spans.iter().all(|&(_, end)| end <= bytes));
    spans.retain(|(begin, end)| begin < end);
    spans.sort_unstable();
    assert!(
        spans.windows(2).all(|pair| pair[0].1 <= pair[1].0),
        "arrays overlap"
    );
}

/// Where arrays for so many entities end: the largest first.
fn end(capacity: u128, contents: &[Content<'_>], line: usize) -> u128 {
    let mut order: Vec<&Content<'_>> = contents.iter().collect();
    order.sort_by_key(|content| (std::cmp::Reverse(content.layout().size()), content.name()));
    order.iter().fold(capacity * 8, |end, content| {
        let align = content.layout().align().max(line) as u128;
        end.next_multiple_of(align) + capacity * content.layout().size() as u128
    })
}
