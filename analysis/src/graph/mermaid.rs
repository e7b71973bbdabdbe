//! Mermaid output, for Markdown.

use std::fmt::Write;

use super::dot::caption;
use super::{Graph, Place};

/// Draws the graph as a Mermaid flowchart.
pub fn mermaid(graph: &Graph) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write_mermaid(&mut out, graph);
    out
}

fn write_mermaid(out: &mut String, graph: &Graph) -> std::fmt::Result {
    writeln!(out, "---\ntitle: {}\n---", quoted(&caption(graph)))?;
    writeln!(out, "flowchart BT")?;
    for (place, node) in graph.nodes() {
        let label = quoted(&node.label);
        let (open, close) = if node.is_switch { ("[", "]") } else { ("([", "])") };
        writeln!(out, "  {}{open}{label}{close}", name(place))?;
    }
    for link in &graph.links {
        let (low, high) = (name(link.low), name(link.high));
        match link.label(graph) {
            Some(label) => writeln!(out, "  {low} ---|{}| {high}", quoted(&label))?,
            None => writeln!(out, "  {low} --- {high}")?,
        }
    }
    let on_cycle = graph.links.iter().enumerate().filter(|(_, link)| link.on_cycle);
    let on_cycle: Vec<String> = on_cycle.map(|(number, _)| number.to_string()).collect();
    if !on_cycle.is_empty() {
        writeln!(out, "  linkStyle {} stroke:red", on_cycle.join(","))?;
    }
    Ok(())
}

fn name(Place { row, column }: Place) -> String {
    format!("n{row}_{column}")
}

/// Quotes a text. Mermaid reads entities in quotes, but not escaped quotes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "#quot;"))
}
