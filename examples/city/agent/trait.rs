//! The traits that entity configs name: what of an agent a designer may set.

use megachunk::prelude::*;
use serde::Deserialize;

use super::{
    Car, Far, Heading, Hidden, Luck, Model, Near, Pace, Person, Place, Position, Pulse, Route,
    Sway, Wait,
};

/// Moves through a network, from goal to goal.
#[derive(Debug, Deserialize)]
struct Traveller {
    wish: f32,
}

impl EntityTrait for Traveller {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        let wish = within("wish", self.wish, 0.05, 10.0)?;
        context
            .add(Position::default())
            .add(Heading::default())
            .add(Place::default())
            .add(Route::default())
            .add(Pace { speed: 0.0, wish })
            .add(Luck::default());
        Ok(())
    }
}

/// How often it is moved at first.
#[derive(Debug, Deserialize)]
struct Detail {
    level: Level,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Near,
    Far,
    Hidden,
}

impl EntityTrait for Detail {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        match self.level {
            Level::Near => context.add_tag(Near).per_chunk(Pulse::NEAR),
            Level::Far => context.add_tag(Far).per_chunk(Pulse::FAR),
            Level::Hidden => context.add_tag(Hidden).per_chunk(Pulse::HIDDEN),
        };
        Ok(())
    }
}

/// Goes on foot.
#[derive(Debug, Deserialize)]
struct OnFoot;

impl EntityTrait for OnFoot {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        context
            .require_trait("traveller")
            .add_tag(Person)
            .add(Sway::default());
        Ok(())
    }
}

/// Drives.
#[derive(Debug, Deserialize)]
struct Vehicle {
    length: f32,
    acceleration: f32,
    braking: f32,
    exhaust: f32,
}

impl EntityTrait for Vehicle {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        let hundredths = |field, value, low, high| {
            within(field, value, low, high).map(|value| (value * 100.0).round() as u32)
        };
        let model = Model {
            length: hundredths("length", self.length, 1.0, 40.0)?,
            acceleration: hundredths("acceleration", self.acceleration, 0.1, 10.0)?,
            braking: hundredths("braking", self.braking, 0.1, 10.0)?,
            exhaust: (within("exhaust", self.exhaust, 0.0, 60.0)? * 1_000.0).round() as u32,
        };
        context
            .require_trait("traveller")
            .add_tag(Car)
            .add(Wait::default())
            .const_shared(model);
        Ok(())
    }

    fn validate(&self, template: &Template) -> Result<(), TraitError> {
        if template.has::<Person>() {
            return Err(TraitError::new("a car cannot go on foot"));
        }
        Ok(())
    }
}

fn within(field: &str, value: f32, low: f32, high: f32) -> Result<f32, TraitError> {
    if (low..=high).contains(&value) {
        return Ok(value);
    }
    Err(TraitError::at(
        field,
        format!("must be between {low} and {high}"),
    ))
}

/// All traits of the city, by the names that configs give them.
pub(crate) fn traits() -> Result<TraitRegistry, megachunk::template::TemplateError> {
    let mut traits = TraitRegistry::new();
    traits
        .register::<Traveller>("traveller")?
        .register::<Detail>("detail")?
        .register::<OnFoot>("person")?
        .register::<Vehicle>("vehicle")?;
    Ok(traits)
}
