//! `Generations`: all configs with the places of their parents, so that each is come to once, and after its ancestors.

use std::collections::HashMap;
use std::sync::Arc;

use super::config::Config;
use super::family::Family;

/// A config, whose ancestors stand before it.
#[derive(Debug)]
pub(super) struct Kin<'a> {
    pub(super) config: &'a Arc<Config>,
    /// Where its parent stands.
    pub(super) parent: Option<usize>,
}

/// All configs but those that are broken, or of whose ancestors one is, or is not there, or which are a loop, or come of
/// one. A generation behind the other, in each by id.
#[derive(Debug)]
pub(super) struct Generations<'a>(pub(super) Vec<Kin<'a>>);

impl<'a> Generations<'a> {
    /// O(configs log configs).
    pub(super) fn of(family: &'a Family) -> Self {
        let mut children: HashMap<Option<&str>, Vec<&Arc<Config>>> = HashMap::new();
        for config in family.configs.values().filter(|config| !config.broken) {
            let parent = config.parent.as_ref().map(|(id, _)| &**id);
            children.entry(parent).or_default().push(config);
        }
        let first = children.remove(&None).unwrap_or_default();
        let of_parent = |config, parent| Kin { config, parent };
        let mut all: Vec<Kin<'a>> = Vec::with_capacity(family.configs.len());
        all.extend(first.into_iter().map(|config| of_parent(config, None)));
        let mut begin = 0;
        while begin < all.len() {
            let mut next = Vec::new();
            for (at, kin) in all.iter().enumerate().skip(begin) {
                let own = children.remove(&Some(&*kin.config.id)).unwrap_or_default();
                next.extend(own.into_iter().map(|config| of_parent(config, Some(at))));
            }
            next.sort_by_key(|kin| &kin.config.id);
            begin = all.len();
            all.extend(next);
        }
        Self(all)
    }

    /// A config and its ancestors, the eldest first. O(ancestors).
    pub(super) fn line(&self, at: usize) -> Vec<&'a Arc<Config>> {
        let ancestors = core::iter::successors(Some(at), |&at| self.0[at].parent);
        let mut line: Vec<_> = ancestors.map(|at| self.0[at].config).collect();
        line.reverse();
        line
    }

    /// Of each whether a judgement of it, which `judge` gives, is that of all its ancestors, too. O(configs).
    pub(super) fn with_all_ancestors(&self, judge: impl Fn(&Arc<Config>) -> bool) -> Vec<bool> {
        let mut all = Vec::with_capacity(self.0.len());
        for kin in &self.0 {
            let of_ancestors = kin.parent.is_none_or(|parent: usize| all[parent]);
            all.push(of_ancestors && judge(kin.config));
        }
        all
    }
}
