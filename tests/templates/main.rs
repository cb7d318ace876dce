//! Templates in code and in config files.

#![cfg(feature = "world")]

#[cfg(feature = "config")]
#[path = "../support/config_folder.rs"]
mod config_folder;
#[cfg(feature = "config")]
#[path = "../support/template_oracle.rs"]
mod template_oracle;
#[cfg(feature = "config")]
#[path = "../support/template_traits.rs"]
mod template_traits;

#[cfg(feature = "config")]
mod configs;
mod life;
#[cfg(feature = "config")]
mod misread;
#[cfg(feature = "config")]
mod mistakes;
#[cfg(feature = "config")]
mod model;
#[cfg(feature = "config")]
mod panics;
#[cfg(feature = "config")]
mod parameters;
mod refused;
#[cfg(feature = "config")]
mod reload;
mod rows;
