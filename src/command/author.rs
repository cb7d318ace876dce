//! `Author`: who recorded a command. Nothing is kept for it beside a command: it is found, when somebody is to be told, by
//! the rank of its recorder.

use core::fmt;
use core::ops::Range;
use std::sync::Arc;

use crate::command::precedence::{Kind, Precedence};
use crate::command::queue::Queue;
use crate::world::World;

/// Who recorded a command, as far as that is known: from a [`FlushReport`](super::FlushReport). It is the same for any
/// number of threads that apply, and a clone costs O(1).
///
/// ```
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
    /// A processor of the schedule that has run last, by its name. An exclusive one is also the author of what others
    /// record, who have the world neither from it nor from its schedule, as long as it runs.
    Processor(Arc<str>),
    /// Somebody who was no processor: a recorder that the program opened before the flush.
    #[default]
    Outside,
    /// A closure or an observer that the flush has called, or a `drop`; or another thread, which has opened its recorder
    /// while the flush was at work.
    Flush,
    /// It was recorded before another flush, which has left it, and who has done so is not known any more.
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

/// Names of processors by their ranks; empty where a rank is nobody's.
pub(crate) type RankNames = Arc<[Arc<str>]>;

/// Whose the ranks are of what is recorded for a world.
#[derive(Debug)]
pub(crate) struct Ranks {
    /// Those of the schedule that has run last.
    names: Option<RankNames>,
    /// Something is left that has ranks of another one.
    mixed: bool,
    /// The rank of the processor that has the world to itself, or had it last, or [`Precedence::OUTSIDE`].
    alone: u32,
    /// The numbers of the recorders that were opened meanwhile.
    opened: Range<u64>,
}

impl Default for Ranks {
    fn default() -> Self {
        Self {
            names: None,
            mixed: false,
            alone: Precedence::OUTSIDE,
            opened: 0..0,
        }
    }
}

impl Ranks {
    fn name(&self, rank: u32) -> Option<Author> {
        let name = self.names.as_ref()?.get(rank as usize)?;
        (!name.is_empty()).then(|| Author::Processor(Arc::clone(name)))
    }

    /// Who opened a recorder; `began` is the lowest number of those that were opened after the flush began.
    #[cold]
    pub(super) fn author(&self, precedence: Precedence, began: u64) -> Author {
        let Precedence { kind, rank, .. } = precedence;
        let known = match (kind, rank) {
            (Kind::Carried, _) | (Kind::Left, Precedence::OUTSIDE) => None,
            (Kind::Left, _) if self.mixed => None,
            (Kind::Fresh, Precedence::OUTSIDE) if precedence.number >= began => Some(Author::Flush),
            (Kind::Fresh, Precedence::OUTSIDE) => {
                let is_of_one = self.opened.contains(&precedence.number);
                let alone = is_of_one.then(|| self.name(self.alone)).flatten();
                Some(alone.unwrap_or(Author::Outside))
            }
            (_, rank) => self.name(rank),
        };
        known.unwrap_or(Author::Earlier)
    }
}

impl World {
    /// A schedule runs whose processors have these names, by their ranks: what is recorded from now on has the ranks of that.
    #[inline]
    pub(crate) fn set_ranks(&mut self, names: &RankNames) {
        self.ranks.alone = Precedence::OUTSIDE;
        let known = self.ranks.names.as_ref();
        if self.ranks.mixed || !known.is_some_and(|known| Arc::ptr_eq(known, names)) {
            self.replace_ranks(names);
        }
    }

    /// The processor of this rank has the world to itself; what [`end_alone`](Self::end_alone) is told.
    pub(crate) fn begin_alone(&mut self, rank: u32) -> (u32, u64) {
        let first = self.next_recorder();
        self.ranks.alone = rank;
        self.ranks.opened = first..u64::MAX;
        (rank, first)
    }

    /// It has no more; what it has recorded may wait for the next flush. It may have run another schedule, which has other
    /// ranks.
    pub(crate) fn end_alone(&mut self, names: &RankNames, (rank, first): (u32, u64)) {
        self.set_ranks(names);
        self.ranks.alone = rank;
        self.ranks.opened = first..self.next_recorder();
    }

    /// The number of the recorder that is opened next.
    fn next_recorder(&self) -> u64 {
        let queue = self.attached.get::<Arc<Queue>>();
        queue.map_or(0, |queue| queue.recorders.next_number())
    }

    #[cold]
    fn replace_ranks(&mut self, names: &RankNames) {
        self.ranks.mixed = self.ranks.names.is_some() && !self.is_flushed();
        self.ranks.names = Some(Arc::clone(names));
    }
}
