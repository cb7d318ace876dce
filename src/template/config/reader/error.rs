//! `ReadError`: what is wrong with a value, and where.

use core::fmt;
use core::ops::Range;

use serde::de;

use crate::template::fault;

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) enum What {
    /// In the type's own words, or serde's.
    Message(Box<str>, Option<Box<str>>),
    /// A parameter that the type does not have, and the nearest that it has.
    Unknown(Box<str>, Option<Box<str>>),
    /// A parameter that the type needs.
    Missing(Box<str>),
    /// It is known already.
    Told,
}

/// What is wrong with a value, and where it stands.
#[derive(Clone, Debug)]
pub(in super::super) struct ReadError {
    pub(in super::super) what: What,
    /// The bytes of the text that it is about, once known.
    pub(in super::super) span: Option<Range<usize>>,
    /// The way to the value inside of the trait.
    pub(in super::super) path: Box<str>,
}

impl ReadError {
    pub(super) fn new(what: What) -> Self {
        Self {
            what,
            span: None,
            path: "".into(),
        }
    }

    /// Adds the place, unless one further in has been there before.
    pub(super) fn at(mut self, span: Range<usize>, path: &super::Path<'_>) -> Self {
        if self.span.is_none() {
            self.span = Some(span);
            self.path = path.to_string().into();
        }
        self
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.what)
    }
}

impl core::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(What::Message(message.to_string().into(), None))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(What::Missing(field.into()))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::new(What::Unknown(field.into(), near(field, expected)))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::custom(format!("`{field}` has a value already"))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let one_of = |name: &&str| format!("`{name}`");
        let names: Vec<String> = expected.iter().map(one_of).collect();
        let message = match &*names {
            [] => format!("there is no `{variant}`"),
            [name] => format!("there is no `{variant}`, only {name}"),
            names => format!("there is no `{variant}`, only {}", names.join(", ")),
        };
        Self::new(What::Message(message.into(), near(variant, expected)))
    }
}

/// The known name that is most like one.
pub(super) fn near(name: &str, known: &[&str]) -> Option<Box<str>> {
    fault::near(name, known.iter().copied())
}
