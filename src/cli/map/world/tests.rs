//! What must hold of a world's picture, in small ones.

use super::strip::{Cell, Filled, Room, Strips};
use super::*;
use crate::cli::map::shade::Shade;
use crate::entity::Entity;
use crate::world::ChunkRows;

const PLAIN: Canvas = Canvas {
    width: 80,
    colour: false,
};

fn chunk(archetype: usize, group: usize, entities: usize) -> ChunkRows {
    ChunkRows {
        archetype,
        group,
        entities,
        capacity: 8,
        bytes: 16 << 10,
    }
}

/// Chunks of eight rows, of which so many are in use; a list for each group.
fn composition(groups: &[&[usize]]) -> Composition {
    let groups = groups.iter().enumerate();
    let groups: Vec<Vec<_>> = groups
        .map(|(group, of)| of.iter().map(|&used| chunk(0, group, used)).collect())
        .collect();
    let sum = |of: fn(&ChunkRows) -> usize| groups.iter().flatten().map(of).sum();
    Composition {
        compositions: 1,
        names: vec!["Ant".to_owned()],
        entities: sum(|chunk| chunk.entities),
        capacity: sum(|chunk| chunk.capacity),
        bytes: sum(|chunk| chunk.bytes),
        entity_bytes: 12..=12,
        groups,
    }
}

/// A map of these, and of `idle` compositions that have no chunks.
fn map(compositions: Vec<Composition>, idle: usize) -> WorldMap {
    let mut stats = World::new().stats();
    let all = || compositions.iter();
    stats.entities = all().map(|one| one.entities).sum();
    stats.capacity = all().map(|one| one.capacity).sum();
    stats.chunk_bytes = all().map(|one| one.bytes).sum();
    let chunks = || all().flat_map(Composition::chunks);
    stats.chunks = chunks().count();
    stats.empty_chunks = chunks().filter(|chunk| chunk.entities == 0).count();
    WorldMap {
        title: "small".to_owned(),
        committed_megachunks: 1,
        idle,
        stats,
        compositions,
    }
}

fn room(width: usize, beside: usize, lines: usize) -> Room {
    Room {
        width,
        beside,
        lines,
    }
}

/// A letter for each cell: its chunks, or a bar.
fn letters(cells: &[Cell]) -> String {
    let letter = |cell: &Cell| match cell {
        Cell::Chunks(filled) => filled.chunks.to_string(),
        Cell::Bound => "|".to_owned(),
    };
    cells.iter().map(letter).collect()
}

#[test]
fn a_small_world_is_a_line_of_figures_for_each_composition_and_a_letter_for_each_chunk() {
    let full = composition(&[&[8, 8, 3, 0]]);
    let mut teams = composition(&[&[8; 5], &[1, 4, 7]]);
    teams.names = vec!["Ant".to_owned(), "Team".to_owned()];
    let drawn = map(vec![teams, full], 2).text(PLAIN);
    let expected = "\
small
74.0 % of the rows in use, 1 chunk without entities; 2769.1 bytes an entity
192 KiB of chunks; 1 mega-chunk of 1 MiB committed

  a cell is a chunk: · nothing alive, .:░░▒▒▓█ few to all alive; │ other shared values
  KiB: of a chunk; bytes: of an entity

   entities  chunks     KiB   bytes    full            composition
         52       8      16      12  81.2 %            Ant, Team (2 groups)
  █████│.░▓
         19       4      16      12  59.4 %  ██░·      Ant
  2 compositions without entities and chunks
";
    assert_eq!(drawn, expected);
}

#[test]
fn a_world_without_chunks_is_its_figures() {
    let drawn = WorldMap::of("new", &World::new()).text(PLAIN);
    assert!(drawn.starts_with("new: 0 entities of 0 compositions in 0 chunks\n"));
    assert_eq!(drawn.lines().count(), 4, "{drawn}");
    assert!(map(Vec::new(), 0).svg().ends_with("</svg>\n"));
}

#[test]
fn a_map_shows_what_a_world_says_of_itself() {
    let mut world = World::new();
    world.set_chunk_size(1);
    let few = world.create((1_u8,)).unwrap();
    let batch = world.create_batch((0..3_000_u64).map(|n| (n,))).unwrap();
    let many: Vec<Entity> = batch.iter(&world).collect();
    let gone = world.create((1_u16,)).unwrap();
    world.destroy(gone).unwrap();
    let none = world.create((1_u32,)).unwrap();
    world.destroy(none).unwrap();
    world.trim();
    let kept = world.create((1_u16,)).unwrap();
    world.destroy(kept).unwrap();
    let map = WorldMap::of("world", &world);
    assert_eq!(
        map.title,
        "world: 3,001 entities of 3 compositions in 5 chunks"
    );
    let names: Vec<_> = map
        .compositions
        .iter()
        .map(|one| one.names.concat())
        .collect();
    assert_eq!(
        names,
        ["u64", "u8", "u16"],
        "the most memory, then the most entities first"
    );
    assert_eq!(map.idle, 1, "u32");
    assert_eq!(map.compositions[0].entities, many.len());
    assert_eq!(map.compositions[2].occupancy(), 0.0);
    assert!(world.exists(few));
}

#[test]
fn chunks_of_a_group_stand_together_in_their_order() {
    let chunks = [(7, 1), (3, 8), (7, 2), (3, 6)];
    let chunks = chunks.map(|(group, entities)| chunk(0, group, entities));
    let mut world = World::new();
    world.create((1_u8,)).unwrap();
    let stats = world.stats();
    let one = Composition::new(&stats.archetypes[0], chunks.to_vec());
    let used = |group: &Vec<ChunkRows>| group.iter().map(|one| one.entities).collect();
    let used: Vec<Vec<usize>> = one.groups.iter().map(used).collect();
    assert_eq!(used, [[8, 6], [1, 2]]);
}

