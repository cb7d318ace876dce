//! Fuzzes entity configs: a naive reader, which merges them with their parents by the rules alone, is the oracle.
//!
//! The oracle is that of the proptests `tests/templates/model.rs`; see `tests/support/template_oracle.rs`.
//!
//! Format of an input, and of the seeds in `corpus/config_file`: a byte that says how the rest is meant. Even: it is
//! texts, with a zero byte between two of them, and a byte of value one between those that are loaded together and
//! those that come after. Odd: each config is four bytes, written as a text, so that the fuzzer need not find out how to
//! write TOML. The first: three bits of id, three of file, one "abstract", one "load after those before". The second:
//! three bits of parent (6 and more: none). The others: a trait each, four bits of class (9 and more: none), and four of
//! its argument.

#![no_main]

#[path = "../../tests/support/template_oracle.rs"]
mod template_oracle;

use libfuzzer_sys::fuzz_target;
use template_oracle::{CLASSES, Spec, check};

fuzz_target!(|bytes: &[u8]| {
    let Some((&how, rest)) = bytes.split_first() else {
        return;
    };
    if how % 2 == 0 {
        check(&texts(rest));
    } else {
        check(&written(rest));
    }
});

fn texts(bytes: &[u8]) -> Vec<Vec<(String, String)>> {
    let load = |bytes: &[u8]| {
        let texts = bytes.split(|&byte| byte == 0).zip(0_u32..);
        let text = |(bytes, number): (&[u8], u32)| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            (number.to_string(), text)
        };
        texts.map(text).collect()
    };
    bytes.split(|&byte| byte == 1).take(8).map(load).collect()
}

fn written(bytes: &[u8]) -> Vec<Vec<(String, String)>> {
    let mut loads = vec![Vec::new()];
    for config in bytes.chunks_exact(4).take(32) {
        let (first, parent) = (config[0], config[1] % 8);
        let mut spec = Spec {
            id: (first % 8).to_string(),
            parent: (parent < 6).then(|| parent.to_string()),
            is_abstract: first & 0x40 != 0,
            traits: Vec::new(),
        };
        for byte in &config[2..] {
            if let Some(class) = CLASSES.get(usize::from(byte % 16))
                && spec.traits.iter().all(|(other, _)| other != class)
            {
                spec.traits.push((class, i64::from(byte / 16)));
            }
        }
        if first & 0x80 != 0 {
            loads.push(Vec::new());
        }
        if let Some(load) = loads.last_mut() {
            load.push((format!("f{}", first / 8 % 8), spec.text()));
        }
    }
    loads
}
