//! `Member`: a trait in its place in a template.

use core::any::TypeId;
use core::fmt;
use std::sync::Arc;

use crate::panics::{Panicked, note, resume_alone};
use crate::template::error::ConfigPlace;
use crate::template::{EntityTrait, TemplateFault, TraitError};

/// A trait in its place in a template.
#[derive(Clone)]
pub(super) struct Member {
    /// What it is called in configs; of two of one class the child's replaces the parent's.
    pub(super) class: Arc<str>,
    /// The type, with its name, that has given the class its name.
    pub(super) named_after: Option<(TypeId, &'static str)>,
    pub(super) instance: Arc<dyn EntityTrait>,
    /// Of which config it is: 0 for the ancestor of all, one more with each child.
    pub(super) depth: usize,
    /// Where it stands, if in a file.
    pub(super) source: Option<Arc<MemberSource>>,
}

/// Where a trait and its parameters stand in a file.
#[derive(Debug)]
pub(super) struct MemberSource {
    pub(super) place: ConfigPlace,
    pub(super) fields: Vec<(Box<str>, ConfigPlace)>,
}

impl Member {
    /// What is wrong if another member of the same class comes in the place of this one.
    pub(super) fn refuses_instead(&self, other: &Self) -> Option<TemplateFault> {
        let class = (*self.class).into();
        match (self.named_after, other.named_after) {
            (Some((first, first_name)), Some((second, second_name))) if first != second => {
                Some(TemplateFault::TraitOfAnotherType {
                    class,
                    first: first_name.into(),
                    second: second_name.into(),
                })
            }
            _ if self.depth == other.depth => Some(TemplateFault::TraitTwice { class }),
            _ => None,
        }
    }

    /// Where the cause of an error stands, if in a file: the parameter, or the trait.
    pub(super) fn place_of(&self, error: Option<&TraitError>) -> Option<ConfigPlace> {
        let source = self.source.as_deref()?;
        let field = match error {
            Some(TraitError::RefusedField { field, .. }) => {
                let first = field.split(['.', '[']).next().unwrap_or(field);
                source.fields.iter().find(|(name, _)| **name == *first)
            }
            _ => None,
        };
        Some(field.map_or(&source.place, |(_, place)| place).clone())
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member")
            .field("class", &self.class)
            .field("depth", &self.depth)
            .finish_non_exhaustive()
    }
}

/// Traits that have built for a template. When they go they are told so, the last one first.
#[derive(Debug, Default)]
pub(super) struct Members(pub(super) Vec<Member>);

impl Drop for Members {
    fn drop(&mut self) {
        let mut panicked: Panicked = None;
        while let Some(member) = self.0.pop() {
            note(&mut panicked, || member.instance.destroy());
            // The last template that has it drops the trait.
            note(&mut panicked, || drop(member));
        }
        resume_alone(panicked);
    }
}
