//! The table of all figures.

use super::Page;
use crate::cli::report::{Report, Row, ns_text};
use crate::markup::escaped;

/// A column that is there only where something was counted: its head, and what stands in it.
type Counted = (&'static str, fn(&Row) -> Option<String>);

const COUNTED: [Counted; 3] = [
    ("RMW", |row| Some(format!("{:.3}", row.rmw_per_op?))),
    ("lost claims", |row| {
        Some(format!("{:.3}", row.failed_claims_per_op?))
    }),
    ("MiB", |row| {
        Some(format!(
            "{:.2}",
            row.memory_bytes? as f64 / f64::from(1 << 20)
        ))
    }),
];

impl Report {
    /// The least, the median and the most of each contender on each workload.
    pub(super) fn all_rows(&self, page: &mut Page) {
        let was_counted = |column: &Counted| self.rows.iter().any(|row| column.1(row).is_some());
        let counted: Vec<Counted> = COUNTED.into_iter().filter(was_counted).collect();
        page.line("<section aria-labelledby=\"figures\">\n<h2 id=\"figures\">All figures</h2>");
        // Who has no pointing device scrolls it by keys.
        page.line("<div class=\"scroll\" role=\"region\" aria-labelledby=\"figures\" tabindex=\"0\">\n<table>");
        page.line(
            "<caption>The least, the median and the most of all repetitions; × says how many times as fast as that \
             reference the contender is.",
        );
        let meanings = [
            self.rmw_means(),
            self.lost_claims_mean(),
            self.memory_means(),
        ];
        for meaning in meanings.into_iter().flatten() {
            page.line(meaning);
        }
        page.line("</caption>\n<thead>\n<tr>");
        for (name, class) in [
            ("workload", " class=\"name\""),
            ("threads", ""),
            ("contender", " class=\"name\""),
            ("unit", ""),
            ("min", ""),
            ("median", ""),
            ("max", ""),
        ] {
            page.line(&format!("<th scope=\"col\"{class}>{name}</th>"));
        }
        let references = [0, 1].map(|place| format!("× {}", self.reference_names(place)));
        let counts = counted.iter().map(|column| column.0.to_owned());
        for name in references.into_iter().chain(counts) {
            page.line(&format!("<th scope=\"col\">{}</th>", escaped(&name)));
        }
        page.line("</tr>\n</thead>\n<tbody>");
        for row in &self.rows {
            self.one_row(page, row, &counted);
        }
        page.line("</tbody>\n</table>\n</div>\n</section>");
    }

    fn one_row(&self, page: &mut Page, row: &Row, counted: &[Counted]) {
        let ratios = row.section.references();
        let ratios = ratios.map(|reference| self.ratio_text(row, reference));
        let mut cells = vec![
            row.unit.to_owned(),
            ns_text(row.ns.min),
            row.median().map_or_else(|| "-".to_owned(), ns_text),
            ns_text(row.ns.max),
        ];
        let others = ratios
            .into_iter()
            .chain(counted.iter().map(|column| column.1(row)));
        cells.extend(others.map(|text| text.unwrap_or_else(|| "-".to_owned())));
        let (class, void) = match row.void {
            true => (" class=\"void\"", " void"),
            false => ("", ""),
        };
        page.line(&format!(
            "<tr{class}><th scope=\"row\">{}</th><td>{}{void}</td><td class=\"name\">{}</td><td>{}</td></tr>",
            escaped(&row.workload),
            row.threads,
            escaped(row.contender),
            cells.join("</td><td>"),
        ));
    }
}
