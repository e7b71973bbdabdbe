//! Captures of live fabrics that are read late, or interrupted. Needs root and `ping`.

use std::fs;
use std::io::{self, BufRead, BufReader, PipeReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use serde_json::{Value, json};
use tests::command::{Running, await_that, xoff};
use tests::live::{Lab, SLOW, command, json, ping};

/// Far more than the room of the supervisor's socket and its own buffer.
const PACKETS: u64 = 3000;

fn next(lines: &mut impl Iterator<Item = String>) -> Value {
    serde_json::from_str(&lines.next().expect("the fabric is up")).expect("it speaks JSON")
}

#[test]
fn what_a_capture_loses_is_counted_to_the_last_frame() {
    let fast = SLOW.replace("20Mbps", "100Mbps");
    let lab = Lab::deploy(&fast, &[]);
    let mut stream = UnixStream::connect("/run/xoff/live/lab/socket").unwrap();
    let request = json!({ "ask": "capture", "wires": ["*"], "filter": "all" });
    writeln!(stream, "{request}").unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    assert_eq!(next(&mut lines)["answer"], "capturing");
    assert_eq!(next(&mut lines), json!({ "answer": "lost", "frames": 0 }));
    let bytes = format!("{}B", PACKETS * 1400);
    command(&["send", "lab", "h0", "h3", "--bytes", &bytes]).assert_code(0);
    let hops = json(&["inspect", "lab", "--json"])["packet_hops"].as_u64().unwrap();
    assert!(hops >= PACKETS * 4, "packets cross four wires: {hops}");
    let mut frames = 0;
    let mut lost_before = 0;
    let lost = loop {
        let answer = next(&mut lines);
        if answer["answer"] == "lost" {
            break answer["frames"].as_u64().unwrap();
        }
        frames += 1;
        lost_before = answer["lost"].as_u64().unwrap();
    };
    assert!(lost > lost_before, "the end of the burst was lost: {lost}, {lost_before}");
    assert_eq!(frames + lost, hops, "{frames} frames came, {lost} were lost");
    lab.destroy();
}

#[test]
fn an_interrupted_capture_says_what_it_has() {
    let lab = Lab::deploy(SLOW, &[]);
    let file = lab.folder.path("capture.pcapng");
    for (option, said) in [(None, "8 frames\n"), (Some("--json"), "{\"frames\":8,\"lost\":0}\n")] {
        let arguments = ["capture", "lab", "-w", &file].into_iter().chain(option);
        let capture = Running::start(&mut xoff(arguments));
        await_that("a capture begins", || fs::metadata(&file).is_ok_and(|file| file.len() > 0));
        let header = fs::metadata(&file).unwrap().len();
        ping("h3", "1", "h0").assert_code(0);
        // A ping and its answer are more than 100 bytes on each wire.
        await_that("it is written", || fs::metadata(&file).unwrap().len() >= header + 8 * 100);
        capture.signal(libc::SIGINT);
        assert_eq!(capture.finish().assert_code(0).stderr, said);
        fs::remove_file(&file).unwrap();
    }
    lab.destroy();
}

/// Bytes that are in a pipe.
fn bytes_in(pipe: &PipeReader) -> libc::c_int {
    let mut bytes = 0;
    // SAFETY: the descriptor is open, and the call fills in the number.
    let result = unsafe { libc::ioctl(pipe.as_raw_fd(), libc::FIONREAD, &raw mut bytes) };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
    bytes
}

#[test]
fn a_reader_that_has_stopped_keeps_no_capture_from_its_end() {
    let lab = Lab::deploy(SLOW, &[]);
    let (reader, writer) = io::pipe().unwrap();
    let mut capture = xoff(["capture", "lab", "-w", "-", "--json"]);
    let mut child = capture.stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    // It has the writing end, too.
    drop(capture);
    await_that("a capture begins", || bytes_in(&reader) > 0);
    command(&["send", "lab", "h0", "h3", "--bytes", "200kB"]).assert_code(0);
    await_that("the pipe is full", || bytes_in(&reader) > 40_000);
    // SAFETY: the child has not been waited for, so its number is its own.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGINT) };
    await_that("it ends", || child.try_wait().unwrap().is_some());
    let said = io::read_to_string(child.stderr.take().unwrap()).unwrap();
    assert!(said.contains("\"lost\":"), "{said}");
    drop(reader);
    lab.destroy();
}

#[test]
fn a_capture_ends_with_its_reader() {
    let lab = Lab::deploy(SLOW, &[]);
    // The wires are idle: nothing is written when the reader has gone.
    for (option, said) in [(None, "0 frames\n"), (Some("--json"), "{\"frames\":0,\"lost\":0}\n")] {
        let (reader, writer) = io::pipe().unwrap();
        let mut capture = xoff(["capture", "lab", "-w", "-"].into_iter().chain(option));
        let mut child = capture.stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        drop(capture);
        await_that("a capture begins", || bytes_in(&reader) > 0);
        drop(reader);
        await_that("it ends", || child.try_wait().unwrap().is_some());
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
        assert_eq!(String::from_utf8(ended.stderr).unwrap(), said);
    }
    let full = command(&["capture", "lab", "-w", "/dev/full"]);
    full.assert_refused(&["0 frames", "cannot write /dev/full", "name another file with -w"]);
    lab.destroy();
}
