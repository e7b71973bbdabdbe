//! The kernel's descriptions of a process's programs and maps, as in `bpftool prog` and `bpftool map`.

use std::collections::BTreeSet;
use std::fmt::Write;

use aya::maps::loaded_maps;
use aya::programs::loaded_programs;

/// A map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapDescription {
    /// Number of the map.
    pub id: u32,
    /// Name, as truncated by the kernel.
    pub name: String,
    /// Type, by its number in `enum bpf_map_type`.
    pub kind: u32,
    /// Length of a key, bytes.
    pub key_bytes: u32,
    /// Length of a value, bytes.
    pub value_bytes: u32,
    /// Max number of entries.
    pub entries: u32,
    /// Flags.
    pub flags: u32,
}

/// Describes the programs with these numbers in a few lines each.
pub fn describe_programs(ids: &BTreeSet<u32>) -> String {
    let mut text = String::new();
    for program in loaded_programs().flatten().filter(|program| ids.contains(&program.id())) {
        let maps = program.map_ids().ok().flatten().unwrap_or_default();
        let number = |number: Option<u32>| number.map_or("-".to_owned(), |it| it.to_string());
        writeln!(
            text,
            "{}: type {}  name {}  tag {:016x}\n\txlated {}B  jited {}B  memlock {}B  map_ids {maps:?}  btf_id {}\n\tverified_insns {}",
            program.id(),
            program.program_type() as u32,
            program.name_as_str().unwrap_or("-"),
            program.tag(),
            number(program.size_translated()),
            program.size_jitted(),
            number(program.memory_locked().ok()),
            number(program.btf_id()),
            number(program.verified_instruction_count()),
        )
        .expect("a String takes every write");
    }
    text
}

/// Describes the maps with these numbers.
pub fn describe_maps(ids: &BTreeSet<u32>) -> Vec<MapDescription> {
    let maps = loaded_maps().flatten().filter(|map| ids.contains(&map.id()));
    let described = maps.map(|map| MapDescription {
        id: map.id(),
        name: map.name_as_str().unwrap_or("-").to_owned(),
        kind: map.map_type().map_or(u32::MAX, |kind| kind as u32),
        key_bytes: map.key_size(),
        value_bytes: map.value_size(),
        entries: map.max_entries(),
        flags: map.map_flags(),
    });
    described.collect()
}
