//! Shades: how full a cell is, as a character, as a terminal's colour and as an SVG colour.

use core::fmt;

/// How full a cell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shade {
    /// No id of it was ever handed out.
    Untouched,
    /// Nothing alive, but there was.
    Empty,
    /// 1 to 8 eighths, rounded up, but 8 only where all is alive.
    Eighths(u8),
}

impl Shade {
    /// `live` of `slots` are alive.
    pub(super) fn of(live: Option<u32>, slots: usize) -> Self {
        match live.map(|live| live as usize) {
            None => Self::Untouched,
            Some(0) => Self::Empty,
            Some(live) if live >= slots => Self::Eighths(8),
            Some(live) => Self::Eighths((live * 8).div_ceil(slots).min(7) as u8),
        }
    }

    /// The colour in an SVG; `None` is not drawn.
    pub(super) const fn svg(self) -> Option<Fill> {
        match self {
            Self::Untouched => None,
            Self::Empty => Some(Fill::Hollow),
            Self::Eighths(eighths) => Some(Fill::Colour(RAMP[eighths as usize - 1].0)),
        }
    }
}

/// How a rectangle of an SVG is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    Colour(&'static str),
    /// Not at all: a rim alone, which no colour is as light as.
    Hollow,
}

impl Fill {
    /// A rectangle as the part of a path; a rim lies in it.
    pub(super) fn rectangle(self, [x, y]: [usize; 2], [width, height]: [usize; 2]) -> String {
        match self {
            Self::Colour(_) => format!("M{x} {y}h{width}v{height}h-{width}z"),
            Self::Hollow => {
                let (width, height) = (width.saturating_sub(1), height.saturating_sub(1));
                format!("M{x}.5 {y}.5h{width}v{height}h-{width}z")
            }
        }
    }
}

/// As attributes of the path.
impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Colour(colour) => write!(f, "fill=\"{colour}\""),
            Self::Hollow => f.write_str("fill=\"none\" stroke=\"#807a8c\""),
        }
    }
}

/// From sparse to full: the SVG colour, the nearest of a terminal's 256, and a character that
/// shows it without colour. Lightness alone orders them, so that everybody can tell them apart.
const RAMP: [(&str, u8, char); 8] = [
    ("#fde3a7", 223, '.'),
    ("#fcc981", 222, ':'),
    ("#f8a765", 215, '░'),
    ("#ee8254", 209, '░'),
    ("#d75d55", 167, '▒'),
    ("#b0405f", 131, '▒'),
    ("#7f2a66", 89, '▓'),
    ("#3f1654", 53, '█'),
];

/// A character on a colour, in ink that is read on it whatever the terminal's own ground is.
fn coloured(code: u8, character: char) -> String {
    let ink = match code {
        17 | 25 | 53 | 89 => 231,
        _ => 16,
    };
    format!("\x1b[48;5;{code};38;5;{ink}m{character}\x1b[0m")
}

/// A cell of the terminal's picture: in colours the number of its eighths, which says it without them.
pub(super) fn cell(shade: Shade, colour: bool) -> String {
    match shade {
        Shade::Untouched => " ".to_owned(),
        Shade::Empty => "·".to_owned(),
        Shade::Eighths(eighths) => {
            let (_, code, shape) = RAMP[eighths as usize - 1];
            match colour {
                true => coloured(code, char::from(b'0' + eighths)),
                false => shape.to_string(),
            }
        }
    }
}

/// What the cells mean.
pub(super) fn legend(colour: bool) -> String {
    let ramp: String = (1..=8)
        .map(|eighths| cell(Shade::Eighths(eighths), colour))
        .collect();
    match colour {
        true => format!("· nothing alive, {ramp} so many eighths alive, 8 all"),
        false => format!("· nothing alive, {ramp} few to all alive"),
    }
}

/// Runs by length: the longest of the kind, the SVG colour, a terminal's colour and what stands on it, a character that
/// shows it without colour.
pub(super) const RUNS: [(u8, &str, u8, char, char); 4] = [
    (1, "#8fb8de", 110, '.', '▖'),
    (8, "#4c86b8", 67, ':', '▒'),
    (32, "#2a5a8c", 25, '+', '▓'),
    (64, "#12305a", 17, '#', '█'),
];

/// Which of [`RUNS`] a run of `len` chunks is.
pub(super) fn run_kind(len: u8) -> usize {
    RUNS.iter()
        .position(|&(longest, ..)| len <= longest)
        .unwrap_or(RUNS.len() - 1)
}

/// A chunk in a run of `len` chunks in the terminal's picture; 0 is a free one.
pub(super) fn chunk(len: u8, colour: bool) -> String {
    if len == 0 {
        return "·".to_owned();
    }
    let (_, _, code, on_colour, shape) = RUNS[run_kind(len)];
    match colour {
        true => coloured(code, on_colour),
        false => shape.to_string(),
    }
}

