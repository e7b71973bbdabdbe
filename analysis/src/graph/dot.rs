//! DOT output, for Graphviz.

use std::fmt::Write;

use super::{Graph, Place};

/// Draws the graph in the DOT language.
pub fn dot(graph: &Graph) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write_dot(&mut out, graph);
    out
}

fn write_dot(out: &mut String, graph: &Graph) -> std::fmt::Result {
    writeln!(out, "graph {} {{", quoted(&graph.title))?;
    writeln!(out, "  rankdir = BT")?;
    writeln!(out, "  label = {}", quoted(&caption(graph)))?;
    for (row, nodes) in graph.rows.iter().enumerate() {
        writeln!(out, "  {{")?;
        writeln!(out, "    rank = same")?;
        for (column, node) in nodes.iter().enumerate() {
            let shape = if node.is_switch { "box" } else { "ellipse" };
            let name = name(Place { row, column });
            writeln!(out, "    {name} [label = {}, shape = {shape}]", quoted(&node.label))?;
        }
        writeln!(out, "  }}")?;
    }
    for link in &graph.links {
        let label = link.label(graph).map(|label| format!("label = {}", quoted(&label)));
        let color = link.on_cycle.then(|| "color = red".to_owned());
        let attributes: Vec<String> = label.into_iter().chain(color).collect();
        write!(out, "  {} -- {}", name(link.low), name(link.high))?;
        if !attributes.is_empty() {
            write!(out, " [{}]", attributes.join(", "))?;
        }
        writeln!(out)?;
    }
    writeln!(out, "}}")
}

/// Returns the title, with the kind of the links if all are alike.
pub(super) fn caption(graph: &Graph) -> String {
    match &graph.kinds[..] {
        [kind] => format!("{}; links of {kind}", graph.title),
        _ => graph.title.clone(),
    }
}

fn name(Place { row, column }: Place) -> String {
    format!("n{row}_{column}")
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
