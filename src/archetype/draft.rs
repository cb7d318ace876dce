//! `Draft`: how a composition lies in chunks. Computed from its fragments alone, so that a world and a
//! thread that creates entities beside it come to the same result without asking each other.

use crate::archetype::bits::EnabledBits;
use crate::archetype::chunk::Chunk;
use crate::archetype::column::Column;
use crate::archetype::fold;
use crate::archetype::layout::{ChunkLayout, Content, Few};
use crate::archetype::shortest::Shortest;
use crate::archetype::stagger::begin;
use crate::archetype::universe::Universe;
use crate::chunk::ChunkError;
use crate::fragment::{FragmentError, FragmentId, FragmentInfo, FragmentKind, FragmentRegistry};

/// Where everything lies in the chunks of a composition.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) columns: Box<[Column]>,
    /// Entities that one of its shortest chunks holds.
    pub(crate) least_capacity: u32,
    /// Entities that a folded one holds; 0 if none is.
    pub(crate) fold_rows: u32,
    /// 16 KiB chunks in one of its shortest chunks.
    pub(crate) run: u32,
    /// Its chunks begin some lines behind their first byte, not all as many: see [`Shortest::staggered`].
    pub(crate) staggered: bool,
    pub(crate) enabled: Box<[EnabledBits]>,
    /// Versions that a chunk keeps: one for each column, and for each tag that can be switched off.
    pub(crate) versions: u32,
    /// Chunk fragments, and where each lies.
    pub(crate) once: Box<[(FragmentId, u32)]>,
    /// Shared and const shared fragments, in the order of their numbers.
    pub(crate) shared: Box<[FragmentId]>,
}

impl Draft {
    /// For these fragments, which are sorted and differ, with chunks of `chunks` times 16 KiB at least, when
    /// the registry had so many [`enableable`](FragmentRegistry::enableable) fragments.
    ///
    /// # Errors
    /// A fragment that is unknown, too large or too aligned.
    pub(crate) fn new(
        registry: &FragmentRegistry,
        ids: &[FragmentId],
        chunks: usize,
        enableable: u32,
    ) -> Result<Self, FragmentError> {
        let infos: Few<&FragmentInfo> = ids
            .iter()
            .map(|&id| registry.get(id).ok_or(FragmentError::Unknown { id }))
            .collect::<Result<_, _>>()?;
        // Tags that must be dropped have a column too, of no size.
        let has_column = |info: &&FragmentInfo| match info.kind() {
            FragmentKind::Fragment => true,
            FragmentKind::Tag => info.drop_values().is_some(),
            _ => false,
        };
        let fragments: Few<&FragmentInfo> = infos.iter().copied().filter(has_column).collect();
        let contents: Few<_> = fragments.iter().map(|info| content(info)).collect();
        let once = infos.iter().filter(|i| i.kind() == FragmentKind::Chunk);
        let once: Few<&FragmentInfo> = once.copied().collect();
        let once_contents: Few<_> = once.iter().map(|info| content(info)).collect();
        let enableable: Few<FragmentId> = infos
            .iter()
            .filter(|info| info.is_enableable_among(enableable))
            .map(|info| info.id())
            .collect();
        let numbers: Few<usize> = (0..enableable.len()).collect();
        // Arrays that want more than a line's alignment begin where the memory does.
        let staggered = infos.iter().all(|info| info.layout().align() <= 64);
        let lay_out = |bytes| ChunkLayout::mixed(bytes, &contents, &numbers, &once_contents);
        let shortest = Shortest::of(chunks, staggered, &contents, lay_out)?;
        let Shortest {
            run,
            staggered,
            layout,
        } = shortest;
        let columns = fragments.iter().zip(layout.offsets());
        let columns = columns.map(|(info, &offset)| Column {
            offset: offset as u32,
            size: info.layout().size() as u32,
            id: info.id(),
            drop: info.drop_values(),
        });
        let (bits, values) = layout.extra().split_at(enableable.len());
        let enabled = enableable.iter().zip(bits);
        let mut versions = fragments.len() as u32;
        let enabled = enabled.map(|(&id, &offset)| EnabledBits {
            id,
            offset: offset as u32,
            version: match fragments.binary_search_by_key(&id, |info| info.id()) {
                Ok(column) => column as u32,
                Err(_) => {
                    versions += 1;
                    versions - 1
                }
            },
        });
        let enabled: Box<[EnabledBits]> = enabled.collect();
        let once = once.iter().zip(values);
        let shared = infos.iter().filter(|info| {
            matches!(
                info.kind(),
                FragmentKind::Shared | FragmentKind::ConstShared
            )
        });
        let columns: Box<[Column]> = columns.collect();
        let least_capacity = layout.capacity() as u32;
        // What lies in a chunk besides is not laid out for few rows.
        let folds = run == 1 && staggered && enabled.is_empty() && once.len() == 0;
        let fold_rows = match folds {
            true => fold::rows(&columns, least_capacity),
            false => 0,
        };
        Ok(Self {
            columns,
            least_capacity,
            fold_rows,
            run: run as u32,
            staggered,
            enabled,
            versions,
            once: once
                .map(|(info, &offset)| (info.id(), offset as u32))
                .collect(),
            shared: shared.map(|info| info.id()).collect(),
        })
    }

    /// Where values of these fragments go. A tag's goes anywhere.
    pub(crate) fn offsets(&self, ids: &[FragmentId]) -> Box<[u32]> {
        let offset = |id: &FragmentId| {
            let column = self.columns.binary_search_by_key(id, |column| column.id);
            column.map_or(0, |at| self.columns[at].offset)
        };
        ids.iter().map(offset).collect()
    }

    /// Takes a chunk 2 to the power of `shift` times as long as the shortest ones, if there is one so
    /// long; it has no chunk fragments yet, and no owner. Lock-free.
    pub(crate) fn take_chunk(
        &self,
        universe: &Universe,
        mut shift: u32,
    ) -> Result<Chunk, ChunkError> {
        let run = loop {
            match universe.take_chunk(self.run << shift) {
                Err(ChunkError::Exhausted { .. } | ChunkError::Refused { .. }) if shift > 0 => {
                    shift -= 1;
                }
                run => break run?,
            }
        };
        let base = begin(universe, run, self.staggered);
        Ok(Chunk::new(
            base,
            run,
            0,
            self.versions as usize,
            self.least_capacity,
            shift,
        ))
    }
}

fn content(info: &FragmentInfo) -> Content<'_> {
    Content::new(info.name(), info.layout())
}
