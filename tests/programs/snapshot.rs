//! `megachunk snapshot` as one calls it: what it says of a file and of two, and how it fails.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;

use megachunk::prelude::*;

use crate::support::{failure, folder, program, refusal, success, text, written};

fn snapshot(arguments: &[&Path]) -> Output {
    program().arg("snapshot").args(arguments).output().unwrap()
}

fn universe() -> Arc<Universe> {
    let universe = Universe::ordered();
    universe
        .registry()
        .register_plain_as::<u32>("game::Heat")
        .unwrap();
    universe
        .registry()
        .register_plain_as::<Shared<u8>>("game::Team")
        .unwrap();
    universe
        .registry()
        .register_plain_as::<PerChunk<i64>>("game::Cell")
        .unwrap();
    universe
        .registry()
        .register_state_as::<u64>("game::Score")
        .unwrap();
    Arc::new(universe)
}

fn world() -> (World, Vec<Entity>) {
    let mut world = World::of(&universe()).unwrap();
    let ants = (0..10_u32).map(|n| {
        let bundle = (n,).shared(3_u8).per_chunk(11_i64);
        world.create(bundle).unwrap()
    });
    let ants = ants.collect();
    world.resources_mut().insert(7_u64);
    (world, ants)
}

fn saved(folder: &Path, name: &str, world: &World) -> PathBuf {
    written(
        folder,
        name,
        world.to_snapshot(&SnapshotOptions::new()).unwrap(),
    )
}

