//! What all three faces of a report say.

use std::collections::BTreeMap;

use super::{Report, Row, Section};
use crate::cli::measure::{Figures, Machine};

/// A good row of ids, in which all repetitions took the same.
pub(super) fn row(contender: &'static str, threads: usize, median: f64) -> Row {
    Row {
        section: Section::Ids,
        workload: "pair".into(),
        threads,
        contender,
        unit: "ns/life",
        ns: Figures {
            min: median,
            median,
            max: median,
        },
        repetitions: 3,
        net_of_ns: None,
        ratio: None,
        rmw_per_op: None,
        failed_claims_per_op: None,
        memory_bytes: None,
        cores: None,
        void: false,
        unsteady: false,
    }
}

#[test]
fn a_ratio_says_how_many_times_as_fast() {
    let mut report = Report::new(Machine::here());
    report.rows = vec![
        row("naive", 1, 10.0),
        row("bitmask", 1, 4.0),
        row("naive", 2, 99.0),
    ];
    report.set_ratios();
    assert_eq!(report.rows[1].ratio, Some(BTreeMap::from([("naive", 2.5)])));
    assert_eq!(report.rows[2].ratio, Some(BTreeMap::new()));
}

#[test]
fn a_void_row_has_no_ratio_anywhere() {
    let mut report = Report::new(Machine::here());
    report.rows = vec![row("naive", 2, 10.0), row("bitmask", 2, 4.0)];
    report.set_ratios();
    assert!(report.to_table().contains("2.50"));
    assert!(report.to_html().unwrap().contains("<td>2.50</td>"));
    report.rows.iter_mut().for_each(|row| row.void = true);
    report.set_ratios();
    assert!(!report.to_table().contains("2.50"));
    let page = report.to_html().unwrap();
    assert!(!page.contains("<td>2.50</td>"));
    assert_eq!(page.matches("<svg").count(), 1, "nobody against anybody");
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!(json["rows"][1]["ratio"], serde_json::Value::Null);
}

#[test]
fn a_ratio_on_one_thread_is_marked_where_repetitions_lie_far_apart() {
    let mut report = Report::new(Machine::here());
    report.rows = vec![row("naive", 1, 10.0), row("bitmask", 1, 4.0)];
    report.set_ratios();
    assert!(!report.to_table().contains('~'));
    report.rows[0].ns.min = 6.0;
    report.set_ratios();
    assert!(report.rows[0].unsteady && !report.rows[1].unsteady);
    assert!(report.to_table().contains("~2.50"));
    assert!(report.to_table().contains("~: of one of the two"));
    assert!(report.to_html().unwrap().contains("<td>~2.50</td>"));
    assert!(report.to_json().contains("\"unsteady\": true"));
    report.rows.iter_mut().for_each(|row| row.threads = 2);
    report.set_ratios();
    assert!(!report.rows[0].unsteady, "threads get in each other's way");
}

#[test]
fn one_repetition_is_unsteady_on_any_number_of_threads() {
    for threads in [1, 2] {
        let mut report = Report::new(Machine::here());
        report.rows = vec![row("naive", threads, 10.0), row("bitmask", threads, 4.0)];
        report.rows[0].repetitions = 1;
        report.set_ratios();
        assert!(report.to_table().contains("~2.50"), "{threads}");
        assert!(report.to_json().contains("\"repetitions\": 1"));
    }
}

#[test]
fn what_a_row_is_net_of_is_said_in_all_three_faces() {
    let mut report = Report::new(Machine::here());
    report.rows = vec![row("naive", 1, 10.0), row("bitmask", 1, 4.0)];
    let said = "net of reading the events";
    assert!(!report.to_table().contains(said));
    assert!(!report.to_html().unwrap().contains(said));
    for row in &mut report.rows {
        row.workload = "trace:node".into();
        row.net_of_ns = Some(0.75);
    }
    assert!(report.to_table().contains("trace:node on 1 thread 0.75"));
    assert!(report.to_table().contains(said));
    assert!(report.to_html().unwrap().contains(said));
    assert!(report.to_json().contains("\"net_of_ns\": 0.75"));
}

#[test]
fn a_row_that_took_no_longer_than_its_overhead_has_no_figure() {
    let mut report = Report::new(Machine::here());
    report.rows = vec![row("naive", 1, 10.0), row("bitmask", 1, 4.0)];
    report.set_ratios();
    let said = "too short to be timed";
    assert!(!report.to_table().contains(said));
    report.rows[1].ns = report.rows[1].ns.minus(4.5);
    report.rows[0].ns.min = -1.0;
    report.set_ratios();
    assert_eq!(report.rows[1].ratio, None);
    assert_eq!(report.rows[0].ratio, Some(BTreeMap::new()));
    let table = report.to_table();
    assert!(table.contains(said) && !table.contains("-0.5"), "{table}");
    let page = report.to_html().unwrap();
    assert!(page.contains(said) && !page.contains("NaN"), "{page}");
}

