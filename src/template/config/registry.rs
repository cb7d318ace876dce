//! `TemplateRegistry`: entity configs, and the templates that they describe.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::family::builder;
use super::lines::about_file;
use super::source::{Source, Sources};
use super::state::{Fresh, State};
use super::{ConfigChanges, TraitRegistry};
use crate::archetype::Universe;
use crate::template::fault::near;
use crate::template::{Template, TemplateError, TemplateErrors, TemplateFault};

/// Entity configs, and the templates that they describe: one for each id, built when it is first asked for.
///
/// Whatever is loaded is checked as a whole, together with what is there: its templates are built once on trial, so
/// what was loaded can be used. If anything is wrong, all of it is told, and the registry is as before.
///
/// So each call costs O(all that is loaded), and n that load one file each cost O(n²): load many by one call, of
/// [`load_dir`](Self::load_dir) or [`load_texts`](Self::load_texts). What was loaded stays until it is [taken
/// out](Self::unload).
///
/// ```
/// use megachunk::prelude::*;
/// use serde::Deserialize;
///
/// #[derive(Clone, Debug, PartialEq)]
/// struct Speed(f32);
/// #[derive(Deserialize)]
/// struct Walk { speed: f32 }
///
/// impl EntityTrait for Walk {
///     fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
///         context.add(Speed(self.speed));
///         Ok(())
///     }
/// }
/// let mut world = World::new();
/// let mut traits = TraitRegistry::new();
/// traits.register::<Walk>("walk")?;
/// let mut registry = TemplateRegistry::new(world.universe(), traits);
/// registry.load_str("walker.toml", "id = 'walker'\n[traits.walk]\nspeed = 1.4")?;
/// let walker = registry.template("walker")?.create(&mut world)?;
/// assert_eq!(world.get::<Speed>(walker)?, &Speed(1.4));
///
/// let wrong = "id = 'runner'\nparent = 'walkr'\n[traits.walk]\nspede = 4.0";
/// let errors = registry.load_str("runner.toml", wrong).unwrap_err();
/// assert_eq!(errors.to_string(), "\
/// runner.toml:2:10: no config has the id `walkr`: did you mean `walker`?
/// runner.toml:4:1: `walk` has no `spede`: did you mean `speed`?");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Files
/// A file is one config. It is [TOML](https://toml.io), UTF-8, and of 1 MiB at most:
///
/// ```toml
/// id = "porter"                     # unique in the registry
/// name = "Porter with a suitcase"   # what people call it
/// parent = "agent"                  # another config's id, whose traits come first
/// abstract = false                  # true: it is a parent of others, and no template
///
/// [traits.walk]                     # a trait, by its class in the `TraitRegistry`,
/// speed = 1.1                       # and its parameters: the fields of its type
///
/// [traits.select]                   # a trait without parameters
/// ```
///
/// | key | value | unless it is said |
/// |---|---|---|
/// | `id` | a text that is not empty: what [`template`](Self::template) and children call it | an error |
/// | `name` | a text: [`Template::name`] | the id, also where a parent has a name |
/// | `parent` | the id of one that is loaded before, or together with this one; it may have a parent itself, but no loop | it has none |
/// | `abstract` | `true`: [`template`](Self::template) refuses it, and what its traits lack together its children may bring | `false`, also where the parent is |
/// | `[traits.CLASS]` | a table for each trait, whose keys are read as serde reads `T` of [`register::<T>("CLASS")`](TraitRegistry::register): fields that are `Option` or have `#[serde(default)]` may be left out | it has those of its ancestors |
///
/// Every other key is an error, also in a trait's table. Traits build in the order of the file, after those of the
/// ancestors. One whose class an ancestor has, too, stands in the place of that, and replaces it as a whole: parameters
/// that it does not say are not those of the ancestor. No trait can be taken away.
///
/// ```
/// use megachunk::prelude::*;
/// use megachunk::template::TemplateFault;
/// use serde::Deserialize;
///
/// // Fragments, and a tag: what entities have.
/// #[derive(Clone, Debug, PartialEq)]
/// struct Mass(f32);
/// #[derive(Clone, Debug, PartialEq)]
/// struct Speed(f32);
/// #[derive(Clone)]
/// struct Selectable;
///
/// // Traits: what files can name.
/// #[derive(Deserialize)]
/// struct Body { mass: f32 }
/// impl EntityTrait for Body {
///     fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
///         context.add(Mass(self.mass));
///         Ok(())
///     }
/// }
/// #[derive(Deserialize)]
/// struct Walk {
///     speed: f32,
///     /// How much slower it is with a load: it may be left out.
///     slower: Option<f32>,
/// }
/// impl EntityTrait for Walk {
///     fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
///         context.add(Speed(self.speed - self.slower.unwrap_or(0.0)));
///         Ok(())
///     }
/// }
/// #[derive(Deserialize)]
/// struct Select;
/// impl EntityTrait for Select {
///     fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
///         context.add_tag(Selectable);
///         Ok(())
///     }
/// }
///
/// let mut world = World::new();
/// let mut traits = TraitRegistry::new();
/// traits.register::<Body>("body")?.register::<Walk>("walk")?.register::<Select>("select")?;
/// let mut registry = TemplateRegistry::new(world.universe(), traits);
/// // Of files in a directory: `registry.load_dir("configs")?`.
/// registry.load_texts([
///     ("agent.toml", r#"
///         id = "agent"
///         abstract = true
///
///         [traits.body]
///         mass = 70.0
///
///         [traits.walk]
///         speed = 1.5
///         slower = 0.25
///     "#),
///     ("porter.toml", r#"
///         id = "porter"
///         name = "Porter with a suitcase"
///         parent = "agent"
///
///         [traits.walk]
///         speed = 1.0
///
///         [traits.select]
///     "#),
/// ])?;
///
/// let porter = registry.template("porter")?;
/// assert_eq!(porter.name(), "Porter with a suitcase");
/// let anna = porter.create(&mut world)?;
/// assert_eq!(world.get::<Mass>(anna)?, &Mass(70.0), "as the parent says");
/// assert_eq!(world.get::<Speed>(anna)?, &Speed(1.0), "nothing is left of the parent's `slower`");
/// assert!(world.has::<Selectable>(anna)?);
///
/// assert!(registry.ids().eq(["agent", "porter"]) && registry.template_ids().eq(["porter"]));
/// let refused = registry.template("agent").unwrap_err();
/// assert!(matches!(refused.as_slice()[0].fault, TemplateFault::Abstract { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Source: Unreal Mass' entity config assets and template registry.
#[derive(Debug)]
#[doc(alias = "FMassEntityTemplateRegistry")]
pub struct TemplateRegistry {
    universe: Arc<Universe>,
    traits: TraitRegistry,
    state: State,
}

