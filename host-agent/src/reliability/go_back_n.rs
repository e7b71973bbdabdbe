//! Go-back-N: the responder takes packets in order only, and the requester goes back to the first missing packet.

mod requester;
mod responder;

pub use requester::GoBackNRequester;
pub use responder::GoBackNResponder;