#[test]
fn a_cell_stands_for_more_chunks_where_there_is_no_room_for_all() {
    let long = composition(&[&[8; 7], &[8; 3]]);
    let fit = |room| {
        let strips = Strips::fit([&long].into_iter(), room);
        (strips.cell_chunks, letters(&strips.strips[0]))
    };
    assert_eq!(fit(room(16, 0, 1)), (1, "1111111|111".to_owned()));
    assert_eq!(fit(room(6, 0, 2)), (1, "1111111|111".to_owned()));
    assert_eq!(fit(room(7, 0, 1)), (2, "2221|21".to_owned()));
    assert_eq!(fit(room(3, 0, 1)), (8, "7|3".to_owned()));
    // A strip beside the figures takes no line, and leaves all to the others.
    let strips = Strips::fit([&long, &composition(&[&[8; 2]])].into_iter(), room(6, 2, 2));
    assert_eq!(strips.cell_chunks, 1);
}

#[test]
fn groups_that_no_line_could_keep_apart_are_one() {
    let ones: [&[usize]; 4] = [&[8]; 4];
    let many = composition(&ones);
    let letters_in = |width| {
        let strips = Strips::fit([&many].into_iter(), room(width, 0, 1));
        (letters(&strips.strips[0]), strips.has_bounds())
    };
    assert_eq!(letters_in(7), ("1|1|1|1".to_owned(), true));
    assert_eq!(letters_in(6), ("1111".to_owned(), false));
}

#[test]
fn a_cell_is_as_full_as_its_chunks_together() {
    let one = composition(&[&[8, 0, 4, 4, 0]]);
    let strips = Strips::fit([&one].into_iter(), room(3, 0, 1));
    let shades = strips.strips[0].iter().map(|cell| match cell {
        Cell::Chunks(filled) => filled.shade(),
        Cell::Bound => Shade::Untouched,
    });
    let expected = [Shade::Eighths(4), Shade::Eighths(4), Shade::Empty];
    assert_eq!(shades.collect::<Vec<_>>(), expected);
    let half = Filled {
        chunks: 2,
        entities: 8,
        capacity: 16,
        bytes: 32 << 10,
    };
    assert_eq!(strips.strips[0][0], Cell::Chunks(half));
}

#[test]
fn of_a_thousand_compositions_the_first_are_drawn_and_the_others_together() {
    let all: Vec<_> = (0..1_000).map(|_| composition(&[&[2]])).collect();
    let drawn = map(all.clone(), 0).text(PLAIN);
    assert!(drawn.lines().count() < 60, "{drawn}");
    assert!(drawn.contains("… and 970 more\n"), "{drawn}");
    let cells = drawn.lines().filter(|line| line.starts_with("  ::"));
    let cells: usize = cells.map(|line| line.trim().chars().count()).sum();
    assert_eq!(cells, 970);
    assert!(map(all, 0).svg().contains("… and 940 more compositions"));
    // One alone is drawn as it is.
    let few: Vec<_> = (0..31).map(|_| composition(&[&[2]])).collect();
    assert!(!map(few, 0).text(PLAIN).contains("more"));
}

#[test]
fn lines_are_as_long_as_the_terminal_is_wide_and_no_longer() {
    let mut one = composition(&[&[8; 5_000], &[4; 2_000]]);
    one.names = (0..20).map(|number| format!("Fragment{number}")).collect();
    let map = map(vec![one, composition(&[&[1; 5]])], 0);
    for width in [60, 79, 80, 100, 200] {
        let drawn = map.text(Canvas { width, ..PLAIN });
        let table = drawn
            .lines()
            .skip_while(|line| !line.contains("composition"));
        let longest = table.map(|line| line.chars().count()).max();
        assert_eq!(longest, Some(width), "{drawn}");
        assert!(drawn.lines().count() < 64, "{drawn}");
    }
}

#[test]
fn colours_change_no_figures() {
    let map = map(vec![composition(&[&[8, 3], &[1]])], 0);
    let coloured = map.text(Canvas {
        colour: true,
        ..PLAIN
    });
    assert!(
        coloured.contains("\x1b[48;5;53;38;5;231m8\x1b[0m"),
        "{coloured}"
    );
    let without = |text: &str| {
        let figures = text.lines().find(|line| line.contains("Ant")).unwrap();
        let words = figures.split_whitespace();
        words.take(6).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(without(&coloured), without(&map.text(PLAIN)));
}

#[test]
fn the_svg_says_of_each_cell_and_composition_what_it_is() {
    let mut one = composition(&[&[8, 3], &[0]]);
    one.names = vec!["Pair<Ant & Bee>".to_owned()];
    let drawn = map(vec![one], 1).svg();
    for part in [
        "<g><title>Pair&lt;Ant &amp; Bee&gt;</title>",
        "11 entities of 12 bytes, 3 chunks of 16 KiB in 2 groups, 45.8 % full",
        "<title>1 chunk: 8 of 8 rows in use, 16 KiB</title>",
        "<title>1 chunk: 0 of 8 rows in use, 16 KiB</title>",
        "1 composition without entities and chunks",
        "behind a bar are other shared values",
    ] {
        assert!(drawn.contains(part), "{part}: {drawn}");
    }
}
