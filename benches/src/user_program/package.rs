//! `Package`: the program as a package, in a folder of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use megachunk::cli::{CliError, shown_path};

use super::plan::Plan;
use super::store::Store;
use super::text::source;

/// A package that was written.
#[derive(Clone, Debug)]
pub(super) struct Package {
    pub(super) store: Store,
    folder: PathBuf,
    /// Where it is compiled: apart from the others, so that nothing of theirs is there already.
    target: PathBuf,
    /// The store's version.
    pub(super) version: String,
}

/// The first line of each `Cargo.toml` that is written here: by it, it is known that it may be replaced.
const MARK: &str = "# Written by `megachunk-benches program`.\n";

/// The root of this repository.
pub(super) fn root() -> PathBuf {
    let benches = Path::new(env!("CARGO_MANIFEST_DIR"));
    benches.parent().unwrap_or(benches).to_owned()
}

impl Package {
    /// Writes the program for `store` into the folder of its name in `out`.
    ///
    /// # Errors
    /// What the system says; another package is there; this repository's `Cargo.lock` does not know the store.
    pub(super) fn write(plan: &Plan, store: Store, out: &Path) -> Result<Self, CliError> {
        let lock = root().join("Cargo.lock");
        let locked = fs::read_to_string(&lock).map_err(|source| CliError::File {
            argument: None,
            path: lock.clone(),
            source,
        })?;
        let version = version(&locked, store.name()).ok_or_else(|| {
            let lock = shown_path(&lock);
            CliError::Failed(format!("{lock} has no package {}", store.name()))
        })?;
        // Absolute: cargo is called in the folder, with paths in it.
        let out = std::path::absolute(out).map_err(failed(out))?;
        let folder = out.join(store.name());
        let manifest = folder.join("Cargo.toml");
        let is_its_own = match fs::read_to_string(&manifest) {
            Ok(text) => text.starts_with(MARK),
            Err(_) => is_empty(&folder).map_err(failed(&folder))?,
        };
        if !is_its_own {
            return Err(CliError::BadArgument {
                argument: "--out".into(),
                reason: format!("{} is another package's", shown_path(&folder)),
            });
        }
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            let parent = path.parent().unwrap_or(&folder);
            fs::create_dir_all(parent).map_err(failed(parent))?;
            fs::write(&path, text).map_err(failed(&path))
        };
        write("Cargo.toml", &manifest_text(store, version))?;
        // Cargo leaves out of it what the program does not need, and takes the versions of the rest.
        write("Cargo.lock", &locked)?;
        write("src/main.rs", &source(plan, store))?;
        Ok(Self {
            store,
            folder,
            target: out.join("target").join(store.name()),
            version: version.to_owned(),
        })
    }
}

/// How a package is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Profile {
    /// As cargo does it unless it is told otherwise, but for what it keeps for the next time.
    Dev,
    Release,
}

impl Profile {
    pub(super) const ALL: [Self; 2] = [Self::Dev, Self::Release];

    /// Its name for cargo.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Release => "release",
        }
    }

    /// The folder in which cargo keeps what it makes.
    const fn folder(self) -> &'static str {
        match self {
            Self::Dev => "debug",
            Self::Release => "release",
        }
    }
}

impl Package {
    /// Cargo on this package, with its subcommand; to be called in its folder.
    pub(super) fn cargo(&self, subcommand: &str) -> Command {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        // They are for who compiles this program.
        for (variable, _) in std::env::vars_os() {
            if variable.to_str().is_some_and(is_for_compiling) {
                cargo.env_remove(variable);
            }
        }
        cargo
            .arg(subcommand)
            .args(["--quiet", "--target-dir"])
            .arg(&self.target)
            .current_dir(&self.folder)
            .env("CARGO_INCREMENTAL", "0");
        cargo
    }

    /// Whether anything was compiled under a profile.
    pub(super) fn is_begun(&self, profile: Profile) -> bool {
        self.target.join(profile.folder()).exists()
    }

    /// Compiles the program and what it needs, as far as that is not done.
    ///
    /// # Errors
    /// Cargo fails, and has said why on standard error.
    pub(super) fn build(&self, profile: Profile) -> Result<(), CliError> {
        let mut build = self.cargo("build");
        self.run(build.args(["--profile", profile.name()]))
    }

