//! Colours of a report.

/// Choice of terminal escapes in a report. The caller decides, by terminal and `NO_COLOR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    ansi: bool,
}

impl Style {
    /// Text only, for pipes and files.
    pub const fn plain() -> Self {
        Self { ansi: false }
    }

    /// With ANSI colours, for terminals.
    pub const fn ansi() -> Self {
        Self { ansi: true }
    }

    /// A heading.
    pub fn heading(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// Text in the colour for good results.
    pub fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// Text in the colour for defects.
    pub fn bad(self, text: &str) -> String {
        self.wrap("31", text)
    }

    pub(super) fn headroom(self, text: &str) -> String {
        self.wrap("33", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.ansi && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}
