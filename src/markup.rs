//! Text in documents of marks: SVG and HTML.

use crate::shown::is_seen;

/// `text` as it may stand between two tags, or in the value of an attribute.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // No such letter may stand in a document, or it would change how others are seen.
            letter if !is_seen(letter) => escaped.push(' '),
            '\u{FFFE}' | '\u{FFFF}' => escaped.push(' '),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn marks_and_letters_that_no_document_may_have_are_gone() {
        let text = "a<b> & \"c\"\u{0}\u{1b}\u{FFFE}\u{202e}ü";
        assert_eq!(escaped(text), "a&lt;b&gt; &amp; &quot;c&quot;    ü");
    }
}
