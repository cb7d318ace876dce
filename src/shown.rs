//! Names that come out of files, as texts tell them: a file may be a stranger's, and its names of any length and any
//! characters.

use core::fmt::Display;
use std::path::Path;

/// So many characters of a name are told.
const LONGEST: usize = 100;
/// So many of what somebody says of it.
const LONGEST_TEXT: usize = 400;
/// So many of several are told.
const MOST: usize = 8;

/// A name in one line, without quotes: what is not to be seen, or changes how the rest is seen, is escaped, and what is
/// longer than anybody reads is cut.
pub(crate) fn shown(name: &str) -> String {
    up_to(LONGEST, name)
}

/// As a name, but longer: what a type says of bytes that it does not know may have some of them.
pub(crate) fn shown_text(text: &str) -> String {
    up_to(LONGEST_TEXT, text)
}

/// The path of a file in one line, as [`shown`] shows names, but whole: whoever reads it looks for that file. One that is
/// empty must be seen, too. O(its characters).
pub(crate) fn shown_path(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    match path.as_os_str().is_empty() {
        true => "the empty path".to_owned(),
        false => up_to(usize::MAX, &path.to_string_lossy()),
    }
}

/// A name in one line, in quotes; a cut one has a mark behind them.
pub(crate) fn shown_quoted(name: &str) -> String {
    match name.char_indices().nth(LONGEST) {
        None => format!("{name:?}"),
        Some((end, _)) => format!("{:?}…", &name[..end]),
    }
}

fn up_to(longest: usize, text: &str) -> String {
    let mut shown = String::new();
    for (at, character) in text.chars().enumerate() {
        if at == longest {
            shown.push('…');
            break;
        }
        match is_seen(character) {
            true => shown.push(character),
            false => shown.extend(character.escape_debug()),
        }
    }
    shown
}

/// Whether a character is none of those that end lines, move what follows, turn its direction, or have no width.
pub(crate) fn is_seen(character: char) -> bool {
    !character.is_control()
        && !matches!(
            character,
            '\u{61c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// The first few of what is told, and how many more there are.
pub(crate) fn listed(all: impl ExactSizeIterator<Item = impl Display>, between: &str) -> String {
    let more = all.len().saturating_sub(MOST);
    let first: Vec<String> = all.take(MOST).map(|one| one.to_string()).collect();
    let first = first.join(between);
    match more {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_in_one_short_line() {
        assert_eq!(
            shown("game::Health<'_, \u{fc}>"),
            "game::Health<'_, \u{fc}>"
        );
        assert_eq!(shown("a\nb\u{1b}[2J\u{202e}c"), r"a\nb\u{1b}[2J\u{202e}c");
        assert_eq!(shown("\u{feff}\"\u{7f}"), r#"\u{feff}"\u{7f}"#);
        assert_eq!(shown_text(&"x".repeat(400)), "x".repeat(400));
        assert_eq!(shown_text(&"x".repeat(401)), "x".repeat(400) + "…");
        assert_eq!(shown_quoted("a\tb"), r#""a\tb""#);
        assert_eq!(shown(""), "");
        let long = "\u{fc}".repeat(LONGEST);
        assert_eq!(shown(&long), long);
        let longer = long.clone() + "x";
        assert_eq!(shown(&longer), long.clone() + "…");
        assert_eq!(shown_quoted(&longer), format!("\"{long}\"…"));
    }

    #[test]
    fn paths_are_told_whole_in_one_line() {
        let long = "a/".repeat(LONGEST);
        assert_eq!(shown_path(&long), long);
        assert_eq!(
            shown_path("a\u{1b}[2J/\u{202e}c d"),
            r"a\u{1b}[2J/\u{202e}c d"
        );
        assert_eq!(shown_path(""), "the empty path");
    }

    #[test]
    fn of_many_the_first_are_told() {
        let told = |count: usize| listed((0..count).map(|n| n.to_string()), ", ");
        assert_eq!(told(0), "");
        assert_eq!(told(8), "0, 1, 2, 3, 4, 5, 6, 7");
        assert_eq!(told(10), "0, 1, 2, 3, 4, 5, 6, 7 and 2 more");
    }
}
