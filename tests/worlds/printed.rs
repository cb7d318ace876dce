//! Values, entities and handles as text, for who debugs.

use core::alloc::Layout;
use core::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use megachunk::fragment::FragmentDefinition;
use megachunk::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Owner(&'static str);

#[derive(Clone, Copy)]
struct Wide([u8; 20]);
megachunk::plain!(Wide { 0 });

struct Secret(#[expect(dead_code, reason = "nobody reads it")] u64);

/// A tag, whose `Debug` is written out.
#[derive(Debug)]
struct Asleep;

/// Of which the `Debug` panics.
struct Burning(u32);

impl fmt::Debug for Burning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("half of ")?;
        resume_unwind(Box::new(self.0));
    }
}

/// Of which the `Debug` writes lines.
struct Poem;

impl fmt::Debug for Poem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("roses are red\nviolets are\r\nblue")
    }
}

#[test]
fn values_are_shown_as_their_type_says_once_that_was_registered_also_later() {
    let mut world = World::new();
    let ant = world.create((Owner("red"),)).unwrap();
    let id = world.registry().of::<Owner>().unwrap().id();
    let name = world.registry().get(id).unwrap().name().to_owned();
    let shown = |world: &World| format!("{:?}", world.get_dynamic(ant, id).unwrap());
    assert_eq!(shown(&world), format!("1 × {name}"));
    assert!(world.registry().get(id).unwrap().debug_value().is_none());
    assert_eq!(world.registry().register_debug::<Owner>().unwrap().id(), id);
    assert_eq!(shown(&world), format!("1 × {name}: Owner(\"red\")"));
    let shown = format!("{:?}", world.get_dynamic_mut(ant, id).unwrap());
    assert_eq!(shown, format!("1 × {name}: Owner(\"red\")"));
}

#[test]
fn of_many_values_eight_are_shown_and_of_plain_ones_sixteen_bytes() {
    let mut world = World::new();
    let _ = world.create_batch((0..10_u8).map(|n| (n, Wide([n; 20]), Secret(7), Asleep)));
    let ant = world.query::<Entity, ()>().unwrap().first().unwrap();
    let registry = world.registry();
    registry.register_debug::<u8>().unwrap();
    let asleep = registry.register_debug::<Asleep>().unwrap().id();
    let shown = format!("{:?}", world.get_dynamic(ant, asleep).unwrap());
    assert_eq!(shown, "1 × worlds::printed::Asleep: Asleep");
    let ids = [
        registry.register::<u8>().unwrap().id(),
        registry.register_plain::<Wide>().unwrap().id(),
        registry.register::<Secret>().unwrap().id(),
    ];
    let mut builder = DynamicQuery::builder(&world);
    for id in ids {
        builder = builder.read(id);
    }
    let mut query = builder.build().unwrap();
    let mut shown = Vec::new();
    query.read(&world).unwrap().for_each_chunk(|mut chunk| {
        shown.extend(ids.map(|id| format!("{:?}", chunk.read(id).unwrap())));
    });
    assert_eq!(shown[0], "10 × u8: 0, 1, 2, 3, 4, 5, 6, 7 and 2 more");
    let bytes = ["07"; 16].join(" ");
    assert!(
        shown[1].ends_with(&format!(", {bytes} … of 20 bytes and 2 more")),
        "{}",
        shown[1]
    );
    assert!(shown[2].starts_with("10 × ") && shown[2].ends_with("::Secret"));
}

/// Writes a number.
unsafe fn number(value: *const u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    // SAFETY: the definition is of a `u32`.
    write!(f, "number {}", unsafe { value.cast::<u32>().read() })
}

#[test]
fn fragments_that_were_defined_are_shown_as_their_definition_says_or_a_type() {
    let mut world = World::new();
    let registry = world.registry();
    let definition = FragmentDefinition::new("object", Layout::new::<u32>()).debug_value(number);
    // SAFETY: values are any four bytes, which the function reads.
    let object = unsafe { registry.define(definition) }.unwrap().id();
    let health = registry.define_plain("health", Layout::new::<u32>());
    let health = health.unwrap().id();
    let target = registry.define_plain_as::<Entity>("target").unwrap().id();
    let seven = 7_u32;
    // SAFETY: a value of the layout, which need not be dropped.
    let value = unsafe { Value::from_raw(registry, object, (&raw const seven).cast()) };
    let be = 0x0102_0304_u32.to_be();
    let bundle = DynamicBundle::new()
        .with(value.unwrap())
        .with(Value::from_plain(registry, health, be).unwrap())
        .with(Value::from_plain(registry, target, Entity::new(3, 5).unwrap()).unwrap());
    let ant = world.create_dynamic(bundle).unwrap();
    let shown = |id| format!("{:?}", world.get_dynamic(ant, id).unwrap());
    assert_eq!(shown(object), "1 × object: number 7");
    assert_eq!(shown(health), "1 × health: 01 02 03 04");
    assert_eq!(shown(target).len(), "1 × target: ".len() + 8 * 3 - 1);
    // Four bytes are no eight, what is not plain has no bytes, and not any bytes are an entity.
    let registry = world.registry();
    assert!(matches!(
        registry.show_plain_as::<u64>(health),
        Err(FragmentError::WrongSize { .. })
    ));
    assert!(matches!(
        registry.show_plain_as::<u32>(object),
        Err(FragmentError::NotPlain { .. })
    ));
    let wide = registry.define_plain("wide", Layout::new::<u64>()).unwrap();
    assert!(registry.show_plain_as::<Entity>(wide.id()).is_err());
    assert_eq!(shown(health), "1 × health: 01 02 03 04");
    registry.show_plain_as::<u32>(health).unwrap();
    registry.show_plain_as::<Entity>(target).unwrap();
    // The first formatter stays.
    registry.show_plain_as::<[u8; 4]>(health).unwrap();
    assert_eq!(shown(health), format!("1 × health: {be}"));
    assert_eq!(shown(target), "1 × target: 3v5");
}

