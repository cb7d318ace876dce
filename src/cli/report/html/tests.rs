//! What must hold of the page for whoever does not see it as its author does: with ears, without colours, in the dark, on
//! paper, on a small screen.

use crate::cli::measure::Machine;
use crate::cli::report::tests::row;
use crate::cli::report::{Report, Row, Section};

fn report(rows: Vec<Row>) -> Report {
    let mut report = Report::new(Machine::here());
    report.rows = rows;
    report.set_ratios();
    report
}

fn page(report: &Report) -> String {
    report.to_html().unwrap()
}

/// The plots of a page, from their tags on.
fn plots(page: &str) -> Vec<&str> {
    let plots = page.split("<svg ").skip(1);
    plots
        .map(|plot| plot.split("</svg>").next().unwrap())
        .collect()
}

#[test]
fn a_void_row_is_told_in_words() {
    let mut rows = vec![row("naive", 2, 52.97), row("bitmask", 2, 4.0)];
    rows[0].void = true;
    let page = page(&report(rows));
    assert!(page.contains("<td>2 void</td>"), "{page}");
    assert!(page.contains("<td>2</td>"), "the other one is not");
    assert!(page.contains("<td>-</td><td>-</td>"), "no ratio");
    assert!(page.contains("\n52.97 void\n"), "beside its bar");
    assert!(page.contains("naive, 2 threads 52.97, void; "), "to ears");
    assert!(page.contains("tr.void td { color: #595959; }"));
}

#[test]
fn a_pale_bar_has_a_rim_in_its_colour() {
    let mut rows = vec![row("naive", 2, 52.97), row("bitmask", 2, 4.0)];
    rows[0].void = true;
    let pairs = page(&report(rows));
    let pair = plots(&pairs)[1];
    // The colour of the reference: the area of the bar, and the rim round it.
    let grey: Vec<&str> = pair
        .split("/>")
        .filter(|one| one.contains("#828282"))
        .collect();
    assert_eq!(grey.len(), 2, "{grey:?}");
    assert!(
        grey.iter().any(|one| one.contains("fill=\"none\"")),
        "{grey:?}"
    );
}

#[test]
fn an_unsteady_ratio_is_marked_beside_its_bar() {
    let mut rows = vec![row("naive", 1, 10.0), row("bitmask", 1, 4.0)];
    rows[0].ns.min = 5.0;
    let page = page(&report(rows));
    assert!(page.contains("\n~2.50\n"), "{page}");
    assert!(page.contains("pair 2.50, unsteady\""), "{page}");
}

#[test]
fn every_plot_says_what_it_shows() {
    let mut rows = vec![row("naive", 1, 10.0), row("bitmask", 1, 4.0)];
    for (live, contender, ns) in [
        (1_000, "naive", 20.0),
        (1_000, "bitmask", 5.0),
        (10_000, "naive", 30.0),
    ] {
        let mut row = row(contender, 1, ns);
        row.workload = format!("scale/{live}/create");
        row.unit = "ns/id";
        rows.push(row);
    }
    let page = page(&report(rows));
    let all = plots(&page);
    assert_eq!(all.len(), 3);
    for plot in &all {
        assert!(plot.starts_with("role=\"img\" aria-label=\""), "{plot}");
        assert!(plot.contains("#FFFFFF"), "a ground of its own: {plot}");
    }
    for label in [
        "aria-label=\"pair, ns/life, medians: naive 10.00; bitmask 4.00\"",
        "aria-label=\"bitmask against naive, times as fast, medians: pair 2.50; scale/1000/create 4.00\"",
        "aria-label=\"scale: create, ns/id by live ids, medians: naive 20.00 at 1000, 30.00 at 10 k; bitmask 5.00 at 1000\"",
    ] {
        assert!(page.contains(label), "{label}\n{page}");
    }
}

#[test]
fn lines_are_told_apart_by_names_and_marks() {
    let mut rows = Vec::new();
    for contender in ["naive", "busy_block", "bitmask"] {
        for live in [1_000, 10_000] {
            let mut row = row(contender, 1, 20.0);
            row.workload = format!("scale/{live}/create");
            rows.push(row);
        }
    }
    let page = page(&report(rows));
    let plot = *plots(&page).last().unwrap();
    let mut heights = Vec::new();
    for name in ["naive", "busy_block", "bitmask"] {
        let text = plot
            .split("<text ")
            .find(|text| text.contains(&format!(">\n{name}\n")));
        let text = text.unwrap_or_else(|| panic!("{name}: {plot}"));
        let y = text
            .split(" y=\"")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap();
        heights.push(y.parse::<i32>().unwrap());
    }
    heights.sort_unstable();
    assert!(
        heights.windows(2).all(|two| two[1] - two[0] >= 12),
        "{heights:?}"
    );
    // Two points, and what stands beside the name.
    assert_eq!(plot.matches("<circle ").count(), 3, "the product's");
    assert_eq!(plot.matches("<polygon ").count(), 3, "the naive one's");
}

