//! `megachunk map --world` as one calls it: what it draws, what it writes, and how it fails.

use std::process::Output;

#[cfg(target_os = "linux")]
use crate::support::program_within;
use crate::support::{failure, folder, is_plain_svg, program, refusal, success, text};

const MONACO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/maps/monaco.osm.pbf");

fn map(world: &str, arguments: &[&str]) -> Output {
    program()
        .args(["map", "--world", world])
        .args(arguments)
        .env("COLUMNS", "100")
        .output()
        .unwrap()
}

/// The figures of the first line that ends with these names: entities, chunks.
fn figures(printed: &str, names: &str) -> [usize; 2] {
    let line = printed.lines().find(|line| line.ends_with(names));
    let mut words = line
        .unwrap_or_else(|| panic!("{names}: {printed}"))
        .split_whitespace();
    let mut number = || words.next().unwrap().replace(',', "").parse().unwrap();
    [number(), number()]
}

#[test]
fn a_world_of_equal_compositions_has_a_line_for_each_or_says_how_many_more_there_are() {
    let printed = success(&map("fragmented", &[]));
    assert!(
        printed.starts_with("fragmented: 520 entities of 26 compositions in 26 chunks\n"),
        "{printed}"
    );
    for kind in 0..26 {
        assert_eq!(figures(&printed, &format!("  Data, Kind<{kind}>")), [20, 1]);
    }
    let printed = success(&map("archetypes", &["--size", "1000"]));
    assert!(printed.starts_with("archetypes: 1,000 entities of 1,000 compositions in 1,000 "));
    assert_eq!(figures(&printed, "… and 970 more"), [970, 970]);
    assert!(printed.lines().count() < 64, "{printed}");
}

#[test]
fn a_world_that_was_churned_has_chunks_with_room_and_after_a_compaction_fewer() {
    let size = ["--size", "20000"];
    let [churned, compacted] = ["churned", "compacted"].map(|world| success(&map(world, &size)));
    for part in [
        "% of the rows in use, 1 chunk without entities;",
        "bytes an entity\n",
        "of 1 MiB committed\n",
        "a cell is a chunk: · nothing alive, ",
        "│ other shared values",
        "  Health, Position, Team (5 groups)\n",
    ] {
        assert!(churned.contains(part), "{part}: {churned}");
    }
    // A chunk is kept where all have gone, until somebody compacts.
    assert_eq!(figures(&churned, "  ·         Position, Velocity"), [0, 1]);
    assert!(compacted.contains("1 composition without entities and chunks"));
    let names = "Health, Position, Velocity";
    let [before, after] = [&churned, &compacted].map(|printed| figures(printed, names));
    assert_eq!(before[0], after[0]);
    assert!(before[1] > after[1], "{churned}{compacted}");
    assert_eq!(churned, success(&map("churned", &size)), "always the same");
    let few = success(&map("churned", &["--size", "2"]));
    assert!(few.starts_with("churned: 3 entities of "), "{few}");
}

#[test]
fn the_city_is_a_world_too() {
    let printed = success(&map("city", &["--size", "300", "--streets", MONACO]));
    assert!(printed.starts_with("city: "), "{printed}");
    for fragment in ["Person", "Car", "Exhaust"] {
        assert!(printed.contains(fragment), "{fragment}: {printed}");
    }
    let folder = folder("world_map_city");
    let elsewhere = program()
        .args(["map", "--world", "city"])
        .current_dir(&folder)
        .output();
    let said = failure(&elsewhere.unwrap());
    assert!(said.contains("data/maps/monaco.osm.pbf: "), "{said}");
}

#[test]
fn a_world_is_drawn_in_colours_and_as_svg() {
    let folder = folder("world_map_svg");
    let svg = folder.join("world.svg");
    let path = svg.to_str().unwrap();
    let arguments = ["--size", "5000", "--color", "always", "--svg", path];
    assert!(success(&map("churned", &arguments)).contains("\x1b[48;5;"));
    let picture = std::fs::read_to_string(&svg).unwrap();
    is_plain_svg(&picture);
    for part in [
        "<tspan class=\"n\">Health, Position, Team</tspan>",
        "<title>1 chunk: 0 of ",
        " rows in use, 16 KiB</title>",
        " of 1 MiB committed",
    ] {
        assert!(picture.contains(part), "{part}");
    }
    let printed = success(&map("fragmented", &["--svg", "-"]));
    is_plain_svg(&printed);
    let printed = success(&map("fragmented", &["--json", "-"]));
    let json: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(json["format"], "megachunk-map 1");
    let sum = |of: &serde_json::Value| -> u64 {
        let groups = of["groups"].as_array().unwrap().iter();
        let chunks = groups.flat_map(|group| group.as_array().unwrap());
        chunks
            .map(|chunk| chunk["entities"].as_u64().unwrap())
            .sum()
    };
    let compositions = json["compositions"].as_array().unwrap();
    assert!(compositions.iter().all(|one| one["entities"] == sum(one)));
    let entities: u64 = compositions.iter().map(sum).sum();
    assert_eq!(json["entities"], entities);
    assert!(entities > 0);
}

#[test]
fn what_is_said_of_allocators_is_refused_of_worlds() {
    for argument in [
        &["python"][..],
        &["--workload", "fill"],
        &["--at", "peak"],
        &["--allocator", "naive"],
        &["--threads", "2"],
        &["--chunk-share", "2"],
    ] {
        let output = map("churned", argument);
        assert_eq!(output.status.code(), Some(2), "{argument:?}");
        let said = text(&output.stderr);
        assert!(said.contains("cannot be used with"), "{said}");
    }
    let output = program()
        .args(["map", "--workload", "fill", "--streets", MONACO])
        .output();
    assert!(refusal(&output.unwrap()).contains("cannot be used with"));
    let said = text(&map("village", &[]).stderr);
    assert!(said.contains("possible values: city, fragmented"), "{said}");
    for arguments in [["--size", "5"], ["--streets", MONACO]] {
        let output = program().arg("map").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(
            text(&output.stderr).contains("--world <WORLD>"),
            "{arguments:?}"
        );
    }
    let said = refusal(&map("churned", &["--streets", MONACO]));
    assert!(
        said.contains("--streets: only the world city has streets"),
        "{said}"
    );
}

#[test]
fn no_world_is_drawn_over_the_streets_of_its_city() {
    let folder = folder("world_map_over");
    let streets = folder.join("m.pbf");
    std::fs::copy(MONACO, &streets).unwrap();
    let name = streets.to_str().unwrap();
    let said = refusal(&map("city", &["--streets", name, "--svg", name]));
    assert!(said.contains("m.pbf is a file that is read"), "{said}");
    assert_eq!(
        std::fs::read(&streets).unwrap(),
        std::fs::read(MONACO).unwrap()
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_world_that_there_is_no_room_for_is_an_error() {
    let mut warned = false;
    for world in ["fragmented", "archetypes", "churned", "compacted"] {
        let output = program_within(1_000_000)
            .args(["map", "--world", world])
            .output();
        let said = failure(&output.unwrap());
        assert!(
            said.contains("error: there is no room for a world\n  caused by: "),
            "{said}"
        );
        // What the library has tried before.
        warned |= said.starts_with(" WARN 16 GiB of address space refused");
    }
    assert!(warned, "a warning of the library is shown");
}
