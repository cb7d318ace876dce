//! Entity configs that change while a program runs.

use std::fs;
use std::sync::Arc;

use crate::config_folder::Folder;
use crate::template_traits::{Speed, traits};
use megachunk::prelude::*;
use megachunk::template::{TemplateError, TemplateFault};

fn load(folder: &Folder, world: &World) -> TemplateRegistry {
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    registry.load_dir(folder.path()).unwrap();
    registry
}

fn walker(id: &str, speed: f32) -> String {
    format!("id = '{id}'\n[traits.walk]\nspeed = {speed:?}")
}

fn speed(registry: &TemplateRegistry, id: &str) -> f32 {
    registry.template(id).unwrap().get::<Speed>().unwrap().0
}

#[test]
fn a_changed_file_changes_its_template_and_no_entity() {
    let folder = Folder::new("reload_changed");
    folder.write("a.toml", &walker("a", 1.0));
    let mut world = World::new();
    let mut registry = load(&folder, &world);
    let old = registry.template("a").unwrap();
    let entity = old.create(&mut world).unwrap();
    assert!(registry.refresh().unwrap().is_empty());
    assert!(Arc::ptr_eq(&old, &registry.template("a").unwrap()));
    folder.write("a.toml", &walker("a", 2.0));
    let changes = registry.refresh().unwrap();
    assert_eq!(
        (&*changes.changed, &*changes.added),
        (&["a".to_owned()][..], &[][..])
    );
    assert_eq!(speed(&registry, "a"), 2.0);
    assert_eq!(
        old.get::<Speed>(),
        Some(&Speed(1.0)),
        "who has the old one keeps it"
    );
    assert_eq!(world.get::<Speed>(entity).unwrap(), &Speed(1.0));
    assert!(registry.refresh().unwrap().is_empty());
}

#[test]
fn a_change_that_leaves_size_and_time_as_they_were_is_seen() {
    let folder = Folder::new("reload_quick");
    folder.write("a.toml", &walker("a", 1.0));
    let path = folder.path().join("a.toml");
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let world = World::new();
    let mut registry = load(&folder, &world);
    folder.write("a.toml", &walker("a", 2.0));
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(time)
        .unwrap();
    assert_eq!(registry.refresh().unwrap().changed, ["a"]);
    assert_eq!(speed(&registry, "a"), 2.0);
}

#[test]
fn a_file_that_is_only_touched_changes_nothing() {
    let folder = Folder::new("reload_touched");
    folder.write("a.toml", &walker("a", 1.0));
    let world = World::new();
    let mut registry = load(&folder, &world);
    let old = registry.template("a").unwrap();
    folder.write("a.toml", &walker("a", 1.0));
    assert!(registry.refresh().unwrap().is_empty());
    assert!(Arc::ptr_eq(&old, &registry.template("a").unwrap()));
}

#[test]
fn new_and_removed_files_are_seen_also_in_directories_below() {
    let folder = Folder::new("reload_new");
    folder.write("a.toml", &walker("a", 1.0));
    let world = World::new();
    let mut registry = load(&folder, &world);
    folder.write("far/below/b.toml", &walker("b", 2.0));
    assert_eq!(registry.refresh().unwrap().added, ["b"]);
    assert_eq!(speed(&registry, "b"), 2.0);
    folder.remove("far/below/b.toml");
    assert_eq!(registry.refresh().unwrap().removed, ["b"]);
    assert!(registry.template("b").is_err());
    assert_eq!(speed(&registry, "a"), 1.0);
}

#[test]
fn only_templates_whose_config_or_ancestors_changed_are_built_anew() {
    let folder = Folder::new("reload_only");
    folder.write("eldest.toml", &walker("eldest", 1.0));
    folder.write("child.toml", "id = 'child'\nparent = 'eldest'");
    folder.write("grandchild.toml", "id = 'grandchild'\nparent = 'child'");
    folder.write("other.toml", &walker("other", 9.0));
    let world = World::new();
    let mut registry = load(&folder, &world);
    let ids = ["child", "eldest", "grandchild", "other"];
    let all = |registry: &TemplateRegistry| ids.map(|id| registry.template(id).unwrap());
    let same = |a: &[Arc<Template>; 4], b: &[Arc<Template>; 4]| {
        [0, 1, 2, 3].map(|at| Arc::ptr_eq(&a[at], &b[at]))
    };
    let before = all(&registry);
    folder.write(
        "child.toml",
        "id = 'child'\nparent = 'eldest'\nname = 'Child'",
    );
    assert_eq!(registry.refresh().unwrap().changed, ["child", "grandchild"]);
    let then = all(&registry);
    assert_eq!(same(&before, &then), [false, true, false, true]);
    folder.write("eldest.toml", &walker("eldest", 5.0));
    assert_eq!(
        registry.refresh().unwrap().changed,
        ["child", "eldest", "grandchild"]
    );
    assert_eq!(same(&then, &all(&registry)), [false, false, false, true]);
    assert_eq!(speed(&registry, "grandchild"), 5.0);
}

