//! `Edge`: what it takes to move an entity from one archetype to another.

use std::sync::Arc;

use crate::archetype::archetype::Archetype;
use crate::archetype::{Carrier, Column};
use crate::fragment::FragmentId;

/// What a move is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Change {
    /// The fragments of the bundle with this number come.
    Add(u32),
    /// The fragments of the bundle with this number go.
    Remove(u32),
    /// The fragments of the first bundle go, those of the second come.
    Swap(u32, u32),
}

/// A column that both archetypes have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carry {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) size: u32,
}

/// The way from one archetype to another.
#[derive(Debug)]
pub(crate) struct Edge {
    /// The archetype at the other end; the same one if nothing changes but values.
    pub(crate) target: u32,
    /// Columns whose values move.
    pub(crate) carried: Box<[Carry]>,
    /// What moves those, if that is known of their types.
    pub(crate) carriers: Box<[Carrier]>,
    /// Columns of the source whose values end: taken away, or replaced.
    pub(crate) ended: Box<[Column]>,
    /// For a bundle that comes: where each of its values goes, in its order.
    pub(crate) offsets: Box<[u32]>,
    /// Enabled bits that both have: from, to.
    pub(crate) bits: Box<[(u32, u32)]>,
    /// Some value that ends must be dropped.
    pub(crate) ends_drop: bool,
    /// An entity goes along it by copies alone: to another archetype, nothing that ends is dropped, and nothing can be
    /// switched off at either end.
    pub(crate) is_plain: bool,
}

impl Edge {
    /// The way from `source` to `target`, on which the fragments in `offsets` (of the target) get new
    /// values: `replaced` says which columns those are. O(columns), and O(log columns) for each that is carried.
    pub(crate) fn new(
        source: &Archetype,
        target: &Archetype,
        offsets: Box<[u32]>,
        replaced: impl Fn(&Column) -> bool,
    ) -> Self {
        let (mut carried, mut ended) = (Vec::new(), Vec::new());
        for (column, there) in side_by_side(&source.columns, &target.columns, |column| column.id) {
            match there {
                Some(there) if !replaced(column) => carried.push(Carry {
                    from: column.offset,
                    to: there.offset,
                    size: column.size,
                }),
                _ => ended.push(*column),
            }
        }
        let is_carried = |id| {
            let ended = ended.binary_search_by_key(&id, |column: &Column| column.id);
            source.seek_column(id).is_some() && ended.is_err()
        };
        let sized = carried.iter().filter(|carry: &&Carry| carry.size > 0);
        let carriers = Carrier::between(source, target, is_carried, sized.count());
        let bits = side_by_side(&source.enabled, &target.enabled, |bits| bits.id);
        let bits = bits.filter_map(|(bits, there)| Some((bits.offset, there?.offset)));
        let ends_drop = ended.iter().any(|column| column.drop.is_some());
        let switches = !source.enabled.is_empty() || !target.enabled.is_empty();
        Self {
            target: target.number,
            is_plain: target.number != source.number && !ends_drop && !switches,
            carriers,
            carried: carried.into(),
            ends_drop,
            bits: bits.collect(),
            ended: ended.into(),
            offsets,
        }
    }
}

/// Each of one list with its namesake in the other; both are in the order of their fragments. O(both).
fn side_by_side<'a, T>(
    one: &'a [T],
    other: &'a [T],
    id_of: impl Fn(&T) -> FragmentId,
) -> impl Iterator<Item = (&'a T, Option<&'a T>)> {
    let mut rest = other;
    one.iter().map(move |here| {
        let id = id_of(here);
        while let [first, later @ ..] = rest
            && id_of(first) < id
        {
            rest = later;
        }
        (here, rest.first().filter(|there| id_of(there) == id))
    })
}

/// The edges of an archetype that have been walked.
#[derive(Debug, Default)]
pub(crate) struct Edges(Vec<(Change, Arc<Edge>)>);

impl Edges {
    /// The edge for a change, if it is known. The one that was asked for last is found at once.
    #[inline(always)]
    pub(crate) fn get(&mut self, change: Change) -> Option<&Arc<Edge>> {
        if self.0.first().is_none_or(|(first, _)| *first != change) {
            self.bring_forward(change)?;
        }
        self.0.first().map(|(_, edge)| edge)
    }

    /// Makes the edge for a change the first, if it is known.
    #[inline(never)]
    fn bring_forward(&mut self, change: Change) -> Option<()> {
        let at = self.0.iter().position(|(known, _)| *known == change)?;
        self.0.swap(0, at);
        Some(())
    }

    /// All that are known.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Edge> {
        self.0.iter().map(|(_, edge)| &**edge)
    }

    /// Forgets those that lead to an archetype with this number or a higher one.
    pub(crate) fn keep_below(&mut self, archetype: u32) {
        self.0.retain(|(_, edge)| edge.target < archetype);
    }

    /// Remembers an edge.
    pub(crate) fn insert(&mut self, change: Change, edge: Arc<Edge>) {
        self.0.push((change, edge));
    }
}
