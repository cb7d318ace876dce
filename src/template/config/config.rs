//! `Config`: one file, parsed, its traits with their parameters.

use core::ops::Range;
use std::path::Path;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::depth::{DEEPEST, too_deep};
use super::lines::{Lines, about_file};
use super::reader::{Entry, ReadError, What, in_order};
use super::trait_registry::TraitRegistry;
use crate::fragment::Pile;
use crate::template::fault::near;
use crate::template::member::{Member, MemberSource};
use crate::template::{ConfigPlace, TemplateError, TemplateFault};

const KEYS: [&str; 5] = ["id", "name", "parent", "abstract", "traits"];

/// One file, parsed.
#[derive(Debug)]
pub(super) struct Config {
    pub(super) id: Box<str>,
    /// Where the id stands.
    pub(super) place: ConfigPlace,
    pub(super) name: Option<Box<str>>,
    pub(super) parent: Option<(Box<str>, ConfigPlace)>,
    /// It is a parent of others, and no template.
    pub(super) is_abstract: bool,
    /// Traits, in the order of the file.
    pub(super) members: Pile<Member>,
    /// Something in it is wrong: what was told of it is all that there is to tell.
    pub(super) broken: bool,
}

/// A text while it is read.
struct Reading<'a> {
    file: &'a Path,
    lines: Lines<'a>,
    text: &'a str,
    traits: &'a TraitRegistry,
    errors: Vec<TemplateError>,
}

impl Config {
    /// Reads a text. Whatever is wrong is told to `errors`; there is a config nevertheless if its id is known, so that
    /// others that name it are not in the wrong.
    pub(super) fn read(
        file: &Path,
        text: &str,
        traits: &TraitRegistry,
        errors: &mut Vec<TemplateError>,
    ) -> Option<Self> {
        if let Some(byte) = too_deep(text) {
            let message = format!("is nested more than {DEEPEST} times").into();
            let fault = TemplateFault::Syntax { message };
            errors.push(Lines::new(file, text).error(byte, fault));
            return None;
        }
        let (table, wrong) = DeTable::parse_recoverable(text);
        if wrong.is_empty() && table.get_ref().is_empty() {
            errors.push(about_file(file, TemplateFault::Empty));
            return None;
        }
        let mut reading = Reading {
            file,
            lines: Lines::new(file, text),
            text,
            traits,
            errors: Vec::new(),
        };
        let whole = reading.syntax(&wrong);
        let config = reading.config(table.get_ref(), whole);
        errors.append(&mut reading.errors);
        config
    }
}

