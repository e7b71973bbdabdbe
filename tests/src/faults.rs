//! Faults injected from outside below `xoff selftest`, as by a bug of the kernel or another program: the test stops
//! between its set-up and its traffic (`--pause`) and prints the names of its namespaces.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::process::{Child, Command, Stdio};
use std::thread;

use aya::maps::loaded_maps;
use linux::bpf::instruction::{
    add, call, copy, exit, flip, load_byte, mask, set, store_byte, store_word, unless,
};
use linux::bpf::{
    Attach, Link, Program, ProgramKind, REDIRECT, SKB_LOAD_BYTES, SKB_STORE_BYTES, TCX_NEXT,
};

use crate::command::{Finished, bpf_objects_of, xoff};

/// Message of a test that is set up.
const SET_UP: &str = " is set up in ";
/// Interface index of each namespace's own `lo`.
const LOOPBACK: i32 = 1;
/// `BPF_MAP_TYPE_RINGBUF`.
const RING: u32 = 27;
/// `enum bpf_cmd`.
const PROG_GET_FD_BY_ID: libc::c_long = 13;
const MAP_GET_FD_BY_ID: libc::c_long = 14;
const OBJ_GET_INFO_BY_FD: libc::c_long = 15;
const LINK_CREATE: libc::c_long = 28;
const LINK_GET_FD_BY_ID: libc::c_long = 30;
const LINK_GET_NEXT_ID: libc::c_long = 31;
const LINK_DETACH: libc::c_long = 34;
/// `BPF_LINK_TYPE_XDP`, `BPF_XDP` and `XDP_FLAGS_SKB_MODE`.
const XDP_LINK: u32 = 6;
const AT_XDP: u32 = 37;
const SKB_MODE: u32 = 1 << 1;

/// A test of the catalogue that waits between its set-up and its traffic.
pub struct Paused {
    child: Child,
    errors: BufReader<std::process::ChildStderr>,
    /// Its namespaces, in the order of their creation.
    pub namespaces: Vec<String>,
}

impl Paused {
    /// Starts a test and waits until it is set up.
    pub fn start(test: &str) -> Self {
        Self::start_with(test, &[])
    }

    /// Starts a test with more arguments and waits until it is set up.
    pub fn start_with(test: &str, arguments: &[&str]) -> Self {
        let own = ["selftest", "--only", test, "--pause"];
        Self::new(test, &mut xoff(own.into_iter().chain(arguments.iter().copied())))
    }

    /// Starts a command that selects the test and has `--pause`, and waits until the test is set up.
    pub fn new(test: &str, command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary can be started");
        let mut errors = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut line = String::new();
        while !line.contains(SET_UP) {
            line.clear();
            let length = errors.read_line(&mut line).expect("it is a pipe");
            assert_ne!(length, 0, "{test} ended before it was set up");
        }
        let (_, names) = line.split_once(SET_UP).expect("it was looked for");
        let (names, _) = names.split_once(';').expect("it says what to do");
        let namespaces = names.split(' ').map(str::to_owned).collect();
        Self { child, errors, namespaces }
    }

    /// Process number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Lets it go on to its end.
    pub fn go_on(mut self) -> Finished {
        // More than one test may have been chosen; all go on.
        drop(self.child.stdin.take());
        self.await_end()
    }

    /// Waits for its end, without letting it go on.
    pub fn await_end(mut self) -> Finished {
        let (mut stdout, mut stderr) = (String::new(), String::new());
        let mut output = self.child.stdout.take().expect("it is piped");
        output.read_to_string(&mut stdout).expect("it prints UTF-8");
        self.errors.read_to_string(&mut stderr).expect("it prints UTF-8");
        let status = self.child.wait().expect("it is a child");
        Finished { code: status.code().unwrap_or(-1), stdout, stderr }
    }

