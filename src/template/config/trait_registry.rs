//! `TraitRegistry`: the classes of traits that configs can name.

use core::fmt;
use core::ops::Range;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::DeValue;

use super::reader::{ReadError, read};
use crate::template::fault::near;
use crate::template::{EntityTrait, TemplateError, TemplateFault};

/// Reads a trait with its parameters.
type ReadTrait =
    fn(Range<usize>, &Spanned<DeValue<'_>>) -> Result<Arc<dyn EntityTrait>, Vec<ReadError>>;

/// The classes of traits that configs can name.
///
/// ```
/// use megachunk::prelude::*;
/// use serde::Deserialize;
///
/// #[derive(Clone)]
/// struct Speed(f32);
/// /// The type of the parameters is the trait.
/// #[derive(Deserialize)]
/// struct Walk { speed: f32 }
///
/// impl EntityTrait for Walk {
///     fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
///         context.add(Speed(self.speed));
///         Ok(())
///     }
/// }
/// let mut traits = TraitRegistry::new();
/// traits.register::<Walk>("walk")?;
/// assert!(traits.register::<Walk>("walk").is_err(), "a class is one type's");
/// # Ok::<(), megachunk::template::TemplateError>(())
/// ```
#[derive(Clone, Default)]
pub struct TraitRegistry {
    classes: BTreeMap<Box<str>, ReadTrait>,
}

impl TraitRegistry {
    /// A registry without classes.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            classes: BTreeMap::new(),
        }
    }

    /// Makes a class known. Its parameters are the fields of `T`: configs with others are refused, also if `T`
    /// itself would not refuse them (but for what `#[serde(flatten)]`, `tag` or `untagged` read: there serde does
    /// not say which there are). A unit struct has none.
    ///
    /// # Errors
    /// [`TemplateFault::TraitTaken`].
    pub fn register<T: EntityTrait + DeserializeOwned>(
        &mut self,
        class: impl Into<Box<str>>,
    ) -> Result<&mut Self, TemplateError> {
        let class = class.into();
        if self.classes.contains_key(&class) {
            return Err(TemplateError {
                place: None,
                template: None,
                fault: TemplateFault::TraitTaken { class },
            });
        }
        self.classes
            .insert(class, |key, value| Ok(Arc::new(read::<T>(key, value)?)));
        Ok(self)
    }

    /// The classes, sorted.
    pub fn classes(&self) -> impl Iterator<Item = &str> + Clone {
        self.classes.keys().map(|class| &**class)
    }

    pub(super) fn get(&self, class: &str) -> Option<ReadTrait> {
        self.classes.get(class).copied()
    }

    pub(super) fn nearest(&self, class: &str) -> Option<Box<str>> {
        near(class, self.classes())
    }
}

impl fmt::Debug for TraitRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.classes.keys()).finish()
    }
}
