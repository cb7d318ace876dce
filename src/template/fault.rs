//! `TemplateFault`: what can be wrong with a template.

use crate::fragment::FragmentError;
use crate::processor::nearest;
use crate::template::TraitError;
use crate::world::SystemError;

/// What is wrong with a template, or the file that it comes from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateFault {
    /// The system does not let a file or directory be read.
    #[error("cannot be read: {error}")]
    #[non_exhaustive]
    Unreadable {
        /// What the system said.
        error: SystemError,
    },
    /// A file is larger than a config can be.
    #[error("is larger than {limit} bytes, which is the limit for a config")]
    TooLong {
        /// The limit in bytes.
        limit: u64,
    },
    /// A file is not text.
    #[error("is not UTF-8")]
    NotUtf8,
    /// A file has nothing in it but space and comments.
    #[error("is empty: a config begins with `id = \"…\"`")]
    Empty,
    /// A file is not TOML.
    #[error("{message}")]
    #[non_exhaustive]
    Syntax {
        /// What is wrong.
        message: Box<str>,
    },
    /// A key stands there twice.
    #[error("`{key}` stands there twice")]
    #[non_exhaustive]
    DuplicateKey {
        /// The key.
        key: Box<str>,
    },
    /// A key that configs do not have.
    #[error("a config has no `{key}`{}", hint(.nearest))]
    #[non_exhaustive]
    UnknownKey {
        /// The key.
        key: Box<str>,
        /// The known key that is most like it.
        nearest: Option<Box<str>>,
    },
    /// A key has a value of another kind.
    #[error("`{key}` is to be {expected}, not {found}")]
    #[non_exhaustive]
    WrongKind {
        /// The key.
        key: Box<str>,
        /// What it is to be.
        expected: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// A config without an id.
    #[error("has no `id`")]
    MissingId,
    /// An id is empty.
    #[error("an id must not be empty")]
    EmptyId,
    /// Two files have one id.
    #[error("`{id}` is the id of {first} already")]
    #[non_exhaustive]
    DuplicateId {
        /// The id.
        id: Box<str>,
        /// Where it stands for the first time.
        first: Box<crate::template::ConfigPlace>,
    },
    /// A parent that no config is.
    #[error("no config has the id `{parent}`{}", hint(.nearest))]
    #[non_exhaustive]
    UnknownParent {
        /// The id.
        parent: Box<str>,
        /// The known id that is most like it.
        nearest: Option<Box<str>>,
    },
    /// Something is to be taken out that was not loaded under this name or path.
    #[error("is not loaded{}", hint(.nearest))]
    #[non_exhaustive]
    NotLoaded {
        /// The name or path of what was loaded that is most like it.
        nearest: Option<Box<str>>,
    },
    /// A config is its own ancestor.
    #[error("the parents are a loop: {}", .path.join(" → "))]
    #[non_exhaustive]
    ParentLoop {
        /// Each one's parent is the next; the last one is the first one again.
        path: Vec<String>,
    },
    /// A class of traits that is not registered.
    #[error("no trait is called `{class}`{}", hint(.nearest))]
    #[non_exhaustive]
    UnknownTrait {
        /// The class.
        class: Box<str>,
        /// The known class that is most like it.
        nearest: Option<Box<str>>,
    },
    /// A class of traits that is registered already.
    #[error("a trait called `{class}` is registered already")]
    #[non_exhaustive]
    TraitTaken {
        /// The class.
        class: Box<str>,
    },
    /// One config has two traits of one class.
    #[error("there are two traits called `{class}`")]
    #[non_exhaustive]
    TraitTwice {
        /// The class.
        class: Box<str>,
    },
    /// Two types of traits would have one class, as they have one name but for the path.
    #[error(
        "`{class}` is {first}, and {second} as well: `with_class` gives one of them another name"
    )]
    #[non_exhaustive]
    TraitOfAnotherType {
        /// The class.
        class: Box<str>,
        /// The type that came first.
        first: Box<str>,
        /// The type that came second.
        second: Box<str>,
    },
    /// A parameter that a trait does not have.
    #[error("`{class}` has no `{field}`{}", hint(.nearest))]
    #[non_exhaustive]
    UnknownField {
        /// The trait's class.
        class: Box<str>,
        /// The parameter, with the path to it.
        field: Box<str>,
        /// The known parameter that is most like it, with the path to it.
        nearest: Option<Box<str>>,
    },
    /// A parameter that a trait needs is not there.
    #[error("`{class}` needs `{field}`{}", replaced(.replaces))]
    #[non_exhaustive]
    MissingField {
        /// The trait's class.
        class: Box<str>,
        /// The parameter, with the path to it.
        field: Box<str>,
        /// The id of the ancestor whose trait this one takes the place of, as a whole.
        replaces: Option<Box<str>>,
    },
    /// A parameter has a value that is not of its type.
    #[error("`{field}` of `{class}`: {message}{}", hint(.nearest))]
    #[non_exhaustive]
    WrongValue {
        /// The trait's class.
        class: Box<str>,
        /// The parameter, with the path to it.
        field: Box<str>,
        /// What is wrong.
        message: Box<str>,
        /// Of a choice, the one that is most like it.
        nearest: Option<Box<str>>,
    },
    /// A trait as a whole is not what its class has.
    #[error("`{class}`: {message}")]
    #[non_exhaustive]
    WrongTrait {
        /// The trait's class.
        class: Box<str>,
        /// What is wrong.
        message: Box<str>,
    },
    /// A trait refuses to build, or the template that was built.
    #[error("`{class}` refuses: {error}")]
    #[non_exhaustive]
    Refused {
        /// The trait's class.
        class: Box<str>,
        /// Why.
        error: TraitError,
    },
    /// A fragment is added by two traits, or by one of them twice.
    #[error("`{second}` adds {fragment}, which `{first}` has added: share it with `get_or_add`")]
    #[non_exhaustive]
    AddedTwice {
        /// Its name.
        fragment: Box<str>,
        /// The class of the trait that came first.
        first: Box<str>,
        /// The class of the trait that came second.
        second: Box<str>,
    },
    /// Of the traits of one config, one adds a tag and one removes it.
    #[error("`{removed_by}` removes {tag}, and `{added_by}` of the same config adds it")]
    #[non_exhaustive]
    Contradiction {
        /// The tag's name.
        tag: Box<str>,
        /// The class of the trait that adds it.
        added_by: Box<str>,
        /// The class of the trait that removes it.
        removed_by: Box<str>,
    },
    /// A trait requires a fragment or tag that no trait adds.
    #[error("`{required_by}` requires {fragment}, which no trait adds")]
    #[non_exhaustive]
    MissingFragment {
        /// Its name.
        fragment: Box<str>,
        /// The class of the trait that requires it.
        required_by: Box<str>,
    },
    /// A trait requires a trait that is not there.
    #[error("`{required_by}` requires the trait `{class}`, which is not there{}", hint(.nearest))]
    #[non_exhaustive]
    MissingTrait {
        /// The class of the trait that is not there.
        class: Box<str>,
        /// The class of the trait that requires it.
        required_by: Box<str>,
        /// The class of those that are there which is most like it.
        nearest: Option<Box<str>>,
    },
    /// A value is added that cannot be cloned for each entity.
    #[error("`{class}` adds {fragment}, which cannot be cloned")]
    #[non_exhaustive]
    NotCloneable {
        /// The fragment's name.
        fragment: Box<str>,
        /// The trait's class.
        class: Box<str>,
    },
    /// A fragment is refused that a trait adds, removes or requires: that of another universe, say, or one that does not
    /// fit in a chunk with the others.
    #[error("`{class}`: {error}")]
    #[non_exhaustive]
    Fragment {
        /// The trait's class.
        class: Box<str>,
        /// Why.
        error: FragmentError,
    },
    /// A template was asked for that no config describes.
    #[error("no config has the id `{id}`{}", hint(.nearest))]
    #[non_exhaustive]
    UnknownTemplate {
        /// The id.
        id: Box<str>,
        /// The known id that is most like it.
        nearest: Option<Box<str>>,
    },
    /// A template was asked for of a config that is a parent only.
    #[error("`{id}` is abstract: it is a parent of others, and no template")]
    Abstract {
        /// The id.
        id: Box<str>,
    },
}

/// The name that is most like one, if that can be found out soon: to compare two names takes the product of their
/// lengths.
pub(super) fn near<'a>(
    name: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Option<Box<str>> {
    const LONGEST: usize = 100;
    let short = |name: &&str| name.len() <= LONGEST;
    let nearest = short(&name).then(|| nearest(name, names.filter(short)));
    nearest.flatten().map(Into::into)
}

fn replaced(by: &Option<Box<str>>) -> String {
    let replaced = |id| {
        format!(
            ": it takes the place of that of `{id}` as a whole, and gets no parameter from there"
        )
    };
    by.as_deref().map_or_else(String::new, replaced)
}

fn hint(nearest: &Option<Box<str>>) -> String {
    let hint = |name| format!(": did you mean `{name}`?");
    nearest.as_deref().map_or_else(String::new, hint)
}