impl TemplateRegistry {
    /// A registry without configs, for worlds of this universe, whose configs can name these traits.
    #[must_use]
    pub fn new(universe: &Arc<Universe>, traits: TraitRegistry) -> Self {
        Self {
            universe: Arc::clone(universe),
            traits,
            state: State::default(),
        }
    }

    /// Loads all files in a directory, and the directories below it, whose names end in `.toml`, in
    /// small or large letters; without hidden ones, and without directories that are links. A file
    /// has 1 MiB at most. O(bytes + configs log configs), and for each config that is new or another than before, or
    /// has such an ancestor, its ancestors, and what it takes to
    /// [build](crate::template::TemplateBuilder::finish) with their traits and its own.
    ///
    /// # Errors
    /// All that is wrong, in whatever file.
    ///
    /// # Panics
    /// If a trait does while it is read, builds, validates, or hears that what it has built was a
    /// trial: the registry is as before then. If it is the
    /// [`destroy`](crate::template::EntityTrait::destroy) of a trait whose template goes because
    /// its config is another now, or gone: then all is as it was loaded, and nobody is told what
    /// has changed.
    pub fn load_dir(&mut self, path: impl Into<PathBuf>) -> Result<ConfigChanges, TemplateErrors> {
        self.load(vec![Source::Directory(path.into())])
    }

