//! `Names`: who is called what.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::processor::solver::nearest::nearest;
use crate::processor::solver::{GroupOrder, Node, Relation, SolveError, Target};

/// Whom a name stands for: a number among the nodes, the groups or the ghosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    Processor(u32),
    Group(u32),
    /// An optional name that nobody has.
    Ghost(u32),
}

/// A group: there is one for each path of a node or of an order, and for each beginning of such a path.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) path: &'a str,
    pub(super) parent: Option<u32>,
}

/// Parts that a path may have. Each beginning of a path is a group with a path of its own: they cost the square of its
/// length.
const DEEPEST: usize = 64;

/// All names.
#[derive(Debug)]
pub(super) struct Names<'a> {
    nodes: &'a [Node],
    known: HashMap<&'a str, Named>,
    /// Parents stand before their children.
    pub(super) groups: Vec<Group<'a>>,
    pub(super) ghosts: Vec<&'a str>,
}

impl<'a> Names<'a> {
    /// The names of these processors, and of all groups.
    pub(super) fn new(nodes: &'a [Node], orders: &'a [GroupOrder]) -> Result<Self, SolveError> {
        let mut names = Self {
            nodes,
            known: HashMap::with_capacity(nodes.len()),
            groups: Vec::new(),
            ghosts: Vec::new(),
        };
        for (number, node) in nodes.iter().enumerate() {
            match names.known.entry(&node.name) {
                Entry::Vacant(vacant) => vacant.insert(Named::Processor(number as u32)),
                Entry::Occupied(known) => {
                    let first = match known.get() {
                        Named::Processor(number) => nodes[*number as usize].at,
                        _ => None,
                    };
                    return Err(SolveError::Twice {
                        name: node.name.clone(),
                        first: first.map(ToString::to_string),
                        second: node.at.map(ToString::to_string),
                    });
                }
            };
        }
        for node in nodes {
            if !node.group.is_empty() {
                names.add_group(&node.group)?;
            }
        }
        for order in orders {
            if !order.optional && !names.known.contains_key(order.path.as_str()) {
                names.check_path(&order.path)?;
                names.is_meant(order)?;
            }
            names.add_group(&order.path)?;
        }
        Ok(names)
    }

    /// Adds a group and those that it is in.
    fn add_group(&mut self, path: &'a str) -> Result<(), SolveError> {
        if let Some(Named::Group(_)) = self.known.get(path) {
            return Ok(());
        }
        self.check_path(path)?;
        let mut parent = None;
        let ends = path.match_indices('.').map(|(at, _)| at);
        for end in ends.chain([path.len()]) {
            let number = self.groups.len() as u32;
            let path = &path[..end];
            match self.known.entry(path) {
                Entry::Vacant(vacant) => {
                    vacant.insert(Named::Group(number));
                    self.groups.push(Group { path, parent });
                    parent = Some(number);
                }
                Entry::Occupied(known) => match *known.get() {
                    Named::Group(number) => parent = Some(number),
                    _ => return Err(SolveError::Ambiguous { name: path.into() }),
                },
            }
        }
        Ok(())
    }

    fn check_path(&self, path: &str) -> Result<(), SolveError> {
        if path.split('.').any(str::is_empty) {
            return Err(SolveError::EmptyPart { path: path.into() });
        }
        match path.split('.').count() {
            parts if parts > DEEPEST => Err(SolveError::TooDeep {
                path: path.into(),
                parts,
            }),
            _ => Ok(()),
        }
    }

    /// Nobody is in the group of an order: a mistake, if anything is ordered by it. It is told from the other's side.
    fn is_meant(&self, order: &GroupOrder) -> Result<(), SolveError> {
        let before = order.before.iter().map(|target| (target, Relation::After));
        let after = order.after.iter().map(|target| (target, Relation::Before));
        match before.chain(after).next() {
            Some((other, relation)) => {
                Err(self.unknown(&order.path, other.name().into(), relation))
            }
            None => Ok(()),
        }
    }

    /// The group with this path, which was added.
    pub(super) fn group(&self, path: &str) -> Option<u32> {
        match self.known.get(path) {
            Some(&Named::Group(number)) => Some(number),
            _ => None,
        }
    }

    /// Whom a target means.
    pub(super) fn find(
        &mut self,
        target: &'a Target,
        asker: Named,
        relation: Relation,
    ) -> Result<Named, SolveError> {
        if let Some(&known) = self.known.get(target.name()) {
            // A ghost stands for nobody but those who do not insist.
            if target.is_optional() || !matches!(known, Named::Ghost(_)) {
                return Ok(known);
            }
        }
        if !target.is_optional() {
            return Err(self.unknown(target.name(), self.label(asker), relation));
        }
        let ghost = Named::Ghost(self.ghosts.len() as u32);
        self.ghosts.push(target.name());
        self.known.insert(target.name(), ghost);
        Ok(ghost)
    }

    #[cold]
    fn unknown(&self, target: &str, asker: String, relation: Relation) -> SolveError {
        let processors = self.nodes.iter().map(|node| node.name.as_str());
        let groups = self.groups.iter().map(|group| group.path);
        SolveError::Unknown {
            asker,
            relation,
            target: target.into(),
            nearest: nearest(target, processors.chain(groups)).map(Into::into),
        }
    }

    /// What errors call it.
    pub(super) fn label(&self, named: Named) -> String {
        match named {
            Named::Processor(number) => self.nodes[number as usize].name.clone(),
            Named::Group(number) => format!("group {}", self.groups[number as usize].path),
            Named::Ghost(number) => self.ghosts[number as usize].into(),
        }
    }
}
