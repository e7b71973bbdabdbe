//! Clients of a server. When there are too many, the client that has been quiet longest makes room.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use linux::socket::unread_bytes;
use nix::sys::socket::{Shutdown, shutdown};

/// Time after which a client without a request may be disconnected.
const GRACE: Duration = Duration::from_millis(200);
/// Time after which a client that does not read its answer may be disconnected. Longer than two signs of life.
const GRACE_OF_READERS: Duration = Duration::from_secs(3);

/// Time between two attempts to make room.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);
/// Max number of clients that wait for room; further clients are refused at once.
const MAX_WAITING: usize = 256;
/// Max bytes written at once, so that slow reading is noticed.
const PART: usize = 1 << 16;

/// See the module.
#[derive(Debug)]
pub struct Clients {
    most: usize,
    /// Clients by number. A number is never used again.
    all: Mutex<BTreeMap<u64, Entry>>,
    next: AtomicU64,
}

#[derive(Debug)]
struct Entry {
    /// Connection, needed to end it.
    connection: OwnedFd,
    /// True while the client is being answered.
    is_served: bool,
    /// Time of the client's last activity.
    since: Instant,
}

/// Admission of a client while it is connected.
#[derive(Debug)]
pub struct Admission {
    clients: Arc<Clients>,
    number: u64,
}

impl Clients {
    /// Creates an empty set of at most `most` clients.
    pub fn at_most(most: usize) -> Arc<Self> {
        Arc::new(Self { most, all: Mutex::default(), next: AtomicU64::new(0) })
    }

