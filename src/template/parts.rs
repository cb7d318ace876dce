//! `Parts`: what traits have added so far, and what is wrong with it.
//!
//! Nothing here is thrown away when something is wrong: all mistakes of a template are found in one go.

use core::any::{Any, type_name};

use crate::archetype::Draft;
use crate::fragment::{FragmentError, FragmentId, FragmentKind, FragmentRegistry, Pile, Value};
use crate::panics::refused;
use crate::template::TemplateFault;
use crate::template::fault::near;
use crate::template::member::Member;

/// What traits have added so far. A trait is named by its number among the members.
pub(super) struct Parts<'a> {
    pub(super) registry: &'a FragmentRegistry,
    pub(super) template: &'a str,
    pub(super) members: &'a [Member],
    /// Fragments, chunk and shared fragments, in the order in which they came.
    pub(super) values: Pile<Added>,
    marks: Pile<Mark>,
    required: Vec<(usize, Required)>,
    pub(super) faults: Vec<(usize, TemplateFault)>,
    /// What could not be added, and is lent to the trait that wanted to.
    refused: Pile<Box<dyn Any>>,
}

/// A value of a fragment, and who added it.
#[derive(Debug)]
pub(super) struct Added {
    pub(super) value: Value,
    pub(super) by: usize,
}

/// A tag that a trait adds, or removes.
struct Mark {
    id: FragmentId,
    by: usize,
    /// None if it is removed.
    value: Option<Value>,
}

enum Required {
    /// A fragment in whatever role, looked up by the type that names the role.
    Role(fn(&FragmentRegistry) -> Option<FragmentId>, &'static str),
    Fragment(FragmentId),
    Trait(Box<str>),
}

impl<'a> Parts<'a> {
    pub(super) fn new(
        registry: &'a FragmentRegistry,
        template: &'a str,
        members: &'a [Member],
    ) -> Self {
        Self {
            registry,
            template,
            members,
            values: Pile::new(),
            marks: Pile::new(),
            required: Vec::new(),
            faults: Vec::new(),
            refused: Pile::new(),
        }
    }

    fn class(&self, member: usize) -> Box<str> {
        (*self.members[member].class).into()
    }

    fn name(&self, id: FragmentId) -> Box<str> {
        self.registry.get(id).map_or("", |info| info.name()).into()
    }

    /// A fragment that a trait is about is refused.
    fn refuse_fragment(&mut self, by: usize, error: FragmentError) {
        let class = self.class(by);
        let fault = TemplateFault::Fragment { class, error };
        self.faults.push((by, fault));
    }

    /// Where a fragment stands among the values.
    pub(super) fn position(&self, id: FragmentId) -> Option<usize> {
        self.values.iter().position(|added| added.value.id() == id)
    }

    /// A trait adds a value, or could not make it. A fault if it is there already.
    pub(super) fn add(&mut self, by: usize, value: Result<Value, FragmentError>) {
        let value = match value {
            Ok(value) => value,
            Err(error) => return self.refuse_fragment(by, error),
        };
        let id = value.id();
        let Some(info) = self.registry.get(id) else {
            let error = FragmentError::Unknown { id };
            return self.refuse_fragment(by, error);
        };
        if !value.is_of(info) {
            let error = FragmentError::OtherUniverse { id };
            self.refuse_fragment(by, error);
        } else if !value.is_cloneable() && info.shared_ops().is_none() {
            let (fragment, class) = (self.name(id), self.class(by));
            let fault = TemplateFault::NotCloneable { fragment, class };
            self.faults.push((by, fault));
        } else if info.kind() == FragmentKind::Tag {
            let value = Some(value);
            self.marks.push(Mark { id, by, value });
        } else if let Some(at) = self.position(id) {
            let fault = TemplateFault::AddedTwice {
                fragment: self.name(id),
                first: self.class(self.values[at].by),
                second: self.class(by),
            };
            self.faults.push((by, fault));
        } else {
            self.values.push(Added { value, by });
        }
    }

    /// Keeps what could not be added until the template is done, so that it can be lent.
    pub(super) fn refuse<T: Any>(&mut self, by: usize, error: FragmentError, value: T) -> &mut T {
        self.refuse_fragment(by, error);
        self.refused.push(Box::new(value));
        let last = self.refused.last_mut().and_then(|last| last.downcast_mut());
        match last {
            Some(value) => value,
            None => unreachable!("it was just put there"),
        }
    }

    /// A trait removes a tag.
    pub(super) fn remove_tag(&mut self, by: usize, id: Result<FragmentId, FragmentError>) {
        match id {
            Ok(id) => self.marks.push(Mark {
                id,
                by,
                value: None,
            }),
            Err(error) => self.refuse_fragment(by, error),
        }
    }

