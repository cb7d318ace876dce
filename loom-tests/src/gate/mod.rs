//! The mutation gate's work; `bin/mutation-gate.rs` says what it shows.

mod expected;
mod models;

use std::collections::HashMap;
use std::io::{self, Write};
use std::time::Instant;

use megachunk::sync::mutant::{LOOKS_ACQUIRE, MUTANTS, NOT_PASSED_ON};

use expected::EXPECTED;
use models::{Models, Outcome, Test};

/// Says that all models have just passed without a mutant, so that the gate need not ask again.
const MODELS_HOLD: &str = "--models-hold";

/// Runs the gate for the mutants named, or for all, or a part; how many survived. With `--models-hold` among the arguments it
/// takes for granted that each model passes without a mutant: for who has just seen that.
///
/// # Errors
/// If the models cannot be built or run, a name is no mutant's, or there is no such part.
pub fn run(arguments: &[String]) -> io::Result<usize> {
    let (said, wanted): (Vec<&String>, Vec<&String>) = arguments
        .iter()
        .partition(|argument| argument.as_str() == MODELS_HOLD);
    for &name in &wanted {
        if !MUTANTS.iter().any(|(mutant, _)| mutant == name) {
            return Err(io::Error::other(format!("there is no mutant `{name}`")));
        }
    }
    let part = match wanted.is_empty() {
        true => part()?,
        false => None,
    };
    let models = Models::build()?;
    let mut gate = Gate {
        models,
        models_hold: !said.is_empty(),
        sound: HashMap::new(),
    };
    let start = Instant::now();
    let (mut killed, mut survived) = (0, 0);
    for (number, &(name, breaks)) in MUTANTS.iter().enumerate() {
        let is_wanted = if wanted.is_empty() {
            part.is_none_or(|(k, n)| number % n + 1 == k)
        } else {
            wanted.iter().any(|wanted| *wanted == name)
        };
        if !is_wanted {
            continue;
        }
        let line = match gate.killer(name)? {
            Some((test, said)) => {
                killed += 1;
                format!("mutant {name} killed by {test} ({said})")
            }
            None => {
                survived += 1;
                format!("mutant {name} SURVIVED ({breaks})")
            }
        };
        writeln!(io::stdout(), "{line}")?;
    }
    if killed + survived == 0 {
        return Err(io::Error::other("there is no mutant in that part"));
    }
    let seconds = start.elapsed().as_secs();
    writeln!(
        io::stdout(),
        "mutants killed={killed} survived={survived} seconds={seconds}"
    )?;
    Ok(survived)
}

/// Which mutants are to be put in where none is named: all, or those that leave K - 1 where their numbers are divided by
/// N, of `MEGACHUNK_PART=K/N`.
fn part() -> io::Result<Option<(usize, usize)>> {
    let Some(text) = std::env::var_os("MEGACHUNK_PART") else {
        return Ok(None);
    };
    let text = text.to_string_lossy();
    let numbers = text.split_once('/');
    let numbers = numbers.and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    match numbers {
        Some((k, n)) if (1..=n).contains(&k) => Ok(Some((k, n))),
        _ => Err(io::Error::other(format!(
            "MEGACHUNK_PART: `{text}` is no K/N, as in 1/3"
        ))),
    }
}

struct Gate {
    models: Models,
    /// All models are known to pass without a mutant.
    models_hold: bool,
    /// Whether a model passes without a mutant, as far as it was asked.
    sound: HashMap<Test, bool>,
}

impl Gate {
    /// The first model that fails with the mutant and passes without, and what it said.
    fn killer(&mut self, mutant: &str) -> io::Result<Option<(Test, String)>> {
        let expected = EXPECTED.iter().find(|(name, _)| *name == mutant);
        let first = expected.and_then(|(_, model)| self.models.find(model));
        let others: Vec<Test> = self
            .models
            .tests()
            .filter(|test| Some(*test) != first.as_ref())
            .cloned()
            .collect();
        for test in first.into_iter().chain(others) {
            if let Outcome::Failed(said) = self.models.run(&test, Some(mutant))?
                && self.is_sound(&test)?
                && self.is_sound_as_looked_at(&test, mutant)?
            {
                return Ok(Some((test, said)));
            }
        }
        Ok(None)
    }

    /// Whether a model holds if only looks at hints are as they are under this mutant.
    fn is_sound_as_looked_at(&mut self, test: &Test, mutant: &str) -> io::Result<bool> {
        if !NOT_PASSED_ON.contains(&mutant) {
            return Ok(true);
        }
        let outcome = self.models.run(test, Some(LOOKS_ACQUIRE))?;
        if let Outcome::Failed(said) = &outcome {
            writeln!(io::stdout(), "{test} fails under `{LOOKS_ACQUIRE}`: {said}")?;
        }
        Ok(outcome == Outcome::Passed)
    }

    fn is_sound(&mut self, test: &Test) -> io::Result<bool> {
        if self.models_hold {
            return Ok(true);
        }
        if let Some(sound) = self.sound.get(test) {
            return Ok(*sound);
        }
        let outcome = self.models.run(test, None)?;
        if let Outcome::Failed(said) = &outcome {
            writeln!(io::stdout(), "{test} fails without a mutant: {said}")?;
        }
        let sound = outcome == Outcome::Passed;
        self.sound.insert(test.clone(), sound);
        Ok(sound)
    }
}
