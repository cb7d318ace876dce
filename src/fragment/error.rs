//! What can go wrong with a fragment, as types.

use crate::fragment::{FragmentId, FragmentKind};

/// A fragment was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FragmentError {
    /// The registry is full.
    #[error("{name} cannot be registered: there are {limit} fragments already, which is the limit")]
    #[non_exhaustive]
    TooMany {
        /// What was to be registered.
        name: Box<str>,
        /// How many there can be.
        limit: usize,
    },
    /// A fragment was to be defined, or a type registered, with an empty name.
    #[error("a name must not be empty")]
    EmptyName,
    /// There is a fragment of this name already.
    #[error("there is a fragment named {name:?} already")]
    #[non_exhaustive]
    NameTaken {
        /// The name.
        name: Box<str>,
    },
    /// A struct was [defined](crate::fragment::FragmentRegistry::define_struct) without a field.
    #[error(
        "{name} was defined without a field: `define_plain`, with a layout without bytes, defines a tag"
    )]
    #[non_exhaustive]
    NoFields {
        /// What was to be defined.
        name: Box<str>,
    },
    /// A struct was [defined](crate::fragment::FragmentRegistry::define_struct) with two fields of one name.
    #[error("{name} has two fields that are named {field:?}")]
    #[non_exhaustive]
    FieldTwice {
        /// What was to be defined.
        name: Box<str>,
        /// The name of the two.
        field: Box<str>,
    },
    /// A struct that was to be [defined](crate::fragment::FragmentRegistry::define_struct) is defined already, with other
    /// fields.
    #[error(
        "{name} is defined already with other fields: {why}; a struct with these needs another name"
    )]
    #[non_exhaustive]
    FieldsOtherwise {
        /// Its name.
        name: Box<str>,
        /// The first field that is another one, in words.
        why: Box<str>,
    },
    /// Structs that were [defined](crate::fragment::FragmentRegistry::define_struct), and arrays of such, lie in each other
    /// deeper than can be.
    #[error("in {name} more than {limit} structs and arrays lie in each other, which is the limit")]
    #[non_exhaustive]
    TooDeep {
        /// What was to be defined.
        name: Box<str>,
        /// How many can.
        limit: usize,
    },
    /// Whether bytes are a value of a struct that was to be [defined](crate::fragment::FragmentRegistry::define_struct) would
    /// be asked of more parts of it than can be: of such as have no bytes there can be as many as one likes.
    #[error(
        "whether bytes are a {name} would be asked of {checks} parts of it: {limit} is the limit"
    )]
    #[non_exhaustive]
    TooManyChecks {
        /// What was to be defined.
        name: Box<str>,
        /// So many parts; `usize::MAX` if there are more.
        checks: usize,
        /// How many can be.
        limit: usize,
    },
    /// A field was to be of a fragment that was not [defined as a
    /// struct](crate::fragment::FragmentRegistry::define_struct).
    #[error("the field {field:?} is to be a {of}, which was not defined by `define_struct`")]
    #[non_exhaustive]
    NotDefinedSo {
        /// The field's name.
        field: Box<str>,
        /// The fragment's name.
        of: Box<str>,
    },
    /// A type that is to be registered with a name is registered with another one.
    #[error(
        "{name} is registered already, and not as {asked:?}: a name is given before the type is used"
    )]
    #[non_exhaustive]
    NamedOtherwise {
        /// The name with which it is registered.
        name: Box<str>,
        /// The name that was asked for.
        asked: Box<str>,
    },
    /// Values of another type are saved by this name.
    #[error("values of {by} are saved by the name {name:?} already")]
    #[non_exhaustive]
    StateNameTaken {
        /// The name.
        name: Box<str>,
        /// The type whose values are.
        by: &'static str,
    },
    /// It was said before that a fragment's values are saved in another way: as what they are in memory, or [as closures
    /// write them](crate::fragment::FragmentRegistry::register_written_as).
    #[error("{name} is registered already, {}: that stays", saved_as(*is_plain))]
    #[non_exhaustive]
    SavedOtherwise {
        /// Its name.
        name: Box<str>,
        /// Whether it is registered as plain data.
        is_plain: bool,
    },
    /// A set of fragments has one of them twice.
    #[error("fragment {name} is named twice")]
    #[non_exhaustive]
    Twice {
        /// Its name.
        name: Box<str>,
    },
    /// A bundle, a query or an observer names a tuple where a fragment is named, which would be one fragment of its own
    /// type: `(player(), Position(…))`, where `player` returns a bundle, or `With<(A, B)>`. Who means a tuple says so by
    /// [registering](crate::fragment::FragmentRegistry::register) its type before, once in a universe.
    #[error(
        "{name} is a tuple where a fragment is named, and would be one fragment of its own type: two bundles are joined by \
         `Bundle::and`, several filters are a tuple, `(With<A>, With<B>)`; who means the tuple calls \
         `FragmentRegistry::register` for it before"
    )]
    #[non_exhaustive]
    TupleNamed {
        /// Its type.
        name: Box<str>,
    },
    /// A bundle, a query or an observer names a reference where a fragment is named, which would be a fragment of its own
    /// type: `With<&A>`. Who means a reference says so by
    /// [registering](crate::fragment::FragmentRegistry::register) its type before, once in a universe. (`&'static str` may
    /// well be meant.)
    #[error(
        "{name} is a reference where a fragment is named, and would be a fragment of its own type: the type itself is named \
         without `&`; who means the reference calls `FragmentRegistry::register` for it before"
    )]
    #[non_exhaustive]
    ReferenceNamed {
        /// Its type.
        name: Box<str>,
    },
    /// The fragments of an entity do not fit in a chunk.
    #[error(
        "an entity with {name} takes {size} bytes, aligned to {align}: a chunk of {limit} bytes cannot hold it"
    )]
    #[non_exhaustive]
    TooLarge {
        /// The name of the largest fragment.
        name: Box<str>,
        /// Bytes an entity, with all its other fragments.
        size: usize,
        /// Its alignment.
        align: usize,
        /// Bytes of the chunk.
        limit: usize,
    },
    /// An alignment is beyond what chunks have.
    #[error("{name} wants to be aligned to {align} bytes: {limit} is the limit")]
    #[non_exhaustive]
    TooAligned {
        /// Its name.
        name: Box<str>,
        /// Its alignment.
        align: usize,
        /// The largest that can be.
        limit: usize,
    },
    /// No such fragment is registered.
    #[error("fragment {id:?} is not registered here")]
    Unknown {
        /// Its number.
        id: FragmentId,
    },
    /// Values were asked for as another type than theirs.
    #[error("{name} is not a {asked}{}", without_type(*untyped, asked))]
    #[non_exhaustive]
    WrongType {
        /// The fragment's name.
        name: Box<str>,
        /// The type that was asked for.
        asked: &'static str,
        /// Whether it is plain data of no type, as many bytes as the type that was asked for has: then another call is
        /// meant, perhaps.
        untyped: bool,
    },
    /// Bytes are not as many as a value has, or a type is not as large.
    #[error("a {name} has {size} bytes, not {given}{}", aligned(*size, *align))]
    #[non_exhaustive]
    WrongSize {
        /// The fragment's name.
        name: Box<str>,
        /// Bytes of a value: a multiple of its alignment.
        size: usize,
        /// Its alignment.
        align: usize,
        /// Bytes that were given, or of the type that was asked for.
        given: usize,
    },
    /// Values were asked for as a type that is aligned more strictly.
    #[error("a {name} is aligned to {align} bytes, which is too little for a {asked}")]
    #[non_exhaustive]
    WrongAlign {
        /// The fragment's name.
        name: Box<str>,
        /// Its alignment.
        align: usize,
        /// The type that was asked for.
        asked: &'static str,
    },
    /// Bytes were asked for, or given, of a fragment that is more than its bytes.
    #[error(
        "{name} is not registered as plain data: its bytes cannot be had, or given; register it with `{}`", kind.register_plain()
    )]
    #[non_exhaustive]
    NotPlain {
        /// The fragment's name.
        name: Box<str>,
        /// Its role.
        kind: FragmentKind,
    },
    /// Not all bytes are a value of a plain fragment, and these are not.
    #[error("these bytes are no {name}{}", which_is(name, of))]
    #[non_exhaustive]
    NotAValue {
        /// The fragment's name.
        name: Box<str>,
        /// The type of its values.
        of: &'static str,
    },
    /// Values, of which not all bytes are one, were asked for to be changed as bytes, or as another type.
    #[error(
        "not all bytes are a {name}: its values are lent to be changed as that type only; `ValuesMut::set_bytes` \
         takes bytes that are one"
    )]
    #[non_exhaustive]
    NotAnyBytes {
        /// The fragment's name.
        name: Box<str>,
    },
    /// Values were asked for as another type than theirs, of which not all bytes are a value.
    #[error("a {name} cannot be seen as a {asked}: not all bytes are one")]
    #[non_exhaustive]
    NotAnyBytesAre {
        /// The fragment's name.
        name: Box<str>,
        /// The type that was asked for.
        asked: &'static str,
    },
    /// A value was to be written, or read, of a fragment of which nobody has said how: neither that it is plain data, nor by
    /// [closures](crate::fragment::FragmentRegistry::register_written_as).
    #[error(
        "nobody has said how a {name} is written: register it with `{}` (its type must be `Plain`: see `plain!`){}",
        kind.register_plain(),
        or_written(*kind)
    )]
    #[non_exhaustive]
    NoWrittenForm {
        /// The fragment's name.
        name: Box<str>,
        /// Its role.
        kind: FragmentKind,
    },
    /// A value was not [written](crate::fragment::Values::write_to): by what its type
    /// [says](crate::fragment::FragmentRegistry::register_written_as), or because it is [no
    /// value](crate::fragment::Plain::IS_VALUE), which could not be read.
    #[error("the {name} at row {row} cannot be written: {reason}")]
    #[non_exhaustive]
    NotWritten {
        /// The fragment's name.
        name: Box<str>,
        /// Which of the values it is, counted from 0.
        row: usize,
        /// What is wrong with it: what the error said that was given back, and its causes.
        reason: Box<str>,
    },
    /// A value could not be [read](crate::fragment::Value::read_from): its bytes end early, are no value, or are none by what
    /// its type [says](crate::fragment::FragmentRegistry::register_written_as).
    #[cfg(not(loom))]
    #[error(
        "the bytes at byte {at} are no {name}: {}",
        crate::shown::shown_text(reason)
    )]
    #[non_exhaustive]
    NotRead {
        /// The fragment's name.
        name: Box<str>,
        /// Where what is wrong begins, counted from where the value does.
        at: usize,
        /// What is wrong with them: what the error said that was given back, and its causes. (The text of this error has it in
        /// one line: it may quote what a stranger has sent.)
        reason: Box<str>,
    },
    /// Values were written of a fragment of another [shape](crate::fragment::FragmentInfo::expect_shape) than it has here:
    /// other fields, another order or other types of them, other variants.
    #[error("{}", shaped_otherwise(name, *is_written))]
    #[non_exhaustive]
    ShapedOtherwise {
        /// The fragment's name.
        name: Box<str>,
        /// The shape there.
        there: u64,
        /// The shape here; 0 if its values are written by closures.
        here: u64,
        /// Whether its values are written by closures here, and were plain data there.
        is_written: bool,
    },
    /// A value is of a fragment of another registry.
    #[error("a value of {id:?} is of another universe's registry")]
    OtherUniverse {
        /// The fragment's number there.
        id: FragmentId,
    },
    /// A template was used in a world of another universe.
    #[error("template {template:?} is of another universe than the world, as its fragments are")]
    #[non_exhaustive]
    OtherTemplate {
        /// The template's id.
        template: Box<str>,
    },
    /// A fragment was said to [require](crate::fragment::FragmentRegistry::require_with) another when it was settled what it
    /// requires: an entity, or a recorded command, had it already.
    #[error(
        "{owner} comes without {needed} already: that it requires it is said before any world or recorder has met {owner} in \
         what comes"
    )]
    #[non_exhaustive]
    RequiredLate {
        /// The name of the one that was to require the other.
        owner: Box<str>,
        /// The name of the other.
        needed: Box<str>,
    },
    /// A value was given to be cloned, of a fragment whose values cannot be.
    #[error("a {name} cannot be cloned: register it with `register_clone`, or as plain data")]
    #[non_exhaustive]
    NotCloneable {
        /// The fragment's name.
        name: Box<str>,
    },
    /// A fragment was used in a role that it does not have.
    #[error("{name} is a {is}, not a {wanted}")]
    #[non_exhaustive]
    WrongKind {
        /// Its name.
        name: Box<str>,
        /// What it is.
        is: FragmentKind,
        /// What was asked for.
        wanted: FragmentKind,
    },
}

