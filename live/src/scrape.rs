//! A small HTTP server of one page, for Prometheus. No client can block it.
//!
//! Each connection is one request, served by a separate thread, and ends after a timeout however slowly its client
//! reads or writes. If there are too many connections, the one that has been quiet longest is closed.

use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::poll::PollFlags;

use super::client::is_ready;
use super::clients::Newcomers;

/// Path of the page.
pub const PATH: &str = "/metrics";
/// Max number of connections.
const MAX_CLIENTS: usize = 16;
/// Timeout of a request and of an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Max length of a request's head, in bytes.
const MAX_HEAD_LENGTH: usize = 8192;
/// Max number of headers; more than any client sends.
const MAX_HEADERS: usize = 64;
/// Time between two checks whether the server should continue.
const MOMENT: Duration = Duration::from_millis(200);

/// See the module.
pub struct Server<R> {
    /// Renders the page, or returns an error.
    render: Arc<R>,
}

/// A socket that accepts connections.
pub trait Listener: AsFd {
    /// Accepts the next connection, without waiting.
    fn next(&self) -> io::Result<OwnedFd>;
    /// Makes the socket non-blocking.
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

/// An HTTP response.
#[derive(Debug, PartialEq, Eq)]
struct Response {
    status: &'static str,
    body: String,
    kind: &'static str,
    /// True if the client requested only the head, so the body is not sent.
    head_only: bool,
}

impl<R: Fn() -> Result<String, String> + Send + Sync + 'static> Server<R> {
    /// Makes a server of the page that `render` returns.
    pub fn new(render: R) -> Self {
        Self { render: Arc::new(render) }
    }

    /// Serves until `interrupted`, or until the server should not continue.
    pub fn serve(
        &self,
        listener: &impl Listener,
        interrupted: &AtomicBool,
        mut goes_on: impl FnMut() -> bool,
    ) -> io::Result<()> {
        listener.stop_waiting()?;
        let mut newcomers = Newcomers::new(MAX_CLIENTS);
        while !interrupted.load(Ordering::Relaxed) && goes_on() {
            wait(listener, newcomers.patience(MOMENT));
            match listener.next() {
                // Sockets of both kinds are read, written and closed by the same calls. A refused client sees its
                // connection closed.
                Ok(connection) => drop(newcomers.add(UnixStream::from(connection))),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // For example too many open files: a later attempt may succeed.
                Err(_) => thread::sleep(MOMENT),
            }
            while let Some((connection, admission)) = newcomers.decide() {
                // If all clients are busy, the new one sees its connection closed.
                let Some(admission) = admission else { continue };
                let render = Arc::clone(&self.render);
                let converse = move || {
                    // A client that has disconnected needs no answer.
                    let _ = converse(&connection, &*render);
                    drop(admission);
                };
                let _ = thread::Builder::new().spawn(converse);
            }
        }
        Ok(())
    }
}

/// Waits at most `most` for a connection.
fn wait(listener: &impl Listener, most: Duration) {
    is_ready(listener, PollFlags::POLLIN, most);
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

/// Reads a request up to the end of its head, or up to the max length.
fn read_head(mut connection: &UnixStream, until: Instant) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while head.len() <= MAX_HEAD_LENGTH && !is_whole(&head) {
        connection.set_read_timeout(Some(left(until)?))?;
        match connection.read(&mut buffer)? {
            0 => break,
            read => head.extend_from_slice(&buffer[..read]),
        }
    }
    Ok(head)
}

/// Returns true if the head is complete, or cannot become a valid one.
fn is_whole(head: &[u8]) -> bool {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
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

/// Returns the time that is left; never zero, which would mean no timeout.
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
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(head) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) if head.len() > MAX_HEAD_LENGTH => {
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
        let long = [b"GET /metrics HTTP/1.1\r\nA: ", &[b'a'; MAX_HEAD_LENGTH][..]].concat();
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

    /// More clients than there is room for: silent ones, some with half a request, some that do not read.
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
        let hanging: Vec<TcpStream> = (0..3 * MAX_CLIENTS)
            .map(|number| {
                let mut stream = TcpStream::connect(address).unwrap();
                stream.write_all(begun[number % begun.len()]).unwrap();
                stream
            })
            .collect();
        // Room is made after a moment, so a client that connects too early is closed and may retry.
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
