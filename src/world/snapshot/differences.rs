//! Which entities, values and resources two states differ in.
//!
//! The entities of both are put in order by a radix sort, and walked through side by side. What is the same of two
//! compositions is found once for each pair of them that an entity has, while there are not too many of these.

use core::cmp::Ordering;
use core::ops::ControlFlow;
use std::borrow::Cow;
use std::collections::HashMap;

use crate::entity::Entity;
use crate::world::World;
use crate::world::snapshot::content::{Composition, Content, Looked, unite_shared};
use crate::world::snapshot::fragment_keys::{CommonNumbers, FragmentKey};
use crate::world::snapshot::{Difference, SnapshotError, SnapshotOptions, StateFragment};

impl World {
    /// Tells each thing in which the logical states of this world (*here*) and another one (*there*) differ: entities that
    /// only one has, and of those that both have, in the order of their handles, what they consist of, their values and
    /// switches; then resources. How many were told; `each` ends it by [`ControlFlow::Break`]. None exactly if the
    /// [hashes](Self::state_hash) of both are equal: what these do not have, names and chunk fragments' values among
    /// it, is not compared.
    ///
    /// Entities are the same that have the same handle, fragments those that have the same name, role and size: so the
    /// other may be of another universe, [like](crate::world::Universe::like) this one's or loaded from a peer's [snapshot](Self::to_snapshot), say. Fragments that the options
    /// skip here are those of these names and roles there.
    ///
    /// O(bytes + columns of all chunks), and for each pair of compositions that an entity has in the two O(their fragments),
    /// whatever their names: once, unless the pairs are so many that they are not kept, and found again for later entities. 16 bytes for each
    /// entity of both, twice for those of one while they are put in order; for each chunk some dozens for each fragment that
    /// has values or switches; and as much for each fragment of the pairs that are kept, which are a few thousand more than
    /// those of all compositions of both at most. On the calling thread.
    ///
    /// ```
    /// use core::ops::ControlFlow;
    /// use megachunk::prelude::*;
    ///
    /// let universe = || -> Result<Universe, WorldError> {
    ///     let universe = Universe::ordered();
    ///     universe.registry().register_plain_as::<u32>("health")?;
    ///     Ok(universe)
    /// };
    /// let mut here = World::of(&std::sync::Arc::new(universe()?))?;
    /// let ants: Vec<_> = (0..3_u32).map(|n| here.create((n,))).collect::<Result<_, _>>()?;
    /// let file = here.to_snapshot(&Default::default())?;
    /// let there = World::from_snapshot(&file, universe()?, &Default::default())?;
    ///
    /// here.destroy(ants[0])?;
    /// *here.get_mut::<u32>(ants[2])? = 0x102;
    /// let mut told = Vec::new();
    /// here.differences(&there, &Default::default(), |difference| {
    ///     told.push(difference.to_string());
    ///     ControlFlow::Continue(())
    /// })?;
    /// let (dead, changed) = (ants[0], ants[2]);
    /// assert_eq!(told[0], format!("{dead} is only there"));
    /// # #[cfg(target_endian = "little")]
    /// assert_eq!(
    ///     told[1],
    ///     format!("{changed}: fragment health differs at byte 1 of 4: 02010000 here, 02000000 there"),
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`state_hash`](Self::state_hash), of either world; nothing was told then.
    ///
    /// # Panics
    /// If `each` does.
    pub fn differences(
        &self,
        other: &Self,
        options: &SnapshotOptions,
        each: impl FnMut(Difference<'_>) -> ControlFlow<()>,
    ) -> Result<usize, SnapshotError> {
        let translated;
        // Universes that are like each other have one.
        let of_other = match core::ptr::eq(self.registry(), other.registry()) {
            true => options,
            false => {
                translated = options.translated(self.registry(), other.registry());
                &translated
            }
        };
        let (looked, other_looked) = (Looked::at(self, options)?, Looked::at(other, of_other)?);
        let here = Content::of_world(&looked, options)?;
        let there = Content::of_world(&other_looked, of_other)?;
        let mut told = Told::new(each);
        let numbers = CommonNumbers::of(&here.keys, &there.keys);
        let _ = told.contents(here, there, &numbers, None);
        Ok(told.count)
    }

    /// The first of the [differences](Self::differences), `most` at most.
    ///
    /// # Errors
    /// As for [`differences`](Self::differences).
    pub fn first_differences(
        &self,
        other: &Self,
        options: &SnapshotOptions,
        most: usize,
    ) -> Result<Vec<Difference<'static>>, SnapshotError> {
        let mut first = Vec::new();
        if most == 0 {
            return Ok(first);
        }
        self.differences(other, options, |difference| {
            first.push(difference.into_owned());
            match first.len() < most {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        Ok(first)
    }
}

/// What entities are called. Names that are equal, of two states that are compared, lie in one place: many may be called
/// alike, by a long name.
pub(super) type NamesOf<'a> = HashMap<Entity, &'a str>;

/// Who is told of differences, and how many that were.
pub(super) struct Told<F> {
    each: F,
    pub(super) count: usize,
}

impl<F: FnMut(Difference<'_>) -> ControlFlow<()>> Told<F> {
    pub(super) fn new(each: F) -> Self {
        Self { each, count: 0 }
    }

    pub(super) fn tell(&mut self, difference: Difference<'_>) -> ControlFlow<()> {
        self.count += 1;
        (self.each)(difference)
    }

    /// Tells in what two states differ, whose fragments have these numbers; with what entities are called, if that is
    /// given.
    pub(super) fn contents<'c>(
        &mut self,
        mut here: Content<'c>,
        mut there: Content<'c>,
        numbers: &'c CommonNumbers,
        names: Option<[&NamesOf<'_>; 2]>,
    ) -> ControlFlow<()> {
        unite_shared(&mut here, &mut there);
        let (here, there) = (&here, &there);
        let (ours, theirs) = (rows(here), rows(there));
        let mut pairs = Pairs::new(here, there, numbers);
        let (mut ours, mut theirs) = (ours.iter().peekable(), theirs.iter().peekable());
        loop {
            let order = match (ours.peek(), theirs.peek()) {
                (Some(one), Some(two)) => one.entity.cmp(&two.entity),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => break,
            };
            let one = ours.next_if(|_| order.is_le());
            let two = theirs.next_if(|_| order.is_ge());
            match (one, two) {
                (Some(one), Some(two)) => {
                    self.entity(&mut pairs, one, two)?;
                    if let Some(names) = names {
                        self.names(one.entity, names)?;
                    }
                }
                (Some(one), None) => self.tell(Difference::OnlyHere(one.entity))?,
                (None, Some(two)) => self.tell(Difference::OnlyThere(two.entity))?,
                (None, None) => {}
            }
        }
        self.resources(here, there)
    }

    /// Of an entity that both have.
    fn entity(&mut self, pairs: &mut Pairs<'_>, one: &Row, two: &Row) -> ControlFlow<()> {
        let entity = one.entity;
        let (here, there) = (
            &pairs.here.pieces[one.piece as usize],
            &pairs.there.pieces[two.piece as usize],
        );
        let pair = pairs.of(here.composition, there.composition);
        if !pair.only_here.is_empty() || !pair.only_there.is_empty() {
            self.tell(Difference::Composition {
                entity,
                only_here: Cow::Borrowed(&pair.only_here),
                only_there: Cow::Borrowed(&pair.only_there),
            })?;
        }
        let (row, other_row) = (one.row as usize, two.row as usize);
        for &(key, [of_here, of_there]) in &pair.columns {
            let (ours, theirs) = (
                of_here.map(|at| &here.columns[at]),
                of_there.map(|at| &there.columns[at]),
            );
            // One that has no column has no value, and is on.
            let value = ours.map_or(&[][..], |column| column.value(row));
            let other = theirs.map_or(&[][..], |column| column.value(other_row));
            let is_shared = ours.is_some_and(|column| column.is_shared);
            let are_same = match is_shared {
                true => core::ptr::eq(value, other),
                false => value == other,
            };
            if !are_same {
                let fragment = StateFragment::of(key);
                let (here, there) = (Cow::Borrowed(value), Cow::Borrowed(other));
                self.tell(match is_shared {
                    true => Difference::Shared {
                        entity,
                        fragment,
                        here,
                        there,
                    },
                    false => Difference::Value {
                        entity,
                        fragment,
                        here,
                        there,
                    },
                })?;
            }
            let is_on = ours.is_none_or(|column| column.is_on(row));
            if is_on != theirs.is_none_or(|column| column.is_on(other_row)) {
                let fragment = StateFragment::of(key);
                self.tell(Difference::Switch {
                    entity,
                    fragment,
                    here: is_on,
                })?;
            }
        }
        ControlFlow::Continue(())
    }

    fn names(&mut self, entity: Entity, [here, there]: [&NamesOf<'_>; 2]) -> ControlFlow<()> {
        let (here, there) = (here.get(&entity).copied(), there.get(&entity).copied());
        match here.map(core::ptr::from_ref) == there.map(core::ptr::from_ref) {
            true => ControlFlow::Continue(()),
            false => self.tell(Difference::Name {
                entity,
                here: here.map(Cow::Borrowed),
                there: there.map(Cow::Borrowed),
            }),
        }
    }

    fn resources(&mut self, here: &Content<'_>, there: &Content<'_>) -> ControlFlow<()> {
        let (mut ours, mut theirs) = (
            here.resources.iter().peekable(),
            there.resources.iter().peekable(),
        );
        loop {
            let order = match (ours.peek(), theirs.peek()) {
                (Some(one), Some(two)) => one.0.cmp(two.0),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return ControlFlow::Continue(()),
            };
            let one = ours.next_if(|_| order.is_le());
            let two = theirs.next_if(|_| order.is_ge());
            let bytes = |resource: &(&str, Cow<'_, [u8]>)| resource.1.to_vec();
            if one.map(|one| &one.1) != two.map(|two| &two.1)
                && let Some((name, _)) = one.or(two)
            {
                self.tell(Difference::Resource {
                    name: Cow::Borrowed(name),
                    here: one.map(bytes).map(Cow::Owned),
                    there: two.map(bytes).map(Cow::Owned),
                })?;
            }
        }
    }
}

/// What is the same of two compositions, and what is not.
struct Pair<'c> {
    only_here: Vec<StateFragment<'c>>,
    only_there: Vec<StateFragment<'c>>,
    /// Fragments of both that have columns in one at least: where, in each.
    columns: Vec<(FragmentKey<'c>, [Option<usize>; 2])>,
}

impl<'c> Pair<'c> {
    /// How much of it there is to keep.
    fn len(&self) -> usize {
        1 + self.only_here.len() + self.only_there.len() + self.columns.len()
    }

    /// Of two compositions, each with the content whose it is, and with the numbers that its fragments have there for both.
    fn of(here: Side<'_, 'c>, there: Side<'_, 'c>) -> Self {
        let mut pair = Self {
            only_here: Vec::new(),
            only_there: Vec::new(),
            columns: Vec::new(),
        };
        let (mut ours, mut theirs) = (here.columns().peekable(), there.columns().peekable());
        loop {
            let order = match (ours.peek(), theirs.peek()) {
                (Some(one), Some(two)) => here.common(one.0).cmp(&there.common(two.0)),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return pair,
            };
            let one = ours.next_if(|_| order.is_le());
            let two = theirs.next_if(|_| order.is_ge());
            match (one, two) {
                (Some((_, None)), Some((_, None))) => {}
                (Some((number, one)), Some((_, two))) => {
                    pair.columns.push((here.key(number), [one, two]));
                }
                (Some((number, _)), None) => {
                    pair.only_here.push(StateFragment::of(here.key(number)));
                }
                (None, Some((number, _))) => {
                    pair.only_there.push(StateFragment::of(there.key(number)));
                }
                (None, None) => {}
            }
        }
    }
}

/// A composition of one of the two states.
#[derive(Clone, Copy)]
struct Side<'s, 'c> {
    content: &'s Content<'c>,
    composition: &'s Composition,
    /// Of each number of its fragments that for both.
    numbers: &'s [u32],
}

impl<'s, 'c> Side<'s, 'c> {
    fn of(content: &'s Content<'c>, composition: usize, numbers: &'s [u32]) -> Self {
        Self {
            content,
            composition: &content.compositions[composition],
            numbers,
        }
    }

    fn key(self, number: u32) -> FragmentKey<'c> {
        self.content.keys.key(number)
    }

    fn common(self, number: u32) -> u32 {
        self.numbers[number as usize]
    }

    /// The numbers of the fragments, each with its column, if it has one.
    fn columns(self) -> impl Iterator<Item = (u32, Option<usize>)> {
        let mut columns = self.composition.columns.iter().enumerate().peekable();
        let fragments = self.composition.fragments.iter().enumerate();
        fragments.map(move |(place, &number)| {
            let column = columns.next_if(|&(_, &of)| of == place);
            (number, column.map(|(at, _)| at))
        })
    }
}

/// Fragments that are kept of pairs in any case.
const KEPT: usize = 4_096;

/// Pairs of compositions that came until now: as many as have not many more fragments than all compositions.
struct Pairs<'c> {
    here: &'c Content<'c>,
    there: &'c Content<'c>,
    numbers: &'c CommonNumbers,
    found: HashMap<(usize, usize), usize>,
    pairs: Vec<Pair<'c>>,
    /// Fragments in these pairs, and how many there may be: else two files with many compositions each have pairs that are
    /// larger than both.
    kept: usize,
    most: usize,
    /// The last one: neighbours have the same, as a rule.
    last: Option<((usize, usize), usize)>,
}

impl<'c> Pairs<'c> {
    fn new(here: &'c Content<'c>, there: &'c Content<'c>, numbers: &'c CommonNumbers) -> Self {
        let all = here.compositions.iter().chain(&there.compositions);
        Self {
            here,
            there,
            numbers,
            found: HashMap::new(),
            pairs: Vec::new(),
            kept: 0,
            most: KEPT + all.map(|of| 1 + of.fragments.len()).sum::<usize>(),
            last: None,
        }
    }

    fn of(&mut self, here: usize, there: usize) -> &Pair<'c> {
        let key = (here, there);
        let found = match self.last {
            Some((last, at)) if last == key => Some(at),
            _ => self.found.get(&key).copied(),
        };
        let at = found.unwrap_or_else(|| self.add(key));
        self.last = Some((key, at));
        &self.pairs[at]
    }

    fn add(&mut self, key: (usize, usize)) -> usize {
        let pair = Pair::of(
            Side::of(self.here, key.0, &self.numbers.here),
            Side::of(self.there, key.1, &self.numbers.there),
        );
        self.kept += pair.len();
        if self.kept > self.most {
            self.found.clear();
            self.pairs.clear();
            self.kept = pair.len();
        }
        self.pairs.push(pair);
        let at = self.pairs.len() - 1;
        self.found.insert(key, at);
        at
    }
}

/// An entity, and where its values are.
#[derive(Clone, Copy)]
struct Row {
    entity: Entity,
    piece: u32,
    row: u32,
}

/// Bits of an index that one pass of the sort looks at, and passes for all of an index.
const DIGIT: u32 = 9;
const PASSES: u32 = 3;

/// All entities of a state, in the order of their handles. O(entities).
fn rows(content: &Content<'_>) -> Vec<Row> {
    let pieces = (0..).zip(&content.pieces);
    let rows = pieces.flat_map(|(piece, of)| {
        let rows = (0..).zip(of.entities);
        rows.map(move |(row, &entity)| Row { entity, piece, row })
    });
    sorted(rows.collect())
}

/// Sorts by the index of the entity, of which there is one in a state.
fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    if rows.is_sorted_by_key(|row| row.entity.index()) {
        return rows;
    }
    let mut next = rows.clone();
    for pass in 0..PASSES {
        let digit = |row: &Row| (row.entity.index() >> (pass * DIGIT)) as usize % (1 << DIGIT);
        let mut places = [0_usize; 1 << DIGIT];
        rows.iter().for_each(|row| places[digit(row)] += 1);
        let mut sum = 0;
        for place in &mut places {
            sum += core::mem::replace(place, sum);
        }
        for row in &rows {
            let place = &mut places[digit(row)];
            next[*place] = *row;
            *place += 1;
        }
        core::mem::swap(&mut rows, &mut next);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::EntityIndex;
    use crate::world::snapshot::fragment_keys::FragmentKeys;

    #[test]
    fn the_sort_looks_at_all_of_an_index() {
        const { assert!(EntityIndex::CAPACITY <= 1 << (DIGIT * PASSES)) };
        let mut seed = 1_u64;
        let rows = (0..5_000).map(|row| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let index = (seed >> 33) as u32 % EntityIndex::CAPACITY as u32;
            let entity = Entity::new(index, 1).unwrap();
            Row {
                entity,
                piece: 0,
                row,
            }
        });
        let rows: Vec<Row> = rows.collect();
        let mut expected: Vec<(u32, u32)> = rows
            .iter()
            .map(|row| (row.entity.index(), row.row))
            .collect();
        expected.sort_unstable();
        let sorted = sorted(rows).into_iter();
        let sorted: Vec<(u32, u32)> = sorted.map(|row| (row.entity.index(), row.row)).collect();
        assert_eq!(sorted, expected);
    }

    #[test]
    fn pairs_of_compositions_are_not_kept_without_end() {
        let names: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        let content = || {
            let compositions = (0..100).map(|skipped| Composition {
                fragments: (0..100).filter(|&at| at != skipped).collect(),
                columns: Vec::new(),
            });
            let mut keys: Vec<FragmentKey<'_>> = names
                .iter()
                .map(|name| FragmentKey {
                    name,
                    kind: crate::fragment::FragmentKind::Tag,
                    size: 0,
                    is_written: false,
                    name_hash: 0,
                })
                .collect();
            keys.sort_unstable();
            Content {
                keys: FragmentKeys::OfWorld(keys),
                compositions: compositions.collect(),
                pieces: Vec::new(),
                resources: Vec::new(),
            }
        };
        let (here, there) = (content(), content());
        let numbers = CommonNumbers::of(&here.keys, &there.keys);
        let mut pairs = Pairs::new(&here, &there, &numbers);
        for _ in 0..2 {
            for (one, two) in (0..100).flat_map(|one| (0..100).map(move |two| (one, two))) {
                for _ in 0..2 {
                    let pair = pairs.of(one, two);
                    let only = usize::from(one != two);
                    let told = (pair.only_here.len(), pair.only_there.len());
                    assert_eq!(told, (only, only));
                }
                assert!(pairs.kept <= pairs.most && pairs.pairs.len() <= pairs.kept);
            }
        }
        assert!(pairs.pairs.len() < 10_000);
    }
}
