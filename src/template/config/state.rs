//! `State`: all that a registry knows, as one thing that is replaced as a whole.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::config::Config;
use super::family::{Family, builder};
use super::generations::{Generations, Kin};
use super::source::{SourceText, Sources, TextKey, Texts, one_path};
use super::{ConfigChanges, TraitRegistry};
use crate::archetype::Universe;
use crate::panics::refused;
use crate::template::{Template, TemplateError, TemplateErrors};

/// Which sources are read again.
#[derive(Debug)]
pub(super) enum Fresh {
    /// Those with these numbers, which must be there. What is only of sources that are no more is gone.
    Loaded(HashSet<usize>),
    /// All.
    Refreshed,
}

/// All that a registry knows.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) sources: Sources,
    files: BTreeMap<TextKey, ConfigFile>,
    pub(super) family: Family,
    /// By the id of its config, once it was asked for.
    pub(super) templates: Templates,
}

type Templates = BTreeMap<Box<str>, OnceLock<Arc<Template>>>;

#[derive(Debug)]
struct ConfigFile {
    /// What was read: a file is the same as long as its text is.
    text: SourceText,
    config: Arc<Config>,
}

impl State {
    /// The texts of sources, of which those that are `fresh` are read. Others are as they were.
    fn texts(&self, sources: &Sources, fresh: &Fresh) -> Texts {
        let mut texts = Texts::default();
        let is_fresh = |number: usize| match fresh {
            Fresh::Loaded(numbers) => numbers.contains(&number),
            Fresh::Refreshed => true,
        };
        for (&number, source) in sources {
            if is_fresh(number) {
                // What was there, and is not, are configs that are gone.
                texts.read(number, source, matches!(fresh, Fresh::Loaded(_)));
            }
        }
        // Afterwards, so that a file of an older source that is loaded again is read again.
        for (key, file) in &self.files {
            let mut text = file.text.clone();
            text.sources
                .retain(|source| sources.contains_key(source) && !is_fresh(*source));
            if !text.sources.is_empty() {
                texts.keep(key.clone(), text);
            }
        }
        texts
    }

    /// The ids in the files that these errors are about, or in directories that they are about.
    fn ids_below(&self, errors: &[TemplateError]) -> BTreeSet<Box<str>> {
        let places = errors.iter().filter_map(|error| error.place.as_ref());
        // The same file may be known by another path.
        let wrong: BTreeSet<PathBuf> = places
            .flat_map(|place| [place.file.to_path_buf(), one_path(&place.file)])
            .collect();
        if wrong.is_empty() {
            return BTreeSet::new();
        }
        let is_below = |path: &Path| path.ancestors().any(|path| wrong.contains(path));
        let files = self.files.iter().filter(|((path, is_text), _)| {
            !is_text && (is_below(path) || is_below(&one_path(path)))
        });
        files.map(|(_, file)| file.config.id.clone()).collect()
    }

    /// What comes after this one, with the sources that these are now; or all that is wrong with it.
    ///
    /// Each template that would differ is built, so that what is loaded can be used; those that nobody has asked for
    /// go again at once.
    pub(super) fn next(
        &self,
        sources: Sources,
        fresh: &Fresh,
        traits: &TraitRegistry,
        universe: &Arc<Universe>,
    ) -> Result<(Self, ConfigChanges), TemplateErrors> {
        let texts = self.texts(&sources, fresh);
        let mut errors = texts.errors;
        let mut lost = self.ids_below(&errors);
        let (mut files, mut broken) = (BTreeMap::new(), Vec::new());
        for (key, text) in texts.texts {
            let same = self.files.get(&key);
            let config = match same.filter(|file| file.text.text == text.text) {
                Some(file) => Some(Arc::clone(&file.config)),
                None => Config::read(&key.0, &text.text, traits, &mut errors).map(Arc::new),
            };
            match config {
                Some(config) if config.broken => broken.push(config),
                Some(config) => {
                    files.insert(key, ConfigFile { text, config });
                }
                None => lost.extend(same.map(|file| file.config.id.clone())),
            }
        }
        let mut all: Vec<_> = files
            .values()
            .map(|file| Arc::clone(&file.config))
            .collect();
        all.append(&mut broken);
        all.sort_by(|a, b| a.place.cmp(&b.place));
        let mut next = Self {
            sources,
            files,
            family: Family::new(all.into_iter(), &lost, &mut errors),
            templates: BTreeMap::new(),
        };
        let generations = Generations::of(&next.family);
        // Whether a config and all its ancestors were in this state.
        let same = generations.with_all_ancestors(|config| {
            let before = self.family.configs.get(&config.id);
            before.is_some_and(|before| Arc::ptr_eq(before, config))
        });
        let changes = self.changes(&next.family, &generations, &same);
        next.templates = self.build(&generations, &same, universe, &mut errors);
        if let Err(errors) = TemplateErrors::of(errors) {
            return Err(refused(next, errors));
        }
        Ok((next, changes))
    }

    /// The templates of configs that come after this state: those that are the same are taken over, and the others
    /// built, the parents first.
    fn build(
        &self,
        generations: &Generations<'_>,
        same: &[bool],
        universe: &Arc<Universe>,
        errors: &mut Vec<TemplateError>,
    ) -> Templates {
        let mut templates = Templates::new();
        let mut failed = vec![false; same.len()];
        for (at, Kin { config, parent }) in generations.0.iter().enumerate() {
            // What is wrong with an ancestor was told.
            if parent.is_some_and(|parent| failed[parent]) {
                failed[at] = true;
                continue;
            }
            if config.is_abstract {
                continue;
            }
            let used = self.used(&config.id);
            let slot = OnceLock::new();
            if same[at] {
                let slot = used.map_or(slot, |template| OnceLock::from(Arc::clone(template)));
                templates.insert(config.id.clone(), slot);
                continue;
            }
            match builder(&generations.line(at)).finish_in(universe) {
                Ok(template) => {
                    if used.is_some() {
                        let _ = slot.set(Arc::new(template));
                    }
                    templates.insert(config.id.clone(), slot);
                }
                Err(more) => {
                    failed[at] = true;
                    errors.extend(more);
                }
            }
        }
        templates
    }

    /// What is changed by a family that comes after this state's, of whose generations these are the same.
    fn changes(
        &self,
        next: &Family,
        generations: &Generations<'_>,
        same: &[bool],
    ) -> ConfigChanges {
        let same = generations.0.iter().zip(same).filter(|(_, same)| **same);
        let same: HashSet<&str> = same.map(|(kin, _)| &*kin.config.id).collect();
        let mut changes = ConfigChanges::default();
        let (now, old) = (&next.configs, &self.family.configs);
        for id in now.keys() {
            if !old.contains_key(id) {
                changes.added.push(id.to_string());
            } else if !same.contains(&**id) {
                changes.changed.push(id.to_string());
            }
        }
        let gone = old.keys().filter(|id| !now.contains_key(*id));
        changes.removed = gone.map(ToString::to_string).collect();
        changes
    }

    fn used(&self, id: &str) -> Option<&Arc<Template>> {
        self.templates.get(id)?.get()
    }
}
