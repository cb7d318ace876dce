//! For `megachunk`: a schedule with a function for each processor.

use super::*;
use crate::user_program::plan::{MANY, Records, System};

pub(super) fn write(text: &mut String, plan: &Plan) {
    put!(text, "use megachunk::prelude::*;\n");
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
    put!(text, "    let mut schedule = Schedule::new();");
    for system in plan.systems() {
        let number = system.number;
        put!(
            text,
            "    schedule.add(processor(\"system {number}\", system_{number}));"
        );
    }
    put!(
        text,
        "    for _ in 0..3 {{\n        schedule.run(&mut world)?;\n    }}"
    );
    let (values, tags) = plan.told();
    put!(text, "    let mut sum = 0.0;");
    for value in values {
        put!(
            text,
            "    Query::<&F{value}>::new(&world)?.read(&world).for_each(|value| sum += value.0[0]);"
        );
    }
    put!(text, "    let mut count = 0;");
    for tag in tags {
        put!(
            text,
            "    count += Query::<Entity, With<F{tag}>>::new(&world)?.read(&world).count();"
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
fn spawn_{number}(world: &mut World) -> Result<(), WorldError> {{
    let one = world.create(kind_{number}(1))?;
    let many = world.create_batch((0..{MANY}).map(kind_{number}))?;
    let many: Vec<Entity> = many.iter(world).collect();
    world.add(one, (F{tag},))?;
    world.remove::<(F{lost},)>(many[1])?;
    world.get_mut::<F{written}>(many[2])?.0[0] += 1.0;
    world.destroy(many[3])?;
    Ok(())
}}"
    );
}

fn write_system(text: &mut String, system: &System) {
    put!(text, "\nfn system_{}(", system.number);
    let records = system.records != Records::Nothing;
    for (number, query) in system.queries.iter().enumerate() {
        let entity = if number == 0 && records {
            "Entity, "
        } else {
            ""
        };
        let without = query
            .without
            .map_or_else(String::new, |tag| format!(", Without<F{tag}>"));
        put!(
            text,
            "    mut query_{number}: QueryRun<({entity}{}){without}>,",
            lent(query)
        );
    }
    if records {
        put!(text, "    mut commands: Commands,");
    }
    put!(text, ") {{");
    for (number, query) in system.queries.iter().enumerate() {
        let entity = match (number, system.records) {
            (0, Records::Adds(_)) => "entity, ",
            (0, Records::Creates(_)) => "_, ",
            _ => "",
        };
        put!(
            text,
            "    query_{number}.for_each(|({entity}{})| {{",
            names(query, "")
        );
        put!(text, "        {}", step(query));
        let read = query.reads[0];
        match system.records {
            Records::Adds(tag) if number == 0 => put!(
                text,
                "        if f{read}.0[0] == 1.0 {{\n            commands.add(entity, (F{tag},)).expect(\"one type\");\n        }}"
            ),
            Records::Creates(tag) if number == 0 => put!(
                text,
                "        if f{read}.0[0] == 0.0 {{\n            commands.create((F{tag},)).expect(\"there is room\");\n        }}"
            ),
            _ => {}
        }
        put!(text, "    }});");
    }
    put!(text, "}}");
}
