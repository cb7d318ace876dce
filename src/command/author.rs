//! `Author`: who recorded a command. Nothing is kept for it beside a command: it is found, when somebody is to be told, by
//! what its recorder says of who opened it.

use core::fmt;
use std::sync::Arc;

use crate::command::precedence::{Kind, Precedence, Source};
use crate::sync::atomic::{AtomicU32, Ordering};

/// Who recorded a command, as far as that is known: from a [`FlushReport`](super::FlushReport). It is the same for any
/// number of threads that apply, and a clone costs O(1).
///
/// ```
/// use megachunk::command::Author;
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// let boar = world.create((1_u32,))?;
/// world.commands().destroy(boar);
/// world.commands().destroy(boar);
/// let mut schedule = Schedule::new();
/// schedule.add(processor("feed", move |mut commands: Commands| commands.set(boar, 2_u32)));
/// let report = schedule.run(&mut world)?.flush;
/// assert_eq!(report.first_dead[0].by, Author::Processor("feed".into()));
/// assert!(report.to_string().contains("recorded by processor `feed`"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Author {
    /// A processor, by its name: its own recorders, or, of an exclusive one, recorders of the world that was lent to it.
    /// Also when it has kept a [`ParallelCommands`](super::ParallelCommands) and has that record later, as long as no
    /// more than seven other schedules have run on the world since; one to which processors were added, or of which some
    /// were removed, is another one. (An exclusive processor that gives the world away whole, and leaves another in its
    /// place, is the author of what the world's own recorders record there, but while another has it.)
    Processor(Arc<str>),
    /// Somebody who was no processor: a recorder that the program opened before the flush.
    #[default]
    Outside,
    /// A closure or an observer that the flush has called, or a `drop`; or another thread, which has opened its recorder
    /// while the flush was at work.
    Flush,
    /// It was recorded before another flush, which has left it, or for a schedule that ran long ago, and who has done so is
    /// not known any more.
    Earlier,
    /// Several, whose commands for one entity have become one change: in the order of their first ones, each once.
    Several(Arc<[Self]>),
}

impl Author {
    /// One or several of them, each once.
    pub(super) fn of_all(mut all: Vec<Self>) -> Self {
        match all.len() {
            0 => Self::default(),
            1 => all.swap_remove(0),
            _ => Self::Several(all.into()),
        }
    }
}

/// As it is read after "recorded".
impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Processor(name) => write!(f, "by processor `{name}`"),
            Self::Outside => f.write_str("outside of a run"),
            Self::Flush => f.write_str("while the flush was at work"),
            Self::Earlier => f.write_str("before an earlier flush"),
            Self::Several(all) => {
                for (at, author) in all.iter().enumerate() {
                    let and = if at > 0 { ", " } else { "" };
                    write!(f, "{and}{author}")?;
                }
                Ok(())
            }
        }
    }
}

/// The processors of a plan, by their ranks; who records for one of them says which plan by its number.
#[derive(Debug)]
pub(crate) struct RankNames {
    /// Not 0.
    number: u32,
    /// Empty where a rank is nobody's.
    names: Box<[Arc<str>]>,
}

impl RankNames {
    /// Those of a new plan.
    pub(crate) fn new(names: impl Iterator<Item = Arc<str>>) -> Arc<Self> {
        /// The number of the next plan.
        static NEXT: AtomicU32 = AtomicU32::new(1);
        Arc::new(Self {
            // Ordering: Relaxed: only that two which a world knows at one time have different ones matters.
            number: NEXT.fetch_add(1, Ordering::Relaxed).max(1),
            names: names.collect(),
        })
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }
}

/// Plans whose names a world knows at most. Of others that have left something it is told that it is of earlier.
const KNOWN: usize = 8;

/// Who records for a world.
#[derive(Debug)]
pub(crate) struct Ranks {
    /// The plans of schedules that have run last, the last one last.
    known: Vec<Arc<RankNames>>,
    /// The processor that has the world to itself, if there is one.
    alone: Source,
}

impl Default for Ranks {
    fn default() -> Self {
        Self {
            known: Vec::new(),
            alone: Source::OUTSIDE,
        }
    }
}

impl Ranks {
    /// A schedule runs that has these names.
    #[inline]
    pub(crate) fn know(&mut self, names: &Arc<RankNames>) {
        let last = self.known.last();
        if !last.is_some_and(|last| Arc::ptr_eq(last, names)) {
            self.know_anew(names);
        }
    }

    #[cold]
    fn know_anew(&mut self, names: &Arc<RankNames>) {
        self.known.retain(|known| !Arc::ptr_eq(known, names));
        if self.known.len() == KNOWN {
            self.known.remove(0);
        }
        self.known.push(Arc::clone(names));
    }

    /// The processor that has the world to itself: who opens recorders of the world.
    #[inline(always)]
    pub(crate) fn alone(&self) -> Source {
        self.alone
    }

    /// A processor has the world to itself from now on, or nobody; who had it before.
    pub(crate) fn set_alone(&mut self, source: Source) -> Source {
        core::mem::replace(&mut self.alone, source)
    }

    fn name(&self, source: Source) -> Option<Author> {
        let mut known = self.known.iter().rev();
        let plan = known.find(|known| known.number == source.plan)?;
        let name = plan.names.get(source.rank as usize)?;
        (!name.is_empty()).then(|| Author::Processor(Arc::clone(name)))
    }

    /// Who opened a recorder; `began` is the lowest number of those that were opened after the flush began.
    #[cold]
    pub(super) fn author(&self, precedence: Precedence, began: u64) -> Author {
        let is_outside = precedence.rank == Precedence::OUTSIDE;
        let known = match (precedence.kind, precedence.source) {
            (Kind::Carried, _) => None,
            (Kind::Fresh, _) if is_outside && precedence.number >= began => Some(Author::Flush),
            (Kind::Fresh, Source::OUTSIDE) => Some(Author::Outside),
            (Kind::Left, Source::OUTSIDE) => None,
            (_, source) => self.name(source),
        };
        known.unwrap_or(Author::Earlier)
    }
}
