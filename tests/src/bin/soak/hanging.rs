//! Connections to supervisors that hang.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::steps::{Hang, NAMES, Step};
use crate::tally::Tally;
use crate::{now, xoff};

/// Time that the connections stay open.
const STAY: Duration = Duration::from_secs(8);
/// More than a supervisor serves.
const CAPTURES: usize = 80;
/// A new request is answered or refused within 3 s; the rest is for the command itself, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(15);

/// Connections, and until when they stay.
#[derive(Debug, Default)]
pub struct Hanging {
    all: Vec<(Vec<UnixStream>, Instant)>,
}

impl Hanging {
    /// Opens connections.
    pub fn begin(&mut self, step: &Step, hang: Hang, tally: &mut Tally) -> Result<()> {
        let name = NAMES[step.fabric];
        let socket = Path::new("/run/xoff/live").join(name).join("socket");
        let connect = || UnixStream::connect(&socket).context("a fabric has a socket");
        let requests: Vec<&[u8]> = match hang {
            Hang::Mixed(count) => {
                let said: [&[u8]; 4] = [b"", b"{\"ask\":", b"\xff\xfe\n", b"{\"ask\":\"look\"}\n"];
                said.into_iter().cycle().take(usize::try_from(count)?).collect()
            }
            Hang::Captures => {
                let capture = b"{\"ask\":\"capture\",\"wires\":[\"*\"],\"filter\":\"all\"}\n";
                vec![capture; CAPTURES]
            }
        };
        let mut connections = Vec::new();
        for request in requests {
            let mut connection = connect()?;
            // A supervisor may have refused it already.
            let _ = connection.write_all(request);
            connections.push(connection);
        }
        if hang == Hang::Captures {
            let asked = now();
            let output = xoff(["inspect", name]).output().context("xoff inspect")?;
            let took = asked.elapsed();
            let is_refused = String::from_utf8_lossy(&output.stderr).contains("too many clients");
            if !output.status.success() && !is_refused || took > PATIENCE {
                tally.fail(
                    step.number,
                    format!("beside {CAPTURES} captures a look took {took:.1?}: {output:?}"),
                );
            }
        }
        self.all.push((connections, now() + STAY));
        Ok(())
    }

    /// Closes connections whose time is over.
    pub fn tick(&mut self) {
        let now = now();
        self.all.retain(|(_, until)| *until > now);
    }

    /// Closes all.
    pub fn end(&mut self) {
        self.all.clear();
    }
}
