//! The program of a standalone switch: on the real clock, on interfaces of any index, beside the kernel's stack.
//!
//! eBPF runs the pipeline when a frame arrives, whatever user space does at that time. The two
//! sides take turns: [`fabric_core::turn`].
//!
//! `STANDALONE` in `.rodata` makes `switch_port` read the real clock, number ports by a map, find routes by the longest
//! prefix (`Tables::host_of`), and pass frames that are not the switch's to the kernel's stack
//! (`fabric_core::reception`). In a fabric the verifier removes all of that.

use std::os::fd::{AsFd, BorrowedFd};

use aya::EbpfLoader;
use aya::maps::lpm_trie::Key;
use aya::maps::{HashMap, LpmTrie, Map, MapError};
use fabric_core::hop_control::Order;
use fabric_core::map_abi::{Turn, names};
use fabric_core::policy::Policy;
use fabric_core::record::Header;
use units::Nanos;

use super::{OBJECT, ProgramError, SwitchProgram, size_maps};
use crate::hook::XdpHook;
use crate::prefix_table::PrefixTable;
use crate::tables::{Capacity, SwitchTables};
use linux::region::Region;

/// Attempts to begin a turn before the thread yields the processor. An arrival takes about a microsecond.
const SPINS: u32 = 10_000;

/// The loaded program of a standalone switch, with its turn lock.
pub struct StandaloneProgram {
    program: SwitchProgram,
    turn: Region<Turn>,
}

/// Parameters of a standalone switch besides its tables.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Indices of the ports' interfaces.
    pub interfaces: &'a [u32],
    /// Destinations of the switch's routes.
    pub prefixes: &'a PrefixTable,
    /// Size of the ring, a power of two.
    pub ring_bytes: u32,
    /// Value of `CLOCK_MONOTONIC` at the start of the switch's time.
    pub began: Nanos,
}

impl StandaloneProgram {
    /// Loads the program with `policy` in `.rodata`, for ports that use `hook`, and maps its tables.
    pub fn load(
        capacity: &Capacity,
        policy: Policy,
        hook: XdpHook,
        surroundings: &Surroundings<'_>,
    ) -> Result<(Self, SwitchTables), ProgramError> {
        let Surroundings { interfaces, prefixes, ring_bytes, began } = *surroundings;
        let words = policy.words();
        let mut loader = EbpfLoader::new();
        loader.override_global(names::POLICY, &words, true);
        loader.override_global(names::STANDALONE, &1_u32, true);
        loader.map_max_entries(names::EVENTS, ring_bytes);
        loader.map_max_entries(names::PORT_NUMBERS, entries(interfaces.len()));
        loader.map_max_entries(names::PREFIXES, entries(prefixes.len()));
        size_maps(&mut loader, capacity);
        let (mut program, tables) =
            SwitchProgram::start(loader.load(OBJECT)?, hook.into(), *capacity)?;
        let turn = match program.ebpf.map(names::TURN) {
            Some(Map::Array(turn)) => Region::from_array(turn.fd().as_fd(), 1)?,
            _ => return Err(ProgramError::Missing(names::TURN)),
        };
        number_ports(&mut program, interfaces)
            .map_err(|source| failed(names::PORT_NUMBERS, source))?;
        write_prefixes(&mut program, prefixes).map_err(|source| failed(names::PREFIXES, source))?;
        program.set_clock(began);
        Ok((Self { program, turn }, tables.with_prefixes(prefixes.clone())))
    }

    /// Attaches the program to the interface of a port, by a link that ends with this process.
    pub fn attach(&mut self, interface_index: u32) -> Result<(), ProgramError> {
        self.program.attach_arrival(interface_index)
    }

    /// Waits for the turn of user space, which [`end_turn`](Self::end_turn) ends. During the turn eBPF leaves frames
    /// alone.
    pub fn begin_turn(&self) {
        let mut attempts = 0;
        while !self.turn[0].try_begin() {
            attempts += 1;
            if attempts % SPINS == 0 {
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
    }

    /// Ends the turn of user space.
    pub fn end_turn(&self) {
        self.turn[0].end();
    }

    /// Records that the pipeline has run on a frame that was left alone.
    pub fn catch_up(&self) {
        self.turn[0].catch_up();
    }

    /// Takes the records of one frame from the ring, like [`SwitchProgram::take_records`],
    /// including frames that eBPF left alone, with their bytes.
    pub fn take(
        &mut self,
        mut frame: impl FnMut(&Header, &[u8]),
        mut control: impl FnMut(&Header, &Order, &[u8]),
    ) -> Result<Option<Header>, ProgramError> {
        self.program.take(&mut frame, &mut control)
    }

    /// Returns the program, for `BPF_PROG_TEST_RUN`.
    pub fn program(&self) -> &SwitchProgram {
        &self.program
    }
}

/// The ring's descriptor: readable while it has records.
impl AsFd for StandaloneProgram {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.program.ring.as_fd()
    }
}

/// Max entries of a map, at least 1.
fn entries(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX).max(1)
}

fn number_ports(program: &mut SwitchProgram, interfaces: &[u32]) -> Result<(), MapError> {
    let Some(map) = program.ebpf.map_mut(names::PORT_NUMBERS) else {
        return Err(MapError::InvalidName { name: names::PORT_NUMBERS.to_owned() });
    };
    let mut numbers = HashMap::<_, u32, u32>::try_from(map)?;
    for (port, interface) in (0_u32..).zip(interfaces) {
        numbers.insert(interface, port, 0)?;
    }
    Ok(())
}

fn write_prefixes(program: &mut SwitchProgram, prefixes: &PrefixTable) -> Result<(), MapError> {
    let Some(map) = program.ebpf.map_mut(names::PREFIXES) else {
        return Err(MapError::InvalidName { name: names::PREFIXES.to_owned() });
    };
    let mut rows = LpmTrie::<_, [u8; 4], u32>::try_from(map)?;
    for (prefix, row) in prefixes.iter() {
        rows.insert(&Key::new(prefix.length().into(), prefix.address().octets()), row, 0)?;
    }
    Ok(())
}

fn failed(name: &'static str, source: MapError) -> ProgramError {
    ProgramError::Map { name, source: Box::new(source) }
}
