//! Fragments that no Rust type stands for: a script defines them, a tool reads them.
//!
//!     cargo run --release --example dynamic_fragments
//!
//! The "script" below is a few lines of text. The program knows none of its fragments when it is compiled.

use core::alloc::Layout;
use std::error::Error;

use megachunk::prelude::*;

/// What a modder wrote: each line an entity, each word a fragment and its number.
const SCRIPT: &str = "
    health=100 speed=3 frozen
    health=40  speed=7
    health=65  armour=5
";

/// The fragment of a word: a number, or a tag; defined when it is first met.
fn fragment(
    registry: &FragmentRegistry,
    name: &str,
    layout: Layout,
) -> Result<FragmentId, WorldError> {
    match registry.find(name) {
        Some(info) => Ok(info.id()),
        None => Ok(registry.define_plain(name, layout)?.id()),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut world = World::new();
    for line in SCRIPT.lines().filter(|line| !line.trim().is_empty()) {
        let mut bundle = DynamicBundle::new();
        for word in line.split_whitespace() {
            let registry = world.registry();
            let value = match word.split_once('=') {
                Some((name, number)) => {
                    let id = fragment(registry, name, Layout::new::<i32>())?;
                    let number: i32 = number.parse()?;
                    Value::from_bytes(registry, id, &number.to_ne_bytes())?
                }
                None => Value::from_bytes(
                    registry,
                    fragment(registry, word, Layout::new::<()>())?,
                    &[],
                )?,
            };
            bundle.push(value);
        }
        let entity = world.create_dynamic(bundle)?;
        let names: Vec<&str> = world.fragments(entity)?.map(|info| info.name()).collect();
        println!("{entity} has {}", names.join(", "));
    }

    // "Whoever has health and is not frozen loses 10, armour permitting."
    let id = |name: &str| {
        world
            .registry()
            .find(name)
            .map(|info| info.id())
            .ok_or("no such word")
    };
    let (health, armour, frozen) = (id("health")?, id("armour")?, id("frozen")?);
    let mut burning = DynamicQuery::builder(&world)
        .write(health)
        .optional(armour, megachunk::query::Access::Read)
        .without(frozen)
        .build()?;
    burning.on(&mut world)?.for_each_chunk(|mut chunk| {
        // No fragment of the script can be switched off: the query sees all rows. (Else: those of `chunk.rows()`.)
        let armours = chunk
            .read(armour)
            .ok()
            .and_then(|values| values.plain::<i32>().ok());
        // A column of plain numbers: a slice, as if the type had been written down.
        let healths = chunk
            .write(health)
            .and_then(|values| Ok(values.plain::<i32>()?));
        for (row, health) in healths.into_iter().flatten().enumerate() {
            *health -= 10 - armours.map_or(0, |armours| armours[row]);
        }
    });

    let mut all = DynamicQuery::builder(&world).read(health).build()?;
    let mut left = Vec::new();
    all.read(&world)?.for_each_chunk(|mut chunk| {
        if let Ok(healths) = chunk
            .read(health)
            .and_then(|values| Ok(values.plain::<i32>()?))
        {
            left.extend(
                chunk
                    .entities()
                    .iter()
                    .copied()
                    .zip(healths.iter().copied()),
            );
        }
    });
    left.sort_unstable();
    for (entity, health) in &left {
        println!("{entity}: health {health}");
    }
    let healths: Vec<i32> = left.iter().map(|&(_, health)| health).collect();
    assert_eq!(healths, [100, 30, 60]);

    // What makes no sense is refused when the query is built, with the fragment's name.
    let error = DynamicQuery::builder(&world)
        .read(health)
        .without(health)
        .build();
    println!("refused: {}", error.err().ok_or("it should be refused")?);
    Ok(())
}
