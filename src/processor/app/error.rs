//! `AppError`: which simulations could not go on, and why.

use core::fmt;
use core::iter::Map;
use core::slice::Iter;

use crate::fragment::Pile;
use crate::processor::ScheduleError;

/// A simulation's name and its error.
type Failing = (Box<str>, ScheduleError);

/// Simulations of an [`App`](super::App) whose ticks were broken off, each with what its schedule said; the others have
/// advanced. One at least, in the order in which they were added. What they say is shown; its source is the first cause that
/// lies behind one of them.
#[derive(Clone, PartialEq, Eq)]
pub struct AppError(Pile<Failing>);

impl AppError {
    /// `Ok` if there are none.
    pub(super) fn of(all: Vec<Failing>) -> Result<(), Self> {
        if all.is_empty() {
            Ok(())
        } else {
            Err(Self(all.into()))
        }
    }

    /// The names of the simulations, each with its error.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ScheduleError)> {
        self.into_iter()
    }
}

impl<'a> IntoIterator for &'a AppError {
    type Item = (&'a str, &'a ScheduleError);
    type IntoIter = Map<Iter<'a, Failing>, fn(&'a Failing) -> Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(|(name, error)| (&**name, error))
    }
}

/// As it is shown: `fn main` prints what it returns so.
impl fmt::Debug for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, error)) in self.iter().enumerate() {
            let comma = if at == 0 { "" } else { "; " };
            write!(f, "{comma}simulation `{name}`: {error}")?;
        }
        Ok(())
    }
}

impl core::error::Error for AppError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        // What it says itself has been shown; of several causes the first.
        self.0.iter().find_map(|(_, error)| error.source())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_debugged_as_it_is_shown_and_gone_through_as_it_came() {
        let all = ["one", "two"].map(|name| (name.into(), ScheduleError::NotSolved));
        let error = AppError::of(all.into()).unwrap_err();
        assert!(error.to_string().contains("; simulation `two`: "));
        assert_eq!(format!("{error:?}"), error.to_string());
        let mut names = Vec::new();
        for (name, error) in &error {
            assert_eq!(error, &ScheduleError::NotSolved);
            names.push(name);
        }
        assert_eq!(names, ["one", "two"]);
    }
}
