//! A server of one page by HTTP, for Prometheus: small, and held up by no client.
//!
//! Each connection is one request, in a thread of its own, and is over after a time however slowly its client reads or writes.
//! If there are too many, the one that has been quiet for longest goes.

use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::clients::Newcomers;

/// Where the page is.
pub const PATH: &str = "/metrics";
/// Connections at a time.
const MOST_CLIENTS: usize = 16;
/// A request, or an answer, that takes longer is left.
const PATIENCE: Duration = Duration::from_secs(5);
/// A request's head is at most so long, in bytes.
const LONGEST_HEAD: usize = 8192;
/// More headers than any client sends.
const MOST_HEADERS: usize = 64;
/// Time between two looks whether the server is to go on.
const MOMENT: Duration = Duration::from_millis(200);

/// See the module.
pub struct Server<R> {
    /// Makes the page, or says why there is none.
    render: Arc<R>,
}

/// A socket at which connections come in.
pub trait Listener: AsFd {
    /// The next connection, without waiting.
    fn next(&self) -> io::Result<OwnedFd>;
    /// It does not wait from now on.
    fn stop_waiting(&self) -> io::Result<()>;
}

impl Listener for TcpListener {
    fn next(&self) -> io::Result<OwnedFd> {
        self.accept().map(|(stream, _)| stream.into())
    }

    fn stop_waiting(&self) -> io::Result<()> {
        self.set_nonblocking(true)
    }
}

impl Listener for UnixListener {
    fn next(&self) -> io::Result<OwnedFd> {
        self.accept().map(|(stream, _)| stream.into())
    }

    fn stop_waiting(&self) -> io::Result<()> {
        self.set_nonblocking(true)
    }
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
struct Response {
    status: &'static str,
    body: String,
    kind: &'static str,
    /// A client that asks for the head alone gets no body.
    head_only: bool,
}

impl<R: Fn() -> Result<String, String> + Send + Sync + 'static> Server<R> {
    /// A server of what `render` makes.
    pub fn new(render: R) -> Self {
        Self { render: Arc::new(render) }
    }

    /// Serves until it is `interrupted`, or is not to go on.
    pub fn serve(
        &self,
        listener: &impl Listener,
        interrupted: &AtomicBool,
        mut goes_on: impl FnMut() -> bool,
    ) -> io::Result<()> {
        listener.stop_waiting()?;
        let mut newcomers = Newcomers::new(MOST_CLIENTS);
        while !interrupted.load(Ordering::Relaxed) && goes_on() {
            wait(listener, newcomers.patience(MOMENT));
            match listener.next() {
                // Sockets of both kinds are read, written and closed by the same calls. One that may not wait sees that its
                // connection is closed.
                Ok(connection) => drop(newcomers.add(UnixStream::from(connection))),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Such as too many open files: the next one may have more luck.
                Err(_) => thread::sleep(MOMENT),
            }
            while let Some((connection, admission)) = newcomers.decide() {
                // When all are busy it sees that its connection is closed.
                let Some(admission) = admission else { continue };
                let render = Arc::clone(&self.render);
                let converse = move || {
                    // A client that goes away wants no answer.
                    let _ = converse(&connection, &*render);
                    drop(admission);
                };
                let _ = thread::Builder::new().spawn(converse);
            }
        }
        Ok(())
    }
}

/// Waits for a connection, so long at most.
fn wait(listener: &impl Listener, most: Duration) {
    let mut descriptor =
        libc::pollfd { fd: listener.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let milliseconds = libc::c_int::try_from(most.as_millis()).unwrap_or(libc::c_int::MAX);
    // SAFETY: one descriptor outlives the call.
    unsafe { libc::poll(&raw mut descriptor, 1, milliseconds) };
}

/// Reads a request and answers it.
fn converse(
    connection: &UnixStream,
    render: &impl Fn() -> Result<String, String>,
) -> io::Result<()> {
    connection.set_nonblocking(false)?;
    let head = read_head(connection, now() + PATIENCE)?;
    let Response { status, body, kind, head_only } = respond(&head, render);
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    if !head_only {
        bytes += &body;
    }
    write_by(connection, bytes.as_bytes(), now() + PATIENCE)?;
    connection.shutdown(std::net::Shutdown::Write)
}

/// What a client sends, up to the end of the head or the most that is read.
fn read_head(mut connection: &UnixStream, until: Instant) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while head.len() <= LONGEST_HEAD && !is_whole(&head) {
        connection.set_read_timeout(Some(left(until)?))?;
        match connection.read(&mut buffer)? {
            0 => break,
            read => head.extend_from_slice(&buffer[..read]),
        }
    }
    Ok(head)
}