#[test]
fn if_anything_is_wrong_all_templates_are_as_before_until_it_is_mended() {
    let folder = Folder::new("reload_wrong");
    folder.write("a.toml", &walker("a", 1.0));
    folder.write("b.toml", &walker("b", 1.0));
    let world = World::new();
    let mut registry = load(&folder, &world);
    let (a, b) = (
        registry.template("a").unwrap(),
        registry.template("b").unwrap(),
    );
    folder.write("a.toml", &walker("a", 2.0));
    folder.write("b.toml", &walker("b", -1.0));
    folder.write("c.toml", "id = 'c'\nparent = 'd'");
    for _ in 0..2 {
        let errors = registry.refresh().unwrap_err();
        assert_eq!(errors.len(), 2, "{errors}");
        assert!(Arc::ptr_eq(&a, &registry.template("a").unwrap()));
        assert!(Arc::ptr_eq(&b, &registry.template("b").unwrap()));
    }
    folder.write("b.toml", &walker("b", 3.0));
    folder.remove("c.toml");
    assert_eq!(registry.refresh().unwrap().changed, ["a", "b"]);
    assert_eq!((speed(&registry, "a"), speed(&registry, "b")), (2.0, 3.0));
}

#[test]
fn a_parent_that_goes_is_an_error_as_long_as_it_has_children() {
    let folder = Folder::new("reload_orphan");
    folder.write("parent.toml", &walker("parent", 1.0));
    folder.write("child.toml", "id = 'child'\nparent = 'parent'");
    let world = World::new();
    let mut registry = load(&folder, &world);
    folder.remove("parent.toml");
    let errors = registry.refresh().unwrap_err().to_string();
    assert!(
        errors.contains("child.toml:2:10: no config has the id `parent`"),
        "{errors}"
    );
    assert_eq!(speed(&registry, "child"), 1.0);
    folder.remove("child.toml");
    assert_eq!(registry.refresh().unwrap().removed, ["child", "parent"]);
}

#[test]
fn a_config_may_move_to_another_file() {
    let folder = Folder::new("reload_moved");
    folder.write("a.toml", &walker("a", 1.0));
    let world = World::new();
    let mut registry = load(&folder, &world);
    fs::rename(folder.path().join("a.toml"), folder.path().join("b.toml")).unwrap();
    let changes = registry.refresh().unwrap();
    assert_eq!(
        (&*changes.changed, changes.added.len()),
        (&["a".to_owned()][..], 0)
    );
    assert_eq!(registry.file_of("a").unwrap(), folder.path().join("b.toml"));
}

#[test]
fn a_file_or_a_directory_may_go_and_come_back() {
    let folder = Folder::new("reload_single");
    folder.write("a/a.toml", &walker("a", 1.0));
    folder.write("b/b.toml", &walker("b", 1.0));
    let world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    registry.load_file(folder.path().join("a/a.toml")).unwrap();
    registry.load_dir(folder.path().join("b")).unwrap();
    folder.remove("a/a.toml");
    assert_eq!(registry.refresh().unwrap().removed, ["a"]);
    folder.write("a/a.toml", &walker("a", 2.0));
    assert_eq!(registry.refresh().unwrap().added, ["a"]);
    let (b, c) = (folder.path().join("b"), folder.path().join("c"));
    fs::rename(&b, &c).unwrap();
    folder.write("a/a.toml", &walker("a", 3.0));
    let changes = registry.refresh().unwrap();
    assert_eq!(
        (changes.changed, changes.removed),
        (vec!["a".into()], vec!["b".into()])
    );
    let error = registry.load_dir(&b).unwrap_err();
    assert!(
        matches!(error.as_slice()[0].fault, TemplateFault::Unreadable { .. }),
        "what is loaded must be there: {error}"
    );
    fs::rename(&c, &b).unwrap();
    assert_eq!(registry.refresh().unwrap().added, ["b"]);
}

