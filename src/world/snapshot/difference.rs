//! `Difference`: one thing in which two states differ.

use core::fmt;
use core::time::Duration;
use std::borrow::Cow;

use crate::entity::Entity;
use crate::fragment::FragmentKind;
use crate::shown::{listed, shown, shown_quoted};
use crate::world::snapshot::fragment_keys::FragmentKey;

/// Bytes of a value that are shown whole.
const WHOLE: usize = 32;
/// So many are shown of a longer one, from the first that differs on.
const PART: usize = 16;

/// One thing in which two states differ: [`World::differences`](crate::world::World::differences). *Here* is the world that
/// was asked, *there* the other one. Shown, it is one line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference<'d> {
    /// An entity that the other has not. (One with another version is another one.)
    OnlyHere(Entity),
    /// An entity that this one has not.
    OnlyThere(Entity),
    /// An entity does not have the same fragments in both.
    Composition {
        /// Whose.
        entity: Entity,
        /// What it has only here, by name.
        only_here: Cow<'d, [StateFragment<'d>]>,
        /// What it has only there.
        only_there: Cow<'d, [StateFragment<'d>]>,
    },
    /// An entity's values of a fragment are two.
    Value {
        /// Whose.
        entity: Entity,
        /// Of which fragment.
        fragment: StateFragment<'d>,
        /// Its bytes here: those that it has, or that its type [writes](crate::fragment::FragmentRegistry::register_written_as).
        here: Cow<'d, [u8]>,
        /// Those there, as many unless they are written.
        there: Cow<'d, [u8]>,
    },
    /// An entity's shared values of a fragment are two: told of each entity.
    Shared {
        /// Whose.
        entity: Entity,
        /// Of which fragment.
        fragment: StateFragment<'d>,
        /// Its bytes here, or those that its type writes.
        here: Cow<'d, [u8]>,
        /// Those there, as many unless they are written.
        there: Cow<'d, [u8]>,
    },
    /// A fragment of an entity is switched on in one of the two.
    Switch {
        /// Whose.
        entity: Entity,
        /// Which fragment.
        fragment: StateFragment<'d>,
        /// Whether it is on here: then it is off there.
        here: bool,
    },
    /// An entity is not called the same in both: of [files](crate::world::SnapshotState) only, for a hash has no names.
    Name {
        /// Who.
        entity: Entity,
        /// Its name here.
        here: Option<Cow<'d, str>>,
        /// Its name there.
        there: Option<Cow<'d, str>>,
    },
    /// A resource that is part of the state.
    Resource {
        /// What its type is called.
        name: Cow<'d, str>,
        /// Its bytes here.
        here: Option<Cow<'d, [u8]>>,
        /// Its bytes there.
        there: Option<Cow<'d, [u8]>>,
    },
    /// The worlds' times: of files only.
    Time {
        /// That of this one.
        here: Duration,
        /// That of the other.
        there: Duration,
    },
    /// Not the same delayed signals wait: of files only.
    Signals {
        /// How many wait here.
        here: usize,
        /// How many wait there.
        there: usize,
    },
}

/// What a fragment is known by in a state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct StateFragment<'d> {
    /// Its name.
    pub name: Cow<'d, str>,
    /// Its role.
    pub kind: FragmentKind,
    /// Bytes of a value; 0 if they are [written](crate::fragment::FragmentRegistry::register_written_as), for each may have
    /// others.
    pub size: usize,
}

impl<'d> StateFragment<'d> {
    pub(super) fn of(key: FragmentKey<'d>) -> Self {
        Self {
            name: Cow::Borrowed(key.name),
            kind: key.kind,
            size: key.size,
        }
    }

    /// One that borrows nothing.
    #[must_use]
    pub fn into_owned(self) -> StateFragment<'static> {
        StateFragment {
            name: owned(self.name),
            ..self
        }
    }
}

fn owned<T: ToOwned + ?Sized>(borrowed: Cow<'_, T>) -> Cow<'static, T> {
    Cow::Owned(borrowed.into_owned())
}

/// `a fragment Spot`, with the bytes of a value if it has some.
impl fmt::Display for StateFragment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, kind, size } = self;
        write!(f, "{kind} {}", shown(name))?;
        match size {
            0 => Ok(()),
            size => write!(f, " of {size} bytes"),
        }
    }
}

