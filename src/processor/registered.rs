//! Processors that register themselves where they are written.

pub use inventory;

use crate::processor::{ProcessorBuilder, Schedule};

/// A processor that registers itself: from [`register_processor!`](crate::register_processor).
#[derive(Debug)]
pub struct Registered {
    /// Makes it.
    pub make: fn() -> ProcessorBuilder,
}

inventory::collect!(Registered);

/// Registers a processor where it is written:
/// [`Schedule::registered`](crate::processor::Schedule::registered) has all that are registered in
/// the program and its libraries. Feature `inventory`.
///
/// ```
/// use megachunk::prelude::*;
/// use megachunk::register_processor;
///
/// struct Age(u32);
///
/// register_processor!(processor("age", |mut ages: QueryRun<&mut Age>| ages.for_each(|age| age.0 += 1)));
///
/// let mut world = World::new();
/// let ant = world.create((Age(0),))?;
/// let mut schedule = Schedule::registered();
/// schedule.run(&mut world)?;
/// assert_eq!(world.get::<Age>(ant)?.0, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// What is registered stays so until the process ends: a library that does it must not be unloaded
/// ([hot reload](crate::guide#hot-reload)).
///
/// Sources: Unreal Mass' auto-registration; the crate `inventory`.
#[macro_export]
macro_rules! register_processor {
    ($processor:expr) => {
        $crate::processor::registered::inventory::submit! {
            $crate::processor::registered::Registered { make: || $processor }
        }
    };
}

impl Schedule {
    /// A schedule with all processors that [register themselves](crate::register_processor), sorted by their names:
    /// the same for the same program, whatever the order in which it was linked. Feature `inventory`.
    #[must_use]
    pub fn registered() -> Self {
        let all = inventory::iter::<Registered>();
        let mut all: Vec<_> = all.map(|registered| (registered.make)()).collect();
        all.sort_by(|a, b| a.name().cmp(b.name()));
        let mut schedule = Self::new();
        for processor in all {
            schedule.add(processor);
        }
        schedule
    }
}
