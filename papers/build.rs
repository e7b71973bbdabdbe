//! Embeds the folder of each paper in `scenarios/`: a new folder needs no line of code, and the binary needs no folder.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let scenarios = Path::new("../scenarios").canonicalize().expect("scenarios ship");
    println!("cargo::rerun-if-changed={}", scenarios.display());
    let mut papers: Vec<(u32, PathBuf)> = children(&scenarios)
        .into_iter()
        .filter_map(|folder| Some((place(&folder.join("paper.toml"))?, folder)))
        .collect();
    papers.sort();
    let mut code = "&[\n".to_owned();
    for (_, folder) in papers {
        let name = folder.strip_prefix(&scenarios).expect("a child").display();
        writeln!(code, "Folder {{ name: {:?}, files: &[", name.to_string()).expect(FITS);
        for file in files(&folder) {
            let name = file.strip_prefix(&folder).expect("a descendant").display().to_string();
            writeln!(code, "({name:?}, include_str!({:?})),", file.display().to_string())
                .expect(FITS);
        }
        code += "] },\n";
    }
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("folders.rs"), code + "]").expect("cargo made the folder");
}

const FITS: &str = "a String takes every write";

/// Reads the paper's place among the papers from the line `place = NUMBER`. Returns `None` if the folder has no
/// `paper.toml`.
fn place(paper: &Path) -> Option<u32> {
    let text = fs::read_to_string(paper).ok()?;
    let place = text.lines().find_map(|line| line.strip_prefix("place = ")?.parse().ok());
    Some(place.unwrap_or_else(|| panic!("{} has no line `place = NUMBER`", paper.display())))
}

/// Returns the TOML and CSV files of a folder and of its folders.
fn files(folder: &Path) -> Vec<PathBuf> {
    let of = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    let mut all: Vec<PathBuf> = children(folder).into_iter().flat_map(of).collect();
    all.retain(|file| file.extension().is_some_and(|it| it == "toml" || it == "csv"));
    all
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is readable");
    let mut children: Vec<PathBuf> =
        entries.map(|entry| entry.expect("the entry is readable").path()).collect();
    children.sort();
    children
}
