//! When each node of a part has something to do next.

use std::ops::Range;

use units::Picos;

/// Nodes of a block. Of a fabric in which little happens, a window looks at the blocks alone.
const BLOCK: usize = 32;

/// By node: no event of it is earlier. And the first of each block of nodes.
#[derive(Debug)]
pub struct Upcoming {
    nodes: Box<[Picos]>,
    blocks: Box<[Picos]>,
}

impl Upcoming {
    /// Of nodes that have nothing to do.
    pub fn new(nodes: usize) -> Self {
        let never = |count| vec![Picos::MAX; count].into();
        Self { nodes: never(nodes), blocks: never(nodes.div_ceil(BLOCK)) }
    }

    /// The first instant at which a node has something to do.
    pub fn first(&self) -> Picos {
        first(&self.blocks)
    }

    /// A node has something to do at `at`, too.
    #[inline]
    pub fn wake(&mut self, node: u32, at: Picos) {
        let node = node as usize;
        // Mostly something else comes first, and a block is never later than its nodes.
        if at < self.nodes[node] {
            self.nodes[node] = at;
            let first = &mut self.blocks[node / BLOCK];
            *first = Picos(first.0.min(at.0));
        }
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// No event of the nodes of a block is earlier.
    pub fn first_of(&self, block: usize) -> Picos {
        self.blocks[block]
    }

    /// The nodes of a block.
    pub fn nodes_of(&self, block: usize) -> Range<usize> {
        let start = block * BLOCK;
        start..self.nodes.len().min(start + BLOCK)
    }

    /// When a node has something to do next.
    #[inline]
    pub fn at(&self, node: usize) -> Picos {
        self.nodes[node]
    }

    /// What a node that had something to do has to do next.
    #[inline]
    pub fn set(&mut self, node: usize, at: Picos) {
        self.nodes[node] = at;
    }

    /// Looks through the nodes of a block that were [`set`](Self::set).
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
