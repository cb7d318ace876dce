//! What can go wrong with a snapshot, as a type.

use core::fmt;
use std::path::{Path, PathBuf};

use crate::entity::Entity;
use crate::fragment::{FragmentInfo, FragmentKind, which_is};
use crate::shown::{listed, shown, shown_path, shown_quoted, shown_text};
use crate::whole_file::{FileFault, FileStep};
use crate::world::{SystemError, WorldError};

/// A snapshot, or a hash of a world, was refused. No world has changed, and no file.
///
/// The text has names that come out of a file in one line each, with what is not to be seen escaped, and of long names and
/// of many no more than the begin: the fields have all of them, as they stand there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// A fragment of some entity is more than its bytes.
    #[error(
        "{name} is not registered as plain data, and cannot be hashed or saved: register it with \
         `register_plain` (a tag, too, if it is to be saved; its type must be `Plain`: see `plain!`), say how it is \
         written (`register_written_as`), or skip it"
    )]
    #[non_exhaustive]
    NotPlain {
        /// The fragment's name.
        name: Box<str>,
    },
    /// Two fragments have one name and role, so that a file could not tell them apart: of two types with one path, or of a
    /// type whose path another one was given as its name. [Give](crate::fragment::FragmentRegistry::register_plain_as) the
    /// type a name of its own.
    #[error(
        "there are two {kind}s with the name {name:?}: {}",
        listed(are.iter(), ", and ")
    )]
    #[non_exhaustive]
    Ambiguous {
        /// The name.
        name: Box<str>,
        /// The role.
        kind: FragmentKind,
        /// What they are, for people: types, or what was defined at run time.
        are: [Box<str>; 2],
    },
    /// The file cannot be opened, read or written. One that was to be written is as it was, whatever the step.
    #[error("{path}: {}{source}", tried(*step), path = shown_path(path))]
    #[non_exhaustive]
    File {
        /// The file.
        path: PathBuf,
        /// What was tried.
        step: FileStep,
        /// What the system said. (As it is shown with the path, it is no [source](core::error::Error::source), whatever its name.)
        r#source: SystemError,
    },
    /// What is wrong with the bytes of a file.
    #[error("{path}: {error}", path = shown_path(path))]
    In {
        /// The file.
        path: PathBuf,
        /// What is wrong: any of the others but [`File`](Self::File). (As it is shown with the path, it is no
        /// [source](core::error::Error::source).)
        error: Box<Self>,
    },
    /// The bytes do not begin as a snapshot does.
    #[error("this is no snapshot of a megachunk world")]
    Foreign,
    /// The snapshot is of another version of the format, older or newer.
    #[error("the snapshot has format {found}; formats {oldest} to {known} are known here")]
    Format {
        /// The snapshot's format.
        found: u32,
        /// The oldest that is known.
        oldest: u32,
        /// The one that is written.
        known: u32,
    },
    /// The snapshot is of a machine with the other order of bytes.
    #[error("the snapshot is of a machine with the other order of bytes")]
    ByteOrder,
    /// The snapshot is shorter, or longer, than it says.
    #[error("the snapshot should have {expected} bytes and has {found}")]
    Length {
        /// Bytes that it should have.
        expected: u64,
        /// Bytes that it has.
        found: u64,
    },
    /// Bytes have changed, or were never written by this crate.
    #[error("the snapshot is damaged at byte {at}: {what}")]
    #[non_exhaustive]
    Damaged {
        /// What is wrong.
        what: &'static str,
        /// Where what is wrong begins.
        at: u64,
    },
    /// The snapshot has fragments that are not registered in the universe.
    #[error(
        "the snapshot has {}; register {} before the load, as by `register_plain_as`, or see `LoadOptions::skip`",
        unregistered(fragments, here),
        if fragments.len() == 1 { "it" } else { "them" }
    )]
    #[non_exhaustive]
    Unregistered {
        /// All of them, one at least.
        fragments: Box<[MissingFragment]>,
        /// Those of these names that are registered in another role, with each of these roles.
        here: Box<[(Box<str>, FragmentKind)]>,
    },
    /// Two names that the snapshot has would become one, because of a [rename](crate::world::LoadOptions::rename): it has what
    /// is renamed, and something else that is called so already, or is renamed to the same. Entities have both: what is only
    /// in compositions that nobody has gives way. (Files of which each has one of the two are no error.) It is one also where that
    /// name is skipped: which of the two was meant is not for a load to say.
    #[error(
        "the snapshot has both {} and {}{}, which would be {}: `LoadOptions::rename` leads no two to one name",
        shown_quoted(&from[0]),
        shown_quoted(&from[1]),
        as_role(*role),
        one_of_them(from, to)
    )]
    #[non_exhaustive]
    RenamedAlike {
        /// What the snapshot calls the two.
        from: [Box<str>; 2],
        /// Their role; `None` of types of the [state](crate::world::LoadOptions::rename_state).
        role: Option<FragmentKind>,
        /// What both would be called here.
        to: Box<str>,
    },
    /// The snapshot has values of types which are not registered in the universe as part of a world's state.
    #[error(
        "the snapshot has values of {}, which {} not registered: see `FragmentRegistry::register_state`, or \
         `LoadOptions::skip_state`",
        listed(names.iter().map(|name| shown(name)), ", "),
        is_or_are(names.len())
    )]
    #[non_exhaustive]
    UnregisteredState {
        /// What the types are called, all of them, each once.
        names: Box<[Box<str>]>,
    },
    /// A resource, or what a delayed signal carries, was not written, or hashed: by what its type says, or because it is
    /// [no value](crate::fragment::Plain::IS_VALUE).
    #[error("a value of {name:?} cannot be saved or hashed: {reason}")]
    #[non_exhaustive]
    StateNotWritten {
        /// What the type is called.
        name: Box<str>,
        /// What is wrong with it: what the error said that was given back, and its causes.
        reason: Box<str>,
    },
    /// A resource, or what a delayed signal carries, could not be made of its bytes, or its fields were others.
    #[error(
        "the bytes at byte {at} of the snapshot are no {}: {}",
        shown_quoted(name),
        shown_text(reason)
    )]
    #[non_exhaustive]
    StateNotRead {
        /// What the type is called.
        name: Box<str>,
        /// Where its bytes begin.
        at: u64,
        /// What is wrong with them: what the error said that was given back, and its causes; or that the fields have
        /// changed.
        reason: Box<str>,
    },
    /// The value of an entity was not written, by what its type [says](crate::fragment::FragmentRegistry::register_written_as).
    #[error("entity {entity}: the {name} cannot be saved or hashed: {reason}")]
    #[non_exhaustive]
    NotWritten {
        /// The fragment's name.
        name: Box<str>,
        /// The first entity that has it.
        entity: Entity,
        /// What is wrong with it: what the error said that was given back, and its causes.
        reason: Box<str>,
    },
    /// A value could not be made of its bytes, by what its type [says](crate::fragment::FragmentRegistry::register_written_as);
    /// or it is a variant that the type does not have here, where a file [tells](crate::processor::State::register) what they
    /// are called.
    #[error(
        "{}the bytes at byte {at} of the snapshot are no {}: {}",
        whose(.entity.as_ref()),
        shown_quoted(name),
        shown_text(reason)
    )]
    #[non_exhaustive]
    NotRead {
        /// The fragment's name.
        name: Box<str>,
        /// Whose value it is, by the handle that the file has; `None` if it is a shared one, or no single entity's.
        entity: Option<Entity>,
        /// Where its bytes begin.
        at: u64,
        /// What is wrong with them: what the error said that was given back, and its causes.
        reason: Box<str>,
    },
    /// A fragment's values were plain data when the snapshot was made, and are
    /// [written](crate::fragment::FragmentRegistry::register_written_as) here, or the other way round. Its type of then can
    /// be registered under this name, and the one of now under another: see [`load`](crate::world::World::load).
    #[error(
        "{name} {}: register what it was by this name, and what it is by another one, or see `LoadOptions::skip`",
        written_otherwise(*is_written)
    )]
    #[non_exhaustive]
    WrittenOtherwise {
        /// The fragment's name.
        name: Box<str>,
        /// Its role.
        kind: FragmentKind,
        /// Whether its values are written in the snapshot.
        is_written: bool,
    },
    /// Fragments' values had another size or alignment when the snapshot was made, or other
    /// [fields](crate::fragment::Plain::SHAPE): they become those of today by
    /// [`LoadOptions::convert`](crate::world::LoadOptions::convert) (by
    /// [`convert_bytes`](crate::world::LoadOptions::convert_bytes), or
    /// [`convert_bytes_shaped`](crate::world::LoadOptions::convert_bytes_shaped), of what is defined at run time), or are
    /// [taken as they are](crate::world::LoadOptions::take_as_is); [what else can be done](crate::world::World::load).
    #[error(
        "{}: see `LoadOptions::convert`, or `convert_bytes` for what is defined at run time, which makes today's values of \
         those of the snapshot",
        listed(fragments.iter(), "; ")
    )]
    #[non_exhaustive]
    Layout {
        /// All of them, one at least.
        fragments: Box<[ChangedLayout]>,
    },
    /// Not all bytes are a value of a fragment, and these are not: the fragment's type, or what its values may be, was
    /// another when the snapshot was made, or somebody has written them. Or they are none any more when they come [with new
    /// ids](crate::world::World::load_remapped), because they name somebody who does not come.
    #[error(
        "{}the bytes at byte {at} of the snapshot are no {name}{}",
        whose(.entity.as_ref()),
        which_is(name, of)
    )]
    #[non_exhaustive]
    NotAValue {
        /// The fragment's name.
        name: Box<str>,
        /// The type of its values.
        of: &'static str,
        /// Whose value it is, by the handle that the file has; `None` if it is a shared one, a chunk's, or what the chunks of a
        /// new archetype begin with.
        entity: Option<Entity>,
        /// Where the first value begins that is none.
        at: u64,
    },
    /// A value of the world is none by what its own type [says](crate::fragment::Plain::IS_VALUE):
    /// what would be saved could not be loaded.
    #[error("{}the {name} is no value by its type's own `Plain::IS_VALUE`, and could not be loaded", whose(.entity.as_ref()))]
    #[non_exhaustive]
    Unloadable {
        /// The fragment's name.
        name: Box<str>,
        /// The first entity that has it; `None` if it is what the chunks of a new archetype begin with.
        entity: Option<Entity>,
    },
    /// By [conversions](crate::world::LoadOptions::convert) the values of the snapshot would become more bytes than a
    /// universe's chunks hold; or those that lie in no chunk, as shared values do, many times the bytes of the file. None was
    /// converted. (Among these are shared values that are
    /// [read](crate::fragment::FragmentRegistry::register_written_as), each as large as its type.)
    #[error(
        "values of the snapshot would have {bytes} bytes when they are converted, and {most} are the most"
    )]
    ConvertedTooLarge {
        /// Bytes that they would have.
        bytes: u64,
        /// Bytes that they may have.
        most: u64,
    },
    /// The system has no memory for values that are converted.
    #[error("there is no memory for {bytes} bytes of values that are converted")]
    NoMemory {
        /// Bytes that were asked for at once.
        bytes: u64,
    },
    /// A fragment that somebody has switched off cannot be here.
    #[error(
        "{name} is switched off for some entity of the snapshot: register it with `register_enableable`, or call \
         `make_enableable` for what is defined at run time"
    )]
    #[non_exhaustive]
    NotEnableable {
        /// The fragment's name.
        name: Box<str>,
    },
    /// Worlds that are saved together are of one universe.
    #[error("worlds of several universes cannot be saved together")]
    OtherUniverse,
    /// A world is to be saved twice.
    #[error("a world is to be saved twice to one file")]
    WorldTwice,
    /// An entity was named twice of those that are to be [saved alone](crate::world::World::slice_to_snapshot).
    #[error("entity {entity} is to be saved twice to one file")]
    EntityTwice {
        /// The entity.
        entity: Entity,
    },
    /// One world is asked for, and the snapshot has another number of them.
    #[error(
        "the snapshot has {found} worlds, and one is asked for: `load_worlds`, or `load_worlds_remapped`, has all of them"
    )]
    Worlds {
        /// Worlds that it has.
        found: usize,
    },
    /// The universe has had entities: ids of the snapshot may be theirs.
    #[error(
        "a snapshot with its ids is loaded into a universe that never had an entity (with new ones into any: \
         `load_remapped`)"
    )]
    UniverseInUse,
    /// The snapshot was made [without the dead](crate::world::SnapshotOptions::skip_dead): with its ids, their handles could
    /// come to mean somebody.
    #[error(
        "the snapshot does not say who was dead: it is loaded with new ids, by `load_remapped`"
    )]
    DeadSkipped,
    /// The world could not be made.
    #[error(transparent)]
    World(#[from] WorldError),
}