#[test]
fn only_rows_of_large_worlds_bring_the_word_about_huge_pages() {
    let mut report = Report::new(Machine::here());
    report.rows = vec![row("hecs", 1, 10.0)];
    let said = "glibc.malloc.hugetlb=1";
    for (section, workload, expected) in [
        (Section::Worlds, "simple_iter", false),
        (Section::Worlds, "archetypes_1000x1", false),
        (Section::Worlds, "spawn_1m/batch_warm", true),
        (Section::Worlds, "spawn_1m/batch_cold", true),
        (Section::Worlds, "deferred_insert/random_cold:record", true),
        (Section::Worlds, "get_1m/slice", true),
        (Section::Worlds, "iterate_10m", true),
        (Section::Worlds, "despawn_half/single", true),
        (Section::Ids, "spawn_1m/batch_cold", false),
    ] {
        report.rows[0].section = section;
        report.rows[0].workload = workload.into();
        assert_eq!(report.to_table().contains(said), expected, "{workload}");
        assert_eq!(report.to_html().unwrap().contains(said), expected);
    }
}

#[test]
fn whose_caller_works_too_is_said_where_there_are_several_threads() {
    let mut report = Report::new(Machine::here());
    let said = "the thread that calls works";
    for (contender, threads, expected) in [
        ("bevy_ecs", 1, false),
        ("hecs", 2, false),
        ("bevy_ecs", 2, true),
    ] {
        report.rows = vec![row(contender, threads, 10.0)];
        report.rows[0].section = Section::Worlds;
        report.rows[0].workload = "iterate_1m".into();
        assert_eq!(report.to_table().contains(said), expected, "{contender}");
        assert_eq!(report.to_html().unwrap().contains(said), expected);
    }
}

#[test]
fn the_json_says_how_many_processors_several_threads_had() {
    let mut report = Report::new(Machine::here());
    report.rows = vec![row("naive", 1, 10.0), row("naive", 2, 10.0)];
    report.rows[1].cores = Some(1.75);
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!(json["rows"][0].get("cores"), None);
    assert_eq!(json["rows"][1]["cores"], 1.75);
}

#[test]
fn the_page_is_whole_and_needs_nothing_from_elsewhere() {
    let mut report = Report::new(Machine::here());
    report.rows = vec![row("naive", 1, 10.0), row("bitmask", 1, 4.0)];
    report.rows[0].workload = "scale/10000/create".into();
    report.set_ratios();
    let page = report.to_html().unwrap();
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    assert_eq!(page.matches("<svg").count(), 2);
    let namespace = "http://www.w3.org/2000/svg";
    assert_eq!(
        page.matches("http").count(),
        page.matches(namespace).count()
    );
}

#[test]
fn the_page_names_its_command_and_the_references_of_its_sections() {
    let mut report = Report::new(Machine::here());
    report.rows = vec![row("naive", 1, 10.0)];
    let page = report.to_html().unwrap();
    assert!(page.contains("<title>megachunk bench</title>"));
    assert!(page.contains("<th scope=\"col\">× naive</th>\n<th scope=\"col\">× busy_block</th>"));
    report.rows.push(row("naive", 1, 10.0));
    report.rows[1].section = Section::Chunks;
    let page = report.to_html().unwrap();
    assert!(page.contains("<th scope=\"col\">× busy_block or megachunk_dots</th>"));
    report.rows = vec![row("hecs", 1, 10.0)];
    report.rows[0].section = Section::Worlds;
    let page = report.to_html().unwrap();
    assert!(page.contains("<h1>megachunk ecs</h1>"));
    assert!(page.contains("<th scope=\"col\">× hecs</th>\n<th scope=\"col\">× limit</th>"));
}

#[test]
fn a_quick_run_says_so() {
    let mut report = Report::new(Machine::here());
    report.rows = vec![row("naive", 1, 10.0)];
    let said = "A quick run (--quick)";
    for quick in [false, true] {
        report.quick = quick;
        assert_eq!(report.to_table().contains(said), quick);
        assert_eq!(report.to_html().unwrap().contains(said), quick);
    }
}

#[test]
fn a_run_that_was_interrupted_says_so_in_all_three_faces() {
    let mut report = Report::new(Machine::here());
    report.rows = vec![row("naive", 1, 10.0)];
    let said = "Interrupted: 3 cells";
    assert!(!report.to_table().contains("Interrupted"));
    assert!(!report.to_html().unwrap().contains("Interrupted"));
    report.left_out = 3;
    assert!(report.to_table().contains(said));
    assert!(report.to_html().unwrap().contains(said));
    assert!(report.to_json().contains("\"left_out\": 3"));
}

#[test]
fn the_json_has_the_documented_fields_and_no_counts_where_nothing_was_counted() {
    let mut report = Report::new(Machine::here());
    report.rows = vec![row("naive", 1, 10.0), row("bitmask", 1, 4.0)];
    report.set_ratios();
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!(json["format"], "megachunk-bench 1");
    assert_eq!(json["quick"], false);
    assert!(json["unix_seconds"].as_u64().unwrap() > 1_700_000_000);
    assert!(json["arguments"].is_array());
    let sections = serde_json::json!([
        {"section": "ids", "product": "bitmask", "references": ["naive", "busy_block"]}
    ]);
    assert_eq!(json["sections"], sections);
    let row = json["rows"][1].as_object().unwrap();
    let mut fields: Vec<_> = row.keys().map(String::as_str).collect();
    fields.sort_unstable();
    assert_eq!(
        fields,
        [
            "contender",
            "ns",
            "ratio",
            "repetitions",
            "section",
            "threads",
            "unit",
            "unsteady",
            "void",
            "workload"
        ]
    );
    assert_eq!(row["section"], "ids");
    assert_eq!(row["ns"]["median"], 4.0);
    assert_eq!(row["ratio"]["naive"], 2.5);
}
