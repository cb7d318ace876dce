//! Pictures of a schedule.

use crate::processor::member::Mode;
use crate::processor::picture::{Picture, to_dot, to_svg};
use crate::processor::plan::node;
use crate::processor::{Phase, Schedule};
use crate::world::World;

impl Schedule {
    /// The solved order for Graphviz: phases and groups as clusters, what was asked for as lines, what must not
    /// overlap as dashed ones with the reason; grey what was passed by in the last run, also because a
    /// [condition](super::ProcessorBuilder::run_if) did not hold. Empty if the schedule was not [solved](Self::solve) for this world.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Position(f32);
    ///
    /// let mut world = World::new();
    /// world.create((Position(0.0),))?;
    /// let mut schedule = Schedule::new();
    /// schedule.add(processor("move", |_: QueryRun<&mut Position>| {}));
    /// schedule.add(processor("draw", |_: QueryRun<&Position>| {}));
    /// schedule.solve(&mut world)?;
    /// assert!(schedule.to_dot(&world).starts_with("digraph"));
    /// assert!(schedule.to_svg(&world).contains("Position"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_dot(&self, world: &World) -> String {
        self.picture(world)
            .map_or_else(String::new, |picture| to_dot(&picture))
    }

    /// Draws the solved order in SVG: what [`to_dot`](Self::to_dot) shows, without Graphviz.
    #[must_use]
    pub fn to_svg(&self, world: &World) -> String {
        self.picture(world)
            .map_or_else(String::new, |picture| to_svg(&picture))
    }

    fn picture(&self, world: &World) -> Option<Picture> {
        // Another world would call what they touch by other names.
        let own = matches!(self.is_of(world), Ok(true));
        let plan = self.plan.as_ref().filter(|_| own)?;
        let nodes: Vec<_> = self.entries.iter().map(node).collect();
        Some(Picture::new(
            "schedule",
            (&nodes, &plan.order),
            &plan.conflicts,
            &|phase| Phase::numbered(phase).name(),
            world.registry(),
            &|at| {
                let entry = &self.entries[at];
                let position = plan.order.position_of(at);
                let mode = entry.mode(self.net_modes, plan.conflicts.sees_any(position));
                mode == Mode::Idle || self.crew[at].held().is_some()
            },
        ))
    }
}
