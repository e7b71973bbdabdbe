//! `manifest.json`: inputs of a run, and proof that the run came to its end.

use serde::{Deserialize, Serialize};
use std::path::Path;
use std::{env, fs};

use super::build;
use super::column::Key;
use super::table_file::TableFormat;

/// Inputs of a run. This file appears last, so a folder that has it is complete.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Always `xoff`, by which a later run recognises the folder.
    pub tool: String,
    /// Version of xoff.
    pub version: String,
    /// Commit that xoff was built from, if known.
    pub git_commit: Option<String>,
    /// Identification of the build among builds of the version.
    #[serde(default)]
    pub build_id: Option<String>,
    /// Hash of the eBPF object, with its algorithm; `None` on a datapath without eBPF.
    pub ebpf_object: Option<String>,
    /// Kernel release.
    pub kernel: String,
    /// Processor architecture.
    pub arch: String,
    /// The machine's name.
    #[serde(default)]
    pub host: String,
    /// The processor's model.
    #[serde(default)]
    pub processor: String,
    /// The scenario's seed.
    pub seed: u64,
    /// `kernel` or `memory`.
    pub datapath: String,
    /// Hook by which switches receive frames in the kernel; `None` on a datapath without a kernel.
    #[serde(default)]
    pub hook: Option<String>,
    /// `virtual` or `real`.
    pub clock: String,
    /// The format of the tables.
    #[serde(default)]
    pub tables: TableFormat,
    /// The command line, argument by argument.
    pub command: Vec<String>,
}

/// Every key of `manifest.json`.
pub const MANIFEST_KEYS: &[Key] = &[
    Key { name: "tool", about: "Always `xoff`." },
    Key { name: "version", about: "Version of xoff." },
    Key { name: "git_commit", about: "Commit that xoff was built from, or null." },
    Key {
        name: "build_id",
        about: "The executable's build id (`readelf --notes`), else its SHA-256, or null.",
    },
    Key { name: "ebpf_object", about: "Hash of the eBPF object, or null without eBPF." },
    Key { name: "kernel", about: "Kernel release." },
    Key { name: "arch", about: "Processor architecture." },
    Key { name: "host", about: "The machine's name." },
    Key { name: "processor", about: "The processor's model." },
    Key { name: "seed", about: "Seed of the scenario." },
    Key { name: "datapath", about: "`kernel` or `memory`." },
    Key { name: "hook", about: "`xdp`, `xdp-generic` or `tc`; null in memory." },
    Key { name: "clock", about: "`virtual` or `real`." },
    Key { name: "tables", about: "Format of the tables: `csv` or `parquet`." },
    Key { name: "command", about: "Command line, argument by argument." },
];

/// Value for facts that cannot be found out.
const UNKNOWN: &str = "unknown";

impl Manifest {
    /// The manifest's name in the results folder.
    pub const FILE: &'static str = "manifest.json";
    /// The value of `tool`.
    pub const TOOL: &'static str = "xoff";

    /// The manifest in a folder, if the folder holds a whole run of xoff.
    pub fn from_run(folder: &Path) -> Option<Self> {
        let json = fs::read(folder.join(Self::FILE)).ok()?;
        let manifest: Self = serde_json::from_slice(&json).ok()?;
        (manifest.tool == Self::TOOL).then_some(manifest)
    }

    /// Facts about the machine and this process; the other fields are empty.
    pub fn for_this_process() -> Self {
        Self {
            tool: Self::TOOL.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            git_commit: build::commit().map(str::to_owned),
            build_id: build::id().map(str::to_owned),
            kernel: kernel_says("osrelease"),
            arch: env::consts::ARCH.into(),
            host: kernel_says("hostname"),
            processor: processor(),
            command: env::args_os().map(|argument| argument.display().to_string()).collect(),
            ..Self::default()
        }
    }
}

fn kernel_says(what: &str) -> String {
    let said = fs::read_to_string(Path::new("/proc/sys/kernel").join(what));
    said.map_or_else(|_| UNKNOWN.into(), |text| text.trim().into())
}

fn processor() -> String {
    let file = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = |line: &str| {
        let (key, value) = line.split_once(':')?;
        // MIPS calls it `cpu model`, ARM `CPU part`.
        ["model name", "cpu model", "CPU part"].contains(&key.trim()).then(|| value.trim().into())
    };
    file.lines().find_map(model).unwrap_or_else(|| UNKNOWN.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_documented_in_order() {
        let json = serde_json::to_string(&Manifest::for_this_process()).unwrap();
        let positions = MANIFEST_KEYS.iter().map(|key| {
            json.find(&format!("\"{}\":", key.name)).unwrap_or_else(|| panic!("{}", key.name))
        });
        assert!(positions.is_sorted());
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value.as_object().unwrap().len(), MANIFEST_KEYS.len());
    }

    #[test]
    fn a_process_knows_its_kernel() {
        let manifest = Manifest::for_this_process();
        assert_eq!(manifest.tool, "xoff");
        assert!(manifest.kernel.contains('.'), "{}", manifest.kernel);
    }

    #[test]
    fn a_process_knows_its_version_machine_and_command() {
        let manifest = Manifest::for_this_process();
        assert_eq!(manifest.version, env!("CARGO_PKG_VERSION"));
        assert_eq!(manifest.arch, env::consts::ARCH);
        assert!(env::args().eq(manifest.command));
    }

    #[test]
    fn a_folder_is_whole_with_a_manifest_of_xoff() {
        let temp = tempfile::tempdir().unwrap();
        assert_eq!(Manifest::from_run(temp.path()), None);
        let write = |text: &str| fs::write(temp.path().join(Manifest::FILE), text).unwrap();
        let manifest = Manifest { seed: 7, ..Manifest::for_this_process() };
        write(&serde_json::to_string(&manifest).unwrap());
        assert_eq!(Manifest::from_run(temp.path()), Some(manifest.clone()));
        write(&serde_json::to_string(&Manifest { tool: "another".into(), ..manifest }).unwrap());
        assert_eq!(Manifest::from_run(temp.path()), None);
        write("{}");
        assert_eq!(Manifest::from_run(temp.path()), None);
    }
}
