//! `BuildContext`: what a trait says to while it builds.

use core::fmt;

use crate::fragment::{Fragment, FragmentId, FragmentRegistry, SharedFragment, Value};
use crate::template::parts::Parts;

/// What a trait says to which fragments entities get, while it [builds](crate::template::EntityTrait::build).
///
/// Whatever is wrong with what it says (a fragment that another trait has added, …) is kept until all traits have
/// built, and told together.
///
/// Source: Unreal Mass' `FMassEntityTemplateBuildContext`.
#[doc(alias = "FMassEntityTemplateBuildContext")]
pub struct BuildContext<'a> {
    parts: Parts<'a>,
    /// The trait that builds.
    by: usize,
}

impl<'a> BuildContext<'a> {
    pub(super) fn new(parts: Parts<'a>) -> Self {
        Self { parts, by: 0 }
    }

    /// The trait with this number is next.
    pub(super) fn turn_to(&mut self, by: usize) -> &mut Self {
        self.by = by;
        self
    }

    pub(super) fn into_parts(self) -> Parts<'a> {
        self.parts
    }

    /// The id of the template that is built.
    #[must_use]
    pub fn template(&self) -> &str {
        self.parts.template
    }

    /// The class of the trait that builds.
    #[must_use]
    pub fn class(&self) -> &str {
        &self.parts.members[self.by].class
    }

    /// The fragments that the template's worlds know: for those that were defined at run time.
    #[must_use]
    pub fn registry(&self) -> &'a FragmentRegistry {
        self.parts.registry
    }

    /// Adds a fragment, with the value that entities begin with. One of size zero is a tag:
    /// see [`add_tag`](Self::add_tag).
    ///
    /// A fragment that is there already is a mistake: traits that share one [get or add](Self::get_or_add) it.
    pub fn add<T: Fragment + Clone>(&mut self, value: T) -> &mut Self {
        let registry = self.parts.registry;
        self.parts.add(self.by, Value::cloneable(registry, value));
        self
    }

    /// Adds a tag. Several traits may add the same; if a parent's trait [removes](Self::remove_tag) it, it is there
    /// again.
    pub fn add_tag<T: Fragment + Clone>(&mut self, tag: T) -> &mut Self {
        const { assert!(size_of::<T>() == 0, "a tag is of size zero") };
        self.add(tag)
    }

    /// The value of a fragment that a trait before has added; else adds what `make` returns. O(fragments). A tag has none:
    /// that does not compile, and [`add_tag`](Self::add_tag) may be called by several.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// /// Several traits make an entity heavier.
    /// #[derive(Clone, Debug, PartialEq)]
    /// struct Mass(f32);
    /// struct Body;
    /// struct Load(f32);
    ///
    /// impl EntityTrait for Body {
    ///     fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
    ///         context.get_or_add(|| Mass(0.0)).0 += 70.0;
    ///         Ok(())
    ///     }
    /// }
    /// impl EntityTrait for Load {
    ///     fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
    ///         context.get_or_add(|| Mass(0.0)).0 += self.0;
    ///         Ok(())
    ///     }
    /// }
    /// let world = World::new();
    /// let porter = TemplateBuilder::new("porter").with(Body).with(Load(30.0)).finish(&world)?;
    /// assert_eq!(porter.get::<Mass>(), Some(&Mass(100.0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_or_add<T: Fragment + Clone>(&mut self, make: impl FnOnce() -> T) -> &mut T {
        const {
            assert!(
                size_of::<T>() > 0,
                "a tag is of size zero: `add_tag` adds it"
            )
        };
        let registry = self.parts.registry;
        let id = match registry.register_clone::<T>() {
            Ok(info) => info.id(),
            Err(error) => return self.parts.refuse(self.by, error, make()),
        };
        let at = match self.parts.position(id) {
            Some(at) => at,
            None => {
                self.parts.add(self.by, Value::new(registry, make()));
                self.parts.values.len() - 1
            }
        };
        let value = self.parts.values[at].value.lend_mut(registry);
        match value.and_then(|value| value.value::<T>()) {
            Ok(value) => value,
            Err(error) => unreachable!("the fragment is of this type: {error}"),
        }
    }

    /// The value of a fragment that a trait before has added. O(fragments).
    #[must_use]
    pub fn get<T: Fragment>(&self) -> Option<&T> {
        let registry = self.parts.registry;
        let at = self.parts.position(registry.of::<T>()?.id())?;
        let value = self.parts.values[at].value.lend(registry);
        value.and_then(|value| value.value::<T>()).ok()
    }

    /// Adds a chunk fragment: what chunks of entities of this kind begin with, if this template is
    /// the first of its composition in a world. A composition keeps what its chunks begin with: of
    /// two templates with the same fragments, entities lie in the same chunks, and those of the
    /// second have what the first one said, and nobody is told. To keep them apart, give them
    /// different tags, or a [shared](Self::shared) value.
    pub fn per_chunk<T: Fragment + Clone>(&mut self, value: T) -> &mut Self {
        let value = Value::per_chunk(self.parts.registry, value);
        self.parts.add(self.by, value);
        self
    }

    /// Adds a shared value.
    pub fn shared<T: SharedFragment>(&mut self, value: T) -> &mut Self {
        let value = Value::shared(self.parts.registry, value);
        self.parts.add(self.by, value);
        self
    }

    /// Adds a shared value that can not be changed.
    pub fn const_shared<T: SharedFragment>(&mut self, value: T) -> &mut Self {
        let value = Value::const_shared(self.parts.registry, value);
        self.parts.add(self.by, value);
        self
    }

    /// Adds a value of a fragment in whatever role, which need not be a type's: what a script defines. It is a
    /// mistake if it cannot be cloned (a shared value need not be), or is of another universe.
    pub fn add_value(&mut self, value: Value) -> &mut Self {
        self.parts.add(self.by, Ok(value));
        self
    }

    /// A tag that entities of this kind do not have, although a parent's trait adds it. If a trait of the same
    /// config adds it, that is a mistake. The tag need not be there.
    pub fn remove_tag<T: Fragment>(&mut self) -> &mut Self {
        const { assert!(size_of::<T>() == 0, "a tag is of size zero") };
        let id = self.parts.registry.register::<T>().map(|info| info.id());
        self.parts.remove_tag(self.by, id);
        self
    }

    /// A fragment or tag that the finished template must have, whoever adds it, before or after. `T` is its type;
    /// or [`PerChunk<T>`](crate::fragment::PerChunk), [`Shared<T>`](crate::fragment::Shared) or
    /// [`ConstShared<T>`](crate::fragment::ConstShared).
    pub fn require<T: 'static>(&mut self) -> &mut Self {
        self.parts.require::<T>(self.by);
        self
    }

    /// A fragment in whatever role, which need not be a type's, that the finished template must have.
    pub fn require_fragment(&mut self, id: FragmentId) -> &mut Self {
        self.parts.require_fragment(self.by, id);
        self
    }

    /// A trait that must be there, before or after, by its class.
    pub fn require_trait(&mut self, class: &str) -> &mut Self {
        self.parts.require_trait(self.by, class);
        self
    }
}

impl fmt::Debug for BuildContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BuildContext")
            .field("template", &self.template())
            .field("class", &self.class())
            .field("values", &self.parts.values)
            .finish_non_exhaustive()
    }
}
