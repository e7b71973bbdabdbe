//! Inputs to start from, written to the folder that `cargo xtask fuzz` names.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Names the folder that seeds are written to.
const FOLDER: &str = "XOFF_FUZZ_SEEDS";
/// Beside the seeds, if the format has words: libFuzzer puts them into inputs.
const DICTIONARY: &str = "dictionary";
/// Longer words are sentences of comments, or paths.
const MAX_WORD_LENGTH: usize = 40;

/// Initial inputs of a target.
pub struct Seeds {
    /// Inputs.
    pub inputs: Vec<Vec<u8>>,
    /// Words of the format.
    pub words: BTreeSet<String>,
}

impl Seeds {
    /// Seeds of a format without words.
    pub fn from_bytes(inputs: Vec<Vec<u8>>) -> Self {
        Self { inputs, words: BTreeSet::new() }
    }

    /// Texts, and the words in them.
    pub fn from_texts(texts: impl IntoIterator<Item = String>) -> Self {
        let texts: Vec<String> = texts.into_iter().collect();
        let without_comments = texts.iter().flat_map(|text| text.lines()).map(|line| {
            let end = line.find('#').unwrap_or(line.len());
            &line[..end]
        });
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
        let words = without_comments.flat_map(|line| line.split(|c| !is_part(c)));
        let mut all = BTreeSet::new();
        all.extend(words.filter(|word| is_word(word)).map(str::to_owned));
        Self { inputs: texts.into_iter().map(String::into_bytes).collect(), words: all }
    }

    /// Adds the keys and values of a JSON Schema to the words.
    #[must_use]
    pub fn with_schema(mut self, schema: &serde_json::Value) -> Self {
        self.add_words_of(schema);
        self
    }

    fn add_words_of(&mut self, schema: &serde_json::Value) {
        match schema {
            serde_json::Value::String(text) if is_word(text) => {
                self.words.insert(text.clone());
            }
            serde_json::Value::Array(values) => {
                for value in values {
                    self.add_words_of(value);
                }
            }
            serde_json::Value::Object(entries) => {
                for (key, value) in entries {
                    self.words.insert(key.clone());
                    self.add_words_of(value);
                }
            }
            _ => {}
        }
    }
}

/// Writes the seeds and ends the process, if the environment names a folder.
pub fn write_if_asked(seeds: fn() -> Seeds) {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    if let Err(error) = write(&seeds(), Path::new(&folder)) {
        eprintln!("cannot write seeds to {}: {error}", folder.display());
        std::process::exit(1);
    }
    std::process::exit(0);
}

fn write(seeds: &Seeds, folder: &Path) -> std::io::Result<()> {
    let inputs = folder.join("inputs");
    fs::create_dir_all(&inputs)?;
    for (number, input) in seeds.inputs.iter().enumerate() {
        fs::write(inputs.join(number.to_string()), input)?;
    }
    if seeds.words.is_empty() {
        return Ok(());
    }
    let entries: Vec<String> =
        seeds.words.iter().map(|word| format!("\"{}\"\n", word.replace('\\', "\\\\"))).collect();
    fs::write(folder.join(DICTIONARY), entries.concat())
}

fn is_word(text: &str) -> bool {
    let printable = |byte: u8| byte.is_ascii_graphic() && byte != b'"';
    (2..=MAX_WORD_LENGTH).contains(&text.len()) && text.bytes().all(printable)
}
