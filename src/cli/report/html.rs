//! The report as one HTML page that needs nothing else: the plots are inside as SVG.

use core::fmt::Write;

use super::plot::{self, Bar, Line, PlotError};
use super::{Report, Row, Section, UNOPTIMISED};
use crate::cli::measure::Figures;
use crate::markup::escaped;

const STYLE: &str = "
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 1180px;
       margin: 2em auto; padding: 0 1em; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2em; border-bottom: 1px solid #ddd; }
.plots { display: flex; flex-wrap: wrap; gap: 12px; align-items: flex-start; }
.plots svg { border: 1px solid #eee; border-radius: 4px; max-width: 100%; }
.key span { display: inline-block; margin-right: 1.2em; white-space: nowrap; }
.key i { display: inline-block; width: .9em; height: .9em; margin-right: .35em; }
table { border-collapse: collapse; font-size: 13px; }
th, td { padding: 2px 9px; text-align: right; border-bottom: 1px solid #eee; }
th:first-child, td:first-child, td.name, th.name { text-align: left; }
tr.void td { color: #999; } dt { float: left; clear: left; width: 9em; color: #666; }
dd { margin-left: 9em; }";

impl Report {
    /// The report as a page.
    ///
    /// # Errors
    /// A plot could not be drawn.
    pub fn to_html(&self) -> Result<String, PlotError> {
        let mut page = Page(String::new());
        let command = self.command();
        page.line("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">");
        page.line("<meta name=\"viewport\" content=\"width=device-width\">");
        page.line(&format!(
            "<title>megachunk {command}</title>\n<style>{STYLE}\n</style>\n</head>"
        ));
        page.line(&format!("<body>\n<h1>megachunk {command}</h1>"));
        self.describe(&mut page);
        for section in Section::ALL {
            if self.rows.iter().any(|row| row.section == section) {
                self.section(&mut page, section)?;
            }
        }
        self.all_rows(&mut page);
        self.all_skipped(&mut page);
        page.line("</body>\n</html>");
        Ok(page.0)
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
             is wall time by the operations of all threads. Pale bars are void: the machine gave \
             fewer than 0.9 processors a thread while they were measured.</p>",
        );
        if let Some(quick) = self.quick() {
            page.line(&format!("<p><strong>{quick}</strong></p>"));
        }
        if let Some(unsteady) = self.unsteady() {
            page.line(&format!(
                "<p>{} Bars of such ratios are pale, too.</p>",
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
        page.line(&format!("<h2>{}</h2>\n<p class=\"key\">", section.title()));
        let colours = plot::colours(section, &contenders);
        for (name, &colour) in contenders.iter().zip(&colours) {
            let colour = plot::css(colour);
            page.line(&format!(
                "<span><i style=\"background:{colour}\"></i>{}</span>",
                escaped(name)
            ));
        }
        page.line("</p>\n<div class=\"plots\">");
        if let Some(glance) = self.glance(section)? {
            page.line(&glance);
        }
        for plot in self.scale_plots(section, &contenders, &colours)? {
            page.line(&plot);
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
            page.line(&plot::bars(name, unit, &bars, None)?);
        }
        page.line("</div>");
        Ok(())
    }

    /// How many times as fast as the first reference the product is, on every row.
    fn glance(&self, section: Section) -> Result<Option<String>, PlotError> {
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
                    pale: self.is_unsteady(row, reference),
                })
            })
            .collect();
        if bars.is_empty() {
            return Ok(None);
        }
        let title = format!("{} against {reference}", section.product());
        plot::bars(&title, "times as fast", &bars, Some(1.0)).map(Some)
    }

    /// For each phase of `scale`, time over the number of live ids.
    fn scale_plots(
        &self,
        section: Section,
        contenders: &[&str],
        colours: &[usize],
    ) -> Result<Vec<String>, PlotError> {
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
                .map(|(contender, &colour)| Line {
                    colour,
                    points: points(contender),
                })
                .filter(|line| !line.points.is_empty())
                .collect();
            if !lines.is_empty() {
                let title = format!("scale: {phase}");
                plots.push(plot::lines(&title, "live ids", "ns/id", &lines)?);
            }
        }
        Ok(plots)
    }

    fn all_rows(&self, page: &mut Page) {
        page.line("<h2>All figures</h2>\n<table>\n<tr><th class=\"name\">workload</th>");
        page.line("<th>threads</th><th class=\"name\">contender</th><th>unit</th><th>min</th>");
        page.line(&format!(
            "<th>median</th><th>max</th><th>× {}</th><th>× {}</th>",
            self.reference_names(0),
            self.reference_names(1)
        ));
        page.line("<th>RMW</th><th>lost claims</th><th>MiB</th></tr>");
        for row in &self.rows {
            let [naive, published] = row.section.references();
            let class = if row.void { " class=\"void\"" } else { "" };
            let cells = [
                row.unit.to_owned(),
                figure(Some(row.ns.min)),
                figure(row.median()),
                figure(Some(row.ns.max)),
                self.ratio_text(row, naive).unwrap_or_default(),
                self.ratio_text(row, published).unwrap_or_default(),
                row.rmw_per_op
                    .map_or_else(String::new, |count| format!("{count:.3}")),
                row.failed_claims_per_op
                    .map_or_else(String::new, |count| format!("{count:.3}")),
                figure(
                    row.memory_bytes
                        .map(|bytes| bytes as f64 / f64::from(1 << 20)),
                ),
            ];
            page.line(&format!(
                "<tr{class}><td>{}</td><td>{}</td><td class=\"name\">{}</td><td>{}</td></tr>",
                escaped(&row.workload),
                row.threads,
                escaped(row.contender),
                cells.join("</td><td>"),
            ));
        }
        page.line("</table>");
    }

    fn all_skipped(&self, page: &mut Page) {
        if self.skipped.is_empty() {
            return;
        }
        page.line("<h2>Without a figure</h2>\n<ul>");
        for skipped in self.skipped.iter().filter(|skipped| skipped.failed) {
            page.line(&format!(
                "<li><strong>failed</strong>: {}</li>",
                escaped(&skipped.to_string())
            ));
        }
        for line in self.skipped_together() {
            page.line(&format!("<li>{}</li>", escaped(&line)));
        }
        page.line("</ul>");
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
        pale: row.void,
    }
}

fn label(name: &str, threads: usize) -> String {
    match threads {
        1 => name.to_owned(),
        _ => format!("{name}, {threads} threads"),
    }
}

fn figure(value: Option<f64>) -> String {
    match value {
        None => String::new(),
        Some(value) if value >= 100.0 => format!("{value:.0}"),
        Some(value) => format!("{value:.2}"),
    }
}

/// Text on its way to be a page.
struct Page(String);

impl Page {
    fn line(&mut self, line: &str) {
        writeln!(self.0, "{line}").expect("a string takes everything");
    }
}
