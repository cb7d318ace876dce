//! `Edge`: what it takes to move an entity from one archetype to another.

use std::collections::HashMap;
use std::sync::Arc;

use crate::archetype::archetype::Archetype;
use crate::archetype::{Carrier, Column, Fills};
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
    /// Columns of the target that get values by default: of fragments that come with those that come.
    pub(crate) fills: Fills,
    /// Fragments of both ends that get values again, in the order of their numbers: replaced ones, and shared ones, be they
    /// others or not.
    pub(crate) regiven: Box<[FragmentId]>,
    /// Some value that ends must be dropped.
    pub(crate) ends_drop: bool,
    /// An entity goes along it by copies alone: to another archetype, nothing that ends is dropped, nothing is filled by
    /// default, and nothing can be switched off at either end.
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
            fills: Fills::default(),
            regiven: Box::default(),
        }
    }

    /// The same, on which these of both ends get values again.
    pub(crate) fn regiving(self, regiven: Box<[FragmentId]>) -> Self {
        Self { regiven, ..self }
    }

    /// The same, on which columns of the target are filled by default.
    pub(crate) fn filling(self, fills: Fills) -> Self {
        Self {
            is_plain: self.is_plain && fills.is_empty(),
            fills,
            ..self
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

/// Edges among which one is found by walking; from more on, where each stands is kept.
const FEW: usize = 16;

/// Edges from which on there are many.
const CROWD: usize = 64;

/// The edges of an archetype that have been walked.
///
/// Must hold: `places`, if it is there, says where each edge stands in `all`; it is there if there
/// are more than [`FEW`].
#[derive(Debug, Default)]
pub(crate) struct Edges {
    /// The one that was asked for last is the first.
    all: Vec<(Change, Arc<Edge>)>,
    #[expect(
        clippy::box_collection,
        reason = "most archetypes have few edges, and pay a word"
    )]
    places: Option<Box<HashMap<Change, usize>>>,
}

impl Edges {
    /// The edge for a change, if it is known. The one that was asked for last is found at once. O(1).
    #[inline(always)]
    pub(crate) fn get(&mut self, change: Change) -> Option<&Arc<Edge>> {
        if self.all.first().is_none_or(|(first, _)| *first != change) {
            self.bring_forward(change)?;
        }
        self.all.first().map(|(_, edge)| edge)
    }

    /// Makes the edge for a change the first, if it is known.
    #[inline(never)]
    fn bring_forward(&mut self, change: Change) -> Option<()> {
        let Some(places) = &mut self.places else {
            let at = self.all.iter().position(|(known, _)| *known == change)?;
            self.all.swap(0, at);
            return Some(());
        };
        let at = *places.get(&change)?;
        self.all.swap(0, at);
        places.insert(self.all[at].0, at);
        places.insert(change, 0);
        Some(())
    }

    /// Whether there are so many that no new ones are kept that several changes make together, of which there may be any
    /// number. (Those of a single change always are.)
    pub(crate) fn is_crowded(&self) -> bool {
        self.all.len() > CROWD
    }

    /// The edge for a change, if it is known, which stays where it is. O(1).
    pub(crate) fn peek(&self, change: Change) -> Option<&Edge> {
        let known = match &self.places {
            Some(places) => self.all.get(*places.get(&change)?),
            None => self.all.iter().find(|(known, _)| *known == change),
        };
        known.map(|(_, edge)| &**edge)
    }

    /// All that are known.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Edge> {
        self.all.iter().map(|(_, edge)| &**edge)
    }

    /// Forgets those that lead to an archetype with this number or a higher one.
    pub(crate) fn keep_below(&mut self, archetype: u32) {
        self.all.retain(|(_, edge)| edge.target < archetype);
        self.places = None;
        self.note_places();
    }

    /// Remembers an edge for a change that is not known.
    pub(crate) fn insert(&mut self, change: Change, edge: Arc<Edge>) {
        let at = self.all.len();
        self.all.push((change, edge));
        match &mut self.places {
            Some(places) => _ = places.insert(change, at),
            None => self.note_places(),
        }
    }

    /// Notes where each stands, if there are many.
    fn note_places(&mut self) {
        if self.all.len() > FEW {
            let changes = self.all.iter().map(|(change, _)| *change);
            self.places = Some(Box::new(changes.zip(0..).collect()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    fn edge(target: u32) -> Arc<Edge> {
        Arc::new(Edge {
            target,
            carried: Box::default(),
            carriers: Box::default(),
            ended: Box::default(),
            offsets: Box::default(),
            fills: Fills::default(),
            bits: Box::default(),
            regiven: Box::default(),
            ends_drop: false,
            is_plain: false,
        })
    }

    #[test]
    fn lists_of_many_are_walked_once() {
        let ids = |is_there: fn(u16) -> bool| -> Vec<FragmentId> {
            let numbers = (0..600).filter(|&n| is_there(n));
            numbers.map(FragmentId::from_number).collect()
        };
        let lists = [
            ids(|_| true),
            ids(|n| n % 3 == 1),
            ids(|n| n > 300 && n % 7 != 2),
            ids(|n| !(20..=590).contains(&n)),
            Vec::new(),
        ];
        for one in &lists {
            for other in &lists {
                let asked = Cell::new(0);
                let id_of = |id: &FragmentId| {
                    asked.set(asked.get() + 1);
                    *id
                };
                let found = side_by_side(one, other, id_of);
                let found: Vec<_> = found.map(|(id, there)| (*id, there.copied())).collect();
                let expected = one
                    .iter()
                    .map(|id| (*id, other.contains(id).then_some(*id)));
                assert_eq!(found, expected.collect::<Vec<_>>());
                let all = one.len() + other.len();
                assert!(asked.get() <= 3 * all, "{} of {all}", asked.get());
            }
        }
    }

    fn change(n: u32) -> Change {
        match n % 3 {
            0 => Change::Add(n / 3),
            1 => Change::Remove(n / 3),
            _ => Change::Swap(n / 3, n),
        }
    }

    #[test]
    fn an_edge_is_found_however_many_there_are() {
        let mut edges = Edges::default();
        let mut known: HashMap<Change, u32> = HashMap::new();
        let mut state = 5_u64;
        let mut number = |limit| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) as u32 % limit
        };
        let mut most = 0;
        for round in 0..4_000 {
            let asked = change(number(90));
            let peeked = edges.peek(asked).map(|edge| edge.target);
            assert_eq!(peeked, known.get(&asked).copied());
            let found = edges.get(asked).map(|edge| edge.target);
            assert_eq!(found, known.get(&asked).copied());
            if found.is_none() {
                edges.insert(asked, edge(round));
                known.insert(asked, round);
            } else {
                assert_eq!(edges.all[0].0, asked, "it is found at once the next time");
            }
            if number(200) == 0 {
                let below = number(round + 1);
                edges.keep_below(below);
                known.retain(|_, target| *target < below);
            }
            most = most.max(known.len());
            let mut targets: Vec<u32> = edges.iter().map(|edge| edge.target).collect();
            let mut expected: Vec<u32> = known.values().copied().collect();
            targets.sort_unstable();
            expected.sort_unstable();
            assert_eq!(targets, expected);
            // Many are not walked.
            assert_eq!(edges.places.is_some(), known.len() > FEW);
            let mut places = edges.places.iter().flat_map(|places| places.iter());
            let right = |(change, at): (&Change, &usize)| edges.all[*at].0 == *change;
            assert!(places.all(right));
        }
        assert!(most > 4 * FEW, "{most}");
    }
}
