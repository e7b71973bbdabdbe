//! A value of each side.

use serde::Serialize;

/// A value of each side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Pair<T> {
    /// Value of A.
    pub a: T,
    /// Value of B.
    pub b: T,
}

impl<T> Pair<T> {
    /// Converts both values.
    pub fn map<U>(self, mut to: impl FnMut(T) -> U) -> Pair<U> {
        Pair { a: to(self.a), b: to(self.b) }
    }

    /// Converts both values; the first error wins.
    pub fn try_map<U, E>(self, mut to: impl FnMut(T) -> Result<U, E>) -> Result<Pair<U>, E> {
        Ok(Pair { a: to(self.a)?, b: to(self.b)? })
    }

    /// Borrows both values.
    pub const fn as_ref(&self) -> Pair<&T> {
        Pair { a: &self.a, b: &self.b }
    }

    /// Borrows both values mutably.
    pub const fn as_mut(&mut self) -> Pair<&mut T> {
        Pair { a: &mut self.a, b: &mut self.b }
    }
}

impl<T: PartialEq> Pair<T> {
    /// Returns true if both values are equal.
    pub fn is_equal(&self) -> bool {
        self.a == self.b
    }
}