    /// The program is to be compiled anew, and nothing else.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn touch(&self) -> Result<(), CliError> {
        let source = self.folder.join("src/main.rs");
        let text = fs::read(&source).map_err(failed(&source))?;
        fs::write(&source, text).map_err(failed(&source))
    }

    /// The program that was compiled.
    pub(super) fn program(&self, profile: Profile) -> PathBuf {
        let name = format!("user-{}{}", self.store.name(), std::env::consts::EXE_SUFFIX);
        self.target.join(profile.folder()).join(name)
    }

    /// Where the compiler writes what it makes of the program.
    pub(super) fn instances(&self) -> PathBuf {
        self.target.join(format!("{}.ll", self.store.name()))
    }

    /// The line that says where it is.
    pub(super) fn told(&self) -> String {
        let (name, folder) = (self.store.name(), shown_path(&self.folder));
        format!("{name} {}: {folder}\n", self.version)
    }

    /// Runs a command on this package.
    ///
    /// # Errors
    /// It fails, and has said why on standard error.
    pub(super) fn run(&self, command: &mut Command) -> Result<(), CliError> {
        let name = self.store.name();
        match command.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(CliError::Failed(format!(
                "cargo failed for the program of {name}: {status}"
            ))),
            Err(error) => Err(CliError::Failed(format!("cargo cannot be run: {error}"))),
        }
    }
}

/// Whether a folder has nothing in it, or is not there.
fn is_empty(folder: &Path) -> std::io::Result<bool> {
    match fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// Whether a variable of the environment says how something is compiled.
fn is_for_compiling(variable: &str) -> bool {
    const PREFIXES: [&str; 4] = ["CARGO_BUILD_", "CARGO_PROFILE_", "CARGO_TARGET_", "RUSTC"];
    PREFIXES.iter().any(|prefix| variable.starts_with(prefix))
        || ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"].contains(&variable)
}

fn manifest_text(store: Store, version: &str) -> String {
    format!(
        "{MARK}
[package]
name = \"user-{}\"
version = \"0.0.0\"
edition = \"2024\"
publish = false

[dependencies]
{}

# Not a part of any that it may lie in.
[workspace]
",
        store.name(),
        store.dependency(&root(), version)
    )
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> CliError {
    let path = path.to_owned();
    |source| CliError::File {
        argument: Some("--out".into()),
        path,
        source,
    }
}

/// The version of a package in the text of a `Cargo.lock`; of several the last one, which is the newest.
fn version<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines();
    let mut found = None;
    while lines.by_ref().any(|line| line == name) {
        found = lines
            .next()?
            .strip_prefix("version = \"")?
            .strip_suffix('"');
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_that_of_the_lock_file() {
        let lock = "[[package]]\nname = \"hecs\"\nversion = \"0.11.2\"\n\n[[package]]\nname = \"other\"\nversion = \"1.0.0\"\n";
        assert_eq!(version(lock, "hecs"), Some("0.11.2"));
        assert_eq!(version(lock, "hec"), None);
    }

    #[test]
    fn another_package_is_not_replaced_and_ones_own_is() {
        let out = std::env::temp_dir().join(format!("megachunk-program-{}", std::process::id()));
        let plan = Plan::new(8, 2, 1).unwrap();
        for _ in 0..2 {
            let package = Package::write(&plan, Store::Hecs, &out).unwrap();
            let manifest = fs::read_to_string(package.folder.join("Cargo.toml")).unwrap();
            assert!(
                manifest.contains(&format!("hecs = \"={}\"", package.version)),
                "{manifest}"
            );
        }
        let is_refused = || {
            let refused = Package::write(&plan, Store::Hecs, &out).unwrap_err();
            refused.to_string().contains("another package's")
        };
        fs::write(out.join("hecs/Cargo.toml"), "[package]\n").unwrap();
        assert!(is_refused());
        // Nor what has no manifest, or one that is no text.
        fs::write(out.join("hecs/Cargo.toml"), [0xff]).unwrap();
        assert!(is_refused());
        fs::remove_file(out.join("hecs/Cargo.toml")).unwrap();
        assert!(is_refused());
        fs::remove_dir_all(&out).unwrap();
    }

    #[test]
    fn what_says_how_to_compile_is_not_passed_on() {
        let passed = ["PATH", "CARGO_HOME", "RUSTUP_TOOLCHAIN", "CARGO"];
        assert!(!passed.into_iter().any(is_for_compiling));
        let kept = [
            "RUSTC_WRAPPER",
            "RUSTFLAGS",
            "CARGO_BUILD_TARGET",
            "CARGO_PROFILE_DEV_DEBUG",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS",
        ];
        assert!(kept.into_iter().all(is_for_compiling));
    }
}
