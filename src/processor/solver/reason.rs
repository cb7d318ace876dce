//! `Reason`: why two processors conflict.

use crate::fragment::{FragmentId, FragmentRegistry};
use crate::query::ResourceId;

/// What two processors both touch, of which one writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The values of a fragment.
    Fragment {
        id: FragmentId,
        /// The first archetype that both see.
        archetype: u32,
    },
    /// Whether a fragment is switched on.
    Switch {
        id: FragmentId,
        /// The first archetype that both see.
        archetype: u32,
    },
    Resource(ResourceId),
}

impl Reason {
    /// The same for people. The registry is that of the worlds that the processors run on.
    pub(crate) fn describe(self, registry: &FragmentRegistry) -> String {
        let name = |id| registry.get(id).map_or("", |info| info.name());
        match self {
            Self::Fragment { id, archetype } => {
                format!("{} (first in archetype {archetype})", name(id))
            }
            Self::Switch { id, archetype } => {
                format!(
                    "the switch of {} (first in archetype {archetype})",
                    name(id)
                )
            }
            Self::Resource(resource) => format!("the resource {}", resource.name()),
        }
    }
}
