//! The report as lines, where a table has no room or is not wanted: each says what it is about, as ears need it.

use super::{Report, Section};
use crate::cli::output::{plural, wrapped};

/// A terminal that says that it has fewer columns gets lines of so many characters.
const NARROWEST: usize = 20;

/// What a line begins with that goes on with the one before it.
const INDENT: usize = 4;

impl Report {
    /// What a screen shows: a table for each section ([`to_table`](Self::to_table)), or lines that say the same where a
    /// table is wider than so many characters, or where lines are asked for (`plain`). `None`: nobody has said how wide
    /// the screen is, as of a pipe; then no line is broken.
    #[must_use]
    pub fn to_text(&self, width: Option<usize>, plain: bool) -> String {
        let tables: Vec<String> = self
            .sections()
            .map(|section| self.section_table(section))
            .collect();
        let has_room = |line: &str| width.is_none_or(|width| line.chars().count() <= width);
        let mut lines = tables.iter().flat_map(|table| table.lines());
        let mut text = match !plain && lines.all(has_room) {
            true => tables.concat(),
            false => {
                let lines = self.sections();
                lines
                    .map(|section| self.section_lines(section, width))
                    .collect()
            }
        };
        for note in self.footnotes().lines() {
            text += &broken(note, width);
        }
        text
    }

    fn section_lines(&self, section: Section, width: Option<usize>) -> String {
        let mut text = format!("{}\n", section.title());
        for line in self.lines(section) {
            text += &broken(&self.line(section, line), width);
        }
        text
    }

    /// What a row of the table says.
    fn line(&self, section: Section, line: (&str, usize)) -> String {
        let contenders = self.contenders(section);
        let rows = contenders
            .iter()
            .filter_map(|name| self.row(section, line, name));
        let rows: Vec<_> = rows.collect();
        let unit = rows.first().map_or("ns", |row| row.unit);
        let figures: Vec<String> = rows.iter().map(|row| row.told()).collect();
        let (name, threads) = (line.0, plural(line.1, "thread"));
        let mut text = format!("{name} on {threads}, {unit}: {}", figures.join(", "));
        let product = self.row(section, line, section.product());
        let ratios = section.references().into_iter().filter_map(|name| {
            let ratio = self.ratio_text(product?, name)?;
            Some(format!("× {name} {ratio}"))
        });
        let ratios: Vec<String> = ratios.collect();
        if !ratios.is_empty() {
            text += &format!("; {}", ratios.join(", "));
        }
        if let Some(count) = product.and_then(|row| row.rmw_per_op) {
            text += &format!("; RMW {count:.3}");
        }
        text
    }
}

/// A line, or as many as it takes.
fn broken(line: &str, width: Option<usize>) -> String {
    match width {
        Some(width) => wrapped(line, width.max(NARROWEST), INDENT) + "\n",
        None => format!("{line}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::measure::Machine;
    use crate::cli::report::tests::row;

    fn report() -> Report {
        let mut report = Report::new(Machine::here());
        for (contender, median) in [("naive", 1_234.56), ("busy_block", 10.0), ("bitmask", 4.0)] {
            report.rows.push(row(contender, 1, median));
        }
        report.rows[1].ns.min = 5.0;
        report.set_ratios();
        report
    }

    const LINE: &str = "Ids\npair on 1 thread, ns/life: naive 1235, busy_block 10.00, bitmask 4.00; × naive 308.64, \
                        × busy_block ~2.50\n";

    #[test]
    fn lines_say_what_the_table_says_and_the_unit() {
        let mut report = report();
        let text = report.to_text(None, true);
        assert!(text.starts_with(LINE), "{text}");
        let notes = |text: &str| text[text.find("\nMedian").unwrap()..].to_owned();
        assert_eq!(notes(&text), notes(&report.to_table()));
        report.rows[2].rmw_per_op = Some(1.0);
        report.rows[0].void = true;
        report.set_ratios();
        let text = report.to_text(None, true);
        assert!(text.contains("naive 1235 void, "), "{text}");
        assert!(text.contains("~2.50; RMW 1.000\n"), "{text}");
    }

    #[test]
    fn a_table_for_which_a_screen_has_no_room_is_shown_as_lines() {
        let report = report();
        let table = report.to_table();
        let is_table = |text: &str| text.contains('─');
        let lines = || table.lines().take_while(|line| !line.is_empty());
        let width = lines().map(|line| line.chars().count()).max();
        let width = width.unwrap();
        assert!(is_table(&table) && is_table(&report.to_text(Some(width), false)));
        for width in [width - 1, 40, 20] {
            let text = report.to_text(Some(width), false);
            assert!(!is_table(&text), "{text}");
            let joined: Vec<&str> = text.split_whitespace().collect();
            let expected: Vec<&str> = LINE.split_whitespace().collect();
            assert!(joined.starts_with(&expected), "{text}");
        }
        for width in [40, width] {
            for line in report.to_text(Some(width), false).lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}
