//! How deeply a text is nested, before it is parsed.
//!
//! The parser takes tables that are nested thousands of times: lists and inline tables to some depth, and in each a key
//! with as many dots. Such a table takes more stack to drop than a thread has. So a text is looked through first; what
//! is counted is never less than the depth, and not much more.

/// How often values may be nested in a line; as often again by the headers of tables.
pub(super) const DEEPEST: usize = 64;

/// The byte at which a text is nested more than [`DEEPEST`] times. O(bytes).
pub(super) fn too_deep(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    // Of each bracket that is open, by how much it is deeper than the one around it.
    let mut open: Vec<usize> = Vec::new();
    let (mut depth, mut dots, mut at) = (0, 0, 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'#' => {
                at += line_end(&bytes[at..]);
                continue;
            }
            b'"' | b'\'' => {
                at += string_end(&bytes[at..]);
                continue;
            }
            b'.' => dots += 1,
            b'{' | b'[' => {
                open.push(dots + 1);
                depth += dots + 1;
                dots = 0;
            }
            b'}' | b']' => {
                depth -= open.pop().unwrap_or(0);
                dots = 0;
            }
            b',' => dots = 0,
            b'\n' if open.is_empty() => dots = 0,
            _ => {}
        }
        if depth + dots > DEEPEST {
            return Some(at);
        }
        at += 1;
    }
    None
}

fn line_end(bytes: &[u8]) -> usize {
    let end = bytes.iter().position(|&byte| byte == b'\n');
    end.unwrap_or(bytes.len())
}

/// Where the string ends that begins here: behind its quotes, or, if there are none, where the parser sees its end.
fn string_end(bytes: &[u8]) -> usize {
    let quote = bytes[0];
    let long = bytes.starts_with(&[quote; 3]);
    let mut at = if long { 3 } else { 1 };
    while let Some(&byte) = bytes.get(at) {
        if byte == b'\\' && quote == b'"' {
            at += 2;
        } else if !long && (byte == quote || byte == b'\n') {
            return at + 1;
        } else if long && bytes[at..].starts_with(&[quote; 3]) {
            return at + 3;
        } else {
            at += 1;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_and_brackets_count_and_strings_and_comments_do_not() {
        let deep = DEEPEST - 2;
        for (text, at) in [
            ("a".to_owned(), None),
            (".".repeat(DEEPEST + 1), Some(DEEPEST)),
            ([".".repeat(DEEPEST), ".".repeat(DEEPEST)].join("\n"), None),
            ([".".repeat(DEEPEST), ".".repeat(DEEPEST)].join(","), None),
            ("[1, 2.0, 3.0],".repeat(100), None),
            (format!("{}'[[[[' # [[[[\n", "[".repeat(deep)), None),
            (format!("{}\"\"\"[[\"[[\\\"\"\"\"", "[".repeat(deep)), None),
            (format!("{}'\n[[[[", "[".repeat(deep)), Some(deep + 4)),
            (format!("{}'' [[[[", "[".repeat(deep)), Some(deep + 5)),
            ("\"\\".to_owned(), None),
            ("]]]]}".to_owned(), None),
        ] {
            assert_eq!(too_deep(&text), at, "{text}");
        }
    }
}
