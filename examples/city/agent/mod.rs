//! Agents: what people and cars are made of.

mod fragment;
mod luck;
mod pulse;
mod r#trait;

pub(crate) use fragment::{
    Car, Exhaust, Far, Heading, Hidden, Model, Near, Pace, Person, Place, Position, Route, Sway,
    Wait, register,
};
pub(crate) use luck::Luck;
pub(crate) use pulse::{Pulse, due};
pub(crate) use r#trait::traits;