    /// Loads one file. Its parent must be loaded before. The cost of [`load_dir`](Self::load_dir), of all sources: many
    /// files are loaded by their directory, or as texts.
    ///
    /// # Errors
    /// All that is wrong.
    ///
    /// # Panics
    /// As for [`load_dir`](Self::load_dir).
    pub fn load_file(&mut self, path: impl Into<PathBuf>) -> Result<ConfigChanges, TemplateErrors> {
        self.load(vec![Source::File(path.into())])
    }

    /// Loads a text that is no file; its name stands for the path in errors. One that was loaded with this name before
    /// is replaced. The cost is that of [`load_dir`](Self::load_dir): [`load_texts`](Self::load_texts) loads many.
    ///
    /// # Errors
    /// All that is wrong.
    ///
    /// # Panics
    /// As for [`load_dir`](Self::load_dir).
    pub fn load_str(&mut self, name: &str, text: &str) -> Result<ConfigChanges, TemplateErrors> {
        self.load_texts([(name, text)])
    }

    /// Loads texts that are no files, each with its name, together: all or none. Of two of one name the last counts.
    ///
    /// # Errors
    /// All that is wrong, in whatever text.
    ///
    /// # Panics
    /// As for [`load_dir`](Self::load_dir).
    pub fn load_texts<'a>(
        &mut self,
        texts: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<ConfigChanges, TemplateErrors> {
        let texts = texts.into_iter();
        self.load(
            texts
                .map(|(name, text)| Source::Text(name.into(), text.into()))
                .collect(),
        )
    }

    fn load(&mut self, fresh: Vec<Source>) -> Result<ConfigChanges, TemplateErrors> {
        let mut sources = self.state.sources.clone();
        let known = sources
            .iter()
            .map(|(&number, source)| (source.key(), number));
        let mut known: HashMap<_, usize> = known.collect();
        let mut next = sources.last_key_value().map_or(0, |(last, _)| last + 1);
        let mut numbers = HashSet::with_capacity(fresh.len());
        for source in fresh {
            let number = *known.entry(source.key()).or_insert(next);
            next = next.max(number + 1);
            numbers.insert(number);
            sources.insert(number, source);
        }
        self.turn(sources, &Fresh::Loaded(numbers))
    }

    /// Takes out again what was loaded under this name or path: the text, the file or the directory, as it was called
    /// then; all of them, if they are several. What was found in it is gone, unless it is also in something else that
    /// is loaded: a file by itself and in a directory. Nothing is read. All or nothing: a parent goes when no child of it
    /// stays.
    ///
    /// As with configs whose files are gone, [`template`](Self::template) knows them no more; who has a template keeps it,
    /// and entities stay as they are. O(sources + configs log configs).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let mut registry = TemplateRegistry::new(world.universe(), TraitRegistry::new());
    /// registry.load_texts([
    ///     ("agents.toml", "id = 'agent'"),
    ///     ("mods/porter.toml", "id = 'porter'\nparent = 'agent'"),
    /// ])?;
    /// let porter = registry.template("porter")?;
    ///
    /// let refused = registry.unload("agents.toml").unwrap_err();
    /// assert_eq!(refused.to_string(), "mods/porter.toml:2:10: no config has the id `agent`");
    /// assert_eq!(registry.unload("mods/porter.toml")?.removed, ["porter"]);
    /// assert!(registry.template("porter").is_err());
    /// // It lives as long as somebody has it.
    /// porter.create(&mut world)?;
    /// assert_eq!(registry.unload("agents.toml")?.removed, ["agent"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`TemplateFault::NotLoaded`] if nothing was loaded under it; [`TemplateFault::UnknownParent`] for each config that
    /// would stay without its parent, with its place; whatever else is wrong then. All is as before.
    ///
    /// # Panics
    /// As for [`load_dir`](Self::load_dir).
    pub fn unload(
        &mut self,
        name_or_path: impl AsRef<Path>,
    ) -> Result<ConfigChanges, TemplateErrors> {
        let path = name_or_path.as_ref();
        let mut sources = self.state.sources.clone();
        sources.retain(|_, source| source.path() != path);
        if sources.len() == self.state.sources.len() {
            return Err(self.not_loaded(path).into());
        }
        self.turn(sources, &Fresh::Loaded(HashSet::new()))
    }

