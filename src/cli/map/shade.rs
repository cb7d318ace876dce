//! Shades: how full a cell is, as a character, as a terminal's colour and as an SVG colour.

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
    pub(super) const fn svg(self) -> Option<&'static str> {
        match self {
            Self::Untouched => None,
            Self::Empty => Some("#e9e6ee"),
            Self::Eighths(eighths) => Some(RAMP[eighths as usize - 1].0),
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

/// A cell of the terminal's picture.
pub(super) fn cell(shade: Shade, colour: bool) -> String {
    match shade {
        Shade::Untouched => " ".to_owned(),
        Shade::Empty => "·".to_owned(),
        Shade::Eighths(eighths) => {
            let (_, code, shape) = RAMP[eighths as usize - 1];
            if colour {
                format!("\x1b[38;5;{code}m█\x1b[0m")
            } else {
                shape.to_string()
            }
        }
    }
}

/// What the cells mean.
pub(super) fn legend(colour: bool) -> String {
    let ramp: String = (1..=8)
        .map(|eighths| cell(Shade::Eighths(eighths), colour))
        .collect();
    format!("· nothing alive, {ramp} few to all alive")
}

/// Runs by length: the longest of the kind, the SVG colour, a terminal's colour, a character.
pub(super) const RUNS: [(u8, &str, u8, char); 4] = [
    (1, "#8fb8de", 110, '▖'),
    (8, "#4c86b8", 67, '▒'),
    (32, "#2a5a8c", 25, '▓'),
    (64, "#12305a", 17, '█'),
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
    let (_, _, code, shape) = RUNS[run_kind(len)];
    if colour {
        format!("\x1b[38;5;{code}m█\x1b[0m")
    } else {
        shape.to_string()
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

    #[test]
    fn every_length_of_run_has_a_kind() {
        let kinds: Vec<usize> = [1, 2, 8, 9, 32, 33, 64].map(run_kind).to_vec();
        assert_eq!(kinds, [0, 1, 1, 2, 2, 3, 3]);
    }
}