/// What the chunks' characters mean.
pub(super) fn run_legend(colour: bool) -> String {
    let kinds = RUNS.map(|(longest, ..)| format!("{} up to {longest}", chunk(longest, colour)));
    format!("· free, in a run of {}", kinds.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_all_alive_is_darkest_and_only_what_is_all_dead_is_empty() {
        assert_eq!(Shade::of(None, 64), Shade::Untouched);
        assert_eq!(Shade::of(Some(0), 64), Shade::Empty);
        assert_eq!(Shade::of(Some(1), 8_192), Shade::Eighths(1));
        assert_eq!(Shade::of(Some(63), 64), Shade::Eighths(7));
        assert_eq!(Shade::of(Some(64), 64), Shade::Eighths(8));
        assert_eq!(Shade::of(Some(1), 1), Shade::Eighths(8));
    }

    /// A text without what sets colours.
    fn without_escapes(text: &str) -> String {
        let mut pieces = text.split('\x1b');
        let first = pieces.next().unwrap_or_default().to_owned();
        let rest = pieces.map(|piece| piece.split_once('m').map_or(piece, |(_, rest)| rest));
        first + &rest.collect::<String>()
    }

    /// Every kind of cell there is in colours, and every kind of chunk.
    fn kinds() -> [Vec<String>; 2] {
        let shades = (1..=8).map(Shade::Eighths);
        let shades = [Shade::Untouched, Shade::Empty].into_iter().chain(shades);
        let runs = RUNS.iter().map(|&(longest, ..)| longest);
        [
            shades.map(|shade| cell(shade, true)).collect(),
            std::iter::once(0)
                .chain(runs)
                .map(|len| chunk(len, true))
                .collect(),
        ]
    }

    #[test]
    fn a_coloured_picture_says_the_same_to_who_sees_no_colours() {
        for kinds in kinds() {
            let mut bare: Vec<String> = kinds.iter().map(|kind| without_escapes(kind)).collect();
            assert!(bare.iter().all(|one| one.chars().count() == 1), "{bare:?}");
            bare.sort();
            bare.dedup();
            assert_eq!(bare.len(), kinds.len(), "{bare:?}");
        }
    }

    /// How bright one of a terminal's 256 colours is, from 0 to 1, as the WCAG measure it.
    fn luminance(code: u8) -> f64 {
        let steps = [0.0, 95.0, 135.0, 175.0, 215.0, 255.0];
        let part = |of: u8| {
            let part = steps[usize::from(of % 6)] / 255.0;
            match part {
                0.0..=0.03928 => part / 12.92,
                _ => f64::powf((part + 0.055) / 1.055, 2.4),
            }
        };
        let code = code - 16;
        0.2126 * part(code / 36) + 0.7152 * part(code / 6) + 0.0722 * part(code)
    }

    #[test]
    fn what_is_written_on_a_colour_is_read_whatever_the_terminals_own_is() {
        let coloured = kinds()
            .into_iter()
            .flatten()
            .filter(|kind| kind.contains('\x1b'));
        let mut count = 0;
        for kind in coloured {
            let codes = kind
                .split(['[', ';', 'm'])
                .filter_map(|part| part.parse().ok());
            let codes: Vec<u8> = codes.collect();
            let [48, 5, ground, 38, 5, ink, 0] = codes[..] else {
                panic!("{kind:?}: no ground and ink");
            };
            let (one, two) = (luminance(ground), luminance(ink));
            let contrast = (one.max(two) + 0.05) / (one.min(two) + 0.05);
            assert!(contrast >= 4.5, "{kind:?}: {contrast:.2}");
            count += 1;
        }
        assert_eq!(count, 12);
    }

    #[test]
    fn legends_tell_what_the_characters_are() {
        let legend = without_escapes(&legend(true));
        assert!(legend.contains("12345678"), "{legend}");
        let runs = without_escapes(&run_legend(true));
        for kind in &kinds()[1] {
            assert!(runs.contains(&without_escapes(kind)), "{runs}");
        }
    }

    #[test]
    fn what_is_empty_is_hollow_in_an_svg() {
        let svg = |shade: Shade| shade.svg().map(|svg| svg.to_string());
        assert_eq!(svg(Shade::Untouched), None);
        assert!(
            svg(Shade::Empty)
                .unwrap()
                .starts_with("fill=\"none\" stroke=")
        );
        let full = Shade::Eighths(8).svg().unwrap();
        assert_eq!(full.rectangle([3, 4], [8, 7]), "M3 4h8v7h-8z");
        assert_eq!(Fill::Hollow.rectangle([3, 4], [8, 7]), "M3.5 4.5h7v6h-7z");
    }

    #[test]
    fn every_length_of_run_has_a_kind() {
        let kinds: Vec<usize> = [1, 2, 8, 9, 32, 33, 64].map(run_kind).to_vec();
        assert_eq!(kinds, [0, 1, 1, 2, 2, 3, 3]);
    }
}