#[test]
fn what_was_loaded_is_taken_out_by_its_name_or_path() {
    let folder = Folder::new("unload");
    folder.write("dir/a.toml", &walker("a", 1.0));
    folder.write("dir/below/b.toml", &walker("b", 2.0));
    folder.write("c.toml", &walker("c", 3.0));
    let mut world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    let (dir, file) = (folder.path().join("dir"), folder.path().join("c.toml"));
    registry.load_str("text", &walker("d", 4.0)).unwrap();
    registry.load_dir(&dir).unwrap();
    registry.load_file(&file).unwrap();
    let kept = registry.template("a").unwrap();
    let (first, other) = (kept.create(&mut world).unwrap(), registry.template("d"));
    let other = other.unwrap();

    let changes = registry.unload(&dir).unwrap();
    assert_eq!(changes.removed, ["a", "b"]);
    assert!(changes.added.is_empty() && changes.changed.is_empty());
    assert!(registry.template("a").is_err() && registry.file_of("a").is_none());
    // Who has it, has it.
    let second = kept.create(&mut world).unwrap();
    for entity in [first, second] {
        assert_eq!(world.get::<Speed>(entity).unwrap(), &Speed(1.0));
    }
    assert!(registry.ids().eq(["c", "d"]));
    assert!(registry.refresh().unwrap().is_empty(), "it is read no more");

    // Those behind it are still known by what they were loaded as.
    folder.write("c.toml", &walker("c", 5.0));
    assert_eq!(registry.refresh().unwrap().changed, ["c"]);
    registry.load_str("text", &walker("d", 6.0)).unwrap();
    assert!(!Arc::ptr_eq(&other, &registry.template("d").unwrap()));
    registry.load_dir(&dir).unwrap();
    assert_eq!(registry.unload(&file).unwrap().removed, ["c"]);
    assert_eq!(registry.unload("text").unwrap().removed, ["d"]);
    assert_eq!(registry.unload(&dir).unwrap().removed, ["a", "b"]);
    assert_eq!(registry.ids().count(), 0);
    assert!(registry.refresh().unwrap().is_empty());
}

#[test]
fn what_others_inherit_from_stays_and_what_was_not_loaded_is_an_error() {
    let world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    registry.load_str("base", &walker("base", 1.0)).unwrap();
    registry
        .load_texts([
            ("one", "id = 'one'\nparent = 'base'"),
            ("two", "id = 'two'\nname = '2'\nparent = 'base'"),
        ])
        .unwrap();
    let before = registry.template("one").unwrap();
    let errors = registry.unload("base").unwrap_err();
    assert_eq!(
        errors.to_string(),
        "one:2:10: no config has the id `base`\ntwo:3:10: no config has the id `base`"
    );
    let parent = |error: &TemplateError| matches!(&error.fault, TemplateFault::UnknownParent { parent, .. } if &**parent == "base");
    assert!(errors.as_slice().iter().all(parent));
    assert!(Arc::ptr_eq(&before, &registry.template("one").unwrap()));
    assert!(registry.ids().eq(["base", "one", "two"]));
    let errors = registry.unload("bass").unwrap_err();
    assert_eq!(
        errors.to_string(),
        "bass: is not loaded: did you mean `base`?"
    );
    // What is the file of a config is not what was loaded.
    let folder = Folder::new("unload_not_loaded");
    folder.write("a.toml", &walker("a", 1.0));
    registry.load_dir(folder.path()).unwrap();
    let errors = registry.unload(folder.path().join("a.toml")).unwrap_err();
    assert!(matches!(
        errors.as_slice()[0].fault,
        TemplateFault::NotLoaded { .. }
    ));
    for child in ["one", "two", "base"] {
        assert_eq!(registry.unload(child).unwrap().removed, [child]);
    }
}