impl Difference<'_> {
    /// The entity that it is about.
    #[must_use]
    pub fn entity(&self) -> Option<Entity> {
        match *self {
            Self::OnlyHere(entity)
            | Self::OnlyThere(entity)
            | Self::Composition { entity, .. }
            | Self::Value { entity, .. }
            | Self::Shared { entity, .. }
            | Self::Switch { entity, .. }
            | Self::Name { entity, .. } => Some(entity),
            Self::Resource { .. } | Self::Time { .. } | Self::Signals { .. } => None,
        }
    }

    /// One that borrows nothing, to be kept.
    #[must_use]
    pub fn into_owned(self) -> Difference<'static> {
        let all = |fragments: Cow<'_, [StateFragment<'_>]>| {
            let fragments = fragments.iter().cloned();
            fragments.map(StateFragment::into_owned).collect()
        };
        match self {
            Self::OnlyHere(entity) => Difference::OnlyHere(entity),
            Self::OnlyThere(entity) => Difference::OnlyThere(entity),
            Self::Composition {
                entity,
                only_here,
                only_there,
            } => Difference::Composition {
                entity,
                only_here: all(only_here),
                only_there: all(only_there),
            },
            Self::Value {
                entity,
                fragment,
                here,
                there,
            } => Difference::Value {
                entity,
                fragment: fragment.into_owned(),
                here: owned(here),
                there: owned(there),
            },
            Self::Shared {
                entity,
                fragment,
                here,
                there,
            } => Difference::Shared {
                entity,
                fragment: fragment.into_owned(),
                here: owned(here),
                there: owned(there),
            },
            Self::Switch {
                entity,
                fragment,
                here,
            } => Difference::Switch {
                entity,
                fragment: fragment.into_owned(),
                here,
            },
            Self::Name {
                entity,
                here,
                there,
            } => Difference::Name {
                entity,
                here: here.map(owned),
                there: there.map(owned),
            },
            Self::Resource { name, here, there } => Difference::Resource {
                name: owned(name),
                here: here.map(owned),
                there: there.map(owned),
            },
            Self::Time { here, there } => Difference::Time { here, there },
            Self::Signals { here, there } => Difference::Signals { here, there },
        }
    }
}

impl fmt::Display for Difference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnlyHere(entity) => write!(f, "{entity} is only here"),
            Self::OnlyThere(entity) => write!(f, "{entity} is only there"),
            Self::Composition {
                entity,
                only_here,
                only_there,
            } => {
                let parts = [(only_here, "here"), (only_there, "there")];
                let parts = parts.into_iter().filter(|(some, _)| !some.is_empty());
                let parts = parts.map(|(some, place)| {
                    format!("only {place} a {}", listed(some.iter(), " and a "))
                });
                let parts: Vec<String> = parts.collect();
                write!(f, "{entity} has {}", parts.join(", "))
            }
            Self::Value {
                entity,
                fragment,
                here,
                there,
            }
            | Self::Shared {
                entity,
                fragment,
                here,
                there,
            } => {
                let (kind, name) = (fragment.kind, shown(&fragment.name));
                write!(f, "{entity}: {kind} {name} differs {}", Bytes(here, there))
            }
            Self::Switch {
                entity,
                fragment,
                here,
            } => {
                let (kind, name) = (fragment.kind, shown(&fragment.name));
                let (one, other) = if *here { ("on", "off") } else { ("off", "on") };
                write!(f, "{entity}: {kind} {name} is {one} here, {other} there")
            }
            Self::Name {
                entity,
                here,
                there,
            } => {
                let name = |name: &Option<Cow<'_, str>>| match name {
                    Some(name) => format!("called {}", shown_quoted(name)),
                    None => "without a name".into(),
                };
                write!(f, "{entity} is {} here, {} there", name(here), name(there))
            }
            Self::Resource { name, here, there } => {
                write!(f, "the resource {} ", shown(name))?;
                match (here, there) {
                    (Some(here), Some(there)) => write!(f, "differs {}", Bytes(here, there)),
                    (Some(_), None) => f.write_str("is only here"),
                    _ => f.write_str("is only there"),
                }
            }
            Self::Time { here, there } => write!(f, "the time is {here:?} here, {there:?} there"),
            Self::Signals { here, there } => write!(
                f,
                "other delayed signals wait: {here} of them here, {there} there"
            ),
        }
    }
}

/// Where bytes differ, and what they are from there on, or as a whole if they are few.
struct Bytes<'b>(&'b [u8], &'b [u8]);

impl fmt::Display for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(here, there) = self;
        let pairs = here.iter().zip(*there);
        let shorter = here.len().min(there.len());
        let first = pairs.take_while(|(one, two)| one == two).count();
        write!(f, "at byte {first} of {}", here.len())?;
        if here.len() != there.len() {
            write!(f, " here and {} there", there.len())?;
        }
        f.write_str(": ")?;
        let from = if shorter > WHOLE { first } else { 0 };
        hex(f, here, from)?;
        f.write_str(" here, ")?;
        hex(f, there, from)?;
        f.write_str(" there")
    }
}

/// Some bytes, from one on. What is left out before and behind them has a mark.
fn hex(f: &mut fmt::Formatter<'_>, bytes: &[u8], from: usize) -> fmt::Result {
    let rest = bytes.get(from..).unwrap_or_default();
    let shown = if rest.len() > WHOLE { PART } else { rest.len() };
    if from > 0 {
        f.write_str("…")?;
    }
    if rest.is_empty() {
        f.write_str("nothing")?;
    }
    for byte in &rest[..shown] {
        write!(f, "{byte:02x}")?;
    }
    if shown < rest.len() {
        f.write_str("…")?;
    }
    Ok(())
}
