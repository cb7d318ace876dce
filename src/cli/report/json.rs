//! The report as JSON, for programs.

use super::Report;

impl Report {
    /// The report in the format `megachunk-bench 1`.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self)
            .expect("strings, numbers and maps with string keys can always be written");
        text.push('\n');
        text
    }
}
