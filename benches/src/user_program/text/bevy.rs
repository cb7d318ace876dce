//! For `bevy_ecs`: a schedule with a function for each system.

use super::*;
use crate::user_program::plan::{MANY, Records, System};

pub(super) fn write(text: &mut String, plan: &Plan) {
    put!(text, "use bevy_ecs::prelude::*;\n");
    write_types(text, plan, "#[derive(Component)]\n");
    for kind in plan.kinds() {
        write_spawn(text, &kind);
    }
    for system in plan.systems() {
        write_system(text, system);
    }
    put!(text, "\nfn main() -> Result<(), BevyError> {{");
    put!(text, "    let mut world = World::new();");
    for kind in plan.kinds() {
        put!(text, "    spawn_{}(&mut world)?;", kind.number);
    }
    put!(text, "    let mut schedule = Schedule::default();");
    for systems in plan.systems().chunks(10) {
        let systems = systems
            .iter()
            .map(|system| format!("system_{}", system.number));
        put!(text, "    schedule.add_systems(({},));", list(systems));
    }
    put!(
        text,
        "    for _ in 0..3 {{\n        schedule.run(&mut world);\n    }}"
    );
    let (values, tags) = plan.told();
    put!(text, "    let mut sum = 0.0;");
    for value in values {
        put!(
            text,
            "    world.query::<&F{value}>().iter(&world).for_each(|value| sum += value.0[0]);"
        );
    }
    put!(text, "    let mut count = 0;");
    for tag in tags {
        put!(
            text,
            "    count += world.query_filtered::<(), With<F{tag}>>().iter(&world).count();"
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
fn spawn_{number}(world: &mut World) -> Result<(), BevyError> {{
    let one = world.spawn(kind_{number}(1)).id();
    let many: Vec<Entity> = world.spawn_batch((0..{MANY}).map(kind_{number})).collect();
    world.get_entity_mut(one)?.insert(F{tag});
    world.get_entity_mut(many[1])?.remove::<F{lost}>();
    world.get_mut::<F{written}>(many[2]).ok_or(\"it has one\")?.0[0] += 1.0;
    world.try_despawn(many[3])?;
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
            "    mut query_{number}: Query<({entity}{}){without}>,",
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
            "    query_{number}.iter_mut().for_each(|({entity}{})| {{",
            names(query, "mut ")
        );
        put!(text, "        {}", step(query));
        let read = query.reads[0];
        match system.records {
            Records::Adds(tag) if number == 0 => put!(
                text,
                "        if f{read}.0[0] == 1.0 {{\n            commands.entity(entity).insert(F{tag});\n        }}"
            ),
            Records::Creates(tag) if number == 0 => put!(
                text,
                "        if f{read}.0[0] == 0.0 {{\n            commands.spawn(F{tag});\n        }}"
            ),
            _ => {}
        }
        put!(text, "    }});");
    }
    put!(text, "}}");
}
