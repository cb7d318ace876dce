//! Whether the innermost loop of a query is made of vectors: the instructions of `examples/vectors.rs` are read.
//!
//! On request, because the library is optimised for it:
//! `cargo test --release --test vectors -- --ignored --nocapture`.

#![cfg(feature = "world")]

use std::path::Path;
use std::process::Command;

/// What adds four numbers at once, and what adds one, as a processor's assembly has it.
struct Additions {
    of_four: &'static [&'static str],
    of_one: &'static [&'static str],
}

const ADDITIONS: Option<Additions> = if cfg!(target_arch = "x86_64") {
    Some(Additions {
        of_four: &["addps", "vaddps"],
        of_one: &["addss", "vaddss"],
    })
} else {
    None
};

/// The assembly of the example, as the compiler writes it. Its loops are of generic functions, which are compiled with it,
/// as users have them; the library itself is taken as this test has it, compiled already.
fn assembly() -> String {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("vectors.s");
    let compiled = Command::new(env!("CARGO"))
        .args(["rustc", "--quiet", "--locked", "--release", "--example"])
        .args(["vectors", "--", "-C", "opt-level=3", "-C"])
        .args(["codegen-units=1", "-C", "debuginfo=0", "--emit"])
        .arg(format!("asm={}", file.display()))
        // Whatever is there already: what is asked for is this.
        .args(["--cfg", &format!("asked_by_{}", std::process::id())])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(compiled.expect("cargo runs").success(), "it is compiled");
    std::fs::read_to_string(file).expect("the assembly has been written")
}

/// The loops without a loop or a branch in them: from a label to the jump back to it.
fn innermost_loops(assembly: &str) -> Vec<Vec<&str>> {
    let mut loops = Vec::new();
    let mut label = "";
    let mut body = Vec::new();
    for line in assembly.lines() {
        if let Some(name) = line.strip_suffix(':') {
            (label, body) = (name, Vec::new());
            continue;
        }
        let instruction = line.trim();
        if instruction.is_empty() || instruction.starts_with(['.', '#']) {
            continue;
        }
        body.push(instruction);
        let mut words = instruction.split_whitespace();
        let jumps = words.next().is_some_and(|word| word.starts_with('j'));
        if jumps && words.next() == Some(label) {
            loops.push(core::mem::take(&mut body));
        }
    }
    loops
}

fn count(body: &[&str], names: &[&str]) -> usize {
    let is_named = |line: &&&str| {
        let name = line.split_whitespace().next();
        name.is_some_and(|name| names.contains(&name))
    };
    body.iter().filter(is_named).count()
}

#[test]
fn a_label_a_body_and_a_jump_back_are_a_loop() {
    let assembly = "f:\n\txorl\t%eax, %eax\n.LBB0_1:\n\t.loc 1\n\taddps\t%xmm0, %xmm1\n\tjne\t.LBB0_1\n\tje\t.LBB0_1\n.LBB0_2:\n\taddss\t%xmm0, %xmm1\n\tjne\t.LBB0_1\n";
    let loops = innermost_loops(assembly);
    assert_eq!(loops[0], ["addps\t%xmm0, %xmm1", "jne\t.LBB0_1"]);
    assert_eq!(count(&loops[0], &["addps"]), 1);
    assert_eq!(count(&loops[0], &["addss"]), 0);
    assert_eq!(
        loops.len(),
        2,
        "a jump right behind is one of an empty body"
    );
}

#[test]
#[ignore = "compiles the optimised library"]
fn three_numbers_an_entity_are_added_in_vectors_of_four() {
    let Some(additions) = ADDITIONS else {
        println!("skipped: only the assembly of x86-64 is known here");
        return;
    };
    let assembly = assembly();
    // Three vectors for four entities: the loop may take several fours at a time.
    let fours = |body: &[&str]| count(body, additions.of_four) / 3;
    let loops: Vec<_> = innermost_loops(&assembly)
        .into_iter()
        .filter(|body| fours(body) > 0 && count(body, additions.of_one) == 0)
        .collect();
    for body in &loops {
        println!("{} entities, {} instructions:", 4 * fours(body), body.len());
        for instruction in body {
            println!("    {instruction}");
        }
    }
    assert!(!loops.is_empty(), "no loop of whole vectors");
    for body in loops {
        let entities = 4 * fours(&body);
        assert_eq!(
            count(&body, additions.of_four),
            3 * fours(&body),
            "all of them whole"
        );
        assert!(
            body.len() <= 5 * entities,
            "{} instructions for {entities}",
            body.len()
        );
    }
}
