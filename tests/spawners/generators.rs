//! Where generators put points: in areas, along lines, from files; the same for the same seed.

use megachunk::template::spawner::{
    AlongLines, Disc, Each, Generator, Grid, PointsFile, PoissonDisc, Random, SpawnError,
    SpawnPoint,
};

/// Computed by another program, from the formulas in `Random`'s documentation.
const RANDOM: [u64; 2] = [0x017d_af00_1966_6393, 0xd9e4_8427_2f67_5712];
/// Of seed 1: below 10, 1,000, a million, half of all there are, 1, 0, and all but one.
const BELOW: [(u64, u64); 7] = [
    (10, 0),
    (1_000, 851),
    (1_000_000, 163_041),
    (1 << 63, 452_752_859_001_855_842),
    (1, 0),
    (0, 0),
    (u64::MAX, 9_978_962_558_722_257_090),
];
/// Of seed 1.
const PARTS: [f64; 3] = [0.00582402946874927, 0.8511431308428687, 0.16304116589508477];
/// Of point 3 of seed 7.
const IN_DISC: [[f64; 2]; 3] = [
    [-0.2740455839559348, -0.8573004977533814],
    [0.32049032286866885, 0.6266529176258717],
    [0.30414510900966985, 0.26173231266683894],
];
/// Of point 3 of seed 7.
const DIRECTIONS: [[f32; 2]; 3] = [
    [-0.304_482_85, -0.952_517_8],
    [0.455_337_52, 0.890_318_9],
    [0.757_978_8, 0.652_279_2],
];
const DISC: [f32; 3] = [0.6196915, 0.08033268, 0.0];

fn points(generator: &impl Generator, count: usize, seed: u64) -> Vec<SpawnPoint> {
    let mut out = vec![SpawnPoint::default(); count];
    let points = generator.points(count, seed).unwrap();
    points.write(0, &mut out);
    // In any pieces they are the same.
    let mut again = vec![SpawnPoint::default(); count];
    let mut first = 0;
    for piece in again.chunks_mut(7) {
        points.write(first, piece);
        first += piece.len();
    }
    assert_eq!(out.len(), again.len());
    for (a, b) in out.iter().zip(&again) {
        assert_eq!((a.position, a.direction), (b.position, b.direction));
    }
    out
}

#[test]
fn points_never_change_with_a_version_of_the_crate() {
    let [disc] = points(&Disc::new([0.0; 3], 1.0).unwrap(), 1, 1)[..] else {
        panic!("one point");
    };
    let mut random = Random::new(1, 0);
    let bits = [random.next_u64(), random.next_u64()];
    assert_eq!(bits, RANDOM, "{bits:#x?}");
    assert_eq!(disc.position, DISC, "{:?}", disc.position);
}

#[test]
fn numbers_below_others_and_directions_never_change_either() {
    let mut random = Random::new(1, 0);
    let below = BELOW.map(|(end, _)| (end, random.next_below(end)));
    assert_eq!(below, BELOW);
    let mut random = Random::new(1, 0);
    assert_eq!([(); 3].map(|()| random.next_part()), PARTS);
    let mut random = Random::new(7, 3);
    assert_eq!([(); 3].map(|()| random.next_in_disc()), IN_DISC);
    let mut random = Random::new(7, 3);
    let directions = [(); 3].map(|()| random.next_direction());
    assert_eq!(directions, DIRECTIONS);
}

#[test]
fn a_poisson_disc_at_a_height_has_the_same_points_there() {
    let park = PoissonDisc::new([0.0; 2], [9.0; 2], 1.0).unwrap();
    let above = park.at_height(-2.5).unwrap();
    let (ground, above) = (points(&park, 20, 5), points(&above, 20, 5));
    for (low, high) in ground.iter().zip(&above) {
        let [x, y, z] = low.position;
        assert_eq!(z, 0.0);
        assert_eq!(high.position, [x, y, -2.5]);
        assert_eq!(high.direction, low.direction);
    }
    for height in [f32::NAN, f32::INFINITY] {
        let error = park.at_height(height).unwrap_err();
        assert!(error.to_string().contains("the height"), "{error}");
    }
}