    /// Runs `work` in one of its namespaces, on a separate thread.
    pub fn within<R: Send>(&self, namespace: usize, work: impl FnOnce() -> R + Send) -> R {
        let path = format!("/run/netns/{}", self.namespaces[namespace]);
        let file = File::open(path).expect("the test lives");
        let inside = || {
            // SAFETY: the descriptor is an open namespace; only this thread moves.
            let entered = unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) };
            assert_eq!(entered, 0, "{}", io::Error::last_os_error());
            work()
        };
        thread::scope(|scope| scope.spawn(inside).join().expect("it does not panic"))
    }

    /// Runs a program such as `ip` in one of its namespaces.
    pub fn run(&self, namespace: usize, command: &[&str]) -> String {
        let output = Command::new("ip")
            .args(["netns", "exec", &self.namespaces[namespace]])
            .args(command)
            .output()
            .expect("this test needs the program ip");
        assert!(output.status.success(), "{command:?}: {output:?}");
        String::from_utf8(output.stdout).expect("these programs print ASCII")
    }

    /// Attaches a classifier to an interface's egress, before the test's own programs.
    pub fn at_egress(&self, namespace: usize, interface: u32, name: &str, code: &[u64]) -> Link {
        self.within(namespace, || {
            let program = Program::load(ProgramKind::Classifier, name, code);
            let program = program.unwrap_or_else(|error| panic!("{name}: {error}"));
            program.attach(interface, Attach::TcxEgress, 0).expect("Linux 6.6 has TCX")
        })
    }

    /// Detaches the native XDP program of an interface without its owner's knowledge, and attaches it again as generic
    /// XDP.
    pub fn make_generic(&self, namespace: usize, interface: u32) -> OwnedFd {
        let state = self.run(namespace, &["ip", "-details", "-json", "link"]);
        let links: serde_json::Value = serde_json::from_str(&state).expect("ip prints JSON");
        let links = links.as_array().expect("it is a list");
        let link = links.iter().find(|link| link["ifindex"] == interface);
        let number = link.expect("it is there")["xdp"]["prog"]["id"].as_u64();
        let number = u32::try_from(number.expect("it has a program")).expect("numbers are small");
        let program = open(PROG_GET_FD_BY_ID, &[number]).expect("it is loaded");
        let link = xdp_links(number, interface).pop().expect("it is attached by a link");
        call_bpf(LINK_DETACH, &[link.as_raw_fd().cast_unsigned()]).expect("root may detach it");
        self.within(namespace, || {
            let program = program.as_raw_fd().cast_unsigned();
            open(LINK_CREATE, &[program, interface, AT_XDP, SKB_MODE]).expect("veth takes it")
        })
    }

    /// Makes the kernel see room for only this many records in the ring of the test's program, until the next record is
    /// taken.
    pub fn shrink_ring(&self, record_bytes: u64, records: u64) {
        let maps = bpf_objects_of(self.id());
        let mut rings = loaded_maps().flatten().filter(|map| {
            let is_ring = map.map_type().is_ok_and(|kind| kind as u32 == RING);
            is_ring && maps.contains(&("map_id:", map.id()))
        });
        let ring = rings.next().expect("the test has a ring");
        let size = u64::from(ring.max_entries());
        let descriptor = open(MAP_GET_FD_BY_ID, &[ring.id()]).expect("it is open");
        // SAFETY: the first page of a ring is its consumer's place, which user space may write; it is unmapped below.
        unsafe {
            let page = libc::mmap(
                std::ptr::null_mut(),
                4096,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                descriptor.as_raw_fd(),
                0,
            );
            assert_ne!(page, libc::MAP_FAILED, "{}", io::Error::last_os_error());
            let place = page.cast::<u64>();
            let taken = place.read_volatile();
            place.write_volatile(taken.wrapping_sub(size - record_bytes * records));
            libc::munmap(page, 4096);
        }
    }
}

