//! Relative links between documents lead to a file, and their anchors to a heading.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::files;
use super::reference::anchor;

/// Text without code: between fences, and between back-ticks.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    let lines = lines.map(|line| {
        let parts = line.split('`').enumerate();
        parts.filter(|(index, _)| index % 2 == 0).map(|(_, part)| part).collect::<String>()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Targets of a document's links, without those of the web.
fn targets(text: &str) -> Vec<String> {
    let text = prose(text);
    let ends = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let targets = ends.map(|(target, _)| target.trim().to_owned());
    targets.filter(|it| !it.contains("://") && !it.starts_with("mailto:")).collect()
}

/// Anchors of a document's headings.
fn anchors(text: &str) -> Vec<String> {
    let mut is_code = false;
    let headings = text.lines().filter(|line| {
        is_code ^= line.starts_with("```");
        !is_code && line.starts_with('#')
    });
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let numbered = headings.map(|line| {
        let name = anchor(line.trim_start_matches('#').trim());
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        if *count == 1 { name } else { format!("{name}-{}", *count - 1) }
    });
    numbered.collect()
}

#[test]
fn links_between_documents_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut documents: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
            .map(|it| root.join(it))
            .into();
    documents.extend(
        files(&root.join("docs"))
            .into_iter()
            .filter(|it| it.extension().is_some_and(|it| it == "md")),
    );
    let mut faults = Vec::new();
    let mut count = 0;
    for document in &documents {
        let text = fs::read_to_string(document).expect("a document is text");
        for target in targets(&text) {
            count += 1;
            let (file, place) = target.split_once('#').unwrap_or((&target, ""));
            let path =
                if file.is_empty() { document.clone() } else { document.with_file_name(file) };
            let is_there = path.exists();
            let has_place = place.is_empty()
                || fs::read_to_string(&path)
                    .is_ok_and(|text| anchors(&text).iter().any(|it| it == place));
            if !is_there || !has_place {
                faults.push(format!("{}: {target}", document.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 100, "only {count} links were found");
}
