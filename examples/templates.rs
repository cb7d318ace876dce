//! Kinds of entities as files: traits with parameters, parents, mistakes, and a change while the program runs.
//!
//!     cargo run --release --features config --example templates

use std::error::Error;

use megachunk::prelude::*;
use serde::Deserialize;

// Fragments: what entities have.

#[derive(Clone, Debug)]
struct Speed(f32);
#[derive(Clone, Debug)]
struct Mass(f32);
#[derive(Clone, Debug, Default)]
struct Goal([f32; 2]);
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Sight(u32);

// Traits: what can be written into a file. Their fields are the parameters.

#[derive(Deserialize)]
struct Body {
    mass: f32,
}

impl EntityTrait for Body {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        context.get_or_add(|| Mass(0.0)).0 += self.mass;
        Ok(())
    }
}

#[derive(Deserialize)]
struct Load {
    mass: f32,
}

impl EntityTrait for Load {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        // Shared with `Body`, whichever comes first.
        context.get_or_add(|| Mass(0.0)).0 += self.mass;
        context.require_trait("body");
        Ok(())
    }

    fn validate(&self, template: &Template) -> Result<(), TraitError> {
        match template.get::<Mass>() {
            Some(Mass(mass)) if *mass > 150.0 => Err(TraitError::at("mass", "breaks the bones")),
            _ => Ok(()),
        }
    }
}

#[derive(Deserialize)]
struct Walk {
    speed: f32,
}

impl EntityTrait for Walk {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        if self.speed <= 0.0 {
            return Err(TraitError::at("speed", "must be more than 0"));
        }
        context.add(Speed(self.speed));
        Ok(())
    }
}

#[derive(Deserialize)]
struct Steer {
    sight: f32,
}

impl EntityTrait for Steer {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        // All that see equally far have the value together.
        let millimetres = (self.sight * 1_000.0) as u32;
        context
            .add(Goal::default())
            .const_shared(Sight(millimetres));
        context.require::<Speed>();
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut world = World::new();
    let mut traits = TraitRegistry::new();
    traits.register::<Body>("body")?;
    traits.register::<Load>("load")?;
    traits.register::<Walk>("walk")?;
    traits.register::<Steer>("steer")?;

    let mut registry = TemplateRegistry::new(world.universe(), traits);
    registry.load_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/templates"))?;
    for id in ["pedestrian", "porter"] {
        let template = registry.template(id)?;
        println!("{}:", template.name());
        for fragment in template.composition().iter() {
            let name = world
                .registry()
                .get(fragment)
                .map_or("", |info| info.name());
            println!(
                "  {name} by {}",
                template.added_by(fragment).unwrap_or_default()
            );
        }
        template.create_batch(&mut world, 1_000)?;
    }
    let mut walkers = Query::<(&Speed, &Mass)>::new(&world)?;
    let mut momentum = 0.0;
    walkers
        .on(&mut world)
        .for_each(|(speed, mass)| momentum += f64::from(speed.0 * mass.0));
    println!("{} entities, {momentum:.0} kg m/s in all", world.count());

    // A file with mistakes: all are told, and nothing is loaded.
    let wrong = "\
        id = 'runner'\n\
        parent = 'pedestrain'\n\
        [traits.walk]\n\
        spede = 4.0\n\
        [traits.laod]\n\
        mass = 200.0\n";
    match registry.load_str("runner.toml", wrong) {
        Err(errors) => println!("refused:\n{errors}"),
        Ok(_) => return Err("it should be refused".into()),
    }

    // One without: whoever asks from now on gets the new template. `refresh` does this for files.
    let good = "id = 'runner'\nparent = 'pedestrian'\n[traits.walk]\nspeed = 4.0";
    registry.load_str("runner.toml", good)?;
    let faster = good.replace("4.0", "5.0");
    let changes = registry.load_str("runner.toml", &faster)?;
    let runner = registry.template("runner")?.create(&mut world)?;
    let (speed, goal) = (world.get::<Speed>(runner)?, world.get::<Goal>(runner)?);
    println!(
        "changed {:?}: {speed:?}, on the way to {:?}",
        changes.changed, goal.0
    );
    Ok(())
}
