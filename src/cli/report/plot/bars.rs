//! Bars that go to the right, on a logarithmic axis.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::{Area, COLOURS, DrawingError, FONT, GAP, PlotError, SMALL, WIDTH};
use super::{cut, decades, drawn, number, px, room, text_style};
use crate::cli::measure::Figures;
use crate::cli::report::ns_text;

/// One bar of a [`bars`] plot.
#[derive(Clone, Debug)]
pub(in crate::cli::report) struct Bar {
    /// What stands beside it.
    pub label: String,
    /// Its length is the median; the whisker goes from the least to the most.
    pub figures: Figures,
    /// That of its contender: see [`colours`](super::colours).
    pub colour: usize,
    /// Why it says nothing, or little: then it is pale, and its figure says so.
    pub mark: Option<Mark>,
}

/// Why a bar says nothing, or little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli::report) enum Mark {
    /// The machine gave too few processors.
    Void,
    /// Of a ratio: repetitions lie far apart, or there is only one.
    Unsteady,
}

impl Bar {
    /// What stands behind it.
    fn figure(&self) -> String {
        let median = ns_text(self.figures.median);
        match self.mark {
            None => median,
            Some(Mark::Void) => format!("{median} void"),
            Some(Mark::Unsteady) => format!("~{median}"),
        }
    }

    /// The same for ears, with what it is of.
    fn spoken(&self) -> String {
        let mark = match self.mark {
            None => "",
            Some(Mark::Void) => ", void",
            Some(Mark::Unsteady) => ", unsteady",
        };
        format!("{} {}{mark}", self.label, ns_text(self.figures.median))
    }
}

/// Pixels of a bar and the gap below it.
const BAR: u32 = 18;
/// Pixels for the axis below the bars, and for all the rest of a plot's height.
const AXIS: u32 = 38;
const FRAME: u32 = AXIS + 6;
/// Letters of a label.
const MOST_LETTERS: usize = 36;

/// Horizontal bars on a logarithmic axis, with a line at `mark`.
pub(in crate::cli::report) fn bars(
    title: &str,
    axis: &str,
    bars: &[Bar],
    mark: Option<f64>,
) -> Result<String, PlotError> {
    let spoken: Vec<String> = bars.iter().map(Bar::spoken).collect();
    let label = format!("{title}, {axis}, medians: {}", spoken.join("; "));
    drawn(FRAME + BAR * bars.len() as u32, &label, |area| {
        draw(area, axis, bars, mark).map_err(|error| error.to_string())
    })
}

fn draw<'a>(
    area: &Area<'a>,
    axis: &str,
    bars: &[Bar],
    mark: Option<f64>,
) -> Result<(), DrawingError<'a>> {
    let ends = bars
        .iter()
        .flat_map(|bar| [bar.figures.min, bar.figures.max]);
    let (low, high) = decades(ends.chain(mark));
    let count = bars.len() as f64;
    let labels: Vec<String> = bars
        .iter()
        .map(|bar| cut(&bar.label, MOST_LETTERS))
        .collect();
    let figures: Vec<String> = bars.iter().map(Bar::figure).collect();
    let left = room(labels.iter().map(String::as_str));
    let right = room(figures.iter().map(String::as_str));
    let mut chart = ChartBuilder::on(area)
        .margin_right(right)
        .margin_top(2)
        .x_label_area_size(AXIS)
        .y_label_area_size(left)
        .build_cartesian_2d((low..high).log_scale(), 0.0..count)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .x_labels(8)
        .x_desc(axis)
        .x_label_formatter(&|value| number(*value))
        .label_style((FONT, px(SMALL)))
        .light_line_style(RGBColor(235, 235, 235))
        .bold_line_style(RGBColor(215, 215, 215))
        .draw()?;
    for (position, bar) in bars.iter().enumerate() {
        let middle = count - position as f64 - 0.5;
        let Figures { min, median, max } = bar.figures;
        // Nothing, or less, lies nowhere on a logarithmic axis.
        let min = min.max(low);
        let colour = COLOURS[bar.colour];
        let corners = [(low, middle - 0.36), (median, middle + 0.36)];
        let pale = if bar.mark.is_some() { 0.3 } else { 1.0 };
        chart.draw_series([Rectangle::new(corners, colour.mix(pale).filled())])?;
        if bar.mark.is_some() {
            chart.draw_series([Rectangle::new(corners, colour.stroke_width(1))])?;
        }
        chart.draw_series([PathElement::new(
            vec![(min, middle), (max, middle)],
            BLACK.stroke_width(1),
        )])?;
        let (_, y) = chart.backend_coord(&(low, middle));
        let place = (left.saturating_sub(GAP) as i32, y);
        area.draw_text(&labels[position], &text_style(HPos::Right), place)?;
        let place = ((WIDTH.saturating_sub(right) + GAP) as i32, y);
        area.draw_text(&figures[position], &text_style(HPos::Left), place)?;
    }
    if let Some(mark) = mark {
        let line = vec![(mark, 0.0), (mark, count)];
        chart.draw_series([PathElement::new(line, BLACK.stroke_width(1))])?;
    }
    Ok(())
}
