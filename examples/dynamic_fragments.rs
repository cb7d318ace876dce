//! Fragments that no Rust type stands for: a schema tells their fields, a script has entities with them, a tool reads them, and
//! copies one to another process.
//!
//!     cargo run --release --example dynamic_fragments
//!
//! Schema and script below are a few lines of text. The program knows none of their fragments when it is compiled.

use core::any::TypeId;
use std::error::Error;

use megachunk::entity::EntityMap;
use megachunk::fragment::{FieldDefinition, FragmentInfo, PlainField, Values, ValuesMut};
use megachunk::prelude::*;

type Anything<T> = Result<T, Box<dyn Error>>;

/// What a modder wrote: each line a struct and its fields, each with its type, and how many there are if there are several.
const SCHEMA: &str = "
    point   x:f32 y:f32
    unit    target:entity health:i32 armour:i32 poisoned:bool
    path    next:i32 corners:point*3
    frozen
";

/// Each line an entity, with its name, and values of some fields; all others are zero, and name nobody.
const SCRIPT: &str = "
    ant     unit.health=100 unit.target=bee frozen
    bee     unit.health=40 unit.target=ant path.corners.1.x=2.5
    beetle  unit.health=65 unit.armour=5 unit.poisoned=1
";

/// A field of a schema.
fn field<'a>(registry: &FragmentRegistry, text: &'a str) -> Anything<FieldDefinition<'a>> {
    let (name, of) = text.split_once(':').ok_or("a field has a type")?;
    let (of, count) = match of.split_once('*') {
        None => (of, None),
        Some((of, count)) => (of, Some(count.parse()?)),
    };
    let field = match of {
        "i32" => FieldDefinition::of::<i32>(name),
        "f32" => FieldDefinition::of::<f32>(name),
        "bool" => FieldDefinition::of::<bool>(name),
        "entity" => FieldDefinition::of::<Entity>(name),
        of => {
            let defined = registry
                .find(of)
                .ok_or_else(|| format!("there is no {of}"))?;
            FieldDefinition::defined(name, defined.id())
        }
    };
    Ok(match count {
        None => field,
        Some(count) => field.array(count),
    })
}

/// Defines what a line of a schema tells. If it was defined before, with the same fields, it is the same.
fn define(registry: &FragmentRegistry, line: &str) -> Anything<()> {
    let mut words = line.split_whitespace();
    let name = words.next().ok_or("a struct has a name")?;
    let fields = words.map(|text| field(registry, text));
    let fields = fields.collect::<Anything<Vec<FieldDefinition<'_>>>>()?;
    match fields.is_empty() {
        true if registry.find(name).is_some() => {}
        true => drop(registry.define_plain(name, core::alloc::Layout::new::<()>())?),
        false => drop(registry.define_struct(name, &fields)?),
    }
    Ok(())
}

/// The field of a fragment that a path leads to, `corners.1.x`, and the byte of a value at which it begins.
fn find<'r>(info: &'r FragmentInfo, path: &str) -> Anything<(&'r PlainField, usize)> {
    let nothing = || format!("{} has no {path}", info.name());
    let mut at = 0;
    let mut found: Option<&PlainField> = None;
    for part in path.split('.') {
        let elements = found.and_then(PlainField::elements);
        let next = match elements {
            Some((count, element)) => {
                let number = part.parse::<usize>().ok().filter(|&number| number < count);
                at += number.ok_or_else(nothing)? * element.size();
                element
            }
            None => {
                let fields = found.map_or(info.fields(), PlainField::fields);
                let field = fields.iter().find(|field| field.name() == part);
                let field = field.ok_or_else(nothing)?;
                at += field.offset();
                field
            }
        };
        found = Some(next);
    }
    Ok((found.ok_or_else(nothing)?, at))
}

/// A value of a fragment that is zero but for handles, which name nobody.
fn blank(fields: &[PlainField], bytes: &mut [u8]) {
    for field in fields.iter().filter(|field| field.size() > 0) {
        let bytes = &mut bytes[field.offset()..][..field.size()];
        if field.value_type() == Some(TypeId::of::<Entity>()) {
            bytes.copy_from_slice(&handle(Entity::PLACEHOLDER));
        }
        match field.elements() {
            Some((_, element)) if element.size() > 0 => {
                let values = bytes.chunks_exact_mut(element.size());
                values.for_each(|value| blank(core::slice::from_ref(element), value));
            }
            _ => blank(field.fields(), bytes),
        }
    }
}

/// A handle as it lies in a value.
fn handle(entity: Entity) -> [u8; 8] {
    let [a, b, c, d] = entity.index().to_ne_bytes();
    let [e, f, g, h] = entity.version().to_ne_bytes();
    [a, b, c, d, e, f, g, h]
}

