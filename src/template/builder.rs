//! `TemplateBuilder`: traits that are put together in code.

use core::any::{TypeId, type_name};
use std::sync::Arc;

use crate::archetype::Universe;
use crate::fragment::{FragmentError, Pile};
use crate::panics::{note, refused, resume, tell};
use crate::template::member::{Member, Members};
use crate::template::parts::{Added, Parts};
use crate::template::{
    BuildContext, EntityTrait, Template, TemplateError, TemplateErrors, TemplateFault,
};
use crate::world::World;

/// Traits that build a [`Template`] together, in their order.
///
/// ```
/// use megachunk::prelude::*;
///
/// #[derive(Clone, Debug, PartialEq)]
/// struct Speed(f32);
/// struct Walk(f32);
/// impl EntityTrait for Walk {
///     fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
///         context.add(Speed(self.0));
///         Ok(())
///     }
/// }
/// let mut world = World::new();
/// let agent = TemplateBuilder::new("agent").with(Walk(1.0));
/// // The child's trait of the same class takes the place of the parent's.
/// let runner = agent.child("runner").with(Walk(3.0)).finish(&world)?;
/// let entity = runner.create(&mut world)?;
/// assert_eq!(world.get::<Speed>(entity)?, &Speed(3.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder builds when it is finished"]
pub struct TemplateBuilder {
    id: Box<str>,
    name: Option<Box<str>>,
    members: Pile<Member>,
    /// Of the traits that are added now.
    depth: usize,
    /// What is wrong with traits by their classes alone.
    faults: Vec<(usize, TemplateFault)>,
}

impl TemplateBuilder {
    /// A builder without traits.
    pub fn new(id: impl Into<Box<str>>) -> Self {
        Self {
            id: id.into(),
            name: None,
            members: Pile::new(),
            depth: 0,
            faults: Vec::new(),
        }
    }

