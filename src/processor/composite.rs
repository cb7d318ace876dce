//! `Composite`: processors that are added together.

use crate::processor::{Phase, ProcessorBuilder, Schedule, Target};

/// Processors that are added together, and make a group of the composite's name: who is ordered against that is
/// ordered against all of them. Within it they have their own order, phases and groups below it.
///
/// ```
/// use megachunk::prelude::*;
/// use megachunk::processor::Composite;
///
/// let mut world = World::new();
/// world.resources_mut().insert(Vec::<&str>::new());
/// let say = |word: &'static str| processor(word, move |said: &mut Vec<&str>| said.push(word));
/// let mut schedule = Schedule::new();
/// schedule.add(say("last").after("Physics"));
/// schedule.add_composite(Composite::new("Physics", [say("collide"), say("solve"), say("integrate")]).in_sequence());
/// schedule.run(&mut world)?;
/// assert_eq!(world.resources().get::<Vec<&str>>().unwrap()[..], ["collide", "solve", "integrate", "last"]);
/// # Ok::<(), ScheduleError>(())
/// ```
///
/// Source: Unreal Mass' composite processors.
#[derive(Debug)]
#[must_use = "its processors run when it is added to a schedule"]
#[doc(alias = "UMassCompositeProcessor")]
#[doc(alias = "plugin")]
pub struct Composite {
    name: String,
    children: Vec<ProcessorBuilder>,
    before: Vec<Target>,
    after: Vec<Target>,
}

impl Composite {
    /// Processors that make a group of this name, which can be a path.
    pub fn new(
        name: impl Into<String>,
        children: impl IntoIterator<Item = ProcessorBuilder>,
    ) -> Self {
        let name = name.into();
        let children = children.into_iter().map(|mut child| {
            child.group = match &*child.group {
                "" => name.clone(),
                group => format!("{name}.{group}"),
            };
            child
        });
        Self {
            children: children.collect(),
            name,
            before: Vec::new(),
            after: Vec::new(),
        }
    }

    /// Each runs after the one that was named before it.
    pub fn in_sequence(mut self) -> Self {
        for at in 1..self.children.len() {
            let before = self.children[at - 1].name.clone();
            self.children[at].after.push(before.into());
        }
        self
    }

    /// All run in this phase.
    pub fn phase(mut self, phase: Phase) -> Self {
        for child in &mut self.children {
            child.phase = phase;
        }
        self
    }

    /// All run before a processor or a group.
    pub fn before(mut self, target: impl Into<Target>) -> Self {
        self.before.push(target.into());
        self
    }

    /// All run after a processor or a group.
    pub fn after(mut self, target: impl Into<Target>) -> Self {
        self.after.push(target.into());
        self
    }
}

impl Schedule {
    /// Adds the processors of a composite.
    pub fn add_composite(&mut self, composite: Composite) -> &mut Self {
        let mut group = Target::from(composite.name);
        if composite.children.is_empty() {
            group = group.optional();
        }
        for child in composite.children {
            self.add(child);
        }
        self.order_group(group, composite.before, composite.after)
    }
}