/// Whether nothing more has to come before a request can be answered.
fn is_whole(head: &[u8]) -> bool {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    !matches!(httparse::Request::new(&mut headers).parse(head), Ok(httparse::Status::Partial))
}

fn write_by(mut connection: &UnixStream, mut bytes: &[u8], until: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        connection.set_write_timeout(Some(left(until)?))?;
        match connection.write(bytes)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => bytes = &bytes[written..],
        }
    }
    Ok(())
}

/// The time that is left; never zero, which would be for ever.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

fn respond(head: &[u8], render: &impl Fn() -> Result<String, String>) -> Response {
    const TEXT: &str = "text/plain; charset=utf-8";
    const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let of = |status, body: &str| Response {
        status,
        body: format!("{body}\n"),
        kind: TEXT,
        head_only: false,
    };
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(head) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) if head.len() > LONGEST_HEAD => {
            return of("431 Request Header Fields Too Large", "the request is too long");
        }
        Ok(httparse::Status::Partial) | Err(_) => {
            return of("400 Bad Request", "this is not a request of HTTP/1");
        }
    }
    let path = request.path.unwrap_or_default();
    let head_only = match request.method.unwrap_or_default() {
        "GET" => false,
        "HEAD" => true,
        _ => return of("405 Method Not Allowed", "only GET and HEAD are answered"),
    };
    if path.split('?').next() != Some(PATH) {
        let body = of("404 Not Found", &format!("the metrics are at {PATH}"));
        return Response { head_only, ..body };
    }
    match render() {
        Ok(body) => Response { status: "200 OK", body, kind: METRICS, head_only },
        Err(why) => Response { head_only, ..of("503 Service Unavailable", &why) },
    }
}

#[expect(clippy::disallowed_methods, reason = "how long clients may take, never what they get")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpStream};

    use super::*;

    fn status(head: &[u8]) -> &'static str {
        respond(head, &|| Ok("page".to_owned())).status
    }

    #[test]
    fn requests_are_answered_by_method_and_path() {
        for (head, wanted) in [
            (&b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"[..], "200 OK"),
            (b"GET /metrics?a=b HTTP/1.0\r\n\r\n", "200 OK"),
            (b"HEAD /metrics HTTP/1.1\r\n\r\n", "200 OK"),
            (b"GET / HTTP/1.1\r\n\r\n", "404 Not Found"),
            (b"GET /metricss HTTP/1.1\r\n\r\n", "404 Not Found"),
            (b"POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
            (b"\0\xff rubbish", "400 Bad Request"),
            (b"GET /metrics HTTP/1.1\r\n", "400 Bad Request"),
            (b"", "400 Bad Request"),
        ] {
            assert_eq!(status(head), wanted, "{}", head.escape_ascii());
        }
        let long = [b"GET /metrics HTTP/1.1\r\nA: ", &[b'a'; LONGEST_HEAD][..]].concat();
        assert_eq!(status(&long), "431 Request Header Fields Too Large");
        let gone = respond(b"GET /metrics HTTP/1.1\r\n\r\n", &|| Err("it has ended".to_owned()));
        assert_eq!((gone.status, &*gone.body), ("503 Service Unavailable", "it has ended\n"));
    }

    fn scrape(address: SocketAddr) -> io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// More of them than there is room for, some silent, some half way through a request, some that do not read.
    #[test]
    fn clients_that_hang_hold_nobody_up() {
        static INTERRUPTED: AtomicBool = AtomicBool::new(false);
        let page = "x".repeat(4 << 20);
        let expected = page.len();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            Server::new(move || Ok(page.clone())).serve(&listener, &INTERRUPTED, || true)
        });
        let begun: [&[u8]; 3] = [b"", b"GET /met", b"GET /metrics HTTP/1.1\r\n\r\n"];
        let hanging: Vec<TcpStream> = (0..3 * MOST_CLIENTS)
            .map(|number| {
                let mut stream = TcpStream::connect(address).unwrap();
                stream.write_all(begun[number % begun.len()]).unwrap();
                stream
            })
            .collect();
        // Room is made after a moment, so one that comes too soon is closed and may come again.
        let answer = std::iter::repeat_with(|| {
            let answer = scrape(address).unwrap_or_default();
            if answer.is_empty() {
                thread::sleep(MOMENT);
            }
            answer
        })
        .take(100)
        .find(|answer| !answer.is_empty())
        .expect("it is answered in the end");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{}", &answer[..answer.len().min(100)]);
        assert!(answer.ends_with('x') && answer.len() > expected);
        INTERRUPTED.store(true, Ordering::Relaxed);
        server.join().unwrap().unwrap();
        drop(hanging);
    }
}
