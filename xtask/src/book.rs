//! The documents as an HTML book, by mdBook: the same files, with chapters in the order of `docs/README.md`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{dist, packages, process, workspace};

const MDBOOK_VERSION: &str = "0.5.4";
const INDEX: &str = "docs/README.md";
/// Heading of the table of pages in the index.
const TABLE: &str = "## All pages";
const SETTINGS: &str = "[book]\ntitle = \"xoff\"\nlanguage = \"en\"\n\n[output.html]\nno-section-label = true\n\n[output.html.print]\nenable = false\n";

/// Builds the book in the target folder, and checks that its links lead to files of the book.
pub fn run() -> Result<()> {
    let mdbook = packages::cargo_program(
        "mdbook",
        MDBOOK_VERSION,
        &["--no-default-features", "--features=search"],
    )?;
    let folder = workspace::target_dir().join("book");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    let root = workspace::root();
    let files = workspace::files()?;
    let pages: Vec<PathBuf> = files.iter().filter(|it| is_page(it)).cloned().collect();
    let summary = summary(&root, &pages)?;
    dist::write(&folder.join("book.toml"), SETTINGS.as_bytes())?;
    dist::write(&folder.join("src/SUMMARY.md"), with_indexes(&summary).as_bytes())?;
    for file in copied(&root, &pages, &files)? {
        dist::copy(&root.join(&file), &folder.join("src").join(&file))?;
    }
    for page in &pages {
        let name = if page.ends_with("README.md") {
            page.with_file_name("index.md")
        } else {
            page.clone()
        };
        let text = with_indexes(&read(&root, page)?);
        dist::write(&folder.join("src").join(name), text.as_bytes())?;
    }
    process::run(Command::new(mdbook).arg("build").arg(&folder))?;
    let html = folder.join("book");
    let faults = broken_links(&html)?;
    if !faults.is_empty() {
        bail!("{} links of the book lead nowhere:\n{}", faults.len(), faults.join("\n"));
    }
    println!("{}", html.join("index.html").display());
    Ok(())
}

fn is_page(file: &Path) -> bool {
    file.extension().is_some_and(|it| it == "md")
        && (file.components().count() == 1 || file.starts_with("docs"))
}

/// Replaces targets of links as mdBook renames pages: it does so in its output, but not in links.
fn with_indexes(text: &str) -> String {
    text.replace("README.md)", "index.md)").replace("README.md#", "index.md#")
}

/// Files that pages link to, except pages.
fn copied(root: &Path, pages: &[PathBuf], files: &[PathBuf]) -> Result<BTreeSet<PathBuf>> {
    let mut all = BTreeSet::new();
    for page in pages {
        let text = read(root, page)?;
        let linked = links(&text).map(|(_, target)| resolved(page, target));
        all.extend(linked.filter(|it| files.contains(it) && !pages.contains(it)));
    }
    Ok(all)
}

/// Links of a text: title and target.
fn links(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let ends = text.match_indices("](").filter_map(|(at, _)| {
        let title = text[..at].rsplit_once('[').map_or("", |(_, title)| title);
        text[at + 2..].split_once(')').map(|(target, _)| (title, target))
    });
    ends.filter(|(_, target)| !target.contains("://"))
}

/// File that a link of `page` leads to, relative to the root.
fn resolved(page: &Path, target: &str) -> PathBuf {
    let file = target.split_once('#').map_or(target, |(file, _)| file);
    let mut path = PathBuf::new();
    for part in page.with_file_name(file).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            part => path.push(part),
        }
    }
    path
}

