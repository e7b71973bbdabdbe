//! Settings of a namespace in `/proc/sys/net`.

use std::fs::OpenOptions;
use std::io::{self, Write};

/// Writes the settings of the calling thread's namespace, before it has any interface but `lo`.
///
/// New interfaces copy `conf/default`, and `conf/all` covers `lo`, so that interfaces need no
/// settings of their own. `ip_forward` comes first because writing it resets others.
pub(crate) fn write(forwarding: bool) -> Result<(), (&'static str, io::Error)> {
    let forwarding = if forwarding { "1" } else { "0" };
    set("/proc/sys/net/ipv4/ip_forward", forwarding)?;
    set("/proc/sys/net/ipv4/conf/all/rp_filter", "0")?;
    set("/proc/sys/net/ipv4/conf/default/rp_filter", "0")?;
    // Request ECN as well as accept it, so that programs' TCP sees marks.
    set("/proc/sys/net/ipv4/tcp_ecn", "1")?;
    for path in
        ["/proc/sys/net/ipv6/conf/all/disable_ipv6", "/proc/sys/net/ipv6/conf/default/disable_ipv6"]
    {
        match set(path, "1") {
            // A kernel without IPv6 has nothing to disable.
            Err((_, error)) if error.kind() == io::ErrorKind::NotFound => {}
            result => result?,
        }
    }
    Ok(())
}

fn set(path: &'static str, value: &str) -> Result<(), (&'static str, io::Error)> {
    OpenOptions::new()
        .write(true)
        .open(path)
        .and_then(|mut file| file.write_all(value.as_bytes()))
        .map_err(|error| (path, error))
}