    /// What people call the template; its id unless that is said.
    pub fn name(mut self, name: impl Into<Box<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// A builder that begins with all traits of this one, its parent: see [`with`](Self::with).
    pub fn child(&self, id: impl Into<Box<str>>) -> Self {
        Self {
            id: id.into(),
            name: None,
            members: self.members.clone(),
            depth: self.depth + 1,
            faults: self.faults.clone(),
        }
    }

    /// Adds a trait, whose class is its type's name without the path. It takes the place of the parent's of the same
    /// class; that there are two in one config is a mistake. So is another type of the same name, in another module or
    /// for another closure: [`with_class`](Self::with_class) tells them apart.
    pub fn with<T: EntityTrait>(self, instance: T) -> Self {
        let named_after = Some((TypeId::of::<T>(), type_name::<T>()));
        self.with_instance(short_name::<T>(), named_after, instance)
    }

    /// Adds a trait with a class: what it is called. It takes the place of the parent's of the same class, whatever its
    /// type.
    pub fn with_class<T: EntityTrait>(self, class: &str, instance: T) -> Self {
        self.with_instance(class, None, instance)
    }

    /// The builder, which goes on with the traits of a config that has so many ancestors.
    #[cfg(feature = "config")]
    pub(super) fn at_depth(mut self, depth: usize) -> Self {
        self.depth = depth;
        self
    }

    fn with_instance<T: EntityTrait>(
        self,
        class: &str,
        named_after: Option<(TypeId, &'static str)>,
        instance: T,
    ) -> Self {
        self.with_member(Member {
            class: class.into(),
            named_after,
            instance: Arc::new(instance),
            depth: 0,
            source: None,
        })
    }

    /// Adds a trait, as one of this builder's own.
    pub(super) fn with_member(mut self, mut member: Member) -> Self {
        member.depth = self.depth;
        let mut classes = self.members.iter();
        match classes.position(|other| other.class == member.class) {
            Some(at) => {
                if self.members[at].depth < member.depth {
                    // What is wrong with the parent's goes with it.
                    self.faults.retain(|&(by, _)| by != at);
                }
                let fault = self.members[at].refuses_instead(&member);
                self.faults.extend(fault.map(|fault| (at, fault)));
                self.members[at] = member;
            }
            None => self.members.push(member),
        }
        self
    }

    /// Builds the template, for worlds of this one's universe. O(traits + fragments²).
    ///
    /// # Errors
    /// All that is wrong: what a trait refuses, fragments that are added twice, what is required and not there, what
    /// contradicts, what does not fit in a chunk. Traits that have built hear that there will be no template.
    ///
    /// # Panics
    /// If a trait panics; traits that have built hear that there will be no template. An event of [`tracing`] (an error)
    /// names the trait and the template.
    pub fn finish(&self, world: &World) -> Result<Template, TemplateErrors> {
        self.finish_in(world.universe())
    }

    /// Builds the template, for worlds of this universe.
    ///
    /// # Errors
    /// As for [`finish`](Self::finish).
    ///
    /// # Panics
    /// As for [`finish`](Self::finish).
    pub fn finish_in(&self, universe: &Arc<Universe>) -> Result<Template, TemplateErrors> {
        let (mut built, mut faults) = (Members::default(), self.faults.clone());
        let added = self.build(universe, &mut built, &mut faults);
        if let Err(errors) = self.refuse(faults, depends_on_others) {
            return Err(refused((added, built), errors));
        }
        let name = self.name.clone().unwrap_or_else(|| self.id.clone());
        let template = Template::new(self.id.clone(), name, universe, built, added);
        let template = match template {
            Ok(template) => template,
            Err(error) => unreachable!("the values were looked at one by one: {error}"),
        };
        let mut faults = Vec::new();
        for (by, member) in self.members.iter().enumerate() {
            let done = self.naming(member, || member.instance.validate(&template));
            if let Err(error) = done {
                let class = (*member.class).into();
                faults.push((by, TemplateFault::Refused { class, error }));
            }
        }
        match self.refuse(faults, |_| true) {
            Ok(()) => Ok(template),
            Err(errors) => Err(refused(template, errors)),
        }
    }

    /// Lets all traits build: what they have added, or what is wrong.
    fn build(
        &self,
        universe: &Universe,
        built: &mut Members,
        faults: &mut Vec<(usize, TemplateFault)>,
    ) -> Pile<Added> {
        let parts = Parts::new(universe.registry(), &self.id, &self.members);
        let mut context = BuildContext::new(parts);
        for (by, member) in self.members.iter().enumerate() {
            let done = self.naming(member, || member.instance.build(context.turn_to(by)));
            match done {
                Ok(()) => built.0.push(member.clone()),
                Err(error) => {
                    let class = (*member.class).into();
                    faults.push((by, TemplateFault::Refused { class, error }));
                }
            }
        }
        match context.into_parts().settle(faults.is_empty()) {
            Ok(added) => added,
            Err(more) => {
                faults.extend(more);
                Pile::new()
            }
        }
    }

    /// Has a trait do something. If it panics, its name and the template's are told before the panic goes on.
    fn naming<R>(&self, member: &Member, work: impl FnOnce() -> R) -> R {
        let (mut done, mut panicked) = (None, None);
        note(&mut panicked, || done = Some(work()));
        if let Some(done) = done {
            return done;
        }
        tell(|| {
            let place = member.place_of(None).map(|place| place.to_string());
            tracing::error!(
                name: "trait_panicked",
                target: "megachunk::template",
                template = &*self.id,
                class = &*member.class,
                place,
                "a trait has panicked"
            );
        });
        resume(panicked);
        unreachable!("a panic goes on")
    }

    /// The faults as errors, each with its place, in the order of the traits. `depends` says whether a fault of a
    /// parent's trait is the child's.
    fn refuse(
        &self,
        mut faults: Vec<(usize, TemplateFault)>,
        depends: fn(&TemplateFault) -> bool,
    ) -> Result<(), TemplateErrors> {
        faults.sort_by_key(|&(by, _)| by);
        let error = |(by, fault): (usize, TemplateFault)| {
            let cause = match &fault {
                TemplateFault::Refused { error, .. } => Some(error),
                _ => None,
            };
            let member = self.members.get(by);
            let place = member.and_then(|member| member.place_of(cause));
            let inherited = member.is_some_and(|member| member.depth < self.depth);
            let told = place.is_none() || (inherited && depends(&fault));
            TemplateError {
                place,
                template: told.then(|| self.id.clone()),
                fault,
            }
        };
        TemplateErrors::of(faults.into_iter().map(error).collect())
    }
}

/// Whether a fault is not that of one trait alone, but of what is there beside it.
fn depends_on_others(fault: &TemplateFault) -> bool {
    matches!(
        fault,
        TemplateFault::MissingFragment { .. }
            | TemplateFault::MissingTrait { .. }
            | TemplateFault::Fragment {
                error: FragmentError::TooLarge { .. } | FragmentError::TooAligned { .. },
                ..
            }
    )
}

/// A type's name without the paths.
fn short_name<T>() -> &'static str {
    let name = type_name::<T>();
    let generic = name.find('<').unwrap_or(name.len());
    let start = name[..generic].rfind("::").map_or(0, |colons| colons + 2);
    &name[start..]
}
