//! AF_XDP.
