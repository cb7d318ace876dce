//! `Entity` read from text, as it is shown; what is wrong with other text, and where.

use core::str::FromStr;

use crate::entity::Entity;

/// A text is no [`Entity`]: where, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("no entity is shown so (it would be as `12v3`): from byte {at} on, {fault}")]
pub struct ParseEntityError {
    /// The byte from which on something is wrong, from 0 on; the length of the text where something is missing at its end.
    pub at: usize,
    /// What is wrong there.
    pub fault: ParseEntityFault,
}

/// What is wrong with a text that is no [`Entity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ParseEntityFault {
    /// A number is to stand there.
    #[error("there is no digit")]
    NoDigit,
    /// No number is shown with zeros before it.
    #[error("a number begins with 0")]
    LeadingZero,
    /// An index and a version have 32 bits.
    #[error("a number is larger than 4294967295")]
    TooLarge,
    /// A `v` is to stand between index and version.
    #[error("there is no `v`")]
    NoV,
    /// No entity has an even version.
    #[error("the version is even")]
    EvenVersion,
    /// The text does not end with the version.
    #[error("something follows the version")]
    Followed,
}

/// The handle that is [shown](core::fmt::Display) so, [`Entity::PLACEHOLDER`], too; nothing else is one: no sign, no space, no
/// zeros in front.
///
/// ```
/// use megachunk::entity::{Entity, ParseEntityFault};
///
/// let entity: Entity = "12v3".parse()?;
/// assert_eq!((entity.index(), entity.version()), (12, 3));
/// let error = "12v4".parse::<Entity>().unwrap_err();
/// assert_eq!((error.at, error.fault), (3, ParseEntityFault::EvenVersion));
/// # Ok::<(), megachunk::entity::ParseEntityError>(())
/// ```
impl FromStr for Entity {
    type Err = ParseEntityError;

    fn from_str(text: &str) -> Result<Self, ParseEntityError> {
        let wrong = |at, fault| ParseEntityError { at, fault };
        let (index, v) = number(text, 0)?;
        if text.as_bytes().get(v) != Some(&b'v') {
            return Err(wrong(v, ParseEntityFault::NoV));
        }
        let (version, end) = number(text, v + 1)?;
        if end != text.len() {
            return Err(wrong(end, ParseEntityFault::Followed));
        }
        Self::new(index, version).ok_or(wrong(v + 1, ParseEntityFault::EvenVersion))
    }
}

/// The number that begins there, and where it ends.
fn number(text: &str, begin: usize) -> Result<(u32, usize), ParseEntityError> {
    let wrong = |fault| ParseEntityError { at: begin, fault };
    let rest = &text.as_bytes()[begin..];
    let len = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let end = begin + len;
    match rest {
        _ if len == 0 => Err(wrong(ParseEntityFault::NoDigit)),
        [b'0', ..] if len > 1 => Err(wrong(ParseEntityFault::LeadingZero)),
        // Digits only: what does not fit is all that can be wrong.
        _ => match text[begin..end].parse() {
            Ok(number) => Ok((number, end)),
            Err(_) => Err(wrong(ParseEntityFault::TooLarge)),
        },
    }
}
