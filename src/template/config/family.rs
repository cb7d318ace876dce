//! `Family`: all configs, and who is whose parent.

use core::iter::successors;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::config::Config;
use crate::template::fault::near;
use crate::template::{TemplateBuilder, TemplateError, TemplateFault};

/// So many ids are compared with unknown ones, to find the nearest.
const MOST_COMPARED: usize = 100_000;

/// All configs by their ids.
#[derive(Debug, Default)]
pub(super) struct Family {
    pub(super) configs: BTreeMap<Box<str>, Arc<Config>>,
}

impl Family {
    /// Of configs in the order of their files. Whatever is wrong between them is told to `errors`. Who names one of the
    /// `lost` ids as its parent is not in the wrong: its file is there, and is so broken that it has no id now.
    pub(super) fn new(
        all: impl Iterator<Item = Arc<Config>>,
        lost: &BTreeSet<Box<str>>,
        errors: &mut Vec<TemplateError>,
    ) -> Self {
        let mut family = Self::default();
        for config in all {
            if let Some(first) = family.configs.get(&config.id) {
                errors.push(TemplateError {
                    place: Some(config.place.clone()),
                    template: None,
                    fault: TemplateFault::DuplicateId {
                        id: config.id.clone(),
                        first: Box::new(first.place.clone()),
                    },
                });
            } else {
                family.configs.insert(config.id.clone(), config);
            }
        }
        family.name_replaced(errors);
        family.check_parents(lost, errors);
        family.check_loops(errors);
        family
    }

    /// Tells of traits that lack a parameter whether they take the place of an ancestor's, which had it.
    fn name_replaced(&self, errors: &mut [TemplateError]) {
        let lacks =
            |error: &&mut TemplateError| matches!(error.fault, TemplateFault::MissingField { .. });
        let mut of_file: BTreeMap<&Path, &Arc<Config>> = BTreeMap::new();
        for error in errors.iter_mut().filter(lacks) {
            if of_file.is_empty() {
                let configs = self.configs.values();
                of_file = configs
                    .map(|config| (&*config.place.file, config))
                    .collect();
            }
            let file = error.place.as_ref().map(|place| &*place.file);
            let config = file.and_then(|file| of_file.get(file));
            if let TemplateFault::MissingField {
                class, replaces, ..
            } = &mut error.fault
            {
                *replaces = config.and_then(|config| self.nearest_with(config, class));
            }
        }
    }

    /// The nearest ancestor of a config that has a trait of this class.
    fn nearest_with(&self, config: &Config, class: &str) -> Option<Box<str>> {
        let ancestors = successors(self.parent_of(config), |config| self.parent_of(config));
        // They may be a loop.
        let mut ancestors = ancestors.take(self.configs.len());
        let has = |config: &&Arc<Config>| config.members.iter().any(|own| *own.class == *class);
        ancestors.find(has).map(|config| config.id.clone())
    }

    pub(super) fn parent_of(&self, config: &Config) -> Option<&Arc<Config>> {
        self.configs.get(&config.parent.as_ref()?.0)
    }

    /// The first unknown ids are told with the id that is most like them: as many as can be compared with all configs
    /// soon, and one at least. O(configs).
    fn check_parents(&self, lost: &BTreeSet<Box<str>>, errors: &mut Vec<TemplateError>) {
        let most_hints = (MOST_COMPARED / self.configs.len().max(1)).max(1);
        let mut nearest: BTreeMap<&str, Option<Box<str>>> = BTreeMap::new();
        for config in self.configs.values() {
            let Some((parent, place)) = &config.parent else {
                continue;
            };
            if self.configs.contains_key(parent) || lost.contains(parent) {
                continue;
            }
            let is_one_more = nearest.len() < most_hints;
            let known = nearest.entry(parent);
            let nearest = || is_one_more.then(|| self.nearest(parent)).flatten();
            let nearest = match known.or_insert_with(nearest) {
                // Of the many children of an unknown parent, this is one at most.
                Some(own) if *own == config.id => self.nearest_other(parent, own),
                known => known.clone(),
            };
            errors.push(TemplateError {
                place: Some(place.clone()),
                template: None,
                fault: TemplateFault::UnknownParent {
                    parent: parent.clone(),
                    nearest,
                },
            });
        }
    }

    fn nearest_other(&self, id: &str, own: &str) -> Option<Box<str>> {
        let others = self.configs.keys().map(|id| &**id);
        near(id, others.filter(|&id| id != own))
    }

    /// The id that is most like one.
    pub(super) fn nearest(&self, id: &str) -> Option<Box<str>> {
        near(id, self.configs.keys().map(|id| &**id))
    }

    /// Tells each loop once, at the member that stands first. O(configs).
    fn check_loops(&self, errors: &mut Vec<TemplateError>) {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for start in self.configs.values() {
            let mut way: Vec<&Arc<Config>> = Vec::new();
            let mut next = Some(start);
            while let Some(config) = next
                && seen.insert(&config.id)
            {
                way.push(config);
                next = self.parent_of(config);
            }
            let on_way = next.and_then(|next| way.iter().position(|c| c.id == next.id));
            if let Some(at) = on_way {
                errors.push(told(&mut way[at..]));
            }
        }
    }

    /// A config and its ancestors, the eldest first; `None` if one of them is broken or there is none, or if they are
    /// a loop. O(ancestors).
    pub(super) fn line(&self, id: &str) -> Option<Vec<&Arc<Config>>> {
        let mut line = Vec::new();
        let mut next = Some(self.configs.get(id)?);
        while let Some(config) = next {
            if config.broken || line.len() == self.configs.len() {
                return None;
            }
            line.push(config);
            next = self.parent_of(config);
            if next.is_none() && config.parent.is_some() {
                return None;
            }
        }
        line.reverse();
        Some(line)
    }
}

/// The error that a loop is, which begins with the member that stands first.
fn told(members: &mut [&Arc<Config>]) -> TemplateError {
    let first = members.iter().enumerate().min_by_key(|(_, c)| &c.place);
    let first = first.map_or(0, |(at, _)| at);
    members.rotate_left(first);
    let ids = members.iter().chain(&members[..1]);
    let place = members[0].parent.as_ref().map(|(_, place)| place.clone());
    TemplateError {
        place,
        template: None,
        fault: TemplateFault::ParentLoop {
            path: ids.map(|config| String::from(&*config.id)).collect(),
        },
    }
}

/// The builder of a config: the traits of its ancestors, and its own. O(ancestors + traits²).
pub(super) fn builder(line: &[&Arc<Config>]) -> TemplateBuilder {
    let Some(config) = line.last() else {
        return TemplateBuilder::new("");
    };
    let mut builder = TemplateBuilder::new(config.id.clone());
    if let Some(name) = &config.name {
        builder = builder.name(name.clone());
    }
    for (depth, config) in line.iter().enumerate() {
        builder = builder.at_depth(depth);
        let members = config.members.iter().cloned();
        builder = members.fold(builder, TemplateBuilder::with_member);
    }
    builder
}
