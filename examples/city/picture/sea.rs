//! The sea: what lies to the right of the coast.

use super::super::map::{Cover, Map};
use super::canvas::Frame;

/// The rim of the sea on a picture, if the coast is one line through it. OpenStreetMap draws coasts with the land
/// to the left; so the sea's rim goes along the coast, and from its end clockwise round the picture.
pub(super) fn sea(map: &Map, frame: &Frame) -> Option<Vec<[f32; 2]>> {
    let mut pieces: Vec<&[[f32; 2]]> = map
        .areas
        .iter()
        .filter(|area| area.cover == Cover::Coast && area.points.len() > 1)
        .map(|area| &area.points[..])
        .collect();
    let mut coast: Vec<[f32; 2]> = pieces.pop()?.to_vec();
    loop {
        let (first, last) = (coast[0], coast[coast.len() - 1]);
        let behind = |piece: &&[[f32; 2]]| piece[0] == last;
        let before = |piece: &&[[f32; 2]]| piece[piece.len() - 1] == first;
        if let Some(at) = pieces.iter().position(behind) {
            coast.extend_from_slice(&pieces.swap_remove(at)[1..]);
        } else if let Some(at) = pieces.iter().position(before) {
            let piece = pieces.swap_remove(at);
            coast.splice(0..1, piece.iter().copied());
        } else {
            break;
        }
    }
    let closed = |piece: &[[f32; 2]]| piece[0] == piece[piece.len() - 1];
    // Islands are no matter; a second coast is.
    if closed(&coast) || pieces.iter().any(|piece| !closed(piece)) {
        return None;
    }
    let mut rim = frame.places(&coast);
    let [width, height] = frame.size.map(|pixels| pixels as f32);
    let corners = [[width, 0.0], [width, height], [0.0, height], [0.0, 0.0]];
    let round = |[x, y]: [f32; 2]| border(x / width, y / height);
    let (from, to) = (round(rim[rim.len() - 1]), round(rim[0]));
    let onto = |way: f32| match way.rem_euclid(4.0) {
        way if way < 1.0 => [way * width, 0.0],
        way if way < 2.0 => [width, (way - 1.0) * height],
        way if way < 3.0 => [(3.0 - way) * width, height],
        way => [0.0, (4.0 - way) * height],
    };
    rim.push(onto(from));
    let begin = onto(to);
    let to = if to <= from { to + 4.0 } else { to };
    // Corners 0 to 3 are at 1, 2, 3, 4 of the way round.
    for corner in 1..=8_u8 {
        if f32::from(corner) > from && f32::from(corner) < to {
            rim.push(corners[usize::from(corner - 1) % 4]);
        }
    }
    rim.push(begin);
    Some(rim)
}

/// How far round the picture its border is that a place (0 to 1, y down) is closest to: clockwise from the upper left
/// corner, a side is 1.
fn border(x: f32, y: f32) -> f32 {
    let sides = [(y, x), (1.0 - x, y + 1.0), (1.0 - y, 3.0 - x), (x, 4.0 - y)];
    let closest = sides.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
    closest.map_or(0.0, |(_, way)| way.rem_euclid(4.0))
}
