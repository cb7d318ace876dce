//! Compositions → archetypes.

use std::collections::HashMap;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::archetype::universe::ARCHETYPES;
use crate::archetype::{
    Archetype, Change, ChunkLayout, ChunkValue, Column, Content, Edge, Edges, EnabledBits, Group,
    STAGGER, SharedId,
};
use crate::chunk::{CHUNK_BYTES, MEGACHUNK_CHUNKS};
use crate::fragment::{Bundle, FragmentError, FragmentId, FragmentInfo, FragmentKind};
use crate::world::bundles::NO_ARCHETYPE;
use crate::world::{World, WorldError};

impl World {
    /// The archetype with exactly these fragments, which are sorted and differ: the one that there is, or
    /// a new one.
    pub(crate) fn archetype_of(&mut self, ids: &[FragmentId]) -> Result<u32, WorldError> {
        match self.by_composition.get(ids) {
            Some(&archetype) => Ok(archetype),
            None => self.add_archetype(ids),
        }
    }

    #[cold]
    fn add_archetype(&mut self, ids: &[FragmentId]) -> Result<u32, WorldError> {
        if self.archetypes.len() >= ARCHETYPES {
            return Err(WorldError::TooManyArchetypes);
        }
        let registry = self.universe.registry();
        let infos: Vec<&FragmentInfo> = ids
            .iter()
            .map(|&id| registry.get(id).ok_or(FragmentError::Unknown { id }))
            .collect::<Result<_, _>>()?;
        let of_kind = |kind: FragmentKind| infos.iter().copied().filter(move |i| i.kind() == kind);
        // Tags that must be dropped have a column too, of no size.
        let has_column = |info: &&FragmentInfo| match info.kind() {
            FragmentKind::Fragment => true,
            FragmentKind::Tag => info.drop_values().is_some(),
            _ => false,
        };
        let fragments: Vec<&FragmentInfo> = infos.iter().copied().filter(has_column).collect();
        let contents: Vec<_> = fragments.iter().map(|info| content(info)).collect();
        let once: Vec<&FragmentInfo> = of_kind(FragmentKind::Chunk).collect();
        let once_contents: Vec<_> = once.iter().map(|info| content(info)).collect();
        let enableable: Vec<FragmentId> = infos
            .iter()
            .filter(|info| info.is_enableable())
            .map(|info| info.id())
            .collect();
        let numbers: Vec<usize> = (0..enableable.len()).collect();
        // Arrays that want more than a line's alignment begin where the memory does.
        let staggered = infos.iter().all(|info| info.layout().align() <= 64);
        let mut stagger = if staggered { STAGGER } else { 0 };
        let mut run = self
            .chunks_per_chunk
            .max(ChunkLayout::chunks_for(&contents));
        let layout = loop {
            let bytes = run * CHUNK_BYTES - stagger;
            match ChunkLayout::with_extra(bytes, &contents, &numbers, &once_contents) {
                Err(FragmentError::TooLarge { .. }) if run < MEGACHUNK_CHUNKS => run += 1,
                // The largest entities get all of it.
                Err(FragmentError::TooLarge { .. }) if stagger > 0 => stagger = 0,
                layout => break layout?,
            }
        };
        let columns: Box<[Column]> = fragments
            .iter()
            .zip(layout.offsets())
            .map(|(info, &offset)| Column {
                offset: offset as u32,
                size: info.layout().size() as u32,
                id: info.id(),
                drop: info.drop_values(),
            })
            .collect();
        let (bits, values) = layout.extra().split_at(enableable.len());
        let chunk_values = once.iter().zip(values).map(|(info, &offset)| {
            let template = self
                .templates
                .get(&info.id())
                .ok_or_else(|| FragmentError::Unknown { id: info.id() })?;
            Ok(ChunkValue {
                id: info.id(),
                offset: offset as u32,
                template: template.duplicate(),
            })
        });
        let shared = |info: &&FragmentInfo| {
            matches!(
                info.kind(),
                FragmentKind::Shared | FragmentKind::ConstShared
            )
        };
        let shared: Box<[FragmentId]> =
            infos.iter().filter(|i| shared(i)).map(|i| i.id()).collect();
        let number = self.archetypes.len() as u32;
        let mut archetype = Archetype {
            chunks: SmallVec::new(),
            least_capacity: layout.capacity() as u32,
            run: run as u32,
            grows: self.chunks_grow,
            number,
            column_ids: columns.iter().map(|column| column.id).collect(),
            needs_drop: columns.iter().any(|column| column.drop.is_some()),
            staggered: stagger > 0,
            columns,
            entities: 0,
            groups: Vec::new(),
            group_of: HashMap::new(),
            idle_groups: Vec::new(),
            retired_keys: Vec::new(),
            ids: ids.into(),
            set: ids.iter().copied().collect(),
            shared,
            chunk_values: chunk_values.collect::<Result<_, FragmentError>>()?,
            enabled: enableable
                .iter()
                .zip(bits)
                .map(|(&id, &offset)| EnabledBits {
                    id,
                    offset: offset as u32,
                })
                .collect(),
            edges: Edges::default(),
        };
        if archetype.shared.is_empty() {
            // The only group.
            archetype.groups.push(Group {
                key: Box::default(),
                open: Vec::new(),
                chunks: 0,
            });
        }
        self.has_switches |= !archetype.enabled.is_empty();
        for &id in ids {
            self.having.push(id, archetype.having(id));
        }
        self.archetypes.push(archetype);
        self.by_composition.insert(ids.into(), number);
        Ok(number)
    }

