//! Cycles of a directed graph, which is a list of successors for each node, ascending.

/// Strongly connected components, each in ascending order (Tarjan's algorithm, without recursion).
pub fn components(graph: &[Vec<u32>]) -> Vec<Vec<u32>> {
    const NEW: u32 = u32::MAX;
    let mut index = vec![NEW; graph.len()];
    let mut low = vec![NEW; graph.len()];
    let mut open = vec![false; graph.len()];
    let (mut stack, mut found, mut next) = (Vec::new(), Vec::new(), 0);
    for (root, _) in (0..).zip(graph) {
        if index[root as usize] != NEW {
            continue;
        }
        // A node and how many of its successors have been seen to.
        let mut calls = vec![(root, 0)];
        while let Some((node, done)) = calls.pop() {
            let at = node as usize;
            if done == 0 {
                (index[at], low[at], open[at]) = (next, next, true);
                stack.push(node);
                next += 1;
            } else {
                low[at] = low[at].min(low[graph[at][done - 1] as usize]);
            }
            let rest = &graph[at][done..];
            let step = rest.iter().position(|&to| {
                if index[to as usize] != NEW && open[to as usize] {
                    low[at] = low[at].min(index[to as usize]);
                }
                index[to as usize] == NEW
            });
            if let Some(step) = step {
                calls.push((node, done + step + 1));
                calls.push((rest[step], 0));
                continue;
            }
            if low[at] == index[at] {
                let start = stack.iter().rposition(|member| *member == node).unwrap_or(0);
                let mut members = stack.split_off(start);
                for member in &members {
                    open[*member as usize] = false;
                }
                members.sort_unstable();
                found.push(members);
            }
        }
    }
    found
}

/// A shortest cycle through `first`, which it begins with, breadth first; of several, the one by the lowest
/// successors.
pub fn shortest_cycle(graph: &[Vec<u32>], first: u32) -> Option<Vec<u32>> {
    let mut before = vec![None; graph.len()];
    let mut frontier = vec![first];
    while !frontier.is_empty() {
        let mut next = Vec::new();
        for node in frontier {
            for &to in &graph[node as usize] {
                if to == first {
                    let mut cycle: Vec<u32> =
                        std::iter::successors(Some(node), |node| before[*node as usize]).collect();
                    cycle.reverse();
                    return Some(cycle);
                }
                if before[to as usize].is_none() {
                    before[to as usize] = Some(node);
                    next.push(to);
                }
            }
        }
        frontier = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_found_and_sorted() {
        let graph = [vec![1], vec![2, 3], vec![0], vec![4], vec![5], vec![3], vec![]];
        let mut found = components(&graph);
        found.sort();
        assert_eq!(found, [vec![0, 1, 2], vec![3, 4, 5], vec![6]]);
    }

    #[test]
    fn the_shortest_cycle_is_taken_and_dead_ends_have_none() {
        let graph = [vec![1, 3], vec![2], vec![0], vec![0, 4], vec![5], vec![]];
        assert_eq!(shortest_cycle(&graph, 0), Some(vec![0, 3]));
        assert_eq!(shortest_cycle(&graph, 2), Some(vec![2, 0, 1]));
        assert_eq!(shortest_cycle(&graph, 4), None);
    }
}
