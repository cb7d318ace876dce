//! Explanations: why a query does not see an entity, or no entity at all. For people who look for a mistake: nothing here
//! is asked by a run.

use core::fmt;

use crate::archetype::{Archetype, Chunk, Row, is_newer};
use crate::entity::Entity;
use crate::fragment::{FragmentId, FragmentKind, FragmentSet};
use crate::query::Requirements;
use crate::query::masks::{any_masked, masked};
use crate::query::requirements::Mask;
use crate::world::{World, WorldError};

/// Why a query does not see an entity, or a composition. What is named is named as
/// [`FragmentInfo::name`](crate::fragment::FragmentInfo::name) does; with its role, if that is not a fragment or tag.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mismatch {
    /// It must be there, and is not.
    Lacks(String),
    /// It must not be there, and is.
    Excludes(String),
    /// One of these must be there, and none is.
    LacksAll(Vec<String>),
    /// It is to be switched off and on, and cannot be.
    NotEnableable(String),
    /// A type that is asked for is there in another role, which is another fragment.
    OtherRole {
        /// What is asked for.
        name: String,
        /// As what the type is there.
        role: FragmentKind,
    },
    /// It must be switched on, and is off.
    SwitchedOff(String),
    /// It must not be there, or be off, and is on.
    SwitchedOn(String),
    /// One of these must be there and switched on: those that are there are off.
    AllSwitchedOff(Vec<String>),
    /// It must have changed in the entity's chunk since the query ran last. A query that is asked itself knows that it has
    /// not; of a processor's it is said in any case, for it depends on when that runs.
    IfChanged(String),
    /// One of these must have changed in the entity's chunk, as for [`IfChanged`](Self::IfChanged).
    IfOneChanged(Vec<String>),
    /// Entities must have come to the entity's chunk, or gone, or changed rows, as for [`IfChanged`](Self::IfChanged).
    IfMoved,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lacks(name) => write!(f, "asks for {name}, which is not there"),
            Self::Excludes(name) => write!(f, "excludes {name}, which is there"),
            Self::LacksAll(names) if names.is_empty() => {
                f.write_str("asks for one of no fragments")
            }
            Self::LacksAll(names) => write!(
                f,
                "asks for one of {}, none of which is there",
                names.join(", ")
            ),
            Self::NotEnableable(name) => {
                write!(f, "switches {name}, which cannot be switched off there")
            }
            Self::OtherRole { name, role } => {
                write!(f, "{name} is there as a {role}: that is another fragment")
            }
            Self::SwitchedOff(name) => write!(f, "asks for {name}, which is switched off"),
            Self::SwitchedOn(name) => write!(f, "excludes {name}, which is switched on"),
            Self::AllSwitchedOff(names) => write!(
                f,
                "asks for one of {}, and what of them is there is switched off",
                names.join(", ")
            ),
            Self::IfChanged(name) => write!(
                f,
                "sees it only in a run before which {name} has changed in its chunk"
            ),
            Self::IfOneChanged(names) => write!(
                f,
                "sees it only in a run before which one of {} has changed in its chunk",
                names.join(", ")
            ),
            Self::IfMoved => {
                f.write_str("sees it only in a run before which entities came to its chunk or went")
            }
        }
    }
}

/// A composition that comes near to what a query asks for, and that it sees nobody of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NearMiss {
    /// The names of what it is made of, each as in a [`Mismatch`].
    pub composition: Vec<String>,
    /// How many entities have it.
    pub entities: usize,
    /// What is against it. Of a composition that matches: what is against its first entity; nothing if it has none.
    pub mismatches: Vec<Mismatch>,
}

/// Why a query sees no entity of a world: from [`Query::explain_none`](crate::query::Query::explain_none).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoMatch {
    /// Up to three compositions against which there is the least; first those that somebody has.
    pub nearest: Vec<NearMiss>,
    /// What is asked for that no entity has, while some have its type in [another role](Mismatch::OtherRole).
    pub roles: Vec<Mismatch>,
}

/// So many compositions are named.
const NAMED: usize = 3;

impl fmt::Display for NoMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no entity is seen")?;
        for role in &self.roles {
            write!(f, "\n  {role}")?;
        }
        for near in &self.nearest {
            write!(f, "\n  {near}")?;
        }
        Ok(())
    }
}

/// One line.
impl fmt::Display for NearMiss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = self.composition.join(", ");
        write!(f, "of {} entities of {{{of}}}: ", self.entities)?;
        write_all(f, &self.mismatches, "none is there")
    }
}

/// Writes what is against something, or that nothing is.
pub(crate) fn write_all(
    f: &mut fmt::Formatter<'_>,
    all: &[Mismatch],
    nothing: &str,
) -> fmt::Result {
    if all.is_empty() {
        f.write_str(nothing)?;
    }
    for (at, mismatch) in all.iter().enumerate() {
        let comma = if at > 0 { "; " } else { "" };
        write!(f, "{comma}{mismatch}")?;
    }
    Ok(())
}

