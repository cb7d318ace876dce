//! `Store`: for whom the program is written.

use std::path::Path;

/// An entity component store that a user may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Store {
    /// This crate.
    Megachunk,
    /// `hecs`.
    Hecs,
    /// `bevy_ecs`.
    #[value(name = "bevy_ecs")]
    Bevy,
}

impl Store {
    /// All of them.
    pub(super) const ALL: [Self; 3] = [Self::Megachunk, Self::Hecs, Self::Bevy];

    /// Its package's name.
    #[must_use]
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Megachunk => "megachunk",
            Self::Hecs => "hecs",
            Self::Bevy => "bevy_ecs",
        }
    }

    /// The line of a `Cargo.toml` that asks for it: this repository's, in `root`, or the version of its `Cargo.lock`.
    pub(super) fn dependency(self, root: &Path, version: &str) -> String {
        match self {
            // Quoted as TOML does it, which a debug string does too, but for what no path has.
            Self::Megachunk => format!("megachunk = {{ path = {:?} }}", root.display().to_string()),
            Self::Hecs => format!("hecs = \"={version}\""),
            // As it is measured by `ecs`.
            Self::Bevy => format!(
                "bevy_ecs = {{ version = \"={version}\", default-features = false, features = [\"multi_threaded\", \"std\"] }}"
            ),
        }
    }
}
