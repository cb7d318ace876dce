//! `Phase`: which part of a frame a processor runs in.

use core::fmt;

/// A part of a frame. Phases follow each other; commands are flushed after each.
///
/// Source: Unreal Mass' processing phases, round the physics of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(alias = "EMassProcessingPhase")]
pub enum Phase {
    /// Before all: input, what the host has changed.
    #[default]
    PrePhysics,
    /// When the physics begin.
    StartPhysics,
    /// Beside the physics.
    DuringPhysics,
    /// When the physics end.
    EndPhysics,
    /// After the physics: what the host is to see.
    PostPhysics,
    /// After all.
    FrameEnd,
}

impl Phase {
    /// All, in order.
    pub const ALL: &'static [Self] = &[
        Self::PrePhysics,
        Self::StartPhysics,
        Self::DuringPhysics,
        Self::EndPhysics,
        Self::PostPhysics,
        Self::FrameEnd,
    ];

    /// The one of this number, from 0 on.
    pub(crate) fn numbered(number: u8) -> Self {
        Self::ALL[usize::from(number)]
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PrePhysics => "PrePhysics",
            Self::StartPhysics => "StartPhysics",
            Self::DuringPhysics => "DuringPhysics",
            Self::EndPhysics => "EndPhysics",
            Self::PostPhysics => "PostPhysics",
            Self::FrameEnd => "FrameEnd",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
