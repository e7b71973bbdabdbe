//! Errors with their causes, and advice on the limits of a process.

use std::error::Error;
use std::io;

use nix::errno::Errno;

use crate::open_files;

/// Returns an error's text, the causes that the text leaves out, and advice.
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    for cause in causes.map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    let advice = LIMITS.iter().find(|(code, _)| Some(*code) == os_error(error));
    match advice {
        Some((_, advice)) if !text.contains(advice) => format!("{text}; {advice}"),
        _ => text,
    }
}

/// Returns the errno in an error's chain of causes.
fn os_error(error: &(dyn Error + 'static)) -> Option<Errno> {
    let mut chain = std::iter::successors(Some(error), |&cause| cause.source());
    let mut last = error;
    let named = chain.find_map(|cause| {
        last = cause;
        cause.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error)
    });
    let number = named.or_else(|| {
        // Some libraries append the system's error to their text without naming it as a cause.
        let text = last.to_string();
        let (_, number) = text.strip_suffix(')')?.rsplit_once("(os error ")?;
        number.parse().ok()
    });
    number.map(Errno::from_raw)
}

/// Advice for errors of a limit that was reached.
const LIMITS: [(Errno, &str); 4] = [
    (Errno::EMFILE, open_files::ADVICE),
    (Errno::ENFILE, open_files::ADVICE),
    (Errno::EAGAIN, "raise the limits on threads and memory (`ulimit -u`, `ulimit -v`)"),
    (
        Errno::ENOMEM,
        "raise the limits on memory (`ulimit -v unlimited`, `ulimit -l unlimited`), or shrink \
         `switch.buffer`: 60 bytes of it take 40 bytes for a descriptor in each switch",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("making a map")]
    struct Outer(#[source] io::Error);

    #[test]
    fn an_error_shows_its_causes_once_and_what_to_do() {
        let error = Outer(io::Error::from(Errno::EMFILE));
        assert_eq!(
            with_causes(&error),
            format!("making a map: Too many open files (os error 24); {}", open_files::ADVICE)
        );
        let error = io::Error::other("it is broken");
        assert_eq!(with_causes(&error), "it is broken");
    }
}
