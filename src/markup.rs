//! Text in documents of marks: SVG and HTML.

/// `text` as it may stand between two tags, or in the value of an attribute.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // No such letter may stand in a document.
            letter if letter.is_control() => escaped.push(' '),
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
        let text = "a<b> & \"c\"\u{0}\u{1b}\u{FFFE}ü";
        assert_eq!(escaped(text), "a&lt;b&gt; &amp; &quot;c&quot;   ü");
    }
}