impl SnapshotError {
    /// A file was not read, or not written.
    pub(super) fn file(path: &Path, FileFault { step, error }: FileFault) -> Self {
        Self::File {
            path: path.to_owned(),
            step,
            source: error.into(),
        }
    }

    /// The same error, if it is of a value, of the one that is this entity's.
    #[cold]
    pub(super) fn of_entity(mut self, of: Option<Entity>) -> Self {
        if let Self::NotRead { entity, .. } | Self::NotAValue { entity, .. } = &mut self {
            *entity = of;
        }
        self
    }

    /// Two fragments have one name and role.
    pub(super) fn ambiguous(one: &FragmentInfo, other: &FragmentInfo) -> Self {
        Self::Ambiguous {
            name: one.name().into(),
            kind: one.kind(),
            are: [one, other].map(|info| info.origin().into()),
        }
    }
}

/// A fragment whose values had another size or alignment when a snapshot was made. If both are the same, it had other
/// fields: other names or types of them, or another order; of an enum, other variants.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedLayout {
    /// The fragment's name.
    pub name: Box<str>,
    /// Its role.
    pub kind: FragmentKind,
    /// Bytes of a value in the snapshot.
    pub saved_size: u64,
    /// Alignment in the snapshot.
    pub saved_align: u64,
    /// The [shape](crate::fragment::Plain::SHAPE) of its values in the snapshot; 0 if the file does not know it. (For
    /// [`convert_bytes_shaped`](crate::world::LoadOptions::convert_bytes_shaped).)
    pub saved_shape: u64,
    /// Bytes of a value here.
    pub size: usize,
    /// Alignment here.
    pub align: usize,
    /// The shape here; 0 if it is not known.
    pub shape: u64,
}

