//! `Registry`: who takes part.

use std::io;

use super::chunk::{
    self, ChunkContender, ChunkEntrant, ChunkSeam, ChunkWorkload, NaiveChunks, ProductChunks,
    PublishedChunks, SmallPageChunks,
};
use super::ecs::{
    self, EcsContender, EcsEntrant, EcsWorkload, Limit, Megachunk, SmallPages as SmallPageWorlds,
};
use super::id::{
    self, IdContender, IdEntrant, IdWorkload, PlainPages, Seam, Sessions, SmallPages, Usual,
};
use crate::chunk::{self as chunk_room, ChunkAllocator, MegachunkAllocator};
use crate::cli::map::ChunkSubject;
use crate::entity::{self, EntityAllocator};
use crate::trace::replay::Contender;

/// An allocator's name, and how to make a fresh one, if the system has room for it.
pub type Named<T> = (&'static str, fn() -> io::Result<Box<T>>);

/// Who takes part in which workloads.
///
/// The program starts from [`standard`](Self::standard); the package `megachunk-benches` adds
/// other crates' allocators with its feature `peers`.
pub struct Registry {
    ids: Vec<IdEntry>,
    chunks: Vec<ChunkEntry>,
    worlds: Vec<EcsEntry>,
    entity_allocators: Vec<Named<dyn Contender>>,
    chunk_allocators: Vec<Named<dyn ChunkSubject>>,
}

struct IdEntry {
    entrant: Box<dyn IdEntrant>,
    only: Option<&'static [IdWorkload]>,
}

struct ChunkEntry {
    entrant: Box<dyn ChunkEntrant>,
    only: Option<&'static [ChunkWorkload]>,
}

struct EcsEntry {
    entrant: Box<dyn EcsEntrant>,
    only: Option<&'static [EcsWorkload]>,
}

impl Registry {
    /// Nobody.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            ids: Vec::new(),
            chunks: Vec::new(),
            worlds: Vec::new(),
            entity_allocators: Vec::new(),
            chunk_allocators: Vec::new(),
        }
    }

    /// Everybody in this crate: the references first, then the product.
    #[must_use]
    pub fn standard() -> Self {
        let mut registry = Self::empty();
        registry
            .add_entity_allocator::<entity::reference::Naive>()
            .add_entity_allocator::<entity::reference::BusyBlock>()
            .add_entity_allocator::<entity::EntityIndex>()
            .add_id_variant::<Sessions>(&[
                IdWorkload::Pair,
                IdWorkload::PairMillion,
                IdWorkload::OneByOne,
                IdWorkload::Few(2),
                IdWorkload::Few(8),
                IdWorkload::Few(32),
                IdWorkload::Batch64,
                IdWorkload::ChurnSingle,
                IdWorkload::Larson,
                IdWorkload::ProducerConsumer,
                IdWorkload::ReserveMillion,
            ])
            .add_id_variant::<Seam<SmallPages>>(&[
                IdWorkload::ColdMillion,
                IdWorkload::ExistsMillion,
                IdWorkload::LocateMillion,
            ])
            .add_id_variant::<Seam<PlainPages>>(&[IdWorkload::ColdMillion])
            .add_chunk_contender::<ChunkSeam<NaiveChunks>>()
            .add_chunk_contender::<ChunkSeam<PublishedChunks>>()
            .add_chunk_contender::<ChunkSeam<ProductChunks>>()
            .add_chunk_variant::<ChunkSeam<SmallPageChunks>>(&[
                ChunkWorkload::FirstTouch,
                ChunkWorkload::Decommit,
            ])
            .add_chunk_allocator::<chunk_room::reference::Naive>()
            .add_chunk_allocator::<chunk_room::reference::MegachunkDots>()
            .add_chunk_allocator::<MegachunkAllocator>()
            .add_ecs_contender::<Limit>()
            .add_ecs_contender::<Megachunk>()
            .add_ecs_variant::<Megachunk<SmallPageWorlds>>(&[
                EcsWorkload::SpawnMillion,
                EcsWorkload::SpawnMillionSingle,
                EcsWorkload::DespawnHalfSingle,
                EcsWorkload::DespawnHalfSlice,
                EcsWorkload::GetSingle,
                EcsWorkload::GetSlice,
                EcsWorkload::IterateMillion,
            ]);
        registry
    }

    /// Adds a contender on ids.
    pub fn add_id_contender<C: IdContender>(&mut self) -> &mut Self {
        self.ids.push(IdEntry {
            entrant: id::entrant::<C>(),
            only: None,
        });
        self
    }

    /// Adds a contender on ids that takes part in some workloads only.
    pub fn add_id_variant<C: IdContender>(&mut self, only: &'static [IdWorkload]) -> &mut Self {
        self.ids.push(IdEntry {
            entrant: id::entrant::<C>(),
            only: Some(only),
        });
        self
    }

    /// Adds an [`EntityAllocator`] of this crate or of another.
    pub fn add_entity_allocator<A: EntityAllocator + 'static>(&mut self) -> &mut Self {
        self.entity_allocators
            .push((A::NAME, || Ok(Box::new(A::try_fresh()?))));
        self.add_id_contender::<Seam<Usual<A>>>()
    }

    /// The [`EntityAllocator`]s by name: what `replay` and `map` run.
    pub fn entity_allocators(&self) -> impl Iterator<Item = Named<dyn Contender>> {
        self.entity_allocators.iter().copied()
    }

    /// Adds a [`ChunkAllocator`] to those that `map` draws.
    pub fn add_chunk_allocator<A: ChunkAllocator + 'static>(&mut self) -> &mut Self {
        self.chunk_allocators
            .push((A::NAME, || Ok(Box::new(A::try_fresh()?))));
        self
    }

    /// The [`ChunkAllocator`]s by name: what `map` draws.
    pub fn chunk_allocators(&self) -> impl Iterator<Item = Named<dyn ChunkSubject>> {
        self.chunk_allocators.iter().copied()
    }

    /// Adds a contender on chunks.
    pub fn add_chunk_contender<C: ChunkContender>(&mut self) -> &mut Self {
        self.chunks.push(ChunkEntry {
            entrant: chunk::entrant::<C>(),
            only: None,
        });
        self
    }

    /// Adds a contender on chunks that takes part in some workloads only.
    pub fn add_chunk_variant<C: ChunkContender>(
        &mut self,
        only: &'static [ChunkWorkload],
    ) -> &mut Self {
        self.chunks.push(ChunkEntry {
            entrant: chunk::entrant::<C>(),
            only: Some(only),
        });
        self
    }

    /// Adds a contender on worlds.
    pub fn add_ecs_contender<C: EcsContender>(&mut self) -> &mut Self {
        self.worlds.push(EcsEntry {
            entrant: ecs::entrant::<C>(),
            only: None,
        });
        self
    }

    /// Adds a contender on worlds that takes part in some workloads only.
    pub fn add_ecs_variant<C: EcsContender>(&mut self, only: &'static [EcsWorkload]) -> &mut Self {
        self.worlds.push(EcsEntry {
            entrant: ecs::entrant::<C>(),
            only: Some(only),
        });
        self
    }

    /// Who takes part in `workload`.
    pub fn worlds(&self, workload: EcsWorkload) -> impl Iterator<Item = &dyn EcsEntrant> {
        let entries = self.worlds.iter();
        let taking_part =
            entries.filter(move |entry| entry.only.is_none_or(|only| only.contains(&workload)));
        taking_part.map(|entry| &*entry.entrant)
    }

    /// Who takes part in `workload`.
    pub fn chunks(&self, workload: ChunkWorkload) -> impl Iterator<Item = &dyn ChunkEntrant> {
        let entries = self.chunks.iter();
        let taking_part =
            entries.filter(move |entry| entry.only.is_none_or(|only| only.contains(&workload)));
        taking_part.map(|entry| &*entry.entrant)
    }

    /// Who takes part in the replay of traces.
    pub fn on_traces(&self) -> impl Iterator<Item = &dyn IdEntrant> {
        let everywhere = self.ids.iter().filter(|entry| entry.only.is_none());
        everywhere.map(|entry| &*entry.entrant)
    }

    /// Who takes part in `workload`.
    pub fn ids(&self, workload: IdWorkload) -> impl Iterator<Item = &dyn IdEntrant> {
        let entries = self.ids.iter();
        let taking_part =
            entries.filter(move |entry| entry.only.is_none_or(|only| only.contains(&workload)));
        taking_part.map(|entry| &*entry.entrant)
    }

    /// The names of those who take part in workloads on ids, in order.
    pub fn id_names(&self) -> impl Iterator<Item = &'static str> {
        self.ids.iter().map(|entry| entry.entrant.name())
    }

    /// The names of those who take part in workloads on chunks, in order.
    pub fn chunk_names(&self) -> impl Iterator<Item = &'static str> {
        self.chunks.iter().map(|entry| entry.entrant.name())
    }

    /// The names of those who take part in workloads on worlds, in order.
    pub fn world_names(&self) -> impl Iterator<Item = &'static str> {
        self.worlds.iter().map(|entry| entry.entrant.name())
    }

    /// All names, in order: a name that several groups share comes as often.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let allocators = self.id_names().chain(self.chunk_names());
        allocators.chain(self.world_names())
    }
}

impl core::fmt::Debug for Registry {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