#[test]
fn a_file_that_was_loaded_twice_stays_until_it_is_taken_out_twice() {
    let folder = Folder::new("unload_twice");
    folder.write("a.toml", &walker("a", 1.0));
    folder.write("b.toml", &walker("b", 1.0));
    let path = folder.path().join("a.toml");
    let again = folder.path().join("../unload_twice/a.toml");
    let world = World::new();
    for refreshed in [false, true] {
        for dir_first in [false, true] {
            for unload_dir_first in [false, true] {
                let mut registry = TemplateRegistry::new(world.universe(), traits());
                if !dir_first {
                    registry.load_file(&again).unwrap();
                }
                registry.load_dir(folder.path()).unwrap();
                if dir_first {
                    registry.load_file(&again).unwrap();
                }
                registry.load_file(&path).unwrap();
                if refreshed {
                    assert!(registry.refresh().unwrap().is_empty());
                }
                let before = registry.template("a").unwrap();
                if unload_dir_first {
                    assert_eq!(registry.unload(folder.path()).unwrap().removed, ["b"]);
                }
                assert!(registry.unload(&path).unwrap().is_empty());
                assert!(Arc::ptr_eq(&before, &registry.template("a").unwrap()));
                let changes = registry.unload(&again).unwrap();
                if unload_dir_first {
                    assert_eq!(changes.removed, ["a"]);
                } else {
                    assert!(changes.is_empty());
                    assert_eq!(registry.unload(folder.path()).unwrap().removed, ["a", "b"]);
                }
                assert_eq!(registry.ids().count(), 0);
            }
        }
    }
}

#[test]
fn a_directory_that_has_become_something_else_is_an_error() {
    let folder = Folder::new("reload_no_directory");
    folder.write("b/b.toml", &walker("b", 1.0));
    let world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    registry.load_dir(folder.path().join("b")).unwrap();
    folder.remove("b/b.toml");
    fs::remove_dir(folder.path().join("b")).unwrap();
    folder.write("b", "a file");
    let error = registry.refresh().unwrap_err();
    assert!(
        matches!(error.as_slice()[0].fault, TemplateFault::Unreadable { .. }),
        "{error}"
    );
    assert_eq!(speed(&registry, "b"), 1.0);
}

#[test]
fn children_of_a_parent_whose_file_is_broken_are_not_in_the_wrong() {
    let folder = Folder::new("reload_broken_parent");
    let world = World::new();
    for broken in ["", "id 'base'", "\"", "id = 3", "name = 'base'", "id = ''"] {
        folder.write("parents/base.toml", &walker("base", 1.0));
        folder.write("child.toml", "id = 'child'\nparent = 'base'");
        let mut registry = load(&folder, &world);
        folder.write("parents/base.toml", broken);
        let errors = registry.refresh().unwrap_err();
        assert_eq!(errors.len(), 1, "{errors}");
        // Those that are gone are missed all the same.
        folder.write("orphan.toml", "id = 'orphan'\nparent = 'nobody'");
        assert_eq!(registry.refresh().unwrap_err().len(), 2);
        folder.remove("orphan.toml");
    }
    folder.write("parents/base.toml", &walker("base", 1.0));
    let mut registry = load(&folder, &world);
    fs::write(folder.path().join("parents/base.toml"), b"id = '\xff'").unwrap();
    let errors = registry.refresh().unwrap_err();
    assert_eq!(errors.len(), 1, "{errors}");
    // By another path.
    let errors = registry.load_file(folder.path().join("parents/../parents/base.toml"));
    let errors = errors.unwrap_err();
    assert_eq!(errors.len(), 1, "{errors}");
    fs::remove_file(folder.path().join("parents/base.toml")).unwrap();
    let errors = registry.refresh().unwrap_err().to_string();
    assert!(errors.ends_with("no config has the id `base`"), "{errors}");
}

#[cfg(unix)]
#[test]
fn links_to_files_are_followed_and_links_to_directories_are_not() {
    let folder = Folder::new("reload_links");
    folder.write("there/a.toml", &walker("a", 1.0));
    folder.write("here/b.toml", &walker("b", 1.0));
    let here = folder.path().join("here");
    // A directory that is in itself would never end.
    std::os::unix::fs::symlink(&here, here.join("again")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("there"), here.join("there.toml")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("there/a.toml"), here.join("a.toml")).unwrap();
    let world = World::new();
    let mut registry = TemplateRegistry::new(world.universe(), traits());
    let changes = registry.load_dir(&here).unwrap();
    assert_eq!(changes.added, ["a", "b"]);
    // A link to nothing is no config, and no error: its file may come back.
    folder.remove("there/a.toml");
    assert_eq!(registry.refresh().unwrap().removed, ["a"]);
}
