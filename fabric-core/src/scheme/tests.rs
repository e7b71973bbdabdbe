//! A scheme that no policy names, through the whole pipeline: tests what a new scheme needs of the trait.

mod spfc;
