//! Symbol names that do not depend on the location of the sources.
//!
//! Cargo gives each crate a hash (`-C metadata`) that goes into its symbols' names and so into the order of functions.
//! For a path dependency outside its workspace, such as `fabric-core` seen from `switch-ebpf`, that hash is made of the
//! absolute path. So cargo is made to call this program in place of rustc (`RUSTC_WRAPPER`), and each crate that is
//! compiled for BPF gets its package's name and version as metadata.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::Error;

/// Set where this program runs instead of rustc.
const ASKED: &str = "XTASK_FIXED_CRATE_METADATA";
/// The target whose crates get fixed metadata. Host crates (macros) keep cargo's metadata.
pub const TARGET: &str = "bpfel-unknown-none";

/// Makes `cargo` compile through this program.
pub fn wrap(cargo: &mut Command) -> std::io::Result<&mut Command> {
    Ok(cargo.env("RUSTC_WRAPPER", std::env::current_exe()?).env(ASKED, "1"))
}

/// Becomes rustc if cargo called this program as its wrapper. Otherwise returns `None`; on a failure, the error.
pub fn compile_if_asked() -> Option<Error> {
    std::env::var_os(ASKED)?;
    let mut arguments = std::env::args_os().skip(1);
    let Some(rustc) = arguments.next() else {
        return Some(Error::msg(format!("{ASKED} is set, and yet no compiler is named")));
    };
    let package = std::env::var("CARGO_PKG_NAME").ok().zip(std::env::var("CARGO_PKG_VERSION").ok());
    let mut arguments = arguments.collect::<Vec<_>>();
    if let Some((name, version)) = package {
        fix_metadata(&mut arguments, &name, &version);
    }
    let failure = Command::new(&rustc).args(arguments).exec();
    Some(Error::new(failure).context(format!("cannot start `{}`", rustc.display())))
}

fn fix_metadata(arguments: &mut [OsString], name: &str, version: &str) {
    let is_pair = |pair: &[OsString]| pair[0] == "--target" && pair[1] == TARGET;
    if !arguments.windows(2).any(is_pair) {
        return;
    }
    for index in 1..arguments.len() {
        let is_metadata = starts_with(&arguments[index], "metadata=");
        if is_metadata && arguments[index - 1] == "-C" {
            arguments[index] = format!("metadata={name}-{version}").into();
        }
    }
}

fn starts_with(argument: &OsStr, prefix: &str) -> bool {
    argument.as_encoded_bytes().starts_with(prefix.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(line: &str) -> String {
        let mut arguments = line.split(' ').map(OsString::from).collect::<Vec<_>>();
        fix_metadata(&mut arguments, "fabric-core", "0.1.0");
        arguments.join(OsStr::new(" ")).into_string().expect("the line was UTF-8")
    }

    #[test]
    fn metadata_of_a_bpf_crate_is_its_name_and_version() {
        assert_eq!(
            fixed(
                "--crate-name a -C metadata=4be2 -C extra-filename=-1 --target bpfel-unknown-none"
            ),
            "--crate-name a -C metadata=fabric-core-0.1.0 -C extra-filename=-1 \
             --target bpfel-unknown-none"
        );
    }

    #[test]
    fn a_host_crate_keeps_its_metadata() {
        let host = "--crate-name a -C metadata=4be2 -C extra-filename=-1";
        assert_eq!(fixed(host), host);
    }
}
