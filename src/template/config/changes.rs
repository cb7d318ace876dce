//! `ConfigChanges`: what loading has changed.

/// Which configs a call has changed, by their ids, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigChanges {
    /// Those that are new.
    pub added: Vec<String>,
    /// Those whose own file, or that of an ancestor, is another than before. Templates of them that were in use are
    /// built anew.
    pub changed: Vec<String>,
    /// Those that are gone.
    pub removed: Vec<String>,
}

impl ConfigChanges {
    /// Whether all is as before.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }
}