#[test]
fn a_disc_is_filled_as_its_area_says() {
    let disc = Disc::new([10.0, 20.0, 5.0], 4.0).unwrap();
    let all = points(&disc, 20_000, 3);
    let (mut inner, mut left) = (0, 0);
    for point in &all {
        let [x, y, z] = point.position;
        let away = (x - 10.0).hypot(y - 20.0);
        assert!(away < 4.001 && z == 5.0);
        inner += usize::from(away < 2.0);
        left += usize::from(x < 10.0);
    }
    // A quarter of the area, and half of it; five standard deviations.
    assert!(inner.abs_diff(5_000) < 310, "{inner}");
    assert!(left.abs_diff(10_000) < 355, "{left}");
}

#[test]
fn neighbours_in_a_grid_are_apart_as_far_away_as_they_are_given() {
    for first in [0.0, 4e6, 3.9e6, -4.1e6, -2e6] {
        let grid = Grid::new([first, first, 0.0], 1.0, 3_000).unwrap();
        let all = points(&grid, 9_000, 1);
        assert!(all[..3_000].is_sorted_by(|a, b| a.position[0] < b.position[0]));
        let column = Grid::new([0.0, first, 0.0], 1.0, 1).unwrap();
        let all = points(&column, 100_000, 1);
        assert!(all.is_sorted_by(|a, b| a.position[1] < b.position[1]));
    }
    // As close as it may be.
    for first in [0.0, -16_777.0, 15_500.0, -9_000.3] {
        let grid = Grid::new([first, 0.0, 0.0], 0.004, 2_000_000).unwrap();
        let all = points(&grid, 300_000, 1);
        assert!(
            all.is_sorted_by(|a, b| a.position[0] < b.position[0]),
            "{first}"
        );
    }
}

#[test]
fn points_of_a_poisson_disc_keep_their_distance_and_the_rest_is_refused_with_a_number() {
    for (corner, opposite, distance) in [
        ([0.0, 0.0], [50.0, 20.0], 1.0),
        ([-7.0, 3.0], [-9.5, -4.0], 0.37),
        ([1_000.0, 1_000.0], [1_010.0, 1_010.0], 0.5),
    ] {
        let park = PoissonDisc::new(corner, opposite, distance).unwrap();
        let Err(SpawnError::NoRoom { possible, .. }) = park.points(100_000, 9) else {
            panic!("there is no room for so many");
        };
        let area = (corner[0] - opposite[0]).abs() * (corner[1] - opposite[1]).abs();
        let densest = area / (distance * distance) * 1.155;
        assert!((possible as f32) < densest * 1.3, "{possible} of {densest}");
        assert!((possible as f32) > densest * 0.5, "{possible} of {densest}");
        for count in [1, possible / 3, possible] {
            let all = points(&park, count, 9);
            for (at, a) in all.iter().enumerate() {
                let [x, y, _] = a.position;
                assert!((corner[0].min(opposite[0])..=corner[0].max(opposite[0])).contains(&x));
                assert!((corner[1].min(opposite[1])..=corner[1].max(opposite[1])).contains(&y));
                for b in &all[..at] {
                    let [dx, dy] = [0, 1]
                        .map(|axis| f64::from(a.position[axis]) - f64::from(b.position[axis]));
                    assert!(dx * dx + dy * dy >= f64::from(distance).powi(2));
                }
            }
        }
        let refused = park.points(possible + 1, 9).map(drop);
        let Err(SpawnError::NoRoom {
            possible: again, ..
        }) = refused
        else {
            panic!("{refused:?}");
        };
        assert_eq!(again, possible);
    }
}

#[test]
fn a_poisson_disc_is_full_when_it_says_so_however_thin_it_is() {
    // What positions round off at 300.
    let slack = 1.0 / 16_384.0;
    for height in [0.0, 0.01, 0.1, 0.5, 0.9, 3.0] {
        // Standing and lying.
        for turn in [false, true] {
            let opposite = [[300.0, height], [height, 300.0]][usize::from(turn)];
            let strip = PoissonDisc::new([0.0; 2], opposite, 1.0).unwrap();
            let Err(SpawnError::NoRoom { possible, .. }) = strip.points(100_000, 9) else {
                panic!("there is no room for so many");
            };
            let all = points(&strip, possible, 9);
            let mut all: Vec<[f32; 2]> = all
                .iter()
                .map(|point| match (turn, point.position) {
                    (false, [x, y, _]) => [x, y],
                    (true, [x, y, _]) => [y, x],
                })
                .collect();
            all.sort_unstable_by(|a, b| a[0].total_cmp(&b[0]));
            // Where one more point would have room.
            let mut first = 0;
            for step in 0..=30_000_u16 {
                let x = f32::from(step) / 100.0;
                while all[first][0] < x - 1.1 && first + 1 < all.len() {
                    first += 1;
                }
                let near = all[first..].iter().take_while(|[at, _]| *at < x + 1.1);
                for part in 0..=8_u8 {
                    let y = height * f32::from(part) / 8.0;
                    let away = |&[a, b]: &[f32; 2]| (a - x).hypot(b - y);
                    let nearest = near.clone().map(away).fold(f32::INFINITY, f32::min);
                    assert!(nearest < 1.0 + slack, "{x}, {y} of {height}: {nearest}");
                }
            }
            if height == 0.0 {
                let gaps = all.windows(2).map(|two| two[1][0] - two[0][0]);
                let widest = gaps.fold(0.0, f32::max);
                assert!(widest < 2.0 + 2.0 * slack, "{widest}");
                assert!(all[0][0] < 1.0 + slack && all[possible - 1][0] > 299.0 - slack);
            }
        }
    }
}