    /// A trait requires a fragment in the role that `R` names.
    pub(super) fn require<R: 'static>(&mut self, by: usize) {
        let find: fn(&FragmentRegistry) -> Option<FragmentId> =
            |registry| registry.of_role::<R>().map(|info| info.id());
        self.required
            .push((by, Required::Role(find, type_name::<R>())));
    }

    pub(super) fn require_fragment(&mut self, by: usize, id: FragmentId) {
        self.required.push((by, Required::Fragment(id)));
    }

    pub(super) fn require_trait(&mut self, by: usize, class: &str) {
        self.required.push((by, Required::Trait(class.into())));
    }

    /// Decides which tags stay, and looks whether all that is required is there, and fits in a chunk. What there
    /// is, sorted by fragment.
    ///
    /// `complete` says that each trait has built to its end: else what is not there may have been about to come.
    pub(super) fn settle(
        mut self,
        complete: bool,
    ) -> Result<Pile<Added>, Vec<(usize, TemplateFault)>> {
        self.settle_tags();
        self.values.sort_by_key(|added| added.value.id());
        if complete {
            self.check_required();
            self.check_layout();
        }
        // Before the values that are given on: they may be what a user's `drop` panics in.
        drop(core::mem::take(&mut self.refused));
        if self.faults.is_empty() {
            Ok(self.values)
        } else {
            Err(refused(self.values, self.faults))
        }
    }

    /// The last config that says something about a tag has its way; it must not say both.
    fn settle_tags(&mut self) {
        let mut marks = core::mem::take(&mut self.marks);
        // Stable: within a config, the first that adds it stays the first.
        marks.sort_by_key(|mark| (mark.id, self.members[mark.by].depth));
        while let Some(last) = marks.last() {
            let (id, depth) = (last.id, self.members[last.by].depth);
            let of_tag = marks.partition_point(|mark| mark.id < id);
            let mut tag = Pile::from(marks.split_off(of_tag));
            self.check_contradictions(&tag);
            let mut marks = tag.iter_mut();
            let latest = marks.find(|mark| self.members[mark.by].depth == depth);
            if let Some(Mark { by, value, .. }) = latest
                && let Some(value) = value.take()
            {
                self.values.push(Added { value, by: *by });
            }
        }
    }

    /// A fault for each config that both adds a tag and removes it: the marks are those of one tag.
    fn check_contradictions(&mut self, tag: &[Mark]) {
        let depth = |mark: &Mark| self.members[mark.by].depth;
        for of_config in tag.chunk_by(|a, b| depth(a) == depth(b)) {
            let adds = of_config.iter().find(|mark| mark.value.is_some());
            let removes = of_config.iter().find(|mark| mark.value.is_none());
            if let (Some(adds), Some(removes)) = (adds, removes) {
                let fault = TemplateFault::Contradiction {
                    tag: self.name(adds.id),
                    added_by: self.class(adds.by),
                    removed_by: self.class(removes.by),
                };
                self.faults.push((adds.by.max(removes.by), fault));
            }
        }
    }

    fn check_required(&mut self) {
        for (by, required) in core::mem::take(&mut self.required) {
            let (id, fragment) = match required {
                Required::Trait(class) => {
                    self.check_required_trait(by, class);
                    continue;
                }
                Required::Role(find, name) => (find(self.registry), name.into()),
                Required::Fragment(id) if self.registry.get(id).is_none() => {
                    self.refuse_fragment(by, FragmentError::Unknown { id });
                    continue;
                }
                Required::Fragment(id) => (Some(id), self.name(id)),
            };
            if id.and_then(|id| self.position(id)).is_none() {
                let required_by = self.class(by);
                let fault = TemplateFault::MissingFragment {
                    fragment,
                    required_by,
                };
                self.faults.push((by, fault));
            }
        }
    }

    fn check_required_trait(&mut self, by: usize, class: Box<str>) {
        let classes = self.members.iter().map(|member| &*member.class);
        if classes.clone().any(|known| known == &*class) {
            return;
        }
        let own = &*self.members[by].class;
        let nearest = near(&class, classes.filter(|&known| known != own));
        let required_by = self.class(by);
        let fault = TemplateFault::MissingTrait {
            class,
            required_by,
            nearest,
        };
        self.faults.push((by, fault));
    }

    /// Who has added the fragment that is named in the fault is told what does not fit in a chunk.
    fn check_layout(&mut self) {
        let ids: Vec<FragmentId> = self.values.iter().map(|added| added.value.id()).collect();
        let Err(error) = Draft::new(self.registry, &ids, 1, self.registry.enableable()) else {
            return;
        };
        let name: &str = match &error {
            FragmentError::TooLarge { name, .. } | FragmentError::TooAligned { name, .. } => name,
            _ => "",
        };
        let named = |added: &&Added| &*self.name(added.value.id()) == name;
        let by = self.values.iter().find(named).map_or(0, |added| added.by);
        self.refuse_fragment(by, error);
    }
}
