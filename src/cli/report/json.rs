//! The report as JSON, for programs.

use serde::Serialize;

use super::{Report, Section};

/// What is compared in a section.
#[derive(Serialize)]
struct Compared {
    section: Section,
    product: &'static str,
    references: [&'static str; 2],
}

#[derive(Serialize)]
struct File<'a> {
    #[serde(flatten)]
    report: &'a Report,
    /// Those that have rows.
    sections: Vec<Compared>,
}

impl Report {
    /// The report in the format `megachunk-bench 1`.
    #[must_use]
    pub fn to_json(&self) -> String {
        let compared = |section: Section| Compared {
            section,
            product: section.product(),
            references: section.references(),
        };
        let file = File {
            report: self,
            sections: self.sections().map(compared).collect(),
        };
        let mut text = serde_json::to_string_pretty(&file)
            .expect("strings, numbers and maps with string keys can always be written");
        text.push('\n');
        text
    }
}
