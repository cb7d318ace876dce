//! [`to_dot`]: a picture for Graphviz.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::processor::picture::{Picture, PictureVertex, Shape, Tie};

/// From here on groups that lie in each other are not indented any further.
const DEEPEST: usize = 8;

/// The groups of a phase, as they lie in each other.
#[derive(Default)]
struct Cluster<'a> {
    inner: BTreeMap<&'a str, Cluster<'a>>,
    vertices: Vec<usize>,
}

impl<'a> Cluster<'a> {
    fn add(&mut self, path: &'a str, vertex: usize) {
        let parts = path.split('.').filter(|part| !part.is_empty());
        let innermost = parts.fold(self, |cluster, part| cluster.inner.entry(part).or_default());
        innermost.vertices.push(vertex);
    }

    /// Takes numbers for its groups from `next`: a name made of those it lies in would grow with the depth.
    fn write(&self, picture: &Picture, next: &mut usize, depth: usize, out: &mut String) {
        let indent = "    ".repeat(depth.min(DEEPEST));
        for &vertex in &self.vertices {
            let attributes = attributes(&picture.vertices[vertex]);
            let _ = writeln!(out, "{indent}n{vertex} [{attributes}];");
        }
        for (name, inner) in &self.inner {
            let _ = writeln!(out, "{indent}subgraph cluster_{next} {{");
            let _ = writeln!(out, "{indent}    label={}; style=dashed;", quoted(name));
            *next += 1;
            inner.write(picture, next, depth + 1, out);
            let _ = writeln!(out, "{indent}}}");
        }
    }
}

/// The picture in Graphviz' language: phases and groups as clusters, what must not overlap as dashed edges with
/// what is in the way. Every vertex and edge of the picture stands there once. The only edges beside are those,
/// invisible, that put the phases one behind the other.
pub(crate) fn to_dot(picture: &Picture) -> String {
    let mut out = format!("digraph {} {{\n", quoted(&picture.title));
    out.push_str("    rankdir=LR; compound=true; newrank=true;\n");
    out.push_str("    node [shape=box, style=\"rounded,filled\", fillcolor=\"#f6f5f9\", fontname=\"sans-serif\"];\n");
    let numbers = 0..picture.vertices.len();
    let of_phase = |phase: usize| {
        let all = numbers.clone();
        all.filter(move |&number| usize::from(picture.vertices[number].phase) == phase)
    };
    let mut last = None;
    let mut next = picture.phases.len();
    let mut behind = String::new();
    for (phase, name) in picture.phases.iter().enumerate() {
        let mut cluster = Cluster::default();
        of_phase(phase).for_each(|number| cluster.add(&picture.vertices[number].group, number));
        let Some(first) = of_phase(phase).next() else {
            continue;
        };
        let _ = writeln!(out, "    subgraph cluster_{phase} {{");
        let _ = writeln!(
            out,
            "        label={}; style=filled; fillcolor=\"#fbfaff\";",
            quoted(name)
        );
        cluster.write(picture, &mut next, 2, &mut out);
        out.push_str("    }\n");
        if let Some(last) = last {
            let _ = writeln!(behind, "    n{last} -> n{first} [style=invis];");
        }
        last = of_phase(phase).next_back();
    }
    out.push_str(&behind);
    for edge in &picture.edges {
        let reason = quoted(&edge.reason);
        let attributes = match edge.tie {
            Tie::Order => String::new(),
            Tie::Flush => " [color=\"#2563a8\", penwidth=2, label=\"flush\"]".into(),
            Tie::Conflict => format!(
                " [style=dashed, color=\"#c2571a\", fontcolor=\"#c2571a\", label={reason}, tooltip={reason}]"
            ),
        };
        let _ = writeln!(out, "    n{} -> n{}{attributes};", edge.from, edge.to);
    }
    out.push_str("}\n");
    out
}

fn attributes(vertex: &PictureVertex) -> String {
    let label = quoted(&vertex.label);
    match vertex.shape {
        Shape::Processor => format!("label={label}"),
        Shape::Exclusive => format!("label={label}, penwidth=3"),
        Shape::Idle => format!("label={label}, style=\"rounded,dashed\", fontcolor=\"#777777\""),
        Shape::Joint => format!("shape=point, xlabel=\"\", tooltip={label}"),
    }
}

/// A string in quotes.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            letter if letter.is_control() => quoted.push(' '),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}
