//! `FirstFew`: of a list that may be long the first few, for whoever debugs; and `write_first`: the first refusal of many.

use core::fmt;

/// So many are shown.
pub(crate) const SHOWN: usize = 5;

/// Shows the first five, and how many more there are.
pub(crate) struct FirstFew<'a, T>(pub(crate) &'a [T]);

impl<T: fmt::Debug> fmt::Debug for FirstFew<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        list.entries(self.0.iter().take(SHOWN));
        if self.0.len() > SHOWN {
            list.entry(&format_args!("and {} more", self.0.len() - SHOWN));
        }
        list.finish()
    }
}

/// Writes why the first of some was refused, if one was: each has its position in the slice.
pub(crate) fn write_first(
    f: &mut fmt::Formatter<'_>,
    refused: &[(usize, impl fmt::Display)],
) -> fmt::Result {
    match refused {
        [] => Ok(()),
        [(at, error)] => write!(f, ": at {at}, {error}"),
        [(at, error), ..] => write!(f, ": first at {at}, {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_the_first_five_are_shown() {
        let all = [0, 1, 2, 3, 4, 5, 6];
        assert_eq!(format!("{:?}", FirstFew(&all[..0])), "[]");
        assert_eq!(format!("{:?}", FirstFew(&all[..5])), "[0, 1, 2, 3, 4]");
        let seven = format!("{:?}", FirstFew(&all));
        assert_eq!(seven, "[0, 1, 2, 3, 4, and 2 more]");
    }
}