#[test]
fn a_wide_area_with_few_points_needs_little_memory() {
    let land = PoissonDisc::new([-50_000.0; 2], [50_000.0; 2], 1.0).unwrap();
    assert_eq!(points(&land, 2_000, 1).len(), 2_000);
}

#[test]
fn points_along_lines_are_as_dense_on_each_as_its_length_says() {
    let lines: [&[[f32; 3]]; 3] = [
        &[[0.0, 0.0, 0.0], [10.0, 0.0, 0.0]],
        &[
            [0.0, 1.0, 0.0],
            [0.0, 1.0, 0.0],
            [0.0, 21.0, 0.0],
            [10.0, 21.0, 0.0],
        ],
        &[[5.0, 5.0, 0.0], [5.0, 5.0, 60.0]],
    ];
    let streets = AlongLines::new(lines).unwrap();
    assert_eq!(streets.length(), 100.0);
    let mut on = [0_usize; 3];
    for point in points(&streets, 10_000, 4) {
        on[point.line as usize] += 1;
        let [x, y, z] = point.position;
        let expected = match point.line {
            0 => ([point.along, 0.0, 0.0], [1.0, 0.0]),
            1 if point.along < 20.0 => ([0.0, 1.0 + point.along, 0.0], [0.0, 1.0]),
            1 => ([point.along - 20.0, 21.0, 0.0], [1.0, 0.0]),
            _ => ([5.0, 5.0, point.along], [1.0, 0.0]),
        };
        for (is, should) in [x, y, z].into_iter().zip(expected.0) {
            assert!((is - should).abs() < 1e-4, "{point:?}");
        }
        assert_eq!(point.direction, expected.1);
    }
    assert!(
        on[0].abs_diff(1_000) < 150 && on[1].abs_diff(3_000) < 230,
        "{on:?}"
    );
    let even = points(&streets.even(), 10_000, 4);
    let first = even.iter().filter(|point| point.line == 0).count();
    assert_eq!(first, 1_000);
    assert!(even.is_sorted_by_key(|point| point.line));
}

