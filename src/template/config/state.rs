//! `State`: all that a registry knows, as one thing that is replaced as a whole.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::config::Config;
use super::family::{Family, builder};
use super::source::{Source, SourceText, TextKey, Texts, one_path};
use super::{ConfigChanges, TraitRegistry};
use crate::archetype::Universe;
use crate::fragment::panic::refused;
use crate::template::{Template, TemplateError, TemplateErrors};

/// Which sources are read again.
#[derive(Debug)]
pub(super) enum Fresh {
    /// Those with these numbers, which must be there.
    Loaded(HashSet<usize>),
    /// All.
    Refreshed,
}

/// All that a registry knows.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) sources: Vec<Source>,
    files: BTreeMap<TextKey, ConfigFile>,
    pub(super) family: Family,
    /// By the id of its config, once it was asked for.
    pub(super) templates: BTreeMap<Box<str>, OnceLock<Arc<Template>>>,
}

#[derive(Debug)]
struct ConfigFile {
    /// What was read: a file is the same as long as its text is.
    text: SourceText,
    config: Arc<Config>,
}

impl State {
    /// The texts of sources, of which those that are `fresh` are read. Others are as they were.
    fn texts(&self, sources: &[Source], fresh: &Fresh) -> Texts {
        let mut texts = Texts::default();
        let is_fresh = |number: usize| match fresh {
            Fresh::Loaded(numbers) => numbers.contains(&number),
            Fresh::Refreshed => true,
        };
        for (number, source) in sources.iter().enumerate() {
            if is_fresh(number) {
                // What was there, and is not, are configs that are gone.
                texts.read(number, source, matches!(fresh, Fresh::Loaded(_)));
            }
        }
        // Afterwards, so that a file of an older source that is loaded again is read again.
        for (key, file) in &self.files {
            if !is_fresh(file.text.source) {
                texts.keep(key.clone(), file.text.clone());
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
        sources: Vec<Source>,
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
        next.build(self, universe, &mut errors);
        if let Err(errors) = TemplateErrors::of(errors) {
            return Err(refused(next, errors));
        }
        let changes = next.changes_since(self);
        Ok((next, changes))
    }

    /// Takes over the templates that are as before, and builds the others: the parents first.
    fn build(&mut self, before: &Self, universe: &Arc<Universe>, errors: &mut Vec<TemplateError>) {
        let ids = self.family.configs.keys();
        let mut lines: Vec<_> = ids.filter_map(|id| self.family.line(id)).collect();
        lines.sort_by_key(Vec::len);
        let mut failed: BTreeSet<&str> = BTreeSet::new();
        for line in lines {
            let Some((config, ancestors)) = line.split_last() else {
                continue;
            };
            let used = before.used(&config.id);
            if config.is_abstract {
                continue;
            }
            if before.is_same(&line) {
                let slot = used.map_or_else(OnceLock::new, |t| OnceLock::from(Arc::clone(t)));
                self.templates.insert(config.id.clone(), slot);
                continue;
            }
            // What is wrong with an ancestor was told.
            if ancestors
                .iter()
                .any(|ancestor| failed.contains(&*ancestor.id))
            {
                failed.insert(&config.id);
                continue;
            }
            match builder(&line).finish_in(universe) {
                Ok(template) => {
                    let slot = OnceLock::new();
                    if used.is_some() {
                        let _ = slot.set(Arc::new(template));
                    }
                    self.templates.insert(config.id.clone(), slot);
                }
                Err(more) => {
                    failed.insert(&config.id);
                    errors.extend(more);
                }
            }
        }
    }

    fn used(&self, id: &str) -> Option<&Arc<Template>> {
        self.templates.get(id)?.get()
    }

    /// Whether a config and all its ancestors were in this state.
    fn is_same(&self, line: &[&Arc<Config>]) -> bool {
        let Some(config) = line.last() else {
            return false;
        };
        self.family.line(&config.id).is_some_and(|before| {
            before.len() == line.len() && before.iter().zip(line).all(|(a, b)| Arc::ptr_eq(a, b))
        })
    }

    fn changes_since(&self, before: &Self) -> ConfigChanges {
        let mut changes = ConfigChanges::default();
        let (now, old) = (&self.family.configs, &before.family.configs);
        for id in now.keys() {
            let same = self
                .family
                .line(id)
                .is_some_and(|line| before.is_same(&line));
            if !old.contains_key(id) {
                changes.added.push(id.to_string());
            } else if !same {
                changes.changed.push(id.to_string());
            }
        }
        let gone = old.keys().filter(|id| !now.contains_key(*id));
        changes.removed = gone.map(ToString::to_string).collect();
        changes
    }
}