/// How values of a fragment are saved.
fn saved_as(is_plain: bool) -> &'static str {
    match is_plain {
        true => "as plain data",
        false => "with what writes and reads its values",
    }
}

/// What else says how values of a role are written.
fn or_written(kind: FragmentKind) -> String {
    let register = kind.register_written();
    register.map_or_else(String::new, |register| format!(", or with `{register}`"))
}

/// What its values were where they were written.
fn shaped_otherwise(name: &str, is_written: bool) -> String {
    match is_written {
        true => format!(
            "{name} was plain data where its values were written, and is written by closures here"
        ),
        false => format!("the fields of {name} are others than where its values were written"),
    }
}

/// What to do about a fragment of no type that was asked for as one.
fn without_type(untyped: bool, asked: &str) -> String {
    if !untyped {
        return String::new();
    }
    format!(
        ": it was defined without a type; `plain::<{asked}>()` sees its bytes as one, and `define_plain_as::<{asked}>` \
         says that they are"
    )
}

/// Why a value has more bytes, perhaps, than were asked for when it was defined.
fn aligned(size: usize, align: usize) -> String {
    match (size, align) {
        (0, _) | (_, 1) => String::new(),
        _ => format!(" (it is aligned to {align})"),
    }
}

/// The type of a fragment's values, where the fragment has another name.
pub(crate) fn which_is(name: &str, of: &str) -> String {
    if name == of || of.is_empty() {
        return String::new();
    }
    format!(", which is a {of}")
}
