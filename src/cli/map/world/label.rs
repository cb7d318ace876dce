//! Labels: the names of fragments, short enough for a line.

/// A type's name without the paths in it: `a::b::Kind<c::Of>` is `Kind<Of>`.
pub(super) fn base(name: &str) -> String {
    let is_of_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut parts = name.split("::");
    let mut base = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match base.trim_end_matches(is_of_word).len() {
            // No path: what stands before it is more than a word.
            all if all == base.len() => base.push_str("::"),
            kept => base.truncate(kept),
        }
        base.push_str(part);
    }
    base
}

/// As many of the names as have room in so many letters, and how many more there are. Something of the first one is there
/// in any case.
pub(super) fn joined(names: &[String], room: usize) -> String {
    let joined = |count: usize| {
        let text = names[..count].join(", ");
        match names.len() - count {
            0 => text,
            more => format!("{text}, … {more} more"),
        }
    };
    let fits = |text: &String| text.chars().count() <= room;
    let longest = (1..=names.len()).rev().map(joined).find(fits);
    longest.unwrap_or_else(|| match names {
        [] => cut("no fragments", room),
        [only] => cut(only, room),
        [first, ..] => cut(&format!("{first}, …"), room),
    })
}

fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let kept = text.chars().take(room.saturating_sub(1));
    kept.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_loses_its_paths_wherever_they_stand() {
        for (name, expected) in [
            ("Position", "Position"),
            ("game::body::Position", "Position"),
            ("a::Kind<b::c::Of, 3>", "Kind<Of, 3>"),
            ("(a::One, [b::Two; 4])", "(One, [Two; 4])"),
            ("<a::Own as b::Trait>::Part", "<Own as Trait>::Part"),
            ("", ""),
        ] {
            assert_eq!(base(name), expected, "{name}");
        }
    }

    #[test]
    fn names_for_which_there_is_no_room_are_counted() {
        let names = ["Health", "Position", "Velocity"].map(String::from);
        for (room, expected) in [
            (26, "Health, Position, Velocity"),
            (25, "Health, … 2 more"),
            (24, "Health, … 2 more"),
            (16, "Health, … 2 more"),
            (15, "Health, …"),
            (4, "Hea…"),
        ] {
            assert_eq!(joined(&names, room), expected, "{room}");
        }
        assert_eq!(joined(&names[..1], 4), "Hea…");
        assert_eq!(joined(&[], 40), "no fragments");
    }
}