#[test]
fn an_entity_is_shown_in_a_line_or_with_its_values_in_one_a_fragment() {
    let mut world = World::new();
    let registry = world.registry();
    registry.register_enableable::<u8>().unwrap();
    registry.register_debug::<u8>().unwrap();
    registry.register_debug::<Poem>().unwrap();
    registry.register_debug::<Shared<Owner>>().unwrap();
    registry.register_debug::<ConstShared<Owner>>().unwrap();
    registry.register_debug::<PerChunk<Owner>>().unwrap();
    registry.register_plain::<u16>().unwrap();
    registry.register::<Asleep>().unwrap();
    let bundle = (6_u8, 0x0101_u16, Asleep, Secret(1))
        .shared(Owner("shared"))
        .const_shared(Owner("const"))
        .per_chunk(Owner("chunk"));
    let ant = world.create(bundle).unwrap();
    world.set_enabled::<u8>(ant, false).unwrap();
    world.set_name(ant, "queen").unwrap();
    let path = "worlds::printed::";
    assert_eq!(
        world.entity(ant).unwrap().to_string(),
        format!(
            "{ant} \"queen\": u8 (off), {path}Owner (shared fragment), {path}Owner (const shared fragment), \
             {path}Owner (chunk fragment), u16, {path}Asleep, {path}Secret"
        )
    );
    let lines = format!(
        "{ant} \"queen\"
  u8 (off): 6
  {path}Owner (shared fragment): Owner(\"shared\")
  {path}Owner (const shared fragment): Owner(\"const\")
  {path}Owner (chunk fragment): Owner(\"chunk\")
  u16: 01 01
  {path}Asleep
  {path}Secret: (8 bytes)"
    );
    assert_eq!(format!("{:#}", world.entity(ant).unwrap()), lines);
    assert_eq!(format!("{:#?}", world.entity(ant).unwrap()), lines);
    assert_eq!(format!("{:#}", world.entity_mut(ant).unwrap()), lines);
    assert_eq!(format!("{:#}", world.describe(ant)), lines);
    // Lines of a value's own are one. (Of a tag nothing is written but that it is there.)
    let bee = world.create((1_u8,).shared(Owner("a\nb"))).unwrap();
    world.registry().register_debug::<(Poem, u8)>().unwrap();
    world.set(bee, (Poem, 1_u8)).unwrap();
    let shown = format!("{:#}", world.entity(bee).unwrap());
    assert!(
        shown.contains("(roses are red violets are  blue, 1)"),
        "{shown}"
    );
    assert_eq!(shown.lines().count(), 4, "{shown}");
}

#[test]
fn a_debug_that_panics_leaves_the_world_as_it_was() {
    let mut world = World::new();
    world.registry().register_debug::<Burning>().unwrap();
    let ant = world.create((Burning(7), 1_u8)).unwrap();
    let hash = world.version();
    for show in [
        |world: &World, ant| format!("{:#}", world.entity(ant).unwrap()),
        |world: &World, ant| format!("{:#}", world.describe(ant)),
        |world: &World, ant| {
            let id = world.registry().of::<Burning>().unwrap().id();
            format!("{:?}", world.get_dynamic(ant, id).unwrap())
        },
    ] {
        let panic = catch_unwind(AssertUnwindSafe(|| show(&world, ant))).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&7_u32));
    }
    let view = catch_unwind(AssertUnwindSafe(|| {
        format!("{:#}", world.entity_mut(ant).unwrap())
    }));
    assert!(view.is_err());
    world.check().unwrap();
    assert_eq!(world.version(), hash);
    assert_eq!(world.get::<Burning>(ant).unwrap().0, 7);
    world.add(ant, ('a',)).unwrap();
    world.destroy(ant).unwrap();
    assert!(world.is_empty());
}

#[test]
fn any_handle_is_described() {
    let universe = Arc::new(Universe::new());
    let mut land = World::of(&universe).unwrap();
    let mut sea = World::of(&universe).unwrap();
    let (at_land, at_sea) = (land.number(), sea.number());
    assert_ne!(at_land, at_sea);
    let says = |world: &World, entity: Entity| {
        let says = world.describe(entity).to_string();
        let rest = says.strip_prefix(&entity.to_string());
        rest.unwrap_or_else(|| panic!("{says}")).to_owned()
    };

    let ant = land.create((6_u8,)).unwrap();
    land.set_name(ant, "queen").unwrap();
    assert_eq!(says(&land, ant), " \"queen\": u8");
    assert_eq!(
        says(&sea, ant),
        format!(": lives in world {at_land} of the universe")
    );

    let egg = land.reserve().unwrap();
    assert_eq!(says(&land, egg), ": reserved, not built yet");
    land.set_name(egg, "egg").unwrap();
    assert_eq!(says(&land, egg), " \"egg\": reserved, not built yet");
    assert_eq!(says(&sea, egg), ": reserved, not built yet");
    // The name is that world's only.
    sea.build(egg, (1_u8,)).unwrap();
    assert_eq!(says(&sea, egg), ": u8");
    let elsewhere = format!(": lives in world {at_sea} of the universe");
    assert_eq!(says(&land, egg), elsewhere);

    let mut commands = land.commands();
    let new = commands.create((2_u8,)).unwrap();
    for open in [true, false] {
        assert_eq!(says(&land, new), ": recorded, comes with the next flush");
        assert_eq!(
            says(&sea, new),
            format!(": recorded for world {at_land} of the universe")
        );
        if open {
            drop(core::mem::replace(&mut commands, land.commands()));
        }
    }
    drop(commands);
    assert!(land.flush().is_clean());
    assert_eq!(says(&land, new), ": u8");

    land.destroy(ant).unwrap();
    assert_eq!(
        says(&land, ant),
        " \"queen\": destroyed; nobody has its slot"
    );
    assert_eq!(says(&sea, ant), ": destroyed; nobody has its slot");
    // Somebody gets the slot, sooner or later.
    let heir = core::iter::repeat_with(|| sea.create((1_u32,)).unwrap())
        .find(|heir| heir.index() == ant.index())
        .unwrap();
    assert_eq!(
        says(&land, ant),
        format!(
            " \"queen\": destroyed; its slot has {heir}: lives in world {at_sea} of the universe"
        )
    );
    assert_eq!(
        says(&sea, ant),
        format!(": destroyed; its slot has {heir}: u32")
    );
    // Whose lines are one.
    let lines = format!("{:#}", sea.describe(ant));
    assert_eq!(lines, sea.describe(ant).to_string());

    let future = Entity::new(heir.index(), heir.version() + 2).unwrap();
    assert_eq!(
        says(&sea, future),
        format!(": never created; its slot has {heir}: u32")
    );
    let far = Entity::new(100_000_000, 1).unwrap();
    assert_eq!(says(&sea, far), ": never created; nobody has its slot");
    let outside = Entity::new(u32::MAX, 3).unwrap();
    assert_eq!(
        says(&sea, outside),
        ": never created: no slot has this index"
    );
    assert_eq!(says(&sea, Entity::PLACEHOLDER), ": nobody, the placeholder");
}

#[test]
fn a_view_tells_when_a_fragment_was_changed_in_its_chunk() {
    let mut world = World::new();
    world.registry().register_enableable::<Asleep>().unwrap();
    let ant = world
        .create((1_u8, Asleep, 'a').shared(Owner("red")))
        .unwrap();
    let created = world.version();
    let view = world.entity(ant).unwrap();
    assert_eq!(view.change_version::<u8>(), Some(created));
    // Shared values have none.
    assert_eq!(view.change_version::<Owner>(), None);
    assert_eq!(view.change_version::<u64>(), None);
    let _ = world.query::<&u8, ()>().unwrap().count();
    let later = world.version();
    assert!(later > created);
    world.set_enabled::<Asleep>(ant, false).unwrap();
    *world.get_mut(ant).unwrap() = 'b';
    let view = world.entity(ant).unwrap();
    assert_eq!(view.change_version::<Asleep>(), Some(later));
    assert_eq!(view.change_version::<char>(), Some(later));
    let id = world.registry().of::<u8>().unwrap().id();
    assert_eq!(view.change_version_dynamic(id), Some(created));
}

#[test]
fn a_set_is_shown_by_names_with_roles() {
    let mut world = World::new();
    let ant = world
        .create((1_u8,).shared(2_u16).per_chunk(3_u32))
        .unwrap();
    let mut set = world.composition(ant).unwrap();
    set.insert(FragmentId::from_number(700));
    assert_eq!(
        set.named(world.registry()).to_string(),
        "{u16 (shared fragment), u32 (chunk fragment), u8, #700}"
    );
    let none = megachunk::fragment::FragmentSet::new();
    assert_eq!(none.named(world.registry()).to_string(), "{}");
}
