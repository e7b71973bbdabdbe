//! Directories under `/run` with the names of namespaces and the locks of fabrics.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::unistd::geteuid;

use crate::error::Error;

/// Directory in which `ip netns` finds namespaces.
pub(crate) const NAMESPACES: &str = "/run/netns";
/// Directory with a locked file for every living fabric.
pub(crate) const FABRICS: &str = "/run/xoff";

/// Prepares `/run/netns` as `ip netns add` does: a directory whose mounts propagate to other mount namespaces, so that
/// removing a namespace removes it there too.
///
/// Takes the lock that iproute2 takes. Otherwise two processes could mount the directory over itself at once, which
/// would hide the mounts below.
pub(crate) fn prepare_namespaces() -> Result<(), Error> {
    fs::create_dir_all(NAMESPACES).map_err(|source| Error::file("make", NAMESPACES, source))?;
    let _lock = lock_directory(NAMESPACES)?;
    let path = Path::new(NAMESPACES);
    match share_mount(path) {
        Err(Errno::EINVAL) => {
            mount(Some(path), path, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>)
                .and_then(|()| share_mount(path))
        }
        result => result,
    }
    .map_err(|error| Error::file("share the mounts of", NAMESPACES, error.into()))
}

/// Creates `/run/xoff` and locks it. Only the holder of this lock may allocate, list or destroy fabrics. A user who
/// could open the folder or a file in it could hold its lock for ever.
pub(crate) fn lock_fabrics() -> Result<File, Error> {
    let failed = |action| move |source| Error::file(action, FABRICS, source);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(FABRICS).map_err(failed("make"))?;
    let directory = File::open(FABRICS).map_err(failed("open"))?;
    keep_others_out(&directory).map_err(failed("keep other users out of"))?;
    directory.lock().map_err(failed("lock"))?;
    Ok(directory)
}

/// Removes all rights of group and others on a file, if this process owns it. Earlier versions granted some.
pub(crate) fn keep_others_out(file: &File) -> io::Result<()> {
    const OF_OTHERS: u32 = 0o077;
    let metadata = file.metadata()?;
    let is_own = metadata.uid() == geteuid().as_raw();
    if metadata.mode() & OF_OTHERS == 0 || !is_own {
        return Ok(());
    }
    let kept = metadata.mode() & 0o7777 & !OF_OTHERS;
    file.set_permissions(fs::Permissions::from_mode(kept))
}

/// Binds the calling thread's network namespace to `path`, which must be a file.
pub(crate) fn bind_own_namespace(path: &Path) -> io::Result<()> {
    Ok(mount(Some("/proc/thread-self/ns/net"), path, None::<&str>, MsFlags::MS_BIND, None::<&str>)?)
}

/// Removes every mount on `path` and the file itself. A missing mount or file is not an error.
pub(crate) fn remove_namespace_file(path: &Path) -> io::Result<()> {
    loop {
        match umount2(path, MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW) {
            Ok(()) => {}
            Err(Errno::EINVAL | Errno::ENOENT) => break,
            Err(error) => return Err(error.into()),
        }
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn lock_directory(path: &'static str) -> Result<File, Error> {
    File::open(path)
        .and_then(|directory| directory.lock().map(|()| directory))
        .map_err(|source| Error::file("lock", path, source))
}

fn share_mount(path: &Path) -> nix::Result<()> {
    mount(None::<&str>, path, None::<&str>, MsFlags::MS_SHARED | MsFlags::MS_REC, None::<&str>)
}
