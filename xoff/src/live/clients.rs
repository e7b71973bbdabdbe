//! Who is connected to a server, and who makes room when there are too many: whoever has been quiet for longest.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Whoever has not said what it wants for so long may have to go.
const GRACE: Duration = Duration::from_millis(200);
/// So may whoever has neither read nor got anything for so long while it is answered. Longer than two signs of life.
const GRACE_OF_READERS: Duration = Duration::from_secs(3);

/// Time between two looks for room, while there is none.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// See the module.
#[derive(Debug)]
pub struct Clients {
    most: usize,
    /// By number. A number is never used again.
    all: Mutex<BTreeMap<u64, Entry>>,
    next: AtomicU64,
}

#[derive(Debug)]
struct Entry {
    /// Its connection, to end it.
    connection: OwnedFd,
    /// Whether it is being answered.
    is_served: bool,
    /// When it last did something.
    since: Instant,
}

/// One client, for as long as it is connected.
#[derive(Debug)]
pub struct Admission {
    clients: Arc<Clients>,
    number: u64,
}

impl Clients {
    /// None, and at most so many.
    pub fn at_most(most: usize) -> Arc<Self> {
        Arc::new(Self { most, all: Mutex::default(), next: AtomicU64::new(0) })
    }

    /// Lets a client in. If there are too many, the connection of the one that has been quiet for longest is ended, as soon as
    /// it has had its time; `None` if all are busy for longer than a client may be quiet.
    pub fn admit(self: &Arc<Self>, connection: impl AsFd) -> Option<Admission> {
        let begun = wall();
        loop {
            let now = wall();
            if let Some(admission) = self.admit_at(now, &connection) {
                return Some(admission);
            }
            if now.saturating_duration_since(begun) > GRACE_OF_READERS {
                return None;
            }
            thread::sleep(LOOK_INTERVAL);
        }
    }

    fn admit_at(self: &Arc<Self>, now: Instant, connection: impl AsFd) -> Option<Admission> {
        let connection = connection.as_fd().try_clone_to_owned().ok()?;
        let mut all = self.all();
        if all.len() >= self.most {
            let quietest = all
                .iter()
                .filter(|(_, entry)| entry.may_go(now))
                .min_by_key(|(_, entry)| entry.since);
            let number = quietest.map(|(&number, _)| number)?;
            let quiet = all.remove(&number)?;
            // SAFETY: the descriptor is open. The client's thread sees the end of its connection.
            unsafe { libc::shutdown(quiet.connection.as_raw_fd(), libc::SHUT_RDWR) };
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        all.insert(number, Entry { connection, is_served: false, since: now });
        Some(Admission { clients: Arc::clone(self), number })
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Entry>> {
        // No entry is ever half written.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn may_go(&self, now: Instant) -> bool {
        let grace = if self.is_served { GRACE_OF_READERS } else { GRACE };
        now.saturating_duration_since(self.since) >= grace
    }
}

impl Admission {
    /// It has said what it wants, or has taken a part of the answer.
    pub fn serve(&self) {
        self.note(true);
    }

    /// It has its answer, and may ask for something else.
    pub fn ask(&self) {
        self.note(false);
    }

    fn note(&self, is_served: bool) {
        if let Some(entry) = self.clients.all().get_mut(&self.number) {
            (entry.is_served, entry.since) = (is_served, wall());
        }
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.clients.all().remove(&self.number);
    }
}

/// The connection of a client: what it is told counts as a sign of it.
#[derive(Debug)]
pub struct Connection<S> {
    /// Where it reads and writes.
    pub stream: S,
    /// Its place among the clients.
    pub admission: Admission,
}

impl<S> Connection<S>
where
    for<'a> &'a S: Write,
{
    /// Writes all of it.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.stream).write_all(bytes)?;
        self.admission.serve();
        Ok(())
    }

    /// Writes all of it, and waits longer than the time that a write may take as long as the connection stands. A client that
    /// does not read may still have to make room for another one.
    pub fn write_however_long(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match (&self.stream).write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    bytes = &bytes[written..];
                    self.admission.serve();
                }
                Err(error) if is_late(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn is_late(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long clients are quiet, never what they are told"
)]
fn wall() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;

    /// A client's end, and the server's.
    fn pair() -> (UnixStream, UnixStream) {
        UnixStream::pair().unwrap()
    }

    fn is_ended(client: &mut UnixStream) -> bool {
        client.set_nonblocking(true).unwrap();
        matches!(client.read(&mut [0]), Ok(0))
    }

    #[test]
    fn the_quietest_makes_room() {
        let clients = Clients::at_most(2);
        let (mut first, mut second, mut third) = (pair(), pair(), pair());
        let now = wall();
        let one = clients.admit_at(now, &first.1).expect("there is room");
        let two = clients.admit_at(now + Duration::from_millis(10), &second.1).expect("room");
        let soon = now + Duration::from_millis(100);
        assert!(clients.admit_at(soon, &third.1).is_none(), "both have just come");
        // Who is answered may take its time.
        one.serve();
        let later = wall() + Duration::from_secs(1);
        let three = clients.admit_at(later, &third.1).expect("the second goes");
        assert!(is_ended(&mut second.0) && !is_ended(&mut first.0) && !is_ended(&mut third.0));
        drop(two);
        assert_eq!(clients.all().len(), 2, "its end takes nobody else's place");
        // But not for ever.
        three.serve();
        let much_later = wall() + 2 * GRACE_OF_READERS;
        assert!(clients.admit_at(much_later, &pair().1).is_some());
        assert!(is_ended(&mut first.0));
        drop((one, three));
    }

    #[test]
    fn who_leaves_makes_room() {
        let clients = Clients::at_most(1);
        let (one, other) = (pair(), pair());
        let now = wall();
        let admitted = clients.admit_at(now, &one.1).expect("there is room");
        assert!(clients.admit_at(now, &other.1).is_none());
        drop(admitted);
        assert!(clients.admit_at(now, &other.1).is_some());
    }

    #[test]
    fn a_new_one_waits_until_the_quietest_has_had_its_time() {
        let clients = Clients::at_most(2);
        let mut pairs = [pair(), pair(), pair()];
        let admitted = [0, 1, 2].map(|it| clients.admit(&pairs[it].1).expect("the first goes"));
        let ended = pairs.each_mut().map(|pair| is_ended(&mut pair.0));
        assert_eq!(ended, [true, false, false]);
        drop(admitted);
    }
}