impl fmt::Display for ChangedLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            kind: _,
            saved_size,
            saved_align,
            saved_shape: _,
            size,
            align,
            shape: _,
        } = self;
        if (*saved_size, *saved_align) == (*size as u64, *align as u64) {
            return write!(
                f,
                "the fields of {name} are others than in the snapshot, though its size is the same"
            );
        }
        write!(
            f,
            "{name} had {saved_size} bytes aligned to {saved_align} when it was saved, and has {size} aligned to \
             {align} now"
        )
    }
}

/// A fragment of a snapshot that is not registered in the universe.
///
/// A program [registers](crate::fragment::FragmentRegistry::register_plain_as) its type by the name that the file has, before
/// it loads. A tool, which has no type for it, can [define](crate::fragment::FragmentRegistry::define_plain_shaped) one that is
/// a fragment or a tag, and load again; the [shape](crate::fragment::Plain::SHAPE) tells it what are handles, which come to be
/// others where a file is loaded with new ids:
///
/// ```
/// use core::alloc::Layout;
/// use megachunk::fragment::{FragmentKind, Plain};
/// use megachunk::prelude::*;
///
/// # let mut world = World::new();
/// # world.registry().register_plain_as::<u32>("health")?;
/// # world.registry().register_plain_as::<Entity>("target")?;
/// # let ant = world.create((7_u32, Entity::PLACEHOLDER))?;
/// # let file = world.to_snapshot(&Default::default())?;
/// let universe = Universe::new();
/// let refused = World::from_snapshot(&file, Universe::new(), &Default::default()).unwrap_err();
/// let SnapshotError::Unregistered { fragments, .. } = refused else { panic!("{refused}") };
/// let mut options = LoadOptions::new();
/// for missing in &fragments {
///     let layout = Layout::from_size_align(missing.size.try_into()?, missing.align.try_into()?)?;
///     match missing.kind {
///         // What is written needs who reads it.
///         _ if missing.is_written => options = options.skip(&missing.name),
///         FragmentKind::Fragment if missing.shape == Entity::SHAPE => {
///             universe.registry().define_plain_as::<Entity>(&missing.name)?;
///         }
///         // With the shape, so that what the tool saves is refused where the type is another one by now.
///         FragmentKind::Fragment | FragmentKind::Tag => {
///             universe.registry().define_plain_shaped(&missing.name, layout, missing.shape)?;
///         }
///         // What is shared, or a chunk's, has a type.
///         _ => options = options.skip(&missing.name),
///     }
/// }
/// let world = World::from_snapshot(&file, universe, &options)?;
/// let health = world.registry().find("health").unwrap().id();
/// assert_eq!(world.get_dynamic(ant, health)?.bytes()?, 7_u32.to_ne_bytes());
/// let target = world.registry().find("target").unwrap().id();
/// assert_eq!(world.get_dynamic(ant, target)?.value::<Entity>()?, &Entity::PLACEHOLDER);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingFragment {
    /// Its name.
    pub name: Box<str>,
    /// Its role.
    pub kind: FragmentKind,
    /// Bytes of a value in the snapshot; 0 of a tag.
    pub size: u64,
    /// Alignment in the snapshot.
    pub align: u64,
    /// The [shape](crate::fragment::Plain::SHAPE) of its values' type, to be compared with that of a type, as
    /// `Entity::SHAPE`; 0 if the file does not know it.
    pub shape: u64,
    /// Its values are [written](crate::fragment::FragmentRegistry::register_written_as), and not plain: who defines a fragment
    /// by its layout cannot have them.
    pub is_written: bool,
}

