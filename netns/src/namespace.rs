//! One network namespace: made, named, entered and removed.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::panic;
use std::path::{Path, PathBuf};
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

use crate::error::Error;
use crate::run_directory;

/// A network namespace of a deployed fabric, removed with its [`crate::Deployment`].
#[derive(Debug)]
pub struct Namespace {
    name: String,
    /// Declared before `mount`, so that this process's last reference is closed before the name is
    /// removed.
    handle: File,
    mount: NamespaceMount,
}

impl Namespace {
    /// Moves the calling thread into a new namespace and gives the namespace the name `name`.
    pub(crate) fn make_and_enter(name: String) -> Result<Self, Error> {
        unshare_network().map_err(|source| Error::namespace(&name, "make it", source))?;
        let mount = NamespaceMount::make(Path::new(run_directory::NAMESPACES).join(&name))?;
        let handle =
            File::open(&mount.path).map_err(|source| Error::namespace(&name, "open it", source))?;
        Ok(Self { name, handle, mount })
    }

    /// Returns the full name, as `ip netns exec` takes it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the path of the file that holds the namespace: `/run/netns/` and the name.
    pub fn path(&self) -> &Path {
        &self.mount.path
    }

    /// Runs `work` inside the namespace on a separate thread; the calling thread does not change
    /// its namespace.
    ///
    /// Sockets that `work` opens and processes that it starts stay in the namespace, so that a
    /// returned socket can be used from elsewhere. Inside, `/proc/sys/net` and
    /// `/proc/thread-self/net` show the namespace; `/proc/net` and `/sys/class/net` do not. A panic
    /// of `work` continues in the caller.
    ///
    /// # Errors
    /// If no thread can be started, or if the thread cannot enter the namespace.
    pub fn enter<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R, Error> {
        thread::scope(|scope| {
            let inside = thread::Builder::new()
                .name("netns".to_owned())
                .spawn_scoped(scope, || self.enter_with_this_thread().map(|()| work()))
                .map_err(|source| Error::namespace(&self.name, "start a thread in it", source))?;
            inside.join().unwrap_or_else(|panic| panic::resume_unwind(panic))
        })
    }

    /// Moves the calling thread into the namespace permanently.
    pub(crate) fn enter_with_this_thread(&self) -> Result<(), Error> {
        setns(&self.handle, CloneFlags::CLONE_NEWNET)
            .map_err(|error| Error::namespace(&self.name, "enter it", error.into()))
    }

    /// Removes the namespace's name; the kernel removes the namespace with its last user.
    pub(crate) fn remove(mut self) -> Result<(), Error> {
        self.mount.remove()
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// A namespace's file in `/run/netns`, with the namespace mounted on it.
#[derive(Debug)]
struct NamespaceMount {
    path: PathBuf,
    removed: bool,
}

impl NamespaceMount {
    /// Gives the calling thread's namespace a name.
    fn make(path: PathBuf) -> Result<Self, Error> {
        File::create_new(&path).map_err(|source| Error::file("make", &path, source))?;
        let mount = Self { path, removed: false };
        run_directory::bind_own_namespace(&mount.path)
            .map_err(|source| Error::file("mount a namespace on", &mount.path, source))?;
        Ok(mount)
    }

    fn remove(&mut self) -> Result<(), Error> {
        self.removed = true;
        run_directory::remove_namespace_file(&self.path)
            .map_err(|source| Error::file("remove", &self.path, source))
    }
}

impl Drop for NamespaceMount {
    fn drop(&mut self) {
        if !self.removed {
            // The error cannot be returned here. The remaining file counts as abandoned and is
            // found by its name.
            let _ = self.remove();
        }
    }
}

/// Moves the calling thread into a new network namespace. Nothing else of the thread changes.
pub(crate) fn unshare_network() -> io::Result<()> {
    Ok(unshare(CloneFlags::CLONE_NEWNET)?)
}
