//! Instant of the next event of each node of a part.

use std::ops::Range;

use units::Picos;

/// Nodes per block. If a fabric has few events, a window reads the blocks only.
const BLOCK: usize = 32;

/// Lower bound of each node's next event, and the min of each block of nodes.
#[derive(Debug)]
pub struct Upcoming {
    nodes: Box<[Picos]>,
    blocks: Box<[Picos]>,
}

impl Upcoming {
    /// No events, for `nodes` nodes.
    pub fn new(nodes: usize) -> Self {
        let never = |count| vec![Picos::MAX; count].into();
        Self { nodes: never(nodes), blocks: never(nodes.div_ceil(BLOCK)) }
    }

    /// Instant of the first event of any node.
    pub fn first(&self) -> Picos {
        first(&self.blocks)
    }

    /// Adds an event of a node at `at`.
    #[inline]
    pub fn wake(&mut self, node: u32, at: Picos) {
        let node = node as usize;
        // Usually another event comes first, and a block's value is never later than its nodes' values.
        if at < self.nodes[node] {
            self.nodes[node] = at;
            let first = &mut self.blocks[node / BLOCK];
            *first = Picos(first.0.min(at.0));
        }
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Lower bound of the next event of a block's nodes.
    pub fn first_of(&self, block: usize) -> Picos {
        self.blocks[block]
    }

    /// The nodes of a block.
    pub fn nodes_of(&self, block: usize) -> Range<usize> {
        let start = block * BLOCK;
        start..self.nodes.len().min(start + BLOCK)
    }

    /// Instant of a node's next event.
    #[inline]
    pub fn at(&self, node: usize) -> Picos {
        self.nodes[node]
    }

    /// Replaces the instant of a node's next event, after its events have run. Call [`settle`](Self::settle) for
    /// its block afterwards.
    #[inline]
    pub fn set(&mut self, node: usize, at: Picos) {
        self.nodes[node] = at;
    }

    /// Updates a block after its nodes were [`set`](Self::set).
    pub fn settle(&mut self, nodes: Range<usize>) {
        let block = nodes.start / BLOCK;
        self.blocks[block] = first(&self.nodes[nodes]);
    }
}

fn first(instants: &[Picos]) -> Picos {
    instants.iter().fold(Picos::MAX, |first, at| Picos(first.0.min(at.0)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_node_that_is_due_is_left_out(
            count in 1..100_usize,
            steps in prop::collection::vec((0..100_usize, 0..1000_u64, 0..1000_u64), 0..60),
        ) {
            let mut upcoming = Upcoming::new(count);
            let mut expected = vec![Picos::MAX; count];
            for (node, at, end) in steps {
                let (node, at, end) = (node % count, Picos(at), Picos(end));
                upcoming.wake(node as u32, at);
                expected[node] = expected[node].min(at);
                prop_assert_eq!(upcoming.first(), *expected.iter().min().unwrap());
                for block in 0..upcoming.blocks() {
                    if upcoming.first_of(block) >= end {
                        continue;
                    }
                    let nodes = upcoming.nodes_of(block);
                    for node in nodes.clone() {
                        if upcoming.at(node) < end {
                            let later = Picos(end.0 + node as u64);
                            upcoming.set(node, later);
                            expected[node] = later;
                        }
                    }
                    upcoming.settle(nodes);
                }
                prop_assert!(expected.iter().all(|&at| at >= end));
                prop_assert_eq!(upcoming.first(), *expected.iter().min().unwrap());
            }
        }
    }
}
