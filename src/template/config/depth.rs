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
    // Each bracket that is open, and by how much it is deeper than the one around it.
    let mut open: Vec<(u8, usize)> = Vec::new();
    let (mut depth, mut dots, mut at) = (0, 0, 0);
    // A key has its `=`, and the value has not come.
    let (mut keyed, mut owed) = (false, false);
    while let Some(&byte) = bytes.get(at) {
        let mut behind = at + 1;
        match byte {
            b'#' => behind = at + line_end(&bytes[at..]),
            b'.' => dots += 1,
            b'=' => (keyed, owed) = (true, true),
            b'{' | b'[' => {
                open.push((byte, dots + 1));
                depth += dots + 1;
                (dots, keyed, owed) = (0, false, false);
            }
            b'}' | b']' => {
                // What is closed by the wrong bracket may be open to the parser.
                let closed = open.pop_if(|(opened, _)| (*opened == b'{') == (byte == b'}'));
                if let Some((_, deeper)) = closed {
                    depth -= deeper;
                    (dots, keyed, owed) = (0, false, false);
                }
            }
            // Else the parser takes what comes next for what is missing.
            b',' if !owed && (keyed || matches!(open.last(), Some((b'[', _)))) => {
                (dots, keyed) = (0, false);
            }
            b'\n' if open.is_empty() => (dots, keyed, owed) = (0, false, false),
            b',' | b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => {
                let is_text = matches!(byte, b'"' | b'\'');
                let end = if is_text { string_end } else { word_end };
                behind = at + end(&bytes[at..]);
                owed = false;
            }
        }
        if depth + dots > DEEPEST {
            return Some(at);
        }
        at = behind;
    }
    None
}

/// Where the comment ends that begins here. To the parser a line ends also with a carriage return alone.
fn line_end(bytes: &[u8]) -> usize {
    let end = bytes.iter().position(|byte| b"\r\n".contains(byte));
    end.unwrap_or(bytes.len())
}

/// Where a word or number ends that begins here. Quotes in it begin no string.
fn word_end(bytes: &[u8]) -> usize {
    let ends = |byte| b".=,[]{} \t#\r\n".contains(byte);
    bytes.iter().position(ends).unwrap_or(bytes.len())
}

/// Where the string ends that begins here: behind its quotes, or, if there are none, where the parser sees its end.
fn string_end(bytes: &[u8]) -> usize {
    let quote = bytes[0];
    let long = bytes.starts_with(&[quote; 3]);
    let mut at = if long { 3 } else { 1 };
    while let Some(&byte) = bytes.get(at) {
        let escapes = byte == b'\\' && quote == b'"';
        if escapes && matches!(bytes.get(at + 1), Some(b'\\' | b'"')) {
            at += 2;
        } else if !long && (byte == quote || byte == b'\n') {
            return at + 1;
        } else if long && bytes[at..].starts_with(&[quote; 3]) {
            at += 3;
            // The last quotes may be text: one or two.
            let more = bytes[at..].iter().take(2);
            return at + more.take_while(|&&byte| byte == quote).count();
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
            (
                ["[", &".".repeat(DEEPEST - 1), ",", &".".repeat(DEEPEST - 1)].concat(),
                None,
            ),
            ("[1, 2.0, 3.0],".repeat(100), None),
            (format!("{}'[[[[' # [[[[\n", "[".repeat(deep)), None),
            (format!("{}\"\"\"[[\"[[\\\"\"\"\"", "[".repeat(deep)), None),
            (format!("{}'\n[[[[", "[".repeat(deep)), Some(deep + 4)),
            (format!("{}'' [[[[", "[".repeat(deep)), Some(deep + 5)),
            ("\"\\".to_owned(), None),
            // An escape does not reach over the end of a line, nor the end of a string over quotes in it.
            (
                format!("\"\\\n{}", "[".repeat(DEEPEST + 1)),
                Some(DEEPEST + 3),
            ),
            (
                format!("\"\\\\\"{}", "[".repeat(DEEPEST + 1)),
                Some(DEEPEST + 4),
            ),
            (
                format!("\"\"\"x\"\"\"\" {}", "[".repeat(DEEPEST + 1)),
                Some(DEEPEST + 9),
            ),
            (
                format!("'''x'''' {}", "[".repeat(DEEPEST + 1)),
                Some(DEEPEST + 9),
            ),
            (
                format!("'''x''''' {}", "[".repeat(DEEPEST + 1)),
                Some(DEEPEST + 10),
            ),
            (format!("'''x'''''' {}", "[".repeat(DEEPEST + 1)), None),
            // Nor does a string begin in a word, or a comment go on behind a carriage return.
            (format!("x'{}", "[".repeat(DEEPEST + 1)), Some(DEEPEST + 2)),
            (format!("#\r{}", "[".repeat(DEEPEST + 1)), Some(DEEPEST + 2)),
            ("{]".repeat(DEEPEST + 1), Some(2 * DEEPEST)),
            ("[}".repeat(DEEPEST + 1), Some(2 * DEEPEST)),
            ("{[]}".repeat(DEEPEST + 1), None),
            ("{a.b = ,".repeat(DEEPEST), Some(DEEPEST / 2 * 8)),
            ("{a.b,".repeat(DEEPEST), Some(DEEPEST / 2 * 5)),
            ("{a.b = ]".repeat(DEEPEST), Some(DEEPEST / 2 * 8)),
            ("]]]]}".to_owned(), None),
        ] {
            assert_eq!(too_deep(&text), at, "{text}");
        }
    }
}
