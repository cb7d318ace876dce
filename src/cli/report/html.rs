//! The report as one HTML page that needs nothing else: the plots are inside as SVG.

use core::fmt::Write;

use super::plot::{self, Bar, Line, Mark, PlotError};
use super::{Report, Row, Section, UNOPTIMISED};
use crate::cli::measure::Figures;
use crate::markup::escaped;

mod figures;
#[cfg(test)]
mod tests;

const STYLE: &str = include_str!("html/style.css");

impl Report {
    /// The report as a page.
    ///
    /// # Errors
    /// A plot could not be drawn.
    pub fn to_html(&self) -> Result<String, PlotError> {
        let mut page = Page(String::new());
        let command = self.command();
        page.line("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">");
        page.line("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
        page.line(&format!(
            "<title>megachunk {command}</title>\n<style>\n{STYLE}</style>\n</head>"
        ));
        page.line(&format!("<body>\n<main>\n<h1>megachunk {command}</h1>"));
        self.describe(&mut page);
        self.parts(&mut page);
        for section in self.sections() {
            self.section(&mut page, section)?;
        }
        self.all_rows(&mut page);
        self.all_skipped(&mut page);
        page.line("</main>\n</body>\n</html>");
        Ok(page.0)
    }

    /// Links to the parts of the page.
    fn parts(&self, page: &mut Page) {
        page.line("<nav aria-label=\"Parts of this page\">\n<ul>");
        for section in self.sections() {
            let (id, title) = (id(section), section.title());
            page.line(&format!("<li><a href=\"#{id}\">{title}</a></li>"));
        }
        page.line("<li><a href=\"#figures\">All figures</a></li>");
        if !self.skipped.is_empty() {
            page.line("<li><a href=\"#skipped\">Without a figure</a></li>");
        }
        page.line("</ul>\n</nav>");
    }

    fn describe(&self, page: &mut Page) {
        let machine = &self.machine;
        let gibibytes = machine.memory_bytes as f64 / f64::from(1 << 30);
        page.line("<dl>");
        for (name, value) in [
            ("Processor", machine.processor.clone()),
            ("Processors", machine.cores.to_string()),
            (
                "Memory",
                format!("{gibibytes:.1} GiB, huge pages: {}", machine.huge_pages),
            ),
            (
                "System",
                format!("{} on {}", machine.system, machine.architecture),
            ),
            ("megachunk", machine.megachunk.to_owned()),
        ] {
            page.line(&format!("<dt>{name}</dt><dd>{}</dd>", escaped(&value)));
        }
        page.line("</dl>");
        page.line(
            "<p>Bars are medians of interleaved repetitions in one process, whiskers go from the \
             least to the most; the axes are logarithmic. Of times, shorter is better; of one \
             contender against another, longer: how many times as fast. An operation's time \
             is wall time by the operations of all threads. A pale bar with “void” behind its figure says \
             nothing: the machine gave fewer than 0.9 processors a thread while it was measured.</p>",
        );
        if let Some(quick) = self.quick() {
            page.line(&format!("<p><strong>{quick}</strong></p>"));
        }
        if let Some(unsteady) = self.unsteady() {
            page.line(&format!(
                "<p>{} Bars of such ratios are pale, too, and have a ~ before their figures.</p>",
                escaped(&unsteady)
            ));
        }
        if let Some(net_of) = self.net_of() {
            page.line(&format!("<p>{}</p>", escaped(&net_of)));
        }
        if let Some(too_short) = self.too_short() {
            page.line(&format!("<p>{}</p>", escaped(too_short)));
        }
        if let Some(left_out) = self.left_out() {
            page.line(&format!("<p>{}</p>", escaped(&left_out)));
        }
        for note in [self.pages(), self.helpers()].into_iter().flatten() {
            page.line(&format!("<p>{}</p>", escaped(note)));
        }
        if !machine.optimised {
            page.line(&format!("<p><strong>{UNOPTIMISED}</strong></p>"));
        }
        if machine.probe {
            page.line(
                "<p><strong>This build counts accesses to shared memory: its times are too \
                 long.</strong></p>",
            );
        }
    }

    fn section(&self, page: &mut Page, section: Section) -> Result<(), PlotError> {
        let contenders = self.contenders(section);
        let (id, title) = (id(section), section.title());
        page.line(&format!(
            "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{title}</h2>\n<p class=\"key\">"
        ));
        let colours = plot::colours(section, &contenders);
        for (name, &colour) in contenders.iter().zip(&colours) {
            let colour = plot::css(colour);
            page.line(&format!(
                "<span><i style=\"background:{colour}\"></i>{}</span>",
                escaped(name)
            ));
        }
        page.line("</p>\n<div class=\"plots\">");
        if let Some((title, glance)) = self.glance(section)? {
            page.figure(&title, &glance);
        }
        for (title, plot) in self.scale_plots(section, &contenders, &colours)? {
            page.figure(&title, &plot);
        }
        let mut names: Vec<_> = self
            .lines(section)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        names.dedup();
        for name in names.into_iter().filter(|name| !name.starts_with("scale/")) {
            let rows = || {
                let rows = self.rows.iter();
                rows.filter(|row| row.section == section && row.workload == name)
            };
            let bars: Vec<_> = rows()
                .filter(|row| row.median().is_some())
                .map(|row| bar(row, &contenders, &colours))
                .collect();
            if bars.is_empty() {
                continue;
            }
            let unit = rows().next().map_or("ns", |row| row.unit);
            page.figure(name, &plot::bars(name, unit, &bars, None)?);
        }
        page.line("</div>\n</section>");
        Ok(())
    }

    /// How many times as fast as the first reference the product is, on every row: a title and a plot.
    fn glance(&self, section: Section) -> Result<Option<(String, String)>, PlotError> {
        let [reference, _] = section.references();
        let product = self
            .rows
            .iter()
            .filter(|row| row.section == section && row.contender == section.product());
        let bars: Vec<_> = product
            .filter_map(|row| {
                let ratio = row.ratio_to(reference)?;
                Some(Bar {
                    label: label(&row.workload, row.threads),
                    figures: Figures {
                        min: ratio,
                        median: ratio,
                        max: ratio,
                    },
                    colour: plot::colours(section, &[section.product()])[0],
                    mark: self.is_unsteady(row, reference).then_some(Mark::Unsteady),
                })
            })
            .collect();
        if bars.is_empty() {
            return Ok(None);
        }
        let title = format!("{} against {reference}", section.product());
        let plot = plot::bars(&title, "times as fast", &bars, Some(1.0))?;
        Ok(Some((title, plot)))
    }

    /// For each phase of `scale`, time over the number of live ids: titles and plots.
    fn scale_plots(
        &self,
        section: Section,
        contenders: &[&str],
        colours: &[usize],
    ) -> Result<Vec<(String, String)>, PlotError> {
        let mut plots = Vec::new();
        for phase in ["create", "lookup", "destroy"] {
            let points = |contender: &str| -> Vec<(f64, f64)> {
                let rows = self
                    .rows
                    .iter()
                    .filter(|row| row.section == section && row.contender == contender);
                rows.filter_map(|row| {
                    let mut parts = row.workload.split('/');
                    let is_ours = parts.next() == Some("scale");
                    let live = parts.next()?.parse().ok()?;
                    (is_ours && parts.next() == Some(phase)).then_some((live, row.median()?))
                })
                .collect()
            };
            let lines: Vec<_> = contenders
                .iter()
                .zip(colours)
                .map(|(&name, &colour)| Line {
                    name,
                    colour,
                    points: points(name),
                })
                .filter(|line| !line.points.is_empty())
                .collect();
            if !lines.is_empty() {
                let title = format!("scale: {phase}");
                let plot = plot::lines(&title, "live ids", "ns/id", &lines)?;
                plots.push((title, plot));
            }
        }
        Ok(plots)
    }

    fn all_skipped(&self, page: &mut Page) {
        if self.skipped.is_empty() {
            return;
        }
        page.line(
            "<section aria-labelledby=\"skipped\">\n<h2 id=\"skipped\">Without a figure</h2>\n<ul>",
        );
        for skipped in self.skipped.iter().filter(|skipped| skipped.failed) {
            page.line(&format!(
                "<li><strong>failed</strong>: {}</li>",
                escaped(&skipped.to_string())
            ));
        }
        for line in self.skipped_together() {
            page.line(&format!("<li>{}</li>", escaped(&line)));
        }
        page.line("</ul>\n</section>");
    }
}

fn bar(row: &Row, contenders: &[&str], colours: &[usize]) -> Bar {
    Bar {
        label: label(row.contender, row.threads),
        figures: row.ns,
        colour: contenders
            .iter()
            .position(|name| *name == row.contender)
            .map_or(0, |place| colours[place]),
        mark: row.void.then_some(Mark::Void),
    }
}

fn label(name: &str, threads: usize) -> String {
    match threads {
        1 => name.to_owned(),
        _ => format!("{name}, {threads} threads"),
    }
}

/// What links call the part of a section.
fn id(section: Section) -> String {
    section.title().to_lowercase()
}

/// Text on its way to be a page.
struct Page(String);

impl Page {
    fn line(&mut self, line: &str) {
        writeln!(self.0, "{line}").expect("a string takes everything");
    }

    /// A plot below its title.
    fn figure(&mut self, title: &str, plot: &str) {
        let title = escaped(title);
        self.line(&format!(
            "<figure>\n<figcaption><h3>{title}</h3></figcaption>\n{}\n</figure>",
            plot.trim_end()
        ));
    }
}
