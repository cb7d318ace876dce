//! An observer that came late is shown who is there.

use crate::command::ParallelCommands;
use crate::observer::observers::{Observers, Spans};
use crate::observer::{Observed, ObservedBatch, ObserverId};
use crate::panics::{note, resume};
use crate::world::World;

impl World {
    /// Shows an observer of [`CREATE`](Observed::CREATE) all entities that are there, as if they had just been created, in
    /// one batch: who came before it did, by a [load](Self::load) for instance, of which no observer hears. How many that
    /// are: none if it has gone, or observes neither what is created nor what is set. One of [`SET`](Observed::SET) is shown them, too, as
    /// if they had just been given their values; one of both in two batches, and they are counted once.
    ///
    /// What it records runs with the next [flush](Self::flush). What it has been shown before it is shown again. O(entities'
    /// chunks), and what the observer takes.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// #[derive(Default)]
    /// struct Drawn(Vec<Entity>);
    ///
    /// let mut world = World::new();
    /// world.resources_mut().insert(Drawn::default());
    /// let early = world.create(("tree",))?;
    /// let draw = world.observe::<&str, ()>(Observed::CREATE, |batch, _| {
    ///     let new: Vec<Entity> = batch.entities().collect();
    ///     batch.resources_mut().get_mut::<Drawn>().expect("it was put there").0.extend(new);
    /// })?;
    /// assert_eq!(world.show_existing(draw), 1);
    /// let late = world.create(("bush",))?;
    /// assert_eq!(world.resources().get::<Drawn>().expect("it was put there").0, [early, late]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Source: flecs, whose observers can be shown what exists.
    ///
    /// # Panics
    /// If the observer panics.
    #[doc(alias = "yield_existing")]
    pub fn show_existing(&mut self, observer: ObserverId) -> usize {
        let (mut shown, mut panicked) = (0, None);
        self.with_watcher(|world, observers: &mut Observers| {
            let Some(observer) = observers.find(observer) else {
                return;
            };
            let mut rows = Vec::new();
            for having in world.having.of(observer.fragment) {
                world.all_rows(having.archetype, &mut rows);
            }
            let mut spans = Spans::new();
            for kind in [Observed::CREATE, Observed::SET] {
                if !observer.observed.contains(kind) {
                    continue;
                }
                // Anew: it may have switched fragments that it asks for.
                observer.spans(world, &rows, &mut spans);
                if spans.is_empty() {
                    continue;
                }
                let recorders = ParallelCommands::of_one(world);
                let mut commands = recorders.open();
                // SAFETY: all rows of chunks, which hold values, each once, in the order of archetypes; spans are parts of
                // them.
                let mut batch = unsafe { ObservedBatch::new(world, &spans, kind) };
                shown = shown.max(batch.len());
                note(&mut panicked, || observer.call(&mut batch, &mut commands));
            }
        });
        resume(panicked);
        shown
    }
}