/// The name of a fragment; with its role, for a type may be there in one and be asked for in another.
fn name(world: &World, id: FragmentId) -> String {
    match world.registry().get(id) {
        None => String::new(),
        Some(info) => match info.kind() {
            FragmentKind::Fragment | FragmentKind::Tag => info.name().to_owned(),
            role => format!("{} ({role})", info.name()),
        },
    }
}

/// The names of what an archetype is made of.
pub(crate) fn composition(world: &World, archetype: &Archetype) -> Vec<String> {
    archetype.ids.iter().map(|&id| name(world, id)).collect()
}

impl Requirements {
    /// Why a query that asks for this does not see an entity, of a world of the universe that its fragments are of. Since
    /// when changes are looked for is not known here. As [`Query::explain`](crate::query::Query::explain) otherwise.
    ///
    /// # Errors
    /// The handle is refused.
    pub fn explain(&self, world: &World, entity: Entity) -> Result<Vec<Mismatch>, WorldError> {
        explain(self, world, entity, None)
    }

    /// Why a query that asks for this sees no entity of a world, whatever has changed, of the universe that its fragments
    /// are of: as [`Query::explain_none`](crate::query::Query::explain_none).
    #[must_use]
    pub fn explain_none(&self, world: &World) -> Option<NoMatch> {
        explain_none(self, world, None)
    }
}

/// Why a query does not see an entity. If it is not known since when it looks for changes, all are said that it looks for.
pub(crate) fn explain(
    requirements: &Requirements,
    world: &World,
    entity: Entity,
    since: Option<u32>,
) -> Result<Vec<Mismatch>, WorldError> {
    let (archetype, row) = world.find(entity)?;
    let asked = Asked {
        requirements,
        world,
        archetype: &world.archetypes[archetype as usize],
    };
    let against = asked.against_composition();
    Ok(match against.is_empty() {
        true => asked.against_row(row, since, true),
        false => against,
    })
}

/// Why a query sees no entity; `None` if it sees one.
pub(crate) fn explain_none(
    requirements: &Requirements,
    world: &World,
    since: Option<u32>,
) -> Option<NoMatch> {
    let mut found = Vec::with_capacity(world.archetypes.len());
    for archetype in &world.archetypes {
        let asked = Asked {
            requirements,
            world,
            archetype,
        };
        let against = asked.against_composition();
        if against.is_empty() && asked.sees_some(since) {
            return None;
        }
        let chunks = archetype.chunks.iter();
        let entities: usize = chunks.map(|chunk| chunk.len as usize).sum();
        let rank = (against.len(), entities == 0);
        found.push((
            rank,
            NearMiss {
                composition: Vec::new(),
                entities,
                mismatches: against,
            },
            asked,
        ));
    }
    // Stable: archetypes of one rank stay in order.
    found.sort_by_key(|(rank, ..)| *rank);
    let nearest = found.into_iter().take(NAMED).map(|(_, mut near, asked)| {
        near.composition = composition(world, asked.archetype);
        let first = (0..).zip(&asked.archetype.chunks);
        let first = first.into_iter().find(|(_, chunk)| chunk.len > 0);
        if let (true, Some((chunk, _))) = (near.mismatches.is_empty(), first) {
            near.mismatches = asked.against_row(Row { chunk, row: 0 }, since, since.is_some());
        }
        near
    });
    Some(NoMatch {
        nearest: nearest.collect(),
        roles: other_roles(requirements, world),
    })
}

/// What is asked for that nobody has, but in another role.
fn other_roles(requirements: &Requirements, world: &World) -> Vec<Mismatch> {
    let has = |id| {
        let mut archetypes = world.archetypes.iter();
        archetypes.any(|archetype| {
            archetype.set.contains(id) && archetype.chunks.iter().any(|chunk| chunk.len > 0)
        })
    };
    let mut asked: FragmentSet = requirements.required().iter().collect();
    asked.extend(requirements.switches().iter());
    asked.extend(requirements.one_of_each().flat_map(FragmentSet::iter));
    let lacking = asked.iter().filter(|&id| !has(id));
    lacking
        .flat_map(|id| in_other_role(world, id, &has))
        .collect()
}

/// In which other roles a fragment's type is there.
fn in_other_role(world: &World, id: FragmentId, has: &dyn Fn(FragmentId) -> bool) -> Vec<Mismatch> {
    let Some(asked) = world.registry().get(id) else {
        return Vec::new();
    };
    let others = world.registry().iter().filter(|info| {
        info.name() == asked.name() && info.kind() != asked.kind() && has(info.id())
    });
    let others = others.map(|info| Mismatch::OtherRole {
        name: name(world, id),
        role: info.kind(),
    });
    others.collect()
}

/// A query, and an archetype.
struct Asked<'w> {
    requirements: &'w Requirements,
    world: &'w World,
    archetype: &'w Archetype,
}