/// Writes what a script says to a field.
fn set(world: &World, field: &PlainField, bytes: &mut [u8], text: &str) -> Anything<()> {
    let of = field.value_type();
    if of == Some(TypeId::of::<i32>()) {
        bytes.copy_from_slice(&text.parse::<i32>()?.to_ne_bytes());
    } else if of == Some(TypeId::of::<f32>()) {
        bytes.copy_from_slice(&text.parse::<f32>()?.to_ne_bytes());
    } else if of == Some(TypeId::of::<bool>()) {
        bytes[0] = text.parse()?;
    } else if of == Some(TypeId::of::<Entity>()) {
        let named = world
            .find_by_name(text)
            .ok_or_else(|| format!("nobody is {text}"))?;
        bytes.copy_from_slice(&handle(named));
    } else {
        return Err(format!("a {} is set field by field", field.type_name()).into());
    }
    Ok(())
}

/// Builds the entity of a line: it has its name and its handle already, so that others can name it.
fn build(world: &mut World, line: &str) -> Anything<()> {
    let mut words = line.split_whitespace();
    let name = words.next().ok_or("an entity has a name")?;
    let mut values: Vec<(FragmentId, Vec<u8>)> = Vec::new();
    for word in words {
        let (path, text) = match word.split_once('=') {
            Some((path, text)) => (path, Some(text)),
            None => (word, None),
        };
        let (fragment, path) = path.split_once('.').unwrap_or((path, ""));
        let info = world.registry().find(fragment);
        let info = info.ok_or_else(|| format!("there is no {fragment}"))?;
        let at = match values.iter().position(|(id, _)| *id == info.id()) {
            Some(at) => at,
            None => {
                let mut bytes = vec![0; info.layout().size()];
                blank(info.fields(), &mut bytes);
                values.push((info.id(), bytes));
                values.len() - 1
            }
        };
        if let Some(text) = text {
            let (field, begin) = find(info, path)?;
            let bytes = &mut values[at].1[begin..][..field.size()];
            set(world, field, bytes, text)?;
        }
    }
    let registry = world.registry();
    let values = values
        .iter()
        .map(|(id, bytes)| Value::from_bytes(registry, *id, bytes));
    let bundle = values.collect::<Result<DynamicBundle, _>>()?;
    let entity = world.find_by_name(name).ok_or("it has its name")?;
    Ok(world.build_dynamic(entity, bundle)?)
}

/// A number, a flag or a handle, as an inspector shows it.
fn shown(world: &World, field: &PlainField, bytes: &[u8]) -> Anything<String> {
    let of = field.value_type();
    Ok(if of == Some(TypeId::of::<i32>()) {
        i32::from_ne_bytes(bytes.try_into()?).to_string()
    } else if of == Some(TypeId::of::<f32>()) {
        f32::from_ne_bytes(bytes.try_into()?).to_string()
    } else if of == Some(TypeId::of::<bool>()) {
        (bytes != [0]).to_string()
    } else if of == Some(TypeId::of::<Entity>()) {
        let (index, version) = bytes.split_at(4);
        let version = u32::from_ne_bytes(version.try_into()?);
        let named = Entity::new(u32::from_ne_bytes(index.try_into()?), version);
        let name = named.and_then(|entity| world.name(entity).ok().flatten());
        name.unwrap_or("nobody").into()
    } else {
        format!("{bytes:02x?}")
    })
}

/// A field, each number in it in a line of its own.
fn inspect(
    world: &World,
    path: &str,
    field: &PlainField,
    bytes: &[u8],
    page: &mut String,
) -> Anything<()> {
    if bytes.is_empty() {
        // Nothing is to be seen there, and there may be very much of it.
        return Ok(());
    }
    if let Some((count, element)) = field.elements() {
        for at in 0..count {
            let bytes = &bytes[at * element.size()..][..element.size()];
            inspect(world, &format!("{path}.{at}"), element, bytes, page)?;
        }
    } else if field.fields().is_empty() {
        *page += &format!(
            "  {path}: {} = {}\n",
            field.type_name(),
            shown(world, field, bytes)?
        );
    }
    for inner in field.fields() {
        let bytes = &bytes[inner.offset()..][..inner.size()];
        inspect(
            world,
            &format!("{path}.{}", inner.name()),
            inner,
            bytes,
            page,
        )?;
    }
    Ok(())
}

/// All that an entity has.
fn page(world: &World, entity: Entity) -> Anything<String> {
    let mut page = format!("{}\n", world.name(entity)?.unwrap_or("somebody"));
    for info in world.fragments(entity)? {
        if info.fields().is_empty() {
            page += &format!("  {}\n", info.name());
        }
        let value = world.get_dynamic(entity, info.id())?.bytes()?;
        for field in info.fields() {
            let bytes = &value[field.offset()..][..field.size()];
            inspect(
                world,
                &format!("{}.{}", info.name(), field.name()),
                field,
                bytes,
                &mut page,
            )?;
        }
    }
    Ok(page)
}

/// A number in a value that lies in a column with others.
fn number(column: Values<'_>, row: usize, at: usize) -> Anything<i32> {
    let value = column.row(row).ok_or("there is no such row")?.bytes()?;
    Ok(i32::from_ne_bytes(value[at..at + 4].try_into()?))
}

/// Writes one. A `unit` has a handle and a flag: its column is not lent as bytes, but takes those that are a value.
fn set_number(column: &mut ValuesMut<'_>, row: usize, at: usize, number: i32) -> Anything<()> {
    let value = column.row(row).ok_or("there is no such row")?;
    let mut bytes = value.read().bytes()?.to_vec();
    bytes[at..at + 4].copy_from_slice(&number.to_ne_bytes());
    Ok(value.set_bytes(&bytes)?)
}

