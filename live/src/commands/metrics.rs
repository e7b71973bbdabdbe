//! `xoff metrics`: a live fabric's metrics for Prometheus.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Exit, json_errors, leave};
use crate::metrics;
use crate::scrape::{self, Server};
use crate::watcher::{Missed, Watcher};

/// Arguments of `xoff metrics`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The live fabric.
    name: String,
    #[command(flatten)]
    place: Place,
    /// Prints JSON instead of text, including errors.
    #[arg(long)]
    json: bool,
}

/// Address at which metrics are served.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Place {
    /// Loopback address of this machine, such as 127.0.0.1:9100; port 0 picks a free one.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = loopback)]
    listen: Option<SocketAddr>,
    /// Unix socket, which is created, and removed at the end.
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
}

fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|_| {
        "not an address and a port, such as 127.0.0.1:9100 or [::1]:9100; names are not looked up".to_owned()
    })?;
    if address.ip().is_loopback() {
        return Ok(address);
    }
    Err(format!(
        "{} is seen by other machines, and metrics are served to whoever asks, without encryption; listen at 127.0.0.1 or [::1], \
         and let a proxy that knows its users serve others",
        address.ip()
    ))
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    json_errors::answer_in_json(arguments.json);
    match serve(arguments) {
        Ok(()) => Exit::Success,
        Err(message) => super::refuse(message),
    }
}

fn serve(arguments: &Arguments) -> Result<(), String> {
    let watcher = Arc::new(Watcher::new(&arguments.name)?);
    let interrupted = leave::watch(Exit::Success, false);
    let of_views = Arc::clone(&watcher);
    let render = move || match of_views.look() {
        Ok(view) => Ok(metrics::render(&of_views.description().name, &view)),
        Err(Missed::Ended(why) | Missed::Late(why)) => Err(why),
    };
    let server = Server::new(render);
    let mut ended = None;
    let goes_on = || {
        ended = watcher.ended();
        ended.is_none()
    };
    let done = match &arguments.place {
        Place { listen: Some(address), .. } => {
            let failed = |error: io::Error| {
                format!(
                    "cannot listen at {address}: {error}; choose another port, or 0 for any free one"
                )
            };
            let listener = TcpListener::bind(address).map_err(failed)?;
            let address = listener.local_addr().map_err(failed)?;
            announce(arguments.json, &format!("http://{address}{}", scrape::PATH));
            server.serve(&listener, interrupted, goes_on)
        }
        Place { socket, .. } => {
            let path = socket.as_deref().unwrap_or(Path::new(""));
            let listener = SocketFile::bind(path)?;
            announce(arguments.json, &format!("{}, path {}", path.display(), scrape::PATH));
            server.serve(&listener.listener, interrupted, goes_on)
        }
    };
    if let Some(why) = ended {
        json_errors::ended(&why);
    }
    done.map_err(|error| format!("waiting for connections: {error}"))
}

fn announce(in_json: bool, place: &str) {
    let text = if in_json {
        serde_json::json!({ "serving": place }).to_string()
    } else {
        format!("serving metrics at {place} until the fabric ends, or Ctrl-C")
    };
    // A closed standard output is not an error.
    let _ = super::print(&text, Exit::Success);
}

/// A Unix socket that exists while it is served.
struct SocketFile<'a> {
    listener: UnixListener,
    path: &'a Path,
}

impl<'a> SocketFile<'a> {
    fn bind(path: &'a Path) -> Result<Self, String> {
        let failed = |error: io::Error| format!("cannot listen at {}: {error}", path.display());
        match UnixListener::bind(path) {
            // A socket left by a killed server accepts no connections.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                let is_socket = fs::metadata(path).is_ok_and(|file| file.file_type().is_socket());
                let refused = UnixStream::connect(path).map_err(|error| error.kind());
                if !is_socket || refused.err() != Some(io::ErrorKind::ConnectionRefused) {
                    return Err(failed(error) + "; name a file that is not there");
                }
                fs::remove_file(path).map_err(failed)?;
            }
            Err(error) => return Err(failed(error)),
            Ok(listener) => return Self::readable(listener, path).map_err(failed),
        }
        let listener = UnixListener::bind(path).map_err(failed)?;
        Self::readable(listener, path).map_err(failed)
    }

    /// Restricts the socket to root; wider access is granted by hand.
    fn readable(listener: UnixListener, path: &'a Path) -> io::Result<Self> {
        let socket = Self { listener, path };
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        Ok(socket)
    }
}

impl Drop for SocketFile<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_served() {
        for right in ["127.0.0.1:9100", "127.8.9.1:0", "[::1]:9100"] {
            assert!(loopback(right).is_ok(), "{right}");
        }
        for (wrong, why) in [
            ("0.0.0.0:9100", "seen by other machines"),
            ("[::]:9100", "seen by other machines"),
            ("192.168.0.1:9100", "seen by other machines"),
            ("127.0.0.1", "a port"),
            ("localhost:9100", "not looked up"),
        ] {
            let error = loopback(wrong).expect_err(wrong);
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_socket_goes_with_its_server_and_is_not_taken_from_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let socket = SocketFile::bind(&path).expect("it is free");
        assert!(SocketFile::bind(&path).is_err_and(|error| error.contains("in use")));
        drop(socket);
        assert!(!path.exists());
        // A killed server leaves its socket.
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        drop(SocketFile::bind(&path).expect("nobody answers there"));
        assert!(!path.exists());
        fs::write(&path, "text").unwrap();
        assert!(SocketFile::bind(&path).is_err(), "a file is not a socket");
        assert!(path.exists());
    }
}
