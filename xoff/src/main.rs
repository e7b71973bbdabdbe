//! The binary `xoff`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use terminal::Heap;
use xoff::commands;

#[global_allocator]
static HEAP: Heap = terminal::HEAP;

fn main() -> ExitCode {
    let exit = match commands::parse() {
        Ok(arguments) => arguments.execute(),
        Err(exit) => exit,
    };
    ExitCode::from(exit.code())
}
