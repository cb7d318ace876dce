//! `TraitError`: why a trait refuses to build.

use crate::fragment::FragmentError;

/// Why a trait refuses to build, in its own words.
///
/// ```
/// use megachunk::template::TraitError;
///
/// let refused = TraitError::at("speed", format!("{} is less than 0", -1));
/// assert_eq!(refused.to_string(), "`speed`: -1 is less than 0");
/// assert_eq!(TraitError::new("no legs").to_string(), "no legs");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraitError {
    /// The trait as a whole.
    #[error("{message}")]
    Refused {
        /// Why.
        message: Box<str>,
    },
    /// One of its parameters, or something in it (`route.points[2]`). If it stands in a file, the error names the line.
    #[error("`{field}`: {message}")]
    RefusedField {
        /// The parameter.
        field: Box<str>,
        /// Why.
        message: Box<str>,
    },
    /// A fragment was refused.
    #[error(transparent)]
    Fragment(#[from] FragmentError),
}

impl TraitError {
    /// The trait as a whole is refused.
    #[must_use]
    pub fn new(message: impl Into<Box<str>>) -> Self {
        Self::Refused {
            message: message.into(),
        }
    }

    /// One of its parameters is refused.
    #[must_use]
    pub fn at(field: impl Into<Box<str>>, message: impl Into<Box<str>>) -> Self {
        Self::RefusedField {
            field: field.into(),
            message: message.into(),
        }
    }
}
