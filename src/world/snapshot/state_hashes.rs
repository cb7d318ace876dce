//! `StateHashes`: which part of a state two worlds differ in, by a number for each.
//!
//! The number of a part is a sum over the entities that are in it, so that neither their order counts nor where they lie.

use core::fmt;
use std::collections::{BTreeMap, HashMap};

use crate::entity::Entity;
use crate::fragment::FragmentKind;
use crate::shown::shown;
use crate::workers::fork_join;
use crate::world::World;
use crate::world::snapshot::checksum::avalanche;
use crate::world::snapshot::content::{Column, Content, Looked, Piece};
use crate::world::snapshot::fragment_keys::FragmentKeys;
use crate::world::snapshot::state::{composition, mix, resource_hash};
use crate::world::snapshot::{SnapshotError, SnapshotOptions};

/// A number for each part of a world's logical state: together they say what
/// [`state_hash`](World::state_hash) says, and which part it is in which two worlds differ.
///
/// The parts are who lives and of what ([`StatePart::Entities`]), each fragment that some entity has, each one that somebody
/// has switched off, and each resource that is part of the state. Names of types are in it, some dozens of bytes for
/// each: peers send the one number each tick, and this when that differs; or each tick, where there are few types.
///
/// Two of worlds in the same state are equal, whatever their past, their memory, and the number of threads; two that are
/// equal are of worlds with the same [`state_hash`](World::state_hash), as far as hashes say. Of one byte order and one
/// version of the crate, as that is.
///
/// ```
/// use megachunk::prelude::*;
/// use megachunk::world::StatePart;
///
/// let (mut here, mut there) = (World::new(), World::new());
/// for world in [&mut here, &mut there] {
///     world.registry().register_plain_as::<u32>("health")?;
///     world.registry().register_plain_as::<i16>("speed")?;
///     world.create((7_u32, 3_i16))?;
/// }
/// let ant = there.query::<Entity, ()>()?.iter().next().expect("it was created");
/// there.add(ant, (4_i16,))?;
/// let (ours, theirs) = (here.state_hashes(&Default::default())?, there.state_hashes(&Default::default())?);
/// let parts: Vec<String> = ours.differing(&theirs).map(|differs| differs.to_string()).collect();
/// assert_eq!(parts, ["the fragment speed differs"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(into = "Vec<(StatePart, u64)>", from = "Vec<(StatePart, u64)>")
)]
pub struct StateHashes {
    /// In order, each part once.
    parts: Vec<(StatePart, u64)>,
}

/// A part of a world's logical state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum StatePart {
    /// Who lives, and which fragments each has: ids, versions, names, roles and sizes.
    Entities,
    /// Who has a fragment, and with which values. (Of a tag, and of a chunk fragment, only who has it.)
    Fragment {
        /// Its name.
        name: Box<str>,
        /// Its role.
        kind: FragmentKind,
    },
    /// Who has a fragment switched off: there, if somebody has.
    Switches {
        /// Its name.
        name: Box<str>,
        /// Its role.
        kind: FragmentKind,
    },
    /// A resource of a type that is [part of the state](crate::fragment::FragmentRegistry::register_state).
    Resource {
        /// What its type is called.
        name: Box<str>,
    },
}

impl fmt::Display for StatePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entities => f.write_str("who lives, and of what,"),
            Self::Fragment { name, kind } => write!(f, "the {kind} {}", shown(name)),
            Self::Switches { name, kind } => {
                write!(f, "who has the {kind} {} switched off", shown(name))
            }
            Self::Resource { name } => write!(f, "the resource {}", shown(name)),
        }
    }
}

/// A part of the state in which two worlds differ: [`StateHashes::differing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DifferingPart<'h> {
    /// Which one.
    pub part: &'h StatePart,
    /// Its number here; `None` if only the other has it.
    pub here: Option<u64>,
    /// Its number there; `None` if only this one has it.
    pub there: Option<u64>,
}

impl fmt::Display for DifferingPart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match (self.here, self.there) {
            (Some(_), None) => "is only here",
            (None, _) => "is only there",
            _ => "differs",
        };
        write!(f, "{} {how}", self.part)
    }
}

/// Each part of a world's state with its number, in order, from [`StateHashes::iter`]. O(1) for each.
#[derive(Clone, Debug)]
#[must_use = "iterators are lazy and do nothing unless consumed"]
pub struct StateHashesIter<'h>(core::slice::Iter<'h, (StatePart, u64)>);

