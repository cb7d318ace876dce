//! `EntityTrait`: a part of what a kind of entity is.

use crate::template::{BuildContext, Template, TraitError};

/// A part of what a kind of entity is: which fragments it has for this, and with which values.
///
/// The fields of an implementor are its parameters.
///
/// ```
/// use megachunk::prelude::*;
///
/// #[derive(Clone, Debug, PartialEq)]
/// struct Speed(f32);
/// #[derive(Clone)]
/// struct OnFoot;
///
/// struct Walk { speed: f32 }
///
/// impl EntityTrait for Walk {
///     fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
///         if self.speed <= 0.0 {
///             return Err(TraitError::at("speed", "must be more than 0"));
///         }
///         context.add(Speed(self.speed)).add_tag(OnFoot);
///         Ok(())
///     }
/// }
///
/// let mut world = World::new();
/// let pedestrian = TemplateBuilder::new("pedestrian").with(Walk { speed: 1.4 }).finish(&world)?;
/// let anna = pedestrian.create(&mut world)?;
/// assert_eq!(world.get::<Speed>(anna)?, &Speed(1.4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Open: implement it for types of yours. A method that comes later has a body.
///
/// Source: Unreal Mass' `UMassEntityTraitBase`.
#[doc(alias = "UMassEntityTraitBase")]
#[doc(alias = "prefab")]
pub trait EntityTrait: Send + Sync + 'static {
    /// Says what entities of the template get. Called once for each template, traits of parents first.
    ///
    /// A template may be built on trial, and let go at once: a registry of entity configs does so with what it
    /// loads. So keep what it does to the context, or undo it in [`destroy`](Self::destroy).
    ///
    /// # Errors
    /// If the parameters make no sense. Then there is no template.
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError>;

    /// Looks at the finished template, with all that the other traits have added. Called once after all have
    /// built, if none has made a mistake.
    ///
    /// # Errors
    /// If the template as a whole makes no sense. Then there is none.
    fn validate(&self, template: &Template) -> Result<(), TraitError> {
        let _ = template;
        Ok(())
    }

    /// The template goes for which this trait has built. Called exactly once for each [`build`](Self::build)
    /// that has succeeded, the trait that built last first; at once if the template is refused for whatever reason.
    fn destroy(&self) {}
}
