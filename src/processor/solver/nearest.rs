//! The name that is most like another one: for error messages.

/// The first of `names` that takes the fewest edits to become `name`, at most one for each three letters; else
/// the first one whose last part is the same.
pub(crate) fn nearest<'a>(
    name: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    let asked: Vec<char> = name.chars().collect();
    let mut best: Option<(usize, &str)> = None;
    for candidate in names.clone() {
        let letters: Vec<char> = candidate.chars().collect();
        let most = asked.len().max(letters.len()) / 3;
        if asked.len().abs_diff(letters.len()) > most {
            continue;
        }
        let edits = distance(&asked, &letters);
        if edits <= most && best.is_none_or(|(fewest, _)| edits < fewest) {
            best = Some((edits, candidate));
        }
    }
    match best {
        Some((_, candidate)) => Some(candidate),
        None => names
            .into_iter()
            .find(|candidate| last_part(candidate) == last_part(name)),
    }
}

/// What stands behind the last dot or colon.
fn last_part(name: &str) -> &str {
    name.rsplit(['.', ':']).next().unwrap_or(name)
}

/// How many letters have to be put in, taken out, replaced or swapped with their neighbour, no stretch twice
/// (optimal string alignment).
fn distance(from: &[char], to: &[char]) -> usize {
    // The rows of the table for two letters ago, one letter ago, and now.
    let mut earlier = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.iter().enumerate() {
        let mut now = vec![i + 1; to.len() + 1];
        for (j, other) in to.iter().enumerate() {
            let replaced = last[j] + usize::from(letter != other);
            now[j + 1] = replaced.min(last[j + 1] + 1).min(now[j] + 1);
            if i > 0 && j > 0 && *letter == to[j - 1] && from[i - 1] == *other {
                now[j + 1] = now[j + 1].min(earlier[j - 1] + 1);
            }
        }
        earlier = core::mem::replace(&mut last, now);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(from: &str, to: &str) -> usize {
        let letters = |text: &str| text.chars().collect::<Vec<_>>();
        distance(&letters(from), &letters(to))
    }

    #[test]
    fn edits_are_insertions_deletions_replacements_and_swaps() {
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("abc", ""), 3);
        assert_eq!(edits("move", "move"), 0);
        assert_eq!(edits("move", "mvoe"), 1);
        assert_eq!(edits("move", "mauve"), 2);
        assert_eq!(edits("ca", "abc"), 3, "no stretch is edited twice");
    }

    #[test]
    fn the_nearest_name_is_near_or_ends_alike_or_is_none() {
        let names = ["Move", "Render", "Physics.Collide"];
        let near = |name| nearest(name, names.into_iter());
        assert_eq!(near("move"), Some("Move"));
        assert_eq!(near("Redner"), Some("Render"));
        assert_eq!(near("Collide"), Some("Physics.Collide"));
        assert_eq!(near("Sound"), None);
        assert_eq!(near(""), None);
    }
}