impl<'h> Iterator for StateHashesIter<'h> {
    type Item = (&'h StatePart, u64);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(part, hash)| (part, *hash))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for StateHashesIter<'_> {}

impl core::iter::FusedIterator for StateHashesIter<'_> {}

impl<'h> IntoIterator for &'h StateHashes {
    type Item = (&'h StatePart, u64);
    type IntoIter = StateHashesIter<'h>;

    fn into_iter(self) -> StateHashesIter<'h> {
        self.iter()
    }
}

impl StateHashes {
    /// The parts, in order, each with its number.
    pub fn iter(&self) -> StateHashesIter<'_> {
        StateHashesIter(self.parts.iter())
    }

    /// The parts that are not the same in the other, in order: of a peer's world, say. O(parts).
    pub fn differing<'h>(&'h self, other: &'h Self) -> impl Iterator<Item = DifferingPart<'h>> {
        let (mut here, mut there) = (self.parts.as_slice(), other.parts.as_slice());
        core::iter::from_fn(move || {
            loop {
                let (one, two) = (here.first(), there.first());
                let part = match (one, two) {
                    (Some((one, _)), Some((two, _))) => one.min(two),
                    (one, two) => &one.or(two)?.0,
                };
                let one = one.filter(|(of, _)| of == part).map(|&(_, hash)| hash);
                let two = two.filter(|(of, _)| of == part).map(|&(_, hash)| hash);
                here = &here[usize::from(one.is_some())..];
                there = &there[usize::from(two.is_some())..];
                if one != two {
                    return Some(DifferingPart {
                        part,
                        here: one,
                        there: two,
                    });
                }
            }
        })
    }

    pub(super) fn of_content<'a>(content: &Content<'a>) -> Self {
        let begins = content.compositions.iter();
        let keys = |&number: &u32| content.keys.key(number);
        let begins = begins.map(|of| composition(of.fragments.iter().map(keys)));
        let begins: Vec<u64> = begins.collect();
        // Many chunks may have a long one.
        let mut shared = SharedHashes::new();
        let columns = content.pieces.iter().flat_map(|piece| &piece.columns);
        for column in columns {
            if let Some(value) = column.shared() {
                let hash = || column.shared_hash(value);
                shared.entry(place(column, value)).or_insert_with(hash);
            }
        }
        let hash = |piece: &Piece<'_>| PieceHash::of(piece, begins[piece.composition], &shared);
        let hashes = match &content.pieces[..] {
            [one] => vec![hash(one)],
            all => fork_join::map(all.iter().collect(), hash),
        };
        let mut parts = BTreeMap::new();
        let mut add = |part: PartKey<'a>, hash: u64| {
            let sum: &mut u64 = parts.entry(part).or_default();
            *sum = sum.wrapping_add(hash);
        };
        let (mut all, mut count) = (0_u64, 0);
        // What pieces of one composition have together is added once, whatever it consists of.
        let mut sums: Vec<Option<PieceHash>> = vec![None; content.compositions.len()];
        for (piece, hash) in content.pieces.iter().zip(hashes) {
            count += piece.entities.len() as u64;
            all = all.wrapping_add(hash.entities);
            match &mut sums[piece.composition] {
                Some(sum) => sum.add(&hash),
                none => *none = Some(hash),
            }
        }
        for (of, sum) in content.compositions.iter().zip(sums) {
            let Some(sum) = sum else { continue };
            let mut values = vec![sum.members; of.fragments.len()];
            for (&place, column) in of.columns.iter().zip(&sum.columns) {
                values[place] = column.values;
                if column.is_off {
                    add(PartKey::Switches(of.fragments[place]), column.off);
                }
            }
            for (&fragment, value) in of.fragments.iter().zip(values) {
                add(PartKey::Fragment(fragment), value);
            }
        }
        add(PartKey::Entities, avalanche(mix(all, count)));
        for &(name, ref bytes) in &content.resources {
            add(PartKey::Resource(name), resource_hash(name, bytes));
        }
        let mut told: Vec<(PartKey<'_>, u64)> = Vec::with_capacity(parts.len());
        for (part, hash) in parts {
            match told.last_mut() {
                Some((last, sum)) if last.is_of_one_name(part, &content.keys) => {
                    *sum = sum.wrapping_add(hash);
                }
                _ => told.push((part, hash)),
            }
        }
        let parts = told.into_iter();
        let parts = parts.map(|(part, hash)| (part.told(&content.keys), hash));
        Self {
            parts: parts.collect(),
        }
    }
}

/// A part by the number of its fragment, or a name that is somebody else's. In the order of [`StatePart`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PartKey<'a> {
    Entities,
    Fragment(u32),
    Switches(u32),
    Resource(&'a str),
}