#[test]
fn a_label_for_which_there_is_no_room_is_cut_at_its_end() {
    let name: &'static str = "a_contender_with_a_name_that_is_much_longer_than_any";
    let page = page(&report(vec![row("naive", 1, 10.0), row(name, 1, 4.0)]));
    assert!(
        page.contains("\na_contender_with_a_name_that_is_mu"),
        "{page}"
    );
    assert!(!page.contains(&format!("\n{name}\n")), "{page}");
    assert!(page.contains("…\n"), "{page}");
}

#[test]
fn one_can_go_from_part_to_part() {
    let mut rows = vec![row("naive", 1, 10.0), row("naive", 1, 10.0)];
    rows[1].section = Section::Chunks;
    let page = page(&report(rows));
    for part in [
        "<main>",
        "</main>",
        "<nav aria-label=\"Parts of this page\">",
        "<a href=\"#ids\">Ids</a>",
        "<a href=\"#chunks\">Chunks</a>",
        "<a href=\"#figures\">All figures</a>",
        "<section aria-labelledby=\"ids\">\n<h2 id=\"ids\">Ids</h2>",
        "<section aria-labelledby=\"figures\">\n<h2 id=\"figures\">All figures</h2>",
        "<figure>\n<figcaption><h3>pair</h3></figcaption>\n<svg ",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    for element in ["section", "figure", "main", "nav", "table", "div"] {
        let opened = page.matches(&format!("<{element}>")).count()
            + page.matches(&format!("<{element} ")).count();
        assert_eq!(
            opened,
            page.matches(&format!("</{element}>")).count(),
            "{element}"
        );
    }
}

#[test]
fn the_table_says_which_cells_are_heads_and_what_they_mean() {
    let mut rows = vec![row("naive", 1, 1_234.56), row("bitmask", 1, 123.456)];
    let plain = report(rows.clone());
    for part in [
        "<div class=\"scroll\" role=\"region\" aria-labelledby=\"figures\" tabindex=\"0\">\n<table>\n<caption>",
        "<thead>",
        "<tbody>",
        "<th scope=\"col\">threads</th>",
        "<th scope=\"row\">pair</th>",
        "<td>1235</td>",
        "<td>123.5</td>",
        "font-variant-numeric: tabular-nums",
    ] {
        assert!(page(&plain).contains(part), "{part}\n{}", page(&plain));
    }
    assert!(plain.to_table().contains("1235") && plain.to_table().contains("123.5"));
    for what in ["RMW", "lost claims", "MiB"] {
        assert!(!page(&plain).contains(&format!("{what}</th>")), "{what}");
        assert!(!page(&plain).contains(&format!("{what}: ")), "{what}");
        assert!(!plain.to_table().contains(what), "{what}");
    }
    rows[1].rmw_per_op = Some(1.5);
    rows[1].failed_claims_per_op = Some(0.25);
    rows[1].memory_bytes = Some(3 << 20);
    let counted = report(rows);
    for what in ["RMW", "lost claims", "MiB"] {
        assert!(page(&counted).contains(&format!("{what}</th>")), "{what}");
        assert!(page(&counted).contains(&format!("{what}: ")), "{what}");
    }
    for what in ["RMW: ", "MiB: "] {
        assert!(counted.to_table().contains(what), "{what}");
    }
    assert!(page(&counted).contains("<td>1.500</td><td>0.250</td><td>3.00</td>"));
    assert!(
        page(&counted).contains("<td>-</td><td>-</td><td>-</td></tr>"),
        "not counted"
    );
}

#[test]
fn the_page_fits_small_screens_dark_ones_and_paper() {
    let page = page(&report(vec![row("naive", 1, 10.0)]));
    for part in [
        "content=\"width=device-width, initial-scale=1\"",
        ":root { color-scheme: light dark; }",
        "@media (prefers-color-scheme: dark) {",
        "@media print {",
        "figure { break-inside: avoid; }",
        "print-color-adjust: exact; forced-color-adjust: none;",
        ".plots { overflow-x: auto; }",
        ".plots svg { height: auto; min-width: 480px; }",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // Twelve pixels are twelve: plotters would make fewer of them.
    assert!(page.contains("font-size=\"12\""), "{page}");
}