impl Reading<'_> {
    fn error(&mut self, byte: usize, fault: TemplateFault) {
        let error = self.lines.error(byte, fault);
        self.errors.push(error);
    }

    /// Tells what is not TOML; whether the rest can be read all the same. What follows the first mistake may be
    /// its consequence, but for keys that stand there twice.
    fn syntax(&mut self, wrong: &[toml::de::Error]) -> bool {
        let mut whole = true;
        let mut end_of_double = 0;
        for error in wrong {
            let span = error.span().unwrap_or_default();
            if error.message() == "duplicate key" {
                if span.start < end_of_double {
                    // Of a table that stands there twice, so do its keys.
                    continue;
                }
                if self.lines.line_of(span.start).starts_with('[') {
                    let rest = &self.text.get(span.start..).unwrap_or_default();
                    end_of_double = rest.find("\n[").map_or(usize::MAX, |at| span.start + at);
                }
                let key = self.text.get(span.clone()).unwrap_or_default();
                // That there is no key at all was told.
                if whole || !key.is_empty() {
                    let key = key.trim_matches(['"', '\'']).into();
                    self.error(span.start, TemplateFault::DuplicateKey { key });
                }
            } else if whole {
                whole = false;
                let message = error.message().into();
                let fault = TemplateFault::Syntax { message };
                let about = match error.span() {
                    Some(span) => self.lines.error(span.start, fault),
                    None => about_file(self.file, fault),
                };
                self.errors.push(about);
            }
        }
        whole
    }

    fn config(&mut self, table: &DeTable<'_>, whole: bool) -> Option<Config> {
        if !whole {
            return self.remains(table);
        }
        let mut id = None;
        let mut config = Config {
            id: "".into(),
            place: self.lines.place(0),
            name: None,
            parent: None,
            is_abstract: false,
            members: Pile::new(),
            broken: true,
        };
        for (key, value) in in_order(table) {
            match &**key.get_ref() {
                "id" => id = self.text(key, value).map(|text| (text, value.span().start)),
                "name" => config.name = self.text(key, value),
                "parent" => {
                    let place = self.lines.place(value.span().start);
                    config.parent = self.text(key, value).map(|parent| (parent, place));
                }
                "abstract" => match value.get_ref() {
                    DeValue::Boolean(truth) => config.is_abstract = *truth,
                    _ => self.wrong_kind((key, value), "true or false"),
                },
                "traits" => self.traits((key, value), &mut config.members),
                unknown => {
                    let fault = TemplateFault::UnknownKey {
                        key: unknown.into(),
                        nearest: near(unknown, KEYS.into_iter()),
                    };
                    self.error(key.span().start, fault);
                }
            }
        }
        match id {
            Some((id, at)) if id.trim().is_empty() => {
                self.error(at, TemplateFault::EmptyId);
                return None;
            }
            Some((id, at)) => (config.id, config.place) = (id, self.lines.place(at)),
            None => {
                // An id that is misspelt, or no text, was told.
                if !table.contains_key("id") && !self.is_misspelt_id() {
                    self.error(0, TemplateFault::MissingId);
                }
                return None;
            }
        }
        config.broken = !self.errors.is_empty();
        Some(config)
    }

    /// What is left of a config that cannot be read: its id, so that it can be a parent. Whatever
    /// else is said there may not be meant.
    fn remains(&self, table: &DeTable<'_>) -> Option<Config> {
        let id = table.get("id")?;
        Some(Config {
            id: id
                .get_ref()
                .as_str()
                .filter(|id| !id.trim().is_empty())?
                .into(),
            place: self.lines.place(id.span().start),
            name: None,
            parent: None,
            is_abstract: false,
            members: Pile::new(),
            broken: true,
        })
    }

    fn is_misspelt_id(&self) -> bool {
        self.errors.iter().any(|error| {
            matches!(&error.fault, TemplateFault::UnknownKey { nearest: Some(key), .. } if **key == *"id")
        })
    }

    fn wrong_kind(&mut self, (key, value): Entry<'_, '_>, expected: &'static str) {
        let fault = TemplateFault::WrongKind {
            key: key.get_ref().as_ref().into(),
            expected,
            found: kind(value.get_ref()),
        };
        self.error(value.span().start, fault);
    }

    fn text(
        &mut self,
        key: &Spanned<toml::de::DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<Box<str>> {
        match value.get_ref() {
            DeValue::String(text) => Some(text.as_ref().into()),
            _ => {
                self.wrong_kind((key, value), "a text");
                None
            }
        }
    }

    fn traits(&mut self, (key, value): Entry<'_, '_>, members: &mut Pile<Member>) {
        let DeValue::Table(table) = value.get_ref() else {
            return self.wrong_kind((key, value), "a table: `[traits.…]`");
        };
        for (key, value) in in_order(table) {
            let class: Arc<str> = key.get_ref().as_ref().into();
            let Some(read) = self.traits.get(&class) else {
                let fault = TemplateFault::UnknownTrait {
                    class: (*class).into(),
                    nearest: self.traits.nearest(&class),
                };
                self.error(key.span().start, fault);
                continue;
            };
            match read(key.span(), value) {
                Ok(instance) => members.push(Member {
                    class,
                    named_after: None,
                    instance,
                    depth: 0,
                    source: Some(Arc::new(self.source(key.span(), value))),
                }),
                Err(errors) => {
                    for error in errors {
                        self.parameter(&class, error, key.span());
                    }
                }
            }
        }
    }

    /// Where a trait and its parameters stand.
    fn source(&self, key: Range<usize>, value: &Spanned<DeValue<'_>>) -> MemberSource {
        let mut fields = Vec::new();
        if let DeValue::Table(table) = value.get_ref() {
            fields.extend(in_order(table).into_iter().map(|(key, _)| {
                (
                    key.get_ref().as_ref().into(),
                    self.lines.place(key.span().start),
                )
            }));
        }
        MemberSource {
            place: self.lines.place(key.start),
            fields,
        }
    }

    fn parameter(&mut self, class: &str, error: ReadError, key: Range<usize>) {
        let at = error.span.unwrap_or(key).start;
        let class = class.into();
        let below = |name: Box<str>| match &*error.path {
            "" => name,
            path => format!("{path}.{name}").into(),
        };
        let fault = match error.what {
            What::Told => return,
            What::Unknown(field, nearest) => TemplateFault::UnknownField {
                class,
                field: below(field),
                nearest: nearest.map(below),
            },
            What::Missing(field) => TemplateFault::MissingField {
                class,
                field: below(field),
                // Told when all configs are known.
                replaces: None,
            },
            What::Message(message, None) if error.path.is_empty() => {
                TemplateFault::WrongTrait { class, message }
            }
            What::Message(message, nearest) => TemplateFault::WrongValue {
                class,
                field: error.path,
                message,
                nearest,
            },
        };
        self.error(at, fault);
    }
}

/// What a value is, in words.
fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
