//! Traits that the configs in the tests name.

use core::alloc::Layout;

use megachunk::fragment::Value;
use megachunk::prelude::*;
use serde::Deserialize;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Speed(pub(crate) f32);
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Route(pub(crate) Vec<[f32; 2]>);
#[derive(Clone)]
pub(crate) struct OnFoot;

#[derive(Deserialize)]
pub(crate) struct Walk {
    pub(crate) speed: f32,
    #[serde(default)]
    pub(crate) gait: Gait,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Gait {
    #[default]
    Stroll,
    Trot,
    Steps {
        length: f32,
    },
}

impl EntityTrait for Walk {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        if self.speed <= 0.0 {
            return Err(TraitError::at("speed", "must be more than 0"));
        }
        context.add(Speed(self.speed)).add(self.gait);
        Ok(())
    }
}

#[derive(Deserialize)]
pub(crate) struct Run {
    speed: f32,
}

impl EntityTrait for Run {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        context.add(Speed(self.speed));
        Ok(())
    }
}

#[derive(Deserialize)]
pub(crate) struct Steer {
    route: Way,
}

#[derive(Deserialize)]
struct Way {
    points: Vec<[f32; 2]>,
    looped: bool,
}

impl EntityTrait for Steer {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        let mut points = self.route.points.clone();
        if self.route.looped {
            points.extend(self.route.points.first());
        }
        context.add(Route(points)).require::<Speed>();
        Ok(())
    }
}

#[derive(Deserialize)]
pub(crate) struct Feet;

impl EntityTrait for Feet {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        context.add_tag(OnFoot);
        Ok(())
    }
}

#[derive(Deserialize)]
pub(crate) struct Float;

impl EntityTrait for Float {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        context.remove_tag::<OnFoot>();
        Ok(())
    }
}

#[derive(Deserialize)]
pub(crate) struct Crowd {
    size: u8,
}

impl EntityTrait for Crowd {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        context.shared(self.size).require_trait("walk");
        Ok(())
    }
}

/// Does not go with what is fast.
#[derive(Deserialize)]
pub(crate) struct Quiet;

impl EntityTrait for Quiet {
    fn build(&self, _context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        Ok(())
    }

    fn validate(&self, template: &Template) -> Result<(), TraitError> {
        match template.get::<Speed>() {
            Some(Speed(speed)) if *speed >= 1.0 => Err(TraitError::new("steps can be heard")),
            _ => Ok(()),
        }
    }
}

/// Has a fragment that no chunk can hold.
#[derive(Deserialize)]
pub(crate) struct Whale;

impl EntityTrait for Whale {
    fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
        const BYTES: usize = 2 << 20;
        let registry = context.registry();
        let known = registry.find("blubber");
        let info = match known {
            Some(info) => info,
            None => registry.define_plain("blubber", Layout::array::<u8>(BYTES).unwrap())?,
        };
        context.add_value(Value::from_bytes(registry, info.id(), &vec![0; BYTES])?);
        Ok(())
    }
}

/// All of them.
pub(crate) fn traits() -> TraitRegistry {
    let mut traits = TraitRegistry::new();
    traits.register::<Walk>("walk").unwrap();
    traits.register::<Run>("run").unwrap();
    traits.register::<Steer>("steer").unwrap();
    traits.register::<Feet>("feet").unwrap();
    traits.register::<Float>("float").unwrap();
    traits.register::<Crowd>("crowd").unwrap();
    traits.register::<Quiet>("quiet").unwrap();
    traits.register::<Whale>("whale").unwrap();
    traits
}