    fn not_loaded(&self, path: &Path) -> TemplateError {
        let sources = self.state.sources.values();
        let known: BTreeSet<_> = sources
            .map(|source| source.path().to_string_lossy())
            .collect();
        let nearest = near(&path.to_string_lossy(), known.iter().map(|path| &**path));
        about_file(path, TemplateFault::NotLoaded { nearest })
    }

    /// Looks whether files have changed, are new, or are gone, alone or with their directory, and
    /// takes over what they are now. Templates whose config or ancestors are others than before are
    /// built anew, if they were in use: who asks for them then gets the new ones; entities stay as
    /// they are.
    ///
    /// A file or directory that was loaded and is gone is looked for each time, until it is [taken
    /// out](Self::unload). It reads the files: a change that leaves size and time of modification as they were is seen too. So call it
    /// once a second rather than once a frame. O(bytes of all files + configs log configs), and for what has changed as
    /// [`load_dir`](Self::load_dir).
    ///
    /// # Errors
    /// All that is wrong with the files as they are now. Then all is as before, and the next call tries again.
    ///
    /// # Panics
    /// As for [`load_dir`](Self::load_dir).
    #[doc(alias = "hot reload")]
    pub fn refresh(&mut self) -> Result<ConfigChanges, TemplateErrors> {
        self.turn(self.state.sources.clone(), &Fresh::Refreshed)
    }

    fn turn(&mut self, sources: Sources, fresh: &Fresh) -> Result<ConfigChanges, TemplateErrors> {
        let (next, changes) = self
            .state
            .next(sources, fresh, &self.traits, &self.universe)?;
        let before = core::mem::replace(&mut self.state, next);
        // Templates that nobody else has go, and their traits hear of it.
        drop(before);
        Ok(changes)
    }

    /// The template of a config. O(log configs); the first time, its traits build.
    ///
    /// If several threads ask for it for the first time, all get the same one.
    ///
    /// # Errors
    /// [`TemplateFault::UnknownTemplate`], [`TemplateFault::Abstract`]; or whatever a trait finds wrong that has found
    /// nothing when it was loaded.
    ///
    /// # Panics
    /// If a trait does; there is no template then.
    pub fn template(&self, id: &str) -> Result<Arc<Template>, TemplateErrors> {
        let Some(slot) = self.state.templates.get(id) else {
            return Err(self.unknown(id).into());
        };
        if let Some(template) = slot.get() {
            return Ok(Arc::clone(template));
        }
        let line = self.state.family.line(id).unwrap_or_default();
        let template = Arc::new(builder(&line).finish_in(&self.universe)?);
        Ok(Arc::clone(slot.get_or_init(|| template)))
    }

    fn unknown(&self, id: &str) -> TemplateError {
        let config = self.state.family.configs.get(id);
        let (id, nearest) = (id.into(), self.state.family.nearest(id));
        TemplateError {
            place: config.map(|config| config.place.clone()),
            template: None,
            fault: match config {
                Some(_) => TemplateFault::Abstract { id },
                None => TemplateFault::UnknownTemplate { id, nearest },
            },
        }
    }

    /// The ids of all configs, sorted; abstract ones among them.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.state.family.configs.keys().map(|id| &**id)
    }

    /// The ids of all configs that templates can be had of, sorted.
    pub fn template_ids(&self) -> impl Iterator<Item = &str> {
        self.state.templates.keys().map(|id| &**id)
    }

    /// The file that a config stands in, or the name of its text.
    #[must_use]
    pub fn file_of(&self, id: &str) -> Option<&Path> {
        Some(&self.state.family.configs.get(id)?.place.file)
    }

    /// The traits that configs can name.
    #[must_use]
    pub fn traits(&self) -> &TraitRegistry {
        &self.traits
    }
}
