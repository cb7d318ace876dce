//! `Target`: what a processor or a group is ordered against.

/// What a processor or a group is ordered against: the name of a processor, or the path of a group.
///
/// A name that nobody has is an error when the order is solved, unless the target is
/// [optional](Self::optional).
///
/// ```
/// use megachunk::processor::Target;
///
/// let physics = Target::from("Simulation.Physics").flushed();
/// assert_eq!(physics.name(), "Simulation.Physics");
/// assert!(!Target::from("Cameras").is_flushed());
/// assert!(Target::from("Mods").optional().is_optional());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    name: String,
    optional: bool,
    flush: bool,
}

impl Target {
    /// A processor or group that has to be there.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            optional: false,
            flush: false,
        }
    }

    /// The target may be missing; it orders all the same: what is before it precedes what is after it.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// The commands of the one that runs first are flushed before the other one runs.
    #[must_use]
    pub fn flushed(mut self) -> Self {
        self.flush = true;
        self
    }

    /// The processor's name, or the group's path.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it need not be there.
    #[must_use]
    pub fn is_optional(&self) -> bool {
        self.optional
    }

    /// Whether commands are flushed between the two.
    #[must_use]
    pub fn is_flushed(&self) -> bool {
        self.flush
    }
}

impl From<&str> for Target {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<&String> for Target {
    fn from(name: &String) -> Self {
        Self::new(name.as_str())
    }
}

impl From<String> for Target {
    fn from(name: String) -> Self {
        Self::new(name)
    }
}
