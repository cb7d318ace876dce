//! The page: everything that a browser needs to play a run, in one file.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::super::args::FRAMES;
use super::super::frame::{FAR, Film, NEAR};
use super::super::run::SHOT;
use super::Scene;
use super::vector::Vector;

/// What stands for "not there".
const NOWHERE: i16 = i16::MIN;

/// The page. Places are 16 bits each, in half pixels.
pub(crate) fn page(scene: &Scene<'_>, film: &Film, title: &str) -> String {
    let frame = scene.frame();
    let mut ground = Vector::new(frame);
    scene.paint_ground(&mut ground);
    let ground = STANDARD.encode(ground.finish());
    let half = |at: [f32; 2]| frame.place(at).map(|pixels| (pixels * 2.0).round() as i16);
    let mut places = Vec::with_capacity(film.shots.len() * film.cars.len() * 4);
    for shot in &film.shots {
        for actor in 0..film.cars.len() {
            let at = shot.get(actor).copied().flatten();
            for axis in at.map_or([NOWHERE; 2], half) {
                places.extend_from_slice(&axis.to_le_bytes());
            }
        }
    }
    let camera: Vec<String> = film
        .camera
        .iter()
        .map(|&at| {
            let [x, y] = frame.place(at);
            format!("[{x:.1},{y:.1}]")
        })
        .collect();
    let cars: Vec<&str> = film
        .cars
        .iter()
        .map(|&car| if car { "1" } else { "0" })
        .collect();
    let [width, height] = frame.size;
    let values = [
        ("TITLE", escape(title)),
        ("WIDTH", width.to_string()),
        ("HEIGHT", height.to_string()),
        ("GROUND", ground),
        ("ACTORS", film.cars.len().to_string()),
        // The number of the last shot: the slider ends there.
        ("LAST", film.shots.len().saturating_sub(1).to_string()),
        ("SECONDS_A_SHOT", (SHOT as f64 / FRAMES).to_string()),
        ("NEAR", (NEAR * frame.scale).to_string()),
        ("FAR", (FAR * frame.scale).to_string()),
        ("CARS", cars.join(",")),
        ("CAMERA", camera.join(",")),
        ("PLACES", STANDARD.encode(places)),
    ];
    filled(include_str!("page.html"), &values)
}

/// `template` with a value for each `@NAME@`. What a value says of names stays as it is.
fn filled(template: &str, values: &[(&str, String)]) -> String {
    let mut page = String::new();
    for (position, piece) in template.split('@').enumerate() {
        let is_name = position % 2 == 1;
        let value = values.iter().find(|(name, _)| is_name && *name == piece);
        page += value.map_or(piece, |(_, value)| value);
    }
    page
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}
