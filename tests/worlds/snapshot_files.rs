//! Snapshots as files: what is written, what is left alone, and what of a file that is none.

use std::path::PathBuf;
use std::sync::Arc;

use megachunk::prelude::*;
use megachunk::world::{SnapshotError, SnapshotOptions};
use proptest::prelude::*;

use crate::snapshot_world::{check, small_world, universe};
use crate::snapshots::bytes;

/// A path for a file of this test, which is removed in the end.
pub(crate) struct Path(pub(crate) PathBuf);

impl Path {
    pub(crate) fn new(test: &str) -> Self {
        let name = format!("megachunk-snapshot-{}-{test}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_foreign_truncated_or_newer_file_is_a_clear_error() {
    let path = Path::new("foreign");
    let load = |bytes: &[u8]| {
        std::fs::write(&path.0, bytes).unwrap();
        let error = World::load(&path.0, universe(), &Default::default())
            .map(drop)
            .unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with(&path.0.display().to_string()), "{text}");
        let SnapshotError::In { error, .. } = error else {
            panic!("{error:?}");
        };
        *error
    };
    // A disk was full, perhaps.
    assert!(matches!(load(b""), SnapshotError::Length { found: 0, .. }));
    assert!(matches!(
        load(b"MEGA"),
        SnapshotError::Length { found: 4, .. }
    ));
    assert!(matches!(
        load(b"PNG and other things"),
        SnapshotError::Foreign
    ));
    assert!(matches!(load(b"MEGACHNK"), SnapshotError::Length { .. }));
    let (world, _) = small_world(50);
    let saved = bytes(&world);
    for cut in [64, 65, saved.len() / 2, saved.len() - 1] {
        let error = load(&saved[..cut]);
        assert!(
            matches!(error, SnapshotError::Length { expected, found }
                if (expected, found) == (saved.len() as u64, cut as u64)),
            "{error}"
        );
    }
    let mut longer = saved.clone();
    longer.push(0);
    assert!(matches!(load(&longer), SnapshotError::Length { .. }));
    for other in [2, 8] {
        let mut of_another = saved.clone();
        of_another[8] = other;
        let error = load(&of_another);
        let told = format!("the snapshot has format {other}; formats 3 to 7 are known here");
        assert_eq!(error.to_string(), told);
    }
    let mut turned = saved;
    turned[12..16].reverse();
    assert!(matches!(load(&turned), SnapshotError::ByteOrder));
    let missing = World::load(path.0.join("nowhere"), universe(), &Default::default()).unwrap_err();
    assert!(matches!(missing, SnapshotError::File { .. }));
    let folder = World::load(std::env::temp_dir(), universe(), &Default::default()).unwrap_err();
    assert!(folder.to_string().ends_with(": is not a file"), "{folder}");
}

/// Files that are longer than any memory, and hold next to nothing.
#[cfg(unix)]
#[test]
fn of_a_file_that_is_no_whole_snapshot_only_the_begin_is_read() {
    const LENGTH: u64 = 4 << 40;
    let path = Path::new("long");
    let load = |begin: &[u8]| {
        std::fs::write(&path.0, begin).unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(&path.0);
        if file.unwrap().set_len(LENGTH).is_err() {
            // There are no such files here.
            return None;
        }
        match World::load(&path.0, universe(), &Default::default()).unwrap_err() {
            SnapshotError::In { error, .. } => Some(*error),
            error => panic!("{error}"),
        }
    };
    let Some(error) = load(b"a film, perhaps") else {
        return;
    };
    assert_eq!(error, SnapshotError::Foreign);
    let saved = bytes(&small_world(20).0);
    let expected = SnapshotError::Length {
        expected: saved.len() as u64,
        found: LENGTH,
    };
    assert_eq!(load(&saved), Some(expected));
}

#[test]
fn every_byte_that_changes_is_noticed() {
    let (world, _) = small_world(12);
    let saved = bytes(&world);
    for at in 0..saved.len() {
        let mut damaged = saved.clone();
        damaged[at] ^= 1 << (at % 8);
        let error = World::from_snapshot(&damaged, universe(), &Default::default()).map(drop);
        assert!(error.is_err(), "byte {at} of {}", saved.len());
    }
}

#[test]
fn a_file_whose_name_is_as_long_as_can_be_is_replaced_and_one_that_is_refused_leaves_it_alone() {
    let folder = Path::new("folder").0.clone();
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("s".repeat(255));
    std::fs::write(&path, "what was there").unwrap();
    let mut world = small_world(3).0;
    world.create((Err::<(), _>("not plain"),)).unwrap();
    let error = world.save(&path, &Default::default()).unwrap_err();
    assert!(matches!(error, SnapshotError::NotPlain { .. }), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"what was there");
    for _ in 0..2 {
        small_world(3).0.save(&path, &Default::default()).unwrap();
    }
    World::load(&path, universe(), &Default::default()).unwrap();
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    let longer = small_world(3)
        .0
        .save(folder.join("s".repeat(256)), &Default::default());
    let error = longer.unwrap_err();
    assert!(matches!(error, SnapshotError::File { .. }), "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_file_has_what_its_options_say_and_no_more() {
    let path = Path::new("options");
    let mut world = World::new();
    let heat = world.registry().register_plain::<u32>().unwrap().id();
    world.registry().register_plain::<u64>().unwrap();
    for n in 0..1_000_u32 {
        world.create((n, u64::from(n))).unwrap();
    }
    world.create((7_u32, String::from("not plain"))).unwrap();
    world.save(&path.0, &Default::default()).unwrap_err();
    for options in [
        SnapshotOptions::new().skip_not_plain(),
        SnapshotOptions::new().skip_not_plain().skip(heat),
        SnapshotOptions::new().skip_not_plain().skip_dead(),
    ] {
        world.save(&path.0, &options).unwrap();
        let expected = world.to_snapshot(&options).unwrap();
        assert_eq!(std::fs::read(&path.0).unwrap(), expected);
    }
    let options = SnapshotOptions::new().skip_not_plain().skip(heat);
    world.save(&path.0, &options).unwrap();
    let universe = Universe::new();
    universe.registry().register_plain::<u64>().unwrap();
    let mut loaded = World::load(&path.0, universe, &Default::default()).unwrap();
    assert_eq!(loaded.count(), 1_001);
    assert_eq!(loaded.query::<&u64, ()>().unwrap().count(), 1_000);
    assert_eq!(loaded.query::<&u32, ()>().unwrap().count(), 0);
}

#[test]
fn an_error_about_the_empty_path_says_so() {
    let error = World::new()
        .save("", &Default::default())
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("the empty path: "), "{error}");
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_and_what_is_no_file_is_refused() {
    let (world, _) = small_world(3);
    let (link, file) = (Path::new("link"), Path::new("linked"));
    std::fs::write(&file.0, "what was there").unwrap();
    std::os::unix::fs::symlink(&file.0, &link.0).unwrap();
    world.save(&link.0, &Default::default()).unwrap();
    assert_eq!(std::fs::read(&file.0).unwrap(), bytes(&world));
    assert!(std::fs::symlink_metadata(&link.0).unwrap().is_symlink());
    let error = world.save("/dev/null", &Default::default()).unwrap_err();
    assert_eq!(error.to_string(), "/dev/null: it is not a file");
    // Nobody is told it twice.
    assert!(std::error::Error::source(&error).is_none());
}

#[test]
fn threads_that_save_to_one_file_at_once_leave_a_whole_one() {
    let path = Path::new("at once");
    let worlds = [small_world(2_000).0, small_world(3_000).0];
    std::thread::scope(|scope| {
        for world in &worlds {
            scope.spawn(|| (0..20).for_each(|_| world.save(&path.0, &Default::default()).unwrap()));
        }
    });
    let loaded = World::load(&path.0, universe(), &Default::default()).unwrap();
    let hash = loaded.state_hash(&Default::default()).unwrap();
    assert!(
        worlds
            .map(|world| world.state_hash(&Default::default()).unwrap())
            .contains(&hash)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_world_of_any_size_survives_being_saved(count in 0..400_u32) {
        check(&bytes(&small_world(count).0)).unwrap();
    }

    #[test]
    fn bytes_that_are_no_snapshot_are_refused(noise in prop::collection::vec(any::<u8>(), 0..300)) {
        let behind_magic = [&b"MEGACHNK"[..], &noise].concat();
        prop_assert!(check(&noise).is_err() && check(&behind_magic).is_err());
    }
}

#[test]
fn worlds_that_name_each_other_come_from_a_file_under_new_ids_as_they_do_from_bytes() {
    let universe = || {
        let universe = Universe::new();
        universe.registry().register_plain::<Entity>().unwrap();
        Arc::new(universe)
    };
    let path = Path::new("worlds-remapped");
    let home = universe();
    let (mut town, mut wild) = (World::of(&home).unwrap(), World::of(&home).unwrap());
    let house = town.create((Entity::PLACEHOLDER,)).unwrap();
    let hunter = wild.create((house,)).unwrap();
    *town.get_mut::<Entity>(house).unwrap() = hunter;
    let options = SnapshotOptions::new();
    World::save_worlds(&[&town, &wild], &path.0, &options).unwrap();
    let (there, beside) = (universe(), universe());
    let bytes = World::worlds_to_snapshot(&[&town, &wild], &options).unwrap();
    let mut all = Vec::new();
    for times in 1..=2 {
        let (known, all_of_it) = (EntityMap::default(), LoadOptions::new());
        let loaded = World::load_worlds_remapped(&path.0, &there, &known, &all_of_it);
        let (worlds, ids) = loaded.unwrap();
        let [town, wild] = &worlds[..] else {
            panic!("{} worlds", worlds.len());
        };
        assert_eq!((ids.len(), there.count()), (2, 2 * times));
        let [house, hunter] = [house, hunter].map(|old| ids.get(old).unwrap());
        assert_eq!(town.get::<Entity>(house).unwrap(), &hunter);
        assert_eq!(wild.get::<Entity>(hunter).unwrap(), &house);
        let same = World::worlds_from_snapshot_remapped(&bytes, &beside, &known, &all_of_it);
        let (same, _) = same.unwrap();
        let saved = |worlds: &[World]| {
            let worlds: Vec<&World> = worlds.iter().collect();
            World::worlds_to_snapshot(&worlds, &options).unwrap()
        };
        assert!(saved(&worlds) == saved(&same), "of load {times}");
        all.extend([worlds, same]);
    }
    there.check(all.iter().step_by(2).flatten()).unwrap();
}