/// Chapters: the pages of the index by subject, below an index of a folder its other pages, then the rest.
fn summary(root: &Path, pages: &[PathBuf]) -> Result<String> {
    let index = read(root, Path::new(INDEX))?;
    let (_, table) =
        index.split_once(TABLE).with_context(|| format!("{INDEX} has no `{TABLE}`"))?;
    let mut left: BTreeSet<&Path> = pages.iter().map(PathBuf::as_path).collect();
    let mut text = String::from("# Summary\n");
    let mut chapter = |text: &mut String, page: &Path, depth: usize| -> Result<()> {
        if left.remove(page) {
            let content = read(root, page)?;
            let title = title(&content);
            let indent = "  ".repeat(depth);
            writeln!(text, "{indent}- [{title}]({})", page.display())?;
        }
        Ok(())
    };
    chapter(&mut text, Path::new("README.md"), 0)?;
    chapter(&mut text, Path::new(INDEX), 0)?;
    for row in table.lines().filter(|it| it.starts_with("| ")).skip(2) {
        let subject = row.split('|').nth(1).unwrap_or_default().trim();
        writeln!(text, "\n# {subject}\n")?;
        for (_, target) in links(row) {
            let page = resolved(Path::new(INDEX), target);
            if !pages.contains(&page) {
                continue;
            }
            chapter(&mut text, &page, 0)?;
            if page.ends_with("README.md") {
                for below in pages.iter().filter(|it| it.parent() == page.parent()) {
                    chapter(&mut text, below, 1)?;
                }
            }
        }
    }
    text += "\n# Project\n\n";
    for page in pages {
        chapter(&mut text, page, 0)?;
    }
    Ok(text)
}

/// First heading of a page.
fn title(text: &str) -> &str {
    let mut headings = text.lines().filter_map(|line| line.strip_prefix("# "));
    headings.next().unwrap_or("Untitled").trim()
}

fn read(root: &Path, file: &Path) -> Result<String> {
    fs::read_to_string(root.join(file)).with_context(|| format!("reading {}", file.display()))
}

/// Links between the book's pages whose file or anchor does not exist.
fn broken_links(html: &Path) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let mut folders = vec![html.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in
            fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?
        {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "html") {
                let text = read(html, &path)?;
                let broken = targets(&text).filter(|target| !leads_somewhere(&path, &text, target));
                faults.extend(broken.map(|it| format!("{}: {it}", path.display())));
            }
        }
    }
    faults.sort();
    Ok(faults)
}

fn targets(html: &str) -> impl Iterator<Item = &str> {
    let values = ["href=\"", "src=\""].into_iter().flat_map(|name| html.split(name).skip(1));
    let values = values.filter_map(|rest| rest.split_once('"')).map(|(target, _)| target);
    // A path from the root depends on the server: the page for missing pages has one.
    values.filter(|it| !it.contains(':') && !it.is_empty() && !it.starts_with('/'))
}

fn leads_somewhere(page: &Path, text: &str, target: &str) -> bool {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let has = |text: &str| anchor.is_empty() || text.contains(&format!("id=\"{anchor}\""));
    if file.is_empty() {
        return has(text);
    }
    let path = page.with_file_name(file);
    let is_page = path.extension().is_some_and(|it| it == "html");
    if is_page { fs::read_to_string(&path).is_ok_and(|it| has(&it)) } else { path.is_file() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_a_chapter_once() {
        let files = workspace::files().unwrap();
        let pages: Vec<PathBuf> = files.into_iter().filter(|it| is_page(it)).collect();
        let summary = summary(&workspace::root(), &pages).unwrap();
        for page in &pages {
            let count = summary.matches(&format!("]({})", page.display())).count();
            assert_eq!(count, 1, "{}", page.display());
        }
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let page = r##"<h1 id="a"><a href="other.html#b">x</a><a href="#a"></a><img src="none.svg"><a href="none.html">"##;
        fs::write(folder.path().join("page.html"), page).unwrap();
        fs::write(folder.path().join("other.html"), r#"<h2 id="c">"#).unwrap();
        let broken = broken_links(folder.path()).unwrap();
        let targets: Vec<_> = broken.iter().map(|it| it.rsplit_once(": ").unwrap().1).collect();
        assert_eq!(targets, ["none.html", "none.svg", "other.html#b"]);
    }

    #[test]
    fn a_target_is_relative_to_its_page() {
        assert_eq!(resolved(Path::new("docs/reference/a.md"), "../b.md#c"), Path::new("docs/b.md"));
        assert_eq!(resolved(Path::new("README.md"), "docs/b.md"), Path::new("docs/b.md"));
    }
}
