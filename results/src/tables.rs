//! Every table that a run may write, declared once: the type of its rows, its file, and its columns.

use fabric_core::drop_reason::DropClass;
use fabric_core::hop_control::{PauseEvent, PauseLevel};
use fabric_core::port_state::{PortState, StateCause};

use super::column::Column;
use super::measurements::Measure;
use super::queue::QueueKind;
use super::row::{Row, Value};

#[macro_use]
mod declare;
mod distributions;
mod flows;
mod hop_control;
mod incidents;
mod links;
mod pauses;
mod queues;

pub use distributions::*;
pub use flows::*;
pub use hop_control::*;
pub use incidents::*;
pub use links::*;
pub use pauses::*;
pub use queues::*;

/// The tables of each file, in the order of docs/reference.
const GROUPS: [&[Table]; 7] = [
    flows::ALL,
    pauses::ALL,
    queues::ALL,
    hop_control::ALL,
    links::ALL,
    incidents::ALL,
    distributions::ALL,
];

/// All tables.
pub const TABLES: &[Table] = &{
    let mut tables = [GROUPS[0][0]; count()];
    let (mut group, mut place, mut all) = (0, 0, 0);
    while group < GROUPS.len() {
        if place < GROUPS[group].len() {
            tables[all] = GROUPS[group][place];
            (place, all) = (place + 1, all + 1);
        } else {
            (group, place) = (group + 1, 0);
        }
    }
    tables
};

const fn count() -> usize {
    let (mut group, mut tables) = (0, 0);
    while group < GROUPS.len() {
        tables += GROUPS[group].len();
        group += 1;
    }
    tables
}

/// A table that a run may write.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Name without the ending of its file.
    pub name: &'static str,
    /// Name of the file as CSV.
    pub file: &'static str,
    /// Meaning of a row, in one sentence.
    pub about: &'static str,
    /// The columns from left to right.
    pub columns: &'static [Column<'static>],
}

impl Table {
    const fn new<R: Row>() -> Self {
        let (name, ending) = R::FILE.split_at(R::FILE.len() - ".csv".len());
        assert!(same(ending, ".csv"), "a table is called by its file as CSV");
        Self { name, file: R::FILE, about: R::ABOUT, columns: R::COLUMNS }
    }

    /// Finds a table by its name, or by the name of its CSV file.
    pub fn find(name: &str) -> Option<&'static Self> {
        TABLES.iter().find(|table| table.name == name || table.file == name)
    }

    /// Index of a row type's table in [`TABLES`]. With a row type that is not declared here, a call does not compile.
    pub(super) const fn index<R: Row>() -> usize {
        let mut index = 0;
        while !same(TABLES[index].file, R::FILE) {
            index += 1;
        }
        index
    }
}

/// A column of values of this type.
const fn column<V: Value>(name: &'static str, documentation: &'static str) -> Column<'static> {
    let about = text(documentation);
    Column { name, about, kind: V::KIND, may_be_empty: V::MAY_BE_EMPTY }
}

/// Text of a comment, whose lines each begin with a space.
const fn text(documentation: &'static str) -> &'static str {
    documentation.split_at(1).1
}

const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut place = 0;
    while place < one.len() && place < other.len() && one[place] == other[place] {
        place += 1;
    }
    place == one.len() && place == other.len()
}

names!(DropClass, Measure, PauseEvent, PauseLevel, PortState, QueueKind, StateCause);

#[cfg(test)]
mod tests;