/// What a clipboard has of an entity: of each fragment its name, its shape and the value. (Bytes, which another process reads.)
type Clipboard = Vec<(Box<str>, u64, Vec<u8>)>;

fn copy(world: &World, entity: Entity) -> Anything<Clipboard> {
    let all = world.fragments(entity)?.map(|info| {
        let mut value = Vec::new();
        world.get_dynamic(entity, info.id())?.write_to(&mut value)?;
        Ok((info.name().into(), info.shape(), value))
    });
    all.collect()
}

/// Another one of it, in a world where numbers of fragments and handles are others.
fn paste(world: &mut World, copied: &Clipboard, here: &EntityMap) -> Anything<Entity> {
    let registry = world.registry();
    let values = copied.iter().map(|(name, shape, bytes)| {
        let info = registry.find(name);
        let info = info.ok_or_else(|| format!("there is no {name}"))?;
        info.expect_shape(*shape)?;
        let mut bytes = &bytes[..];
        let value = Value::read_from_remapped(registry, info.id(), &mut bytes, here)?;
        match bytes {
            [] => Ok(value),
            _ => Err(format!("something is behind the {name}").into()),
        }
    });
    let values = values.collect::<Anything<DynamicBundle>>()?;
    Ok(world.create_dynamic(values)?)
}

fn main() -> Anything<()> {
    let mut world = World::new();
    let lines = |text: &'static str| text.lines().filter(|line| !line.trim().is_empty());
    // A script that is loaded again tells the same schema again.
    for line in lines(SCHEMA).chain(lines(SCHEMA)) {
        define(world.registry(), line)?;
    }
    let mut all = Vec::new();
    for name in lines(SCRIPT).filter_map(|line| line.split_whitespace().next()) {
        let entity = world.reserve()?;
        world.set_name(entity, name)?;
        all.push(entity);
    }
    for line in lines(SCRIPT) {
        build(&mut world, line)?;
    }

    // "Whoever is a unit and not frozen loses 10, armour permitting."
    let of_script = |name: &str| world.registry().find(name).ok_or("no such word");
    let (unit, frozen) = (of_script("unit")?, of_script("frozen")?.id());
    let ((_, health), (_, armour)) = (find(unit, "health")?, find(unit, "armour")?);
    let unit = unit.id();
    let burning = DynamicQuery::builder(&world).write(unit).without(frozen);
    let mut burning = burning.build()?;
    // No fragment of the script can be switched off: the query sees all rows. (Else: those of `chunk.rows()`.)
    for mut chunk in burning.on(&mut world)?.chunks() {
        let mut units = chunk.write(unit)?;
        for row in 0..units.len() {
            let less = 10 - number(units.read(), row, armour)?;
            let left = number(units.read(), row, health)? - less;
            set_number(&mut units, row, health, left)?;
        }
    }

    let pages = all.iter().map(|&entity| page(&world, entity));
    let pages = pages.collect::<Anything<Vec<String>>>()?;
    print!("{}", pages.concat());
    for (page, line) in pages.iter().zip([
        "  unit.health: i32 = 100\n",
        "  unit.health: i32 = 30\n",
        "  unit.health: i32 = 60\n",
    ]) {
        assert!(page.contains(line), "{page}");
    }
    assert!(pages[1].contains("  unit.target: ") && pages[1].contains("Entity = ant\n"));
    assert!(pages[1].contains("  path.corners.1.x: f32 = 2.5\n"));

    // Into the clipboard, and out of it in another process, in which there is a bee, too.
    let copied = copy(&world, all[0])?;
    let mut other = World::new();
    for line in ["blossom open:bool"].into_iter().chain(lines(SCHEMA)) {
        define(other.registry(), line)?;
    }
    let bee = other.create(())?;
    other.set_name(bee, "bee")?;
    let here = [(all[1], bee)].into_iter().collect();
    let ant = paste(&mut other, &copied, &here)?;
    other.set_name(ant, "ant")?;
    assert_eq!(page(&other, ant)?, pages[0]);

    // What makes no sense is refused, with names.
    let mut older = World::new();
    define(
        older.registry(),
        "unit target:entity armour:i32 health:i32 poisoned:bool",
    )?;
    define(older.registry(), "frozen")?;
    let pasted = paste(&mut older, &copied, &here);
    println!("refused: {}", pasted.err().ok_or("it should be refused")?);
    let registry = world.registry();
    let other = define(registry, "point x:f32 z:f32");
    println!("refused: {}", other.err().ok_or("it should be refused")?);
    let flag = vec![2; registry.get(unit).ok_or("it is defined")?.layout().size()];
    let value = Value::from_bytes(registry, unit, &flag);
    println!("refused: {}", value.err().ok_or("it should be refused")?);
    let query = DynamicQuery::builder(&world)
        .read(unit)
        .without(unit)
        .build();
    println!("refused: {}", query.err().ok_or("it should be refused")?);
    Ok(())
}
