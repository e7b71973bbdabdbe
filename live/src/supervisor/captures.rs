//! Captures of a live fabric for clients.

use std::fmt::Write as _;
use std::io;
use std::sync::mpsc::RecvTimeoutError;

use emulation::live::captures::{self, FrameSource};
use emulation::live::desk::{CapturedFrame, Handle, Request as Asked};
use scenario::CaptureFilter;
use topology::WireId;

use super::{Answer, Client, GONE, SIGN_OF_LIFE, line, refuse};

/// Sends captured frames until the client or the fabric ends.
pub fn stream(
    client: &Client,
    handle: &Handle,
    wires: Vec<WireId>,
    filter: CaptureFilter,
) -> io::Result<()> {
    let (sink, frames) = captures::channel();
    if handle.ask(Asked::Capture { wires, filter, sink }).is_err() {
        return refuse(client, GONE);
    }
    send_frames(client, &frames)
}

fn send_frames(client: &Client, frames: &FrameSource) -> io::Result<()> {
    // A client that does not read, such as a paused Wireshark, loses frames but keeps the capture: frames without room
    // are counted.
    let send = |answer: &Answer| client.write_however_long(&line(answer));
    let send_losses = || send(&Answer::Lost { frames: frames.lost() });
    loop {
        match frames.recv_timeout(SIGN_OF_LIFE) {
            Ok(frame) => send(&frame_answer(frame))?,
            // Fails if the client has disconnected.
            Err(RecvTimeoutError::Timeout) => send_losses()?,
            Err(RecvTimeoutError::Disconnected) => {
                send_losses()?;
                return send(&Answer::Done);
            }
        }
    }
}

fn frame_answer(CapturedFrame { wire, time, bytes, dropped, lost }: CapturedFrame) -> Answer {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in &bytes {
        write!(digits, "{byte:02x}").expect("a String takes every write");
    }
    let dropped = dropped.map(|reason| reason.name().to_owned());
    Answer::Frame { wire, time_ns: time.0, bytes: digits, dropped, lost }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::os::unix::net::UnixStream;
    use std::thread;
    use std::time::Duration;

    use units::Nanos;

    use super::*;
    use crate::clients::{Connection, Newcomers};

    /// More frames than a socket has room for.
    const FRAMES: u64 = 2000;

    #[test]
    fn a_client_that_does_not_read_loses_no_frame_that_there_is_room_for() {
        let (stream, reader) = UnixStream::pair().unwrap();
        stream.set_write_timeout(Some(Duration::from_millis(1))).unwrap();
        let mut newcomers = Newcomers::new(1);
        assert!(newcomers.add(stream).is_none());
        let (stream, admission) = newcomers.decide().unwrap();
        let client = Connection::new(stream, admission.unwrap());
        let (sink, frames) = captures::channel();
        for number in 0..FRAMES {
            let (time, bytes) = (Nanos(number), vec![7; 1000].into());
            let frame = CapturedFrame { wire: 0, time, bytes, dropped: None, lost: 0 };
            sink.send(frame, if number < FRAMES - 5 { u64::MAX } else { 0 });
        }
        let sender = thread::spawn(move || send_frames(&client, &frames));
        // The client's writes time out many times.
        thread::sleep(Duration::from_millis(50));
        drop(sink);
        let lines = BufReader::new(reader).lines().map(Result::unwrap);
        let answers: Vec<Answer> = lines.map(|line| serde_json::from_str(&line).unwrap()).collect();
        sender.join().unwrap().unwrap();
        let [of_frames @ .., Answer::Lost { frames: 5 }, Answer::Done] = &answers[..] else {
            panic!("{:?}", answers.last());
        };
        let times = of_frames.iter().map(|answer| match answer {
            Answer::Frame { time_ns, .. } => *time_ns,
            other => panic!("{other:?}"),
        });
        assert!(times.eq(0..FRAMES - 5));
    }
}