impl fmt::Display for MissingFragment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            kind,
            size,
            align,
            shape: _,
            is_written,
        } = self;
        write!(f, "a {kind} {}", shown(name))?;
        match (size, align) {
            _ if *is_written => f.write_str(", which is written"),
            (0, 1) => Ok(()),
            _ => write!(f, " of {size} bytes aligned to {align}"),
        }
    }
}

/// What two are whose names are told.
fn as_role(role: Option<FragmentKind>) -> String {
    match role {
        Some(role) => format!(", as a {role} each"),
        None => ", as types of the state".into(),
    }
}

/// What two would be called.
fn one_of_them(from: &[Box<str>; 2], to: &str) -> String {
    match from.iter().any(|from| **from == *to) {
        true => "one by a rename".into(),
        false => format!("one {} by renames", shown_quoted(to)),
    }
}

/// What was tried with a file, as an error tells it. (Of one that is not there, or is none, nobody asks.)
fn tried(step: FileStep) -> String {
    match step {
        FileStep::Open => String::new(),
        step => format!("{step}: "),
    }
}

/// Whose value something is, as an error begins.
fn whose(entity: Option<&Entity>) -> String {
    entity.map_or_else(String::new, |entity| format!("entity {entity}: "))
}

/// Fragments that are not registered, as an error tells them.
fn unregistered(fragments: &[MissingFragment], here: &[(Box<str>, FragmentKind)]) -> String {
    let told = listed(fragments.iter(), ", ");
    let told = told + ", which " + is_or_are(fragments.len()) + " not registered";
    if here.is_empty() {
        return told;
    }
    let here = here.iter();
    let here = here.map(|(name, kind)| format!("{} is a {kind}", shown(name)));
    told + " as such: here " + &listed(here, ", ")
}

/// How a fragment was saved, and what it is here.
fn written_otherwise(is_written: bool) -> &'static str {
    match is_written {
        true => "is written in the snapshot, and plain data here",
        false => "is plain data in the snapshot, and written here",
    }
}

fn is_or_are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_the_fragment_and_the_byte() {
        let error = |name: &str, of| SnapshotError::NotAValue {
            name: name.into(),
            of,
            entity: None,
            at: 96,
        };
        assert_eq!(
            error("ants::Mood", "ants::Mood").to_string(),
            "the bytes at byte 96 of the snapshot are no ants::Mood"
        );
        assert_eq!(
            error("flag", "bool").to_string(),
            "the bytes at byte 96 of the snapshot are no flag, which is a bool"
        );
        let of = error("flag", "bool").of_entity(Entity::new(7, 3));
        assert_eq!(
            of.to_string(),
            "entity 7v3: the bytes at byte 96 of the snapshot are no flag, which is a bool"
        );
    }
}