#[test]
fn a_file_is_told_without_its_types() {
    let folder = folder("snapshot_one");
    let file = saved(&folder, "one.mega", &world().0);
    let printed = success(&snapshot(&[&file]));
    assert!(
        printed.starts_with(&format!("{}: format ", file.display())),
        "{printed}"
    );
    for part in [
        "worlds: 1; entities: 10, 10 slots;",
        "other values: game::Score; signals that wait: 0",
        "\n        10       4  game::Heat (fragment)\n",
        "  game::Team (shared fragment)\n",
        "  game::Cell (chunk fragment)\n",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let output = program()
        .arg("snapshot")
        .arg(&file)
        .args(["--json", "-"])
        .output();
    let json: serde_json::Value = serde_json::from_str(&success(&output.unwrap())).unwrap();
    assert_eq!(json["format"], "megachunk-snapshot 1");
    assert_eq!(json["files"][0]["summary"]["entities"], 10);
    assert_eq!(json["files"][0]["hashes"][0][0][0], "Entities");
    assert!(json["compared"].is_null());
}

#[test]
fn two_files_in_the_same_state_end_well() {
    let folder = folder("snapshot_same");
    let (mut world, ants) = world();
    let one = saved(&folder, "one.mega", &world);
    let copy = saved(&folder, "copy.mega", &world);
    let printed = success(&snapshot(&[&one, &copy]));
    assert!(printed.ends_with("\n\nthe same bytes\n"), "{printed}");
    // Other rows, the same state.
    world.add(ants[2], (true,)).unwrap();
    world.remove::<(bool,)>(ants[2]).unwrap();
    let moved = saved(&folder, "moved.mega", &world);
    assert_ne!(std::fs::read(&one).unwrap(), std::fs::read(&moved).unwrap());
    let printed = success(&snapshot(&[&one, &moved]));
    assert!(
        printed.contains("\n\nthe same state; other bytes"),
        "{printed}"
    );
}

#[test]
fn two_files_that_differ_are_a_failure_that_says_where() {
    let folder = folder("snapshot_other");
    let (mut world, ants) = world();
    let one = saved(&folder, "one.mega", &world);
    *world.get_mut::<u32>(ants[3]).unwrap() = 0x0100_0003;
    world.destroy(ants[9]).unwrap();
    world.set_name(ants[1], "queen").unwrap();
    world.resources_mut().insert(8_u64);
    world.add(ants[4], ().shared(4_u8)).unwrap();
    let two = saved(&folder, "two.mega", &world);
    let output = snapshot(&[&one, &two]);
    let said = failure(&output);
    let named = format!(
        "error: {} and {} differ: 5 differences\n",
        one.display(),
        two.display()
    );
    assert_eq!(said, named);
    let printed = text(&output.stdout);
    let [ant_1, ant_3, ant_4, ant_9] = [1, 3, 4, 9].map(|at: usize| ants[at]);
    for line in [
        "who lives, and of what, differs".into(),
        "the fragment game::Heat differs".into(),
        "the shared fragment game::Team differs".into(),
        "the resource game::Score differs".into(),
        format!("{ant_1} is without a name here, called \"queen\" there"),
        format!(
            "{ant_3}: fragment game::Heat differs at byte 3 of 4: 03000000 here, 03000001 there"
        ),
        format!("{ant_4}: shared fragment game::Team differs at byte 0 of 1: 03 here, 04 there"),
        format!("{ant_9} is only here"),
    ] {
        let line: String = line;
        let there = printed.lines().any(|one| one == line);
        assert!(there || cfg!(target_endian = "big"), "{line}: {printed}");
    }
    // As many as are asked for, and the rest counted.
    let json = folder.join("differences.json");
    let output = program()
        .arg("snapshot")
        .args([&two, &one])
        .args(["--most", "2", "--json"])
        .arg(&json)
        .output();
    let output = output.unwrap();
    assert!(failure(&output).contains("differ: 5 differences"));
    let printed = text(&output.stdout);
    assert!(printed.ends_with("… and 3 more\n"), "{printed}");
    assert!(
        printed.contains(" differs\n… and 3 more parts\n"),
        "{printed}"
    );
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let compared = &json["compared"];
    assert_eq!(
        (
            &compared["differences"],
            compared["first"].as_array().unwrap().len()
        ),
        (&5.into(), 2)
    );
    assert_eq!(compared["same_bytes"], false);
    assert!(compared["parts"].as_array().unwrap().len() >= 4);
}

#[test]
fn files_of_several_worlds_are_compared_world_by_world() {
    let folder = folder("snapshot_worlds");
    let universe = universe();
    let mut worlds = [(); 3].map(|()| World::of(&universe).unwrap());
    let ants = worlds
        .each_mut()
        .map(|world| world.create((1_u32,)).unwrap());
    let save = |name: &str, worlds: &[&World]| {
        written(
            &folder,
            name,
            World::worlds_to_snapshot(worlds, &SnapshotOptions::new()).unwrap(),
        )
    };
    let [one, two, three] = &worlds;
    let both = save("both.mega", &[one, two]);
    let more = save("more.mega", &[one, two, three]);
    worlds[1].destroy(ants[1]).unwrap();
    let changed = save("changed.mega", &[&worlds[0], &worlds[1]]);
    let output = snapshot(&[&both, &changed]);
    assert!(failure(&output).contains(" differ: 1 difference\n"));
    let line = format!("\nworld 1: {} is only here\n", ants[1]);
    assert!(
        text(&output.stdout).contains(&line),
        "{}",
        text(&output.stdout)
    );
    let output = snapshot(&[&both, &more]);
    assert!(failure(&output).contains(" differ: 1 difference\n"));
    assert!(text(&output.stdout).contains("\n2 worlds here, 3 worlds there\n"));
}

#[test]
fn a_long_name_that_many_worlds_have_is_not_written_for_each() {
    let folder = folder("snapshot_long_name");
    let universe = Universe::ordered();
    let name = "x".repeat(900_000);
    universe.registry().register_plain_as::<u32>(&name).unwrap();
    let universe = Arc::new(universe);
    let mut worlds: Vec<World> = (0..80).map(|_| World::of(&universe).unwrap()).collect();
    for world in &mut worlds {
        world.create((7_u32,)).unwrap();
    }
    let save = |name: &str, worlds: &[World]| {
        let worlds: Vec<&World> = worlds.iter().collect();
        let options = SnapshotOptions::new();
        let bytes = World::worlds_to_snapshot(&worlds, &options).unwrap();
        written(&folder, name, bytes)
    };
    let few = save("few.mega", &worlds[..70]);
    let many = save("many.mega", &worlds);
    let json = |file: &Path| {
        let json = folder.join("written.json");
        let arguments = [file.as_os_str(), "--json".as_ref(), json.as_os_str()];
        let output = program().arg("snapshot").args(arguments).output().unwrap();
        (output, json)
    };
    let (output, written) = json(&few);
    success(&output);
    let bytes = std::fs::read(written).unwrap().len();
    assert!(
        (70 * name.len()..72 * name.len()).contains(&bytes),
        "{bytes}"
    );
    let said = failure(&json(&many).0);
    let begin = format!("error: {}: as JSON the names ", many.display());
    assert!(said.starts_with(&begin), "{said}");
    assert!(said.contains(" more than 67108864 bytes;"), "{said}");
    // Without, it is compared as any other.
    let printed = success(&snapshot(&[&many, &many]));
    assert!(printed.ends_with("\n\nthe same bytes\n"), "{printed}");
    let ant = ant_of(&worlds[79]);
    *worlds[79].get_mut::<u32>(ant).unwrap() = 8;
    let changed = save("changed.mega", &worlds);
    let output = snapshot(&[&many, &changed]);
    assert!(failure(&output).contains(" differ: 1 difference\n"));
    let printed = text(&output.stdout);
    assert!(
        printed.contains("\nworld 79: the fragment xxx"),
        "{printed}"
    );
}

/// The one entity of a world.
fn ant_of(world: &World) -> Entity {
    let mut all = world.read::<Entity, ()>().unwrap();
    all.iter().next().unwrap()
}

#[test]
fn what_is_no_snapshot_is_an_error_that_names_the_file() {
    let folder = folder("snapshot_wrong");
    let bytes = world().0.to_snapshot(&SnapshotOptions::new()).unwrap();
    let good = written(&folder, "good.mega", &bytes);
    let mut damaged = bytes.clone();
    damaged[100] ^= 1;
    for (name, bytes, why) in [
        (
            "foreign",
            &b"something that is no snapshot, but long enough to be read as one; and longer"[..],
            "this is no snapshot of a megachunk world",
        ),
        ("empty", b"", "the snapshot should have 64 bytes and has 0"),
        (
            "short",
            &bytes[..bytes.len() - 1],
            "the snapshot should have",
        ),
        ("damaged", &damaged, "the snapshot is damaged at byte "),
    ] {
        let file = written(&folder, name, bytes);
        for arguments in [&[&*file][..], &[&good, &file], &[&file, &good]] {
            let output = snapshot(arguments);
            let said = failure(&output);
            assert!(
                said.starts_with(&format!("error: {}: {why}", file.display())),
                "{said}"
            );
            assert_eq!(text(&output.stdout), "");
        }
    }
    let nowhere = folder.join("nowhere.mega");
    let said = failure(&snapshot(&[&good, &nowhere]));
    assert!(
        said.starts_with(&format!("error: {}: ", nowhere.display())),
        "{said}"
    );
    assert!(failure(&snapshot(&[&folder])).starts_with("error: "));

    refusal(&snapshot(&[]));
    refusal(&snapshot(&[&good, &good, &good]));
    let most = |most: &str| {
        let arguments = ["--most", most];
        program()
            .arg("snapshot")
            .args([&good, &good])
            .args(arguments)
            .output()
            .unwrap()
    };
    refusal(&most("0"));
    success(&most("1"));
    let alone = program()
        .arg("snapshot")
        .arg(&good)
        .args(["--most", "3"])
        .output();
    refusal(&alone.unwrap());
    let over = program()
        .arg("snapshot")
        .arg(&good)
        .arg("--json")
        .arg(&good)
        .output();
    assert!(refusal(&over.unwrap()).contains("is a file that is read"));
    assert_eq!(std::fs::read(&good).unwrap(), bytes);
}