/// Changes a byte of each frame that has one there.
pub fn corrupting(at: i32) -> Vec<u64> {
    vec![
        copy(6, 1),
        set(2, at),
        copy(3, 10),
        add(3, -8),
        set(4, 1),
        call(SKB_LOAD_BYTES),
        unless(0, 0, 10),
        load_byte(1, 10, -8),
        flip(1, 0x5a),
        store_byte(10, 1, -8),
        copy(1, 6),
        set(2, at),
        copy(3, 10),
        add(3, -8),
        set(4, 1),
        set(5, 0),
        call(SKB_STORE_BYTES),
        set(0, TCX_NEXT),
        exit(),
    ]
}

/// Loses MAC control frames without notice to the sender: they go to the loopback interface, which is down. (TCX does
/// not know `TC_ACT_STOLEN`: frames go on. A drop would be reported to the sender.)
pub fn losing_mac_control() -> Vec<u64> {
    vec![
        set(2, 12),
        copy(3, 10),
        add(3, -8),
        set(4, 2),
        call(SKB_LOAD_BYTES),
        unless(0, 0, 8),
        load_byte(1, 10, -8),
        unless(1, 0x88, 6),
        load_byte(1, 10, -7),
        unless(1, 0x08, 4),
        set(1, LOOPBACK),
        set(2, 0),
        call(REDIRECT),
        exit(),
        set(0, TCX_NEXT),
        exit(),
    ]
}

/// Puts every eighth packet into class 1:20 of a queueing discipline.
pub fn classifying() -> Vec<u64> {
    const PSN_AT: i32 = 53;
    const PRIORITY_AT: i16 = 32;
    vec![
        copy(6, 1),
        set(2, PSN_AT),
        copy(3, 10),
        add(3, -8),
        set(4, 1),
        call(SKB_LOAD_BYTES),
        unless(0, 0, 5),
        load_byte(1, 10, -8),
        mask(1, 7),
        unless(1, 3, 2),
        set(2, 0x1_0020),
        store_word(6, 2, PRIORITY_AT),
        set(0, TCX_NEXT),
        exit(),
    ]
}

/// The XDP links of a program at an interface.
fn xdp_links(program: u32, interface: u32) -> Vec<OwnedFd> {
    let mut found = Vec::new();
    let mut number = 0;
    while let Ok(next) = next_link(number) {
        number = next;
        let Ok(link) = open(LINK_GET_FD_BY_ID, &[number]) else { continue };
        let mut info = [0_u32; 16];
        let mut attributes = Vec::from([link.as_raw_fd().cast_unsigned(), 64]);
        let place = (info.as_mut_ptr() as u64).to_ne_bytes();
        attributes.extend(place.as_chunks::<4>().0.iter().map(|word| u32::from_ne_bytes(*word)));
        if call_bpf(OBJ_GET_INFO_BY_FD, &attributes).is_err() {
            continue;
        }
        // Kind, number, program; then, aligned to eight bytes, the interface.
        if (info[0], info[2], info[4]) == (XDP_LINK, program, interface) {
            found.push(link);
        }
    }
    found
}

fn next_link(number: u32) -> io::Result<u32> {
    let mut attributes = words(&[number]);
    // SAFETY: the attributes have the given length, and no pointers.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, LINK_GET_NEXT_ID, attributes.as_mut_ptr(), 128_usize)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(attributes[1]) }
}

fn open(command: libc::c_long, attributes: &[u32]) -> io::Result<OwnedFd> {
    let descriptor = call_bpf(command, attributes)?;
    // SAFETY: these commands return a descriptor that has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn call_bpf(command: libc::c_long, attributes: &[u32]) -> io::Result<RawFd> {
    let mut attributes = words(attributes);
    // SAFETY: the attributes have the given length; memory that they point to outlives the call.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, attributes.as_mut_ptr(), 128_usize) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(RawFd::try_from(result).expect("descriptors are small"))
}

/// `union bpf_attr`; the kernel copies it, however it is aligned.
fn words(words: &[u32]) -> [u32; 32] {
    let mut all = [0; 32];
    all[..words.len()].copy_from_slice(words);
    all
}