#[test]
fn generators_made_of_nonsense_are_errors_that_say_what() {
    let refused = |result: Result<(), SpawnError>, what: &str| {
        let text = result.unwrap_err().to_string();
        assert!(text.contains(what), "{text}");
    };
    let nan = f32::NAN;
    refused(Disc::new([nan, 0.0, 0.0], 1.0).map(drop), "middle is NaN");
    for radius in [0.0, -1.0, f32::INFINITY, nan] {
        refused(Disc::new([0.0; 3], radius).map(drop), "radius");
    }
    refused(Disc::new([f32::MAX; 3], f32::MAX).map(drop), "edge is inf");
    refused(Grid::new([0.0; 3], 0.0, 4).map(drop), "distance");
    let wide = Grid::new([0.0; 3], f32::MAX, 2).unwrap();
    assert!(wide.points(4, 0).is_ok());
    refused(wide.points(5, 0).map(drop), "farthest point is inf");
    refused(Grid::new([0.0; 3], 1.0, 0).map(drop), "columns");
    refused(Grid::new([f32::INFINITY; 3], 1.0, 1).map(drop), "inf");
    refused(
        Grid::new([1e8, 0.0, 0.0], 1.0, 8).map(drop),
        "a distance of 1 is too small for positions up to 100000000",
    );
    let far = Grid::new([0.0, -1e8, 0.0], 1.0, 8).unwrap();
    assert!(far.points(8, 0).is_ok());
    refused(far.points(9, 0).map(drop), "too small");
    let row = Grid::new([0.0; 3], 1.0, 10_000_000).unwrap();
    assert!(row.points(4_000_000, 0).is_ok());
    refused(row.points(5_000_000, 0).map(drop), "too small");
    let column = Grid::new([1e8, 0.0, 0.0], 1.0, 1).unwrap();
    assert!(column.points(4_000_000, 0).is_ok());
    refused(column.points(5_000_000, 0).map(drop), "too small");
    refused(
        PoissonDisc::new([nan; 2], [1.0; 2], 1.0).map(drop),
        "corner",
    );
    refused(
        PoissonDisc::new([0.0; 2], [1.0; 2], -1.0).map(drop),
        "distance",
    );
    refused(
        PoissonDisc::new([0.0; 2], [1e9; 2], 1e-9).map(drop),
        "too small",
    );
    refused(
        PoissonDisc::new([f32::MIN; 2], [f32::MAX; 2], 1.0).map(drop),
        "too small",
    );
    let park = PoissonDisc::new([0.0; 2], [1.0; 2], 1.0).unwrap();
    refused(park.at_height(nan).map(drop), "height");
    let none: [Vec<[f32; 3]>; 0] = [];
    refused(AlongLines::new(none).map(drop), "there are none");
    refused(
        AlongLines::new([vec![[0.0; 3], [1.0; 3]], vec![[2.0; 3], [2.0; 3]]]).map(drop),
        "line 1: it has no length",
    );
    refused(AlongLines::new([vec![[0.0; 3]]]).map(drop), "line 0");
    refused(
        AlongLines::new([vec![[0.0; 3], [nan; 3]]]).map(drop),
        "line 0: a corner is NaN",
    );
}

#[test]
fn the_widest_areas_have_places_too() {
    let disc = Disc::new([0.0; 3], f32::MAX).unwrap();
    for point in points(&disc, 100, 1) {
        assert!(point.position.iter().all(|number| number.is_finite()));
    }
    let lines = AlongLines::new([[[f32::MIN; 3], [f32::MAX; 3]]]).unwrap();
    for point in points(&lines, 100, 1) {
        assert!(point.position.iter().all(|number| number.is_finite()));
    }
    let wide = PoissonDisc::new([f32::MIN; 2], [f32::MAX; 2], 1e38).unwrap();
    assert!(wide.points(5, 1).is_ok());
    let nowhere = PoissonDisc::new([3.0; 2], [3.0; 2], 1.0).unwrap();
    assert_eq!(points(&nowhere, 1, 1)[0].position, [3.0, 3.0, 0.0]);
    assert!(matches!(
        nowhere.points(2, 1),
        Err(SpawnError::NoRoom {
            possible: 1,
            wanted: 2,
            ..
        })
    ));
}

#[test]
fn a_closure_can_be_a_generator() {
    let stairs = Each::new(|random: &mut Random, point: &mut SpawnPoint| {
        point.position = [point.number as f32, random.next_below(3) as f32, 0.0];
    });
    let all = points(&stairs, 200, 1);
    assert!(
        all.iter()
            .enumerate()
            .all(|(n, point)| point.position[0] == n as f32)
    );
    assert!((0..3).all(|y| all.iter().any(|point| point.position[1] == y as f32)));
}

// --- Points from a file ------------------------------------------------------------------------------

fn parsed(text: &str) -> Vec<SpawnPoint> {
    let file = PointsFile::parse("points.csv", text).unwrap();
    points(&file, file.len(), 0)
}

#[test]
fn points_come_from_a_table_with_or_without_a_header() {
    let plain = parsed("1,2\r\n 3.5 , -4 \n\n# a comment\n5,6");
    let positions: Vec<_> = plain.iter().map(|point| point.position).collect();
    assert_eq!(
        positions,
        [[1.0, 2.0, 0.0], [3.5, -4.0, 0.0], [5.0, 6.0, 0.0]]
    );
    let [turned] = parsed("1,2,90")[..] else {
        panic!()
    };
    assert!((turned.direction[1] - 1.0).abs() < 1e-6);
    let [high] = parsed("1,2,3,180")[..] else {
        panic!()
    };
    assert_eq!(high.position, [1.0, 2.0, 3.0]);
    let [named] = parsed("\u{feff}Name, Y ,heading,X\nant,1,0,2\n")[..] else {
        panic!()
    };
    assert_eq!(
        (named.position, named.direction),
        ([2.0, 1.0, 0.0], [1.0, 0.0])
    );
}

