//! A scheme that no policy names, through the whole pipeline: what the trait must give a scheme that is added.

mod spfc;