impl PartKey<'_> {
    /// Whether it is one part with another: fragments of two sizes may be called alike.
    fn is_of_one_name(self, other: Self, keys: &FragmentKeys<'_>) -> bool {
        match (self, other) {
            (Self::Fragment(one), Self::Fragment(two))
            | (Self::Switches(one), Self::Switches(two)) => {
                keys.key(one).is_called_as(&keys.key(two))
            }
            _ => false,
        }
    }

    fn told(self, keys: &FragmentKeys<'_>) -> StatePart {
        let key = |number| keys.key(number);
        match self {
            Self::Entities => StatePart::Entities,
            Self::Fragment(number) => StatePart::Fragment {
                name: key(number).name.into(),
                kind: key(number).kind,
            },
            Self::Switches(number) => StatePart::Switches {
                name: key(number).name.into(),
                kind: key(number).kind,
            },
            Self::Resource(name) => StatePart::Resource { name: name.into() },
        }
    }
}

/// What the entities of a chunk add to each part.
#[derive(Clone)]
struct PieceHash {
    entities: u64,
    /// To the number of a fragment of which nothing counts but who has it.
    members: u64,
    columns: Vec<ColumnHash>,
}

/// What they add to a fragment that has values or switches.
#[derive(Clone, Copy, Default)]
struct ColumnHash {
    values: u64,
    off: u64,
    is_off: bool,
}

impl PieceHash {
    fn of(piece: &Piece<'_>, begin: u64, shared: &SharedHashes) -> Self {
        let sum = |hash: fn(u64, u64) -> u64, begin: u64| {
            let entities = piece.entities.iter().map(|entity| entity.to_bits());
            let hashes = entities.map(|entity| avalanche(hash(begin, entity)));
            hashes.fold(0, u64::wrapping_add)
        };
        let members: Vec<u64> = piece.entities.iter().map(member).collect();
        let mut hashes = Vec::with_capacity(members.len());
        let columns = piece.columns.iter().map(|column| {
            hashes.clone_from(&members);
            match column.shared().map(|value| shared[&place(column, value)]) {
                Some(value) => hashes.iter_mut().for_each(|hash| *hash = mix(*hash, value)),
                None => column.add_values(&mut hashes),
            }
            let values = hashes.iter().map(|&hash| avalanche(hash));
            let values = values.fold(0, u64::wrapping_add);
            let mut hash = ColumnHash {
                values,
                ..ColumnHash::default()
            };
            for row in column.off() {
                hash.is_off = true;
                let off = avalanche(member(&piece.entities[row]));
                hash.off = hash.off.wrapping_add(off);
            }
            hash
        });
        Self {
            entities: sum(mix, begin),
            members: sum(|_, entity| mix(0, entity), 0),
            columns: columns.collect(),
        }
    }

    fn add(&mut self, other: &Self) {
        self.entities = self.entities.wrapping_add(other.entities);
        self.members = self.members.wrapping_add(other.members);
        for (one, other) in self.columns.iter_mut().zip(&other.columns) {
            one.values = one.values.wrapping_add(other.values);
            one.off = one.off.wrapping_add(other.off);
            one.is_off |= other.is_off;
        }
    }
}

/// The hashes of shared values, by the places where these lie, and whether they are written: then their length counts.
type SharedHashes = HashMap<(usize, usize, bool), u64>;

/// Where the bytes of a column lie.
fn place(column: &Column<'_>, bytes: &[u8]) -> (usize, usize, bool) {
    (bytes.as_ptr().addr(), bytes.len(), column.is_written)
}

/// That an entity is one of those who have something.
#[inline]
fn member(entity: &Entity) -> u64 {
    mix(0, entity.to_bits())
}

impl From<StateHashes> for Vec<(StatePart, u64)> {
    fn from(hashes: StateHashes) -> Self {
        hashes.parts
    }
}

/// Of parts in any order, each once: of several numbers of one part the least.
impl From<Vec<(StatePart, u64)>> for StateHashes {
    fn from(mut parts: Vec<(StatePart, u64)>) -> Self {
        parts.sort_unstable();
        parts.dedup_by(|one, other| one.0 == other.0);
        Self { parts }
    }
}

impl World {
    /// A number for each part of the logical state, as far as the options say that it belongs to it: where two worlds
    /// differ whose [`state_hash`](Self::state_hash) does. [`differences`](Self::differences) says of which entities, where
    /// both worlds are at hand.
    ///
    /// O(entities × their fragments + bytes of all values, of those that are shared once), chunks on all threads of the
    /// current rayon pool that have time. Any thread.
    ///
    /// # Errors
    /// As for [`state_hash`](Self::state_hash).
    pub fn state_hashes(&self, options: &SnapshotOptions) -> Result<StateHashes, SnapshotError> {
        let looked = Looked::at(self, options)?;
        Ok(StateHashes::of_content(&Content::of_world(
            &looked, options,
        )?))
    }
}