#[test]
fn columns_may_be_called_what_numbers_are_called_that_are_not_finite() {
    for name in ["nan", "inf", "Infinity", "-inf"] {
        let [named] = parsed(&format!("{name},x,y\n7,1,2\n"))[..] else {
            panic!()
        };
        assert_eq!(named.position, [1.0, 2.0, 0.0], "{name}");
    }
    // Beside a number it is none.
    let error = PointsFile::parse("points.csv", "1,nan\n").unwrap_err();
    assert!(error.to_string().starts_with("points.csv:1:3: "), "{error}");
}

#[test]
fn what_is_no_point_is_an_error_with_file_line_and_column() {
    for (text, place, what) in [
        ("1,2\n3,four\n", "2:3", "\"four\" is not a finite number"),
        ("x,y\n1,2\n\n# no\n3,  inf\n", "5:5", "\"inf\""),
        ("1,2\n1,2,3\n", "2:5", "3 values, where 2"),
        ("1,2\n1\n", "2:2", "1 values, where 2"),
        ("1\n", "1:1", "1 values without a header"),
        ("1,2,3,4,5\n", "1:1", "5 values without a header"),
        ("name,y\n", "1:1", "no column x"),
        ("x,y,X\n", "1:5", "names x twice"),
        ("x,y\nü,1\n", "2:1", "\"ü\""),
        ("x,y\nü, ü\n1,2", "2:1", "\"ü\""),
        ("y,x\n1,ü ü\n", "2:3", "\"ü ü\""),
        ("1,\n", "1:3", "\"\""),
    ] {
        let error = PointsFile::parse("points.csv", text).unwrap_err();
        let message = error.to_string();
        let start = format!("points.csv:{place}: ");
        assert!(
            message.starts_with(&start) && message.contains(what),
            "{message}"
        );
    }
}

#[test]
fn a_file_that_is_not_there_is_an_error_that_names_it() {
    let error = PointsFile::read("no/such/points.csv").unwrap_err();
    assert!(
        error.to_string().starts_with("no/such/points.csv: "),
        "{error}"
    );
}

/// A file of its own for a test, which is to remove it.
fn file_with(name: &str, bytes: &[u8]) -> std::path::PathBuf {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn points_that_are_no_text_are_refused_where_the_text_ends() {
    let path = file_with(
        "points-no-text.csv",
        &["x,y,ä\n1,2,ä\n3,ää,".as_bytes(), &[0xff, b'\n']].concat(),
    );
    let error = PointsFile::read(&path).unwrap_err();
    let SpawnError::File { line, column, .. } = error else {
        panic!("{error}");
    };
    assert_eq!((line, column), (3, 6));
    assert!(error.to_string().ends_with(":3:6: is not UTF-8"), "{error}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_is_no_file_is_not_opened_for_points() {
    let paths = match cfg!(unix) {
        true => &[env!("CARGO_TARGET_TMPDIR"), "/dev/null"][..],
        false => &[env!("CARGO_TARGET_TMPDIR")],
    };
    for path in paths {
        let error = PointsFile::read(path).unwrap_err();
        assert_eq!(error.to_string(), format!("{path}: is not a file"));
        // Nobody is told it twice.
        assert!(std::error::Error::source(&error).is_none());
    }
}

#[test]
fn a_file_that_is_longer_than_points_can_be_is_not_read() {
    let path = file_with("points-too-long.csv", b"");
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    // It has a length, and takes no room.
    file.set_len((256 << 20) + 1).unwrap();
    let error = PointsFile::read(&path).unwrap_err().to_string();
    std::fs::remove_file(path).unwrap();
    let expected = "is longer than 268435456 bytes, which is the limit for points";
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn a_file_with_too_few_points_is_refused_unless_it_cycles() {
    let file = PointsFile::parse("points.csv", "1,0\n2,0\n3,0").unwrap();
    assert!(matches!(
        file.points(4, 0),
        Err(SpawnError::NoRoom {
            possible: 3,
            wanted: 4,
            ..
        })
    ));
    let round = points(&file.cycle(), 7, 0);
    let xs: Vec<f32> = round.iter().map(|point| point.position[0]).collect();
    assert_eq!(xs, [1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0]);
    let empty = PointsFile::parse("points.csv", "x,y\n").unwrap();
    assert!(empty.is_empty());
    assert!(empty.points(0, 0).is_ok());
    assert!(matches!(
        empty.cycle().points(1, 0),
        Err(SpawnError::NoRoom { possible: 0, .. })
    ));
}
