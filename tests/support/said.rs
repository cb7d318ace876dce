//! `Said`: what processors of tests have said, in order: a resource.

use megachunk::prelude::*;
use megachunk::processor::ScheduleReport;

#[derive(Default)]
pub(crate) struct Said(pub(crate) Vec<String>);

/// Says its name.
pub(crate) fn say(name: &str) -> ProcessorBuilder {
    let word = name.to_owned();
    processor(name, move |said: &mut Said| said.0.push(word.clone()))
}

pub(crate) fn world() -> World {
    let mut world = World::new();
    world.resources_mut().insert(Said::default());
    world
}

pub(crate) fn run(schedule: &mut Schedule, world: &mut World) -> ScheduleReport {
    schedule.run(world).expect("the schedule runs")
}

pub(crate) fn said(world: &mut World) -> Vec<String> {
    let said = world.resources_mut().get_mut::<Said>();
    core::mem::take(&mut said.expect("it is there").0)
}
