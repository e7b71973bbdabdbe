//! The pages of `docs/reference`, made from what declares tables, keys and commands.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use clap::CommandFactory;
use xoff::commands::schema::markdown;
use xoff::commands::{Arguments, command};

/// Longest page, in bytes.
const LONGEST: usize = 15 * 1024;

/// Returns all pages by their file names.
fn pages() -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    let tables = results::columns_markdown() + &sweep::tables::columns_markdown();
    split(&mut pages, "tables", "Tables and files of results", &tables);
    split(&mut pages, "keys", "Keys of a scenario", &markdown(&scenario::json_schema()));
    split(&mut pages, "sweep-keys", "Keys of a sweep file", &markdown(&sweep::json_schema()));
    pages.insert("exit-codes.md".to_owned(), exit_codes());
    let index = index(&pages);
    pages.insert("README.md".to_owned(), index);
    pages
}

/// Splits a text before second-level headings into pages of at most [`LONGEST`] bytes.
fn split(pages: &mut BTreeMap<String, String>, name: &str, title: &str, text: &str) {
    let mut parts: Vec<String> = Vec::new();
    for (index, section) in text.split("\n## ").enumerate() {
        let section = if index == 0 { section.to_owned() } else { format!("## {section}\n") };
        match parts.last_mut() {
            Some(part) if part.len() + section.len() < LONGEST - 200 => {
                part.push('\n');
                part.push_str(&section);
            }
            _ => parts.push(section),
        }
    }
    for (index, part) in parts.iter().enumerate() {
        let number = index + 1;
        let heading = format!("# {title}, {number} of {}\n\n", parts.len());
        let rest = part.trim_start().strip_prefix("# Results\n").unwrap_or(part).trim();
        pages.insert(format!("{name}-{number}.md"), format!("{heading}{rest}\n"));
    }
}

/// A table of each command's exit codes.
fn exit_codes() -> String {
    let mut text = String::from(
        "# Exit codes\n\nThe commands of `xoff`. A signal that ends a program gives 128 and its number to the shell.\n\n\
         | command | code | meaning |\n| --- | --- | --- |\n",
    );
    for command in command().get_subcommands().filter(|command| !command.is_hide_set()) {
        let help = command.get_after_help().expect("a command has exit codes").to_string();
        let (_, codes) = help.split_once("Exit codes:\n").expect("a command has exit codes");
        for line in codes.lines() {
            let (code, meaning) = line.trim().split_once(' ').expect("a code and its meaning");
            let name = command.get_name();
            writeln!(text, "| `{name}` | {code} | {} |", meaning.trim()).expect("a String grows");
        }
    }
    text
}

/// The list of all pages with their sections.
fn index(pages: &BTreeMap<String, String>) -> String {
    let mut text = String::from(
        "# Reference\n\nThese pages are generated from the sources that declare keys, tables and commands \
         (`XOFF_WRITE_DOCS=1 cargo test -p xoff --test docs`).\n\n\
         `xoff schema` prints the keys as JSON Schema, for editors; the option `--help` and `xoff man` describe the \
         commands. [live-monitoring.md](../live-monitoring.md) lists the metrics of a live fabric.\n\n\
         | page | sections |\n| --- | --- |\n",
    );
    for (file, page) in pages {
        let title = page.lines().next().unwrap_or_default().trim_start_matches("# ");
        let sections = page.lines().filter_map(|line| line.strip_prefix("## "));
        let links: Vec<String> =
            sections.map(|it| format!("[{it}]({file}#{})", anchor(it))).collect();
        writeln!(text, "| [{title}]({file}) | {} |", links.join(", ")).expect("a String grows");
    }
    let commands = Arguments::command();
    text.push_str("\n## Commands\n\n| command | purpose |\n| --- | --- |\n");
    for command in commands.get_subcommands().filter(|command| !command.is_hide_set()) {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        writeln!(text, "| `xoff {}` | {about} |", command.get_name()).expect("a String grows");
    }
    text
}

/// Anchor of a heading, as GitHub and mdBook make it.
pub fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
    kept.map(|it| if it == ' ' { '-' } else { it.to_ascii_lowercase() }).collect()
}

#[test]
fn pages_are_what_the_sources_give() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference");
    let pages = pages();
    if env::var_os("XOFF_WRITE_DOCS").is_some() {
        fs::remove_dir_all(&folder).ok();
        fs::create_dir_all(&folder).expect("docs/ can be written");
        for (file, page) in &pages {
            fs::write(folder.join(file), page).expect("docs/ can be written");
        }
    }
    let listed = fs::read_dir(&folder).expect("docs/reference is there");
    let mut stale: Vec<String> = listed
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|file| !pages.contains_key(file))
        .collect();
    for (file, page) in &pages {
        assert!(page.len() <= LONGEST, "{file} has {} bytes", page.len());
        if fs::read_to_string(folder.join(file)).ok().as_ref() != Some(page) {
            stale.push(file.clone());
        }
    }
    let remedy = "XOFF_WRITE_DOCS=1 cargo test -p xoff --test docs";
    assert!(stale.is_empty(), "stale in docs/reference: {stale:?}; write them with `{remedy}`");
}