impl Asked<'_> {
    fn name(&self, id: FragmentId) -> String {
        name(self.world, id)
    }

    fn names(&self, ids: &FragmentSet) -> Vec<String> {
        ids.iter().map(|id| self.name(id)).collect()
    }

    fn has(&self, id: FragmentId) -> bool {
        self.archetype.set.contains(id)
    }

    /// Whether a fragment is there, and cannot be switched off.
    fn is_fixed(&self, id: FragmentId) -> bool {
        self.has(id) && self.archetype.enabled_of(id).is_none()
    }

    /// What is against the composition.
    fn against_composition(&self) -> Vec<Mismatch> {
        let query = self.requirements;
        let switched = query.switches().iter();
        let asked =
            (query.required().iter()).chain(switched.filter(|&id| !query.required().contains(id)));
        let lacking: Vec<FragmentId> = asked.filter(|&id| !self.has(id)).collect();
        let excluded = query.excluded().iter().filter(|&id| self.is_fixed(id));
        let fixed = query.switches().iter().filter(|&id| self.is_fixed(id));
        let one_of = query.one_of_each();
        let one_of: Vec<&FragmentSet> = one_of
            .filter(|set| !set.intersects(&self.archetype.set))
            .collect();
        let others = one_of.iter().flat_map(|set| set.iter());
        let roles = lacking.iter().copied().chain(others);
        let roles = roles.flat_map(|id| in_other_role(self.world, id, &|id| self.has(id)));
        let lacks = lacking.iter().map(|&id| Mismatch::Lacks(self.name(id)));
        lacks
            .chain(excluded.map(|id| Mismatch::Excludes(self.name(id))))
            .chain(fixed.map(|id| Mismatch::NotEnableable(self.name(id))))
            .chain(one_of.iter().map(|set| match &*self.names(set) {
                [only] => Mismatch::Lacks(only.clone()),
                names => Mismatch::LacksAll(names.to_vec()),
            }))
            .chain(roles)
            .collect()
    }

    /// What is against an entity of a composition against which there is nothing; what must have changed only if `changes`.
    fn against_row(&self, row: Row, since: Option<u32>, changes: bool) -> Vec<Mismatch> {
        let query = self.requirements;
        let chunk = &self.archetype.chunks[row.chunk as usize];
        let mut against = Vec::new();
        for id in query.required().iter() {
            if self.is_on(id, chunk, row.row) == Some(false) {
                against.push(Mismatch::SwitchedOff(self.name(id)));
            }
        }
        for id in query.excluded().iter() {
            if self.is_on(id, chunk, row.row) == Some(true) {
                against.push(Mismatch::SwitchedOn(self.name(id)));
            }
        }
        for set in query.any_switched_on() {
            let mut there = set.iter().filter(|&id| self.has(id));
            if there.all(|id| self.is_on(id, chunk, row.row) == Some(false)) {
                against.push(Mismatch::AllSwitchedOff(self.names(set)));
            }
        }
        if changes {
            self.against_chunk(chunk, since, &mut against);
        }
        against
    }

    /// What must have changed in a chunk, as far as it is not known that it has.
    fn against_chunk(&self, chunk: &Chunk, since: Option<u32>, against: &mut Vec<Mismatch>) {
        let (each, any, moved) = self.requirements.changes();
        let has_moved = || since.is_some_and(|since| is_newer(chunk.order_version, since));
        let has_changed = |id| since.is_some_and(|since| self.has_changed(id, chunk, since));
        for id in each.iter() {
            if !has_changed(id) {
                against.push(Mismatch::IfChanged(self.name(id)));
            }
        }
        for (ids, or_moved) in any {
            if !(ids.iter().any(has_changed) || *or_moved && has_moved()) {
                against.push(match (ids.is_empty(), or_moved) {
                    (true, true) => Mismatch::IfMoved,
                    _ => Mismatch::IfOneChanged(self.names(ids)),
                });
            }
        }
        if moved && !has_moved() {
            against.push(Mismatch::IfMoved);
        }
    }

    /// Whether a fragment has changed, as `Changed` says it.
    fn has_changed(&self, id: FragmentId, chunk: &Chunk, since: u32) -> bool {
        let version = match self.archetype.version_of(id) {
            _ if !self.has(id) => return false,
            Some(column) => chunk.version(column as usize),
            // A tag changes by coming and going.
            None => chunk.filled_version,
        };
        is_newer(version, since)
    }

    /// Whether a fragment of an entity is on; `None` if it cannot be switched, or is not there.
    fn is_on(&self, id: FragmentId, chunk: &Chunk, row: u32) -> Option<bool> {
        let bits = self.archetype.enabled_of(id)?;
        let mask = Mask {
            offset: bits.offset,
            others: Box::default(),
            inverted: false,
        };
        Some(masked(Some(&[mask]), chunk, row))
    }

    /// Whether some entity of a composition against which there is nothing is seen.
    fn sees_some(&self, since: Option<u32>) -> bool {
        let masks = self.requirements.masks(self.archetype);
        self.archetype.chunks.iter().any(|chunk| {
            let mut against = Vec::new();
            if since.is_some() {
                self.against_chunk(chunk, since, &mut against);
            }
            let rows = 0..chunk.len as usize;
            against.is_empty() && chunk.len > 0 && any_masked(masks.as_deref(), chunk, rows)
        })
    }
}
