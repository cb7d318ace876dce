//! The report as a table, for people at a terminal.

use comfy_table::{Cell, CellAlignment};

use super::{Report, Row, Section, UNOPTIMISED, ns_text};
use crate::cli::output::plain_table;

impl Report {
    /// A table for each section: medians of every contender, and how many times as fast as the
    /// references the product is.
    #[must_use]
    pub fn to_table(&self) -> String {
        self.to_text(None, false)
    }

    pub(super) fn section_table(&self, section: Section) -> String {
        let contenders = self.contenders(section);
        let counted = self
            .rows
            .iter()
            .any(|row| row.section == section && row.rmw_per_op.is_some());
        let mut table = plain_table();
        let mut header = vec![section.title().to_owned(), "threads".into()];
        header.extend(contenders.iter().map(ToString::to_string));
        header.extend(section.references().map(|name| format!("× {name}")));
        if counted {
            header.push("RMW".into());
        }
        table.set_header(header);
        for line in self.lines(section) {
            let row = |name: &str| self.row(section, line, name);
            let product = row(section.product());
            let void = contenders
                .iter()
                .filter_map(|name| row(name))
                .any(|row| row.void);
            let mut cells = vec![
                Cell::new(line.0),
                right(format!("{}{}", line.1, if void { " void" } else { "" })),
            ];
            cells.extend(contenders.iter().map(|name| right(ns(row(name)))));
            cells.extend(section.references().map(|name| {
                let ratio = product.and_then(|row| self.ratio_text(row, name));
                right(ratio.unwrap_or_else(|| "-".into()))
            }));
            if counted {
                let count = product.and_then(|row| row.rmw_per_op);
                cells.push(right(
                    count.map_or_else(|| "-".into(), |count| format!("{count:.3}")),
                ));
            }
            table.add_row(cells);
        }
        format!("{table}\n")
    }

    pub(super) fn footnotes(&self) -> String {
        let mut text = String::from(
            "\nMedian nanoseconds an operation (wall time by the operations of all threads); \
             × says how many times as fast as that reference the product is.\n",
        );
        if let Some(quick) = self.quick() {
            text += &format!("{quick}\n");
        }
        if let Some(net_of) = self.net_of() {
            text += &format!("{net_of}\n");
        }
        if self.rows.iter().any(|row| row.void) {
            text += "void: the machine gave fewer than 0.9 processors a thread; \
                     compare nothing with these rows.\n";
        }
        if let Some(unsteady) = self.unsteady() {
            text += &format!("{unsteady}\n");
        }
        let notes = [
            self.rmw_means(),
            self.memory_means(),
            self.too_short(),
            self.pages(),
            self.helpers(),
        ];
        for note in notes.into_iter().flatten() {
            text += &format!("{note}\n");
        }
        if !self.machine.optimised {
            text += UNOPTIMISED;
            text += "\n";
        }
        if self.machine.probe {
            text += "This build counts accesses to shared memory: its times are too long.\n";
        }
        for (row, bytes) in self
            .rows
            .iter()
            .filter_map(|row| Some((row, row.memory_bytes?)))
        {
            let mebibytes = bytes as f64 / f64::from(1 << 20);
            text += &format!(
                "{}, {}: {mebibytes:.1} MiB resident\n",
                row.workload, row.contender
            );
        }
        if let Some(left_out) = self.left_out() {
            text += &format!("{left_out}\n");
        }
        for failed in self.skipped.iter().filter(|skipped| skipped.failed) {
            text += &format!("FAILED: {failed}\n");
        }
        for line in self.skipped_together() {
            text += &format!("skipped: {line}\n");
        }
        text
    }
}

fn ns(row: Option<&Row>) -> String {
    let median = row.and_then(Row::median);
    median.map_or_else(|| "-".into(), ns_text)
}

fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}
