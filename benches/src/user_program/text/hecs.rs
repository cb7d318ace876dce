//! For `hecs`: it has no systems; functions, called in turn, and a command buffer that runs at the end of the frame.

use super::*;
use crate::user_program::plan::{MANY, Records, System};

pub(super) fn write(text: &mut String, plan: &Plan) {
    put!(
        text,
        "use hecs::{{CommandBuffer, Entity, Without, World}};\n"
    );
    write_types(text, plan, "");
    for kind in plan.kinds() {
        write_spawn(text, &kind);
    }
    for system in plan.systems() {
        write_system(text, system);
    }
    put!(
        text,
        "\nfn main() -> Result<(), Box<dyn std::error::Error>> {{"
    );
    put!(text, "    let mut world = World::new();");
    for kind in plan.kinds() {
        put!(text, "    spawn_{}(&mut world)?;", kind.number);
    }
    put!(text, "    let mut commands = CommandBuffer::new();");
    put!(text, "    for _ in 0..3 {{");
    for system in plan.systems() {
        let commands = match system.records {
            Records::Nothing => "",
            _ => ", &mut commands",
        };
        put!(
            text,
            "        system_{}(&mut world{commands});",
            system.number
        );
    }
    put!(text, "        commands.run_on(&mut world);\n    }}");
    let (values, tags) = plan.told();
    put!(text, "    let mut sum = 0.0;");
    for value in values {
        put!(
            text,
            "    world.query_mut::<&F{value}>().into_iter().for_each(|value| sum += value.0[0]);"
        );
    }
    put!(text, "    let mut count = 0;");
    for tag in tags {
        put!(
            text,
            "    count += world.query_mut::<&F{tag}>().into_iter().count();"
        );
    }
    put!(text, "    println!(\"{{sum}} {{count}}\");\n    Ok(())\n}}");
}

fn write_spawn(text: &mut String, kind: &Kind) {
    let (number, tag) = (kind.number, kind.tag);
    let (lost, written) = changed(kind);
    put!(
        text,
        "
fn spawn_{number}(world: &mut World) -> Result<(), Box<dyn std::error::Error>> {{
    let one = world.spawn(kind_{number}(1));
    let many: Vec<Entity> = world.spawn_batch((0..{MANY}).map(kind_{number})).collect();
    world.insert_one(one, F{tag})?;
    world.remove_one::<F{lost}>(many[1])?;
    world.get::<&mut F{written}>(many[2])?.0[0] += 1.0;
    world.despawn(many[3])?;
    Ok(())
}}"
    );
}

fn write_system(text: &mut String, system: &System) {
    let records = system.records != Records::Nothing;
    let commands = match records {
        true => ", commands: &mut CommandBuffer",
        false => "",
    };
    put!(
        text,
        "\nfn system_{}(world: &mut World{commands}) {{",
        system.number
    );
    for (number, query) in system.queries.iter().enumerate() {
        let (entity, name) = match (number, system.records) {
            (0, Records::Adds(_)) => ("Entity, ", "entity, "),
            (0, Records::Creates(_)) => ("Entity, ", "_, "),
            _ => ("", ""),
        };
        let lent = format!("({entity}{})", lent(query));
        let query_type = match query.without {
            Some(tag) => format!("Without<{lent}, &F{tag}>"),
            None => lent,
        };
        put!(
            text,
            "    let query_{number} = world.query_mut::<{query_type}>().into_iter();"
        );
        put!(
            text,
            "    query_{number}.for_each(|({name}{})| {{",
            names(query, "")
        );
        put!(text, "        {}", step(query));
        let read = query.reads[0];
        match system.records {
            Records::Adds(tag) if number == 0 => put!(
                text,
                "        if f{read}.0[0] == 1.0 {{\n            commands.insert_one(entity, F{tag});\n        }}"
            ),
            Records::Creates(tag) if number == 0 => put!(
                text,
                "        if f{read}.0[0] == 0.0 {{\n            commands.spawn((F{tag},));\n        }}"
            ),
            _ => {}
        }
        put!(text, "    }});");
    }
    put!(text, "}}");
}