    /// The number of a bundle type, whose archetype is there.
    #[inline]
    pub(crate) fn bundle<B: Bundle>(&mut self) -> Result<usize, WorldError> {
        let number = self.bundles.number::<B>(self.universe.registry())? as usize;
        if self.bundles.infos[number].archetype == NO_ARCHETYPE {
            self.bundle_archetype(number)?;
        }
        Ok(number)
    }

    /// The archetype of exactly a bundle's fragments.
    pub(crate) fn bundle_numbered(&mut self, number: u32) -> Result<u32, WorldError> {
        let number = number as usize;
        if self.bundles.infos[number].archetype == NO_ARCHETYPE {
            self.bundle_archetype(number)?;
        }
        Ok(self.bundles.infos[number].archetype)
    }

    #[cold]
    fn bundle_archetype(&mut self, number: usize) -> Result<(), WorldError> {
        let ids = self.bundles.infos[number].sorted.clone();
        let archetype = self.archetype_of(&ids)?;
        let offsets = self.offsets_in(archetype, &self.bundles.infos[number].ids);
        let info = &mut self.bundles.infos[number];
        info.offsets = offsets;
        info.archetype = archetype;
        Ok(())
    }

    /// Where values of these fragments go in a chunk of an archetype. A tag's goes anywhere.
    pub(crate) fn offsets_in(&self, archetype: u32, ids: &[FragmentId]) -> Box<[u32]> {
        let archetype = &self.archetypes[archetype as usize];
        ids.iter()
            .map(|&id| {
                let column = archetype.column_of(id);
                column.map_or(0, |at| archetype.columns[at].offset)
            })
            .collect()
    }

    /// The edge from an archetype for a change.
    #[inline]
    pub(crate) fn edge_for(&mut self, source: u32, change: Change) -> Result<EdgeRef, WorldError> {
        match self.archetypes[source as usize].edges.get(change) {
            Some(edge) => Ok(EdgeRef(Arc::as_ptr(edge))),
            None => self.add_edge(source, change),
        }
    }

    #[cold]
    pub(crate) fn add_edge(&mut self, source: u32, change: Change) -> Result<EdgeRef, WorldError> {
        let mut ids: Vec<FragmentId> = self.archetypes[source as usize].ids.to_vec();
        let (gone, come) = match change {
            Change::Add(come) => (None, Some(come)),
            Change::Remove(gone) => (Some(gone), None),
            Change::Swap(gone, come) => (Some(gone), Some(come)),
        };
        let bundle = |number: u32| &self.bundles.infos[number as usize];
        if let Some(gone) = gone {
            ids.retain(|id| bundle(gone).sorted.binary_search(id).is_err());
        }
        let come = come.map(|come| (bundle(come).ids.clone(), bundle(come).sorted.clone()));
        if let Some((_, sorted)) = &come {
            ids.extend(sorted.iter());
            ids.sort_unstable();
            ids.dedup();
        }
        let target = self.archetype_of(&ids)?;
        let (offsets, sorted) = match come {
            Some((ids, sorted)) => (self.offsets_in(target, &ids), sorted),
            None => Default::default(),
        };
        let edge = Arc::new(Edge::new(
            &self.archetypes[source as usize],
            &self.archetypes[target as usize],
            offsets,
            |column| sorted.binary_search(&column.id).is_ok(),
        ));
        let edges = &mut self.archetypes[source as usize].edges;
        let known = EdgeRef(Arc::as_ptr(&edge));
        edges.insert(change, edge);
        Ok(known)
    }

    /// The group of an archetype with these shared values, which its chunks are then kept for.
    pub(crate) fn group_of(&mut self, archetype: u32, key: &[SharedId]) -> u32 {
        let archetype = &mut self.archetypes[archetype as usize];
        if let Some(&group) = archetype.group_of.get(key) {
            return group;
        }
        for &value in key {
            self.shared.hold(value);
        }
        let group = match archetype.idle_groups.pop() {
            Some(group) => {
                archetype.groups[group as usize].key = key.into();
                group
            }
            None => {
                archetype.groups.push(Group {
                    key: key.into(),
                    open: Vec::new(),
                    chunks: 0,
                });
                archetype.groups.len() as u32 - 1
            }
        };
        archetype.group_of.insert(key.into(), group);
        group
    }

    /// Lets the shared values go of groups that have gone.
    #[inline(always)]
    pub(crate) fn settle_groups(&mut self, archetype: u32) {
        if !self.archetypes[archetype as usize].retired_keys.is_empty() {
            self.release_keys(archetype);
        }
    }

    #[cold]
    fn release_keys(&mut self, archetype: u32) {
        for key in core::mem::take(&mut self.archetypes[archetype as usize].retired_keys) {
            for &value in &key {
                self.shared.release(value);
            }
        }
    }
}

/// An edge, for the length of one call that changes the world.
#[derive(Clone, Copy)]
pub(crate) struct EdgeRef(*const Edge);

impl core::ops::Deref for EdgeRef {
    type Target = Edge;

    #[inline(always)]
    fn deref(&self) -> &Edge {
        // SAFETY: an archetype keeps its edges, by an `Arc` each, and lets none go in a call that walks one.
        unsafe { &*self.0 }
    }
}

fn content(info: &FragmentInfo) -> Content<'_> {
    Content {
        name: info.name(),
        layout: info.layout(),
    }
}