    /// Admits a client. If there are too many, the client that has been quiet longest is disconnected once its grace
    /// period is over.
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
            // The client's thread notices the end of its connection.
            let _ = shutdown(quiet.connection.as_raw_fd(), Shutdown::Both);
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        all.insert(number, Entry { connection, is_served: false, since: now });
        Some(Admission { clients: Arc::clone(self), number })
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Entry>> {
        // Each entry is written as a whole.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// New clients, which wait for room. Each is admitted or refused within 3 s, regardless of their number.
#[derive(Debug)]
pub struct Newcomers<S> {
    clients: Arc<Clients>,
    /// Waiting clients with the times of their arrival, the first one first.
    waiting: VecDeque<(S, Instant)>,
}

impl<S: AsFd> Newcomers<S> {
    /// Creates an empty queue of newcomers, with room for `most` clients.
    pub fn new(most: usize) -> Self {
        Self { clients: Clients::at_most(most), waiting: VecDeque::new() }
    }

    /// Adds a client that has connected. If too many wait, returns the client, which is refused.
    pub fn add(&mut self, connection: S) -> Option<S> {
        if self.waiting.len() >= MAX_WAITING {
            return Some(connection);
        }
        self.waiting.push_back((connection, wall()));
        None
    }

    /// Returns the next client that is admitted, or that is refused because all others were busy for longer than a
    /// client may be quiet.
    pub fn decide(&mut self) -> Option<(S, Option<Admission>)> {
        self.decide_at(wall())
    }

    fn decide_at(&mut self, now: Instant) -> Option<(S, Option<Admission>)> {
        let (first, since) = self.waiting.front()?;
        let admission = self.clients.admit_at(now, first);
        let is_over = now.saturating_duration_since(*since) > GRACE_OF_READERS;
        if admission.is_none() && !is_over {
            return None;
        }
        self.waiting.pop_front().map(|(connection, _)| (connection, admission))
    }

    /// Returns the time that a server may wait for a connection: `most`, or less while clients wait for room.
    pub fn patience(&self, most: Duration) -> Duration {
        if self.waiting.is_empty() { most } else { LOOK_INTERVAL }
    }
}

impl Entry {
    fn may_go(&self, now: Instant) -> bool {
        let grace = if self.is_served { GRACE_OF_READERS } else { GRACE };
        now.saturating_duration_since(self.since) >= grace
    }
}

impl Admission {
    /// Notes that the client has sent a request, or has read a part of the answer.
    pub fn serve(&self) {
        self.note(true);
    }

    /// Notes that the client has its answer, and may send another request.
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

/// Connection of a client. A client is active while it reads, not while its socket has room.
#[derive(Debug)]
pub struct Connection<S> {
    /// Stream of the connection.
    pub stream: S,
    /// Admission of the client.
    pub admission: Admission,
    /// Number of unread bytes at the last check.
    unread: Cell<u32>,
}

impl<S: AsFd> Connection<S>
where
    for<'a> &'a S: Write,
{
    /// Makes the connection of an admitted client.
    pub fn new(stream: S, admission: Admission) -> Self {
        Self { stream, admission, unread: Cell::new(0) }
    }

    /// Writes all bytes.
    pub fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            bytes = &bytes[self.write_part(bytes)?..];
        }
        Ok(())
    }

    /// Writes all bytes, and retries after write timeouts while the connection stands. A client that does not read may
    /// still have to make room for another one.
    pub fn write_however_long(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write_part(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if is_late(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn write_part(&self, bytes: &[u8]) -> io::Result<usize> {
        self.note_reading();
        let written = (&self.stream).write(&bytes[..bytes.len().min(PART)])?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.unread.set(unread_bytes(&self.stream));
        Ok(written)
    }

    /// Notes whether the client has read anything since the last call.
    fn note_reading(&self) {
        let unread = unread_bytes(&self.stream);
        if unread == 0 || unread < self.unread.replace(unread) {
            self.admission.serve();
        }
    }
}

fn is_late(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long clients are quiet, never what is sent to them"
)]
fn wall() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;

    /// Returns the ends of a client and the server.
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
        // A client that is answered may take its time.
        one.serve();
        let later = wall() + Duration::from_secs(1);
        let three = clients.admit_at(later, &third.1).expect("the second goes");
        assert!(is_ended(&mut second.0) && !is_ended(&mut first.0) && !is_ended(&mut third.0));
        drop(two);
        assert_eq!(clients.all().len(), 2, "its end takes nobody else's place");
        // But not forever.
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
    fn new_ones_wait_at_once_and_are_let_in_or_refused_in_time() {
        let mut newcomers = Newcomers::new(1);
        let mut pairs = [pair(), pair(), pair()];
        for (_, server) in &pairs {
            assert!(newcomers.add(server.try_clone().unwrap()).is_none(), "there is room to wait");
        }
        let arrived = wall();
        let (_, first) = newcomers.decide_at(arrived).expect("there is room");
        let first = first.expect("there is room");
        first.serve();
        assert!(newcomers.decide_at(arrived).is_none());
        assert_eq!(newcomers.patience(GRACE), LOOK_INTERVAL);
        // The first client continues to read. Both others are refused, and the second one does not wait for the first.
        let late = arrived + GRACE_OF_READERS + Duration::from_millis(1);
        newcomers.clients.all().values_mut().for_each(|entry| entry.since = late);
        let refused = [0, 1].map(|_| newcomers.decide_at(late).map(|(_, it)| it.is_none()));
        assert_eq!(refused, [Some(true); 2]);
        assert!(newcomers.decide_at(late).is_none() && !is_ended(&mut pairs[0].0));
        assert_eq!(newcomers.patience(GRACE), GRACE);
        drop(first);
    }

    #[test]
    fn more_than_can_wait_are_refused() {
        let mut newcomers = Newcomers::new(1);
        let (_client, server) = pair();
        let add = |newcomers: &mut Newcomers<_>| newcomers.add(server.try_clone().unwrap());
        assert!((0..MAX_WAITING).all(|_| add(&mut newcomers).is_none()));
        assert!(add(&mut newcomers).is_some());
    }

    /// The socket has room for all answers.
    #[test]
    fn a_client_that_does_not_read_is_quiet_however_much_is_sent() {
        let (mut reader, stream) = pair();
        let clients = Clients::at_most(1);
        let long_ago = wall().checked_sub(GRACE_OF_READERS).expect("the machine is up for longer");
        let admission = clients.admit_at(long_ago, &stream).expect("there is room");
        let client = Connection::new(stream, admission);
        let is_quiet = || clients.all().values().all(|entry| entry.since == long_ago);
        let write = || client.write(&[7; 100]).unwrap();
        client.unread.set(1);
        // Nothing was written yet, so nothing was left unread.
        write();
        assert!(!is_quiet());
        for entry in clients.all().values_mut() {
            (entry.since, entry.is_served) = (long_ago, true);
        }
        (0..5).for_each(|_| write());
        assert!(is_quiet());
        reader.read_exact(&mut [0; 300]).unwrap();
        write();
        assert!(!is_quiet());
    }
}
