//! Ranges of measured delays of links.

use units::{Bytes, Nanos};

use super::tables::LinkDelayRow;

/// The extremes of a run's measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkDelayRange {
    /// Exchanges that ended with a response.
    pub exchanges: u64,
    /// The shortest and the longest link delay.
    pub link_delay: (Nanos, Nanos),
    /// Min and max headroom that a queue was given.
    pub headroom: (Bytes, Bytes),
}

impl LinkDelayRange {
    /// Adds a row to the earlier rows; a row without a measurement changes nothing.
    pub fn with(earlier: Option<Self>, row: &LinkDelayRow<'_>) -> Option<Self> {
        let LinkDelayRow { link_delay: Some(link_delay), headroom, .. } = *row else {
            return earlier;
        };
        let first = Self {
            exchanges: 0,
            link_delay: (link_delay, link_delay),
            headroom: (headroom, headroom),
        };
        let Self { exchanges, link_delay: (shortest, longest), headroom: (least, most) } =
            earlier.unwrap_or(first);
        Some(Self {
            exchanges: exchanges + 1,
            link_delay: (shortest.min(link_delay), longest.max(link_delay)),
            headroom: (least.min(headroom), most.max(headroom)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::line;

    fn row(link_delay: u64, headroom: u64) -> LinkDelayRow<'static> {
        LinkDelayRow {
            time: Nanos(2013),
            node: "leaf0",
            port: 4,
            peer: "spine0",
            link_delay: Some(Nanos(link_delay)),
            response: Some(Nanos(308)),
            headroom: Bytes(headroom),
        }
    }

    #[test]
    fn a_measurement_says_of_whom_and_what_follows() {
        assert_eq!(line(&row(1000, 32_185)), "2013,leaf0,4,spine0,1000,308,32185\n");
        let unanswered = LinkDelayRow { link_delay: None, response: None, ..row(0, 60_000) };
        assert_eq!(line(&unanswered), "2013,leaf0,4,spine0,,,60000\n");
        assert_eq!(LinkDelayRange::with(None, &unanswered), None);
    }

    #[test]
    fn a_range_has_the_extremes() {
        let rows = [row(1000, 30), row(900, 40), row(1200, 20)];
        let range = rows.iter().fold(None, LinkDelayRange::with);
        let expected = LinkDelayRange {
            exchanges: 3,
            link_delay: (Nanos(900), Nanos(1200)),
            headroom: (Bytes(20), Bytes(40)),
        };
        assert_eq!(range, Some(expected));
    }
}
