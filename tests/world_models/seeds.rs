//! The seeds of the fuzz targets `structural` and `commands`: all of each is run, and each operation is in one.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::world_bytes::{self, Bytes, COMMANDS, Input, OPS};

/// Numbers of operations, and of commands.
type Numbers = BTreeSet<(u8, Option<u8>)>;
type Decode = fn(&mut Bytes<'_>, &mut Numbers) -> Option<Input>;

const TARGETS: [(&str, Decode); 2] = [
    ("structural", |bytes, numbers| {
        world_bytes::structural(bytes, |number| _ = numbers.insert(number))
    }),
    ("commands", |bytes, numbers| {
        world_bytes::commands(bytes, |number| _ = numbers.insert(number))
    }),
];

/// The seeds of a target, by name.
fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let files = fs::read_dir(corpus.join(target)).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let mut seeds: Vec<_> = files
        .map(|file| (file.display().to_string(), file))
        // Beside what a fuzzer may have left here.
        .filter(|(name, _)| name.contains("seed-"))
        .map(|(name, file)| (name, fs::read(file).unwrap()))
        .collect();
    assert!(seeds.len() > 12, "{} seeds of {target}", seeds.len());
    seeds.sort();
    seeds
}

#[test]
fn seeds_are_run_to_their_last_byte_and_have_each_operation() {
    let mut numbers = Numbers::new();
    let mut left = Vec::new();
    for (target, decode) in TARGETS {
        for (name, bytes) in seeds(target) {
            let mut bytes = bytes.iter().copied();
            let input = decode(&mut bytes, &mut numbers).unwrap();
            if bytes.len() > 0 {
                left.push((name, input.ops.len(), bytes.len()));
            }
        }
    }
    assert!(left.is_empty(), "bytes after the last operation: {left:?}");
    let there = |number: &u8| numbers.iter().any(|(there, _)| there == number);
    let missing: Vec<u8> = (0..OPS).filter(|number| !there(number)).collect();
    assert!(missing.is_empty(), "operations in no seed: {missing:?}");
    let there = |number: &u8| numbers.iter().any(|(_, there)| *there == Some(*number));
    let missing: Vec<u8> = (0..COMMANDS).filter(|number| !there(number)).collect();
    assert!(missing.is_empty(), "commands in no seed: {missing:?}");
}

/// What a byte says that is no number of an operation, or a command, must not change when one is added.
#[test]
fn bytes_that_are_no_number_mean_what_they_did() {
    let say = |decode: Decode, bytes: &[u8]| {
        let mut numbers = Numbers::new();
        let input = decode(&mut bytes.iter().copied(), &mut numbers);
        (numbers, format!("{input:?}"))
    };
    let [(_, structural), (_, commands)] = TARGETS;
    for byte in OPS..0x80 {
        let known = say(structural, &[0, byte % 49, 1, 2, 3, 4, 5, 6]);
        assert_eq!(say(structural, &[0, byte, 1, 2, 3, 4, 5, 6]), known);
    }
    for byte in COMMANDS..=u8::MAX {
        let known = say(commands, &[0, 0, byte % 18, 1, 2, 3, 4, 5, 6]);
        assert_eq!(say(commands, &[0, 0, byte, 1, 2, 3, 4, 5, 6]), known);
    }
}

#[test]
fn worlds_agree_with_the_naive_one_on_all_seeds() {
    for (target, decode) in TARGETS {
        for (_, bytes) in seeds(target) {
            let input = decode(&mut bytes.iter().copied(), &mut Numbers::new());
            input.unwrap().run();
        }
    }
}
