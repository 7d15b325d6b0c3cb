//! Cycles in a graph of needs.

use std::collections::{BTreeMap, BTreeSet};

/// The largest sets of nodes that all lead to each other, of two nodes or more, each in order.
pub fn circles<N: Ord + Clone>(leads_to: &BTreeMap<N, BTreeSet<N>>) -> Vec<Vec<N>> {
    // Only a node that leads somewhere can be on a cycle.
    let nodes: Vec<&N> = leads_to.keys().collect();
    let index = |node: &N| nodes.binary_search(&node).ok();
    let next: Vec<Vec<usize>> =
        leads_to.values().map(|next| next.iter().filter_map(index).collect()).collect();
    let reached = |from: usize| {
        let mut reached = vec![false; nodes.len()];
        let mut left = vec![from];
        while let Some(node) = left.pop() {
            for &next in &next[node] {
                if !std::mem::replace(&mut reached[next], true) {
                    left.push(next);
                }
            }
        }
        reached
    };
    let reached: Vec<Vec<bool>> = (0..nodes.len()).map(reached).collect();
    let mut found = BTreeSet::new();
    for (node, its) in reached.iter().enumerate() {
        let circle: Vec<N> = (0..nodes.len())
            .filter(|&other| its[other] && reached[other][node])
            .map(|other| nodes[other].clone())
            .collect();
        if circle.len() > 1 {
            found.insert(circle);
        }
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_whatever_leads_back() {
        let edges = [(1, 2), (2, 3), (3, 1), (3, 4), (4, 5), (5, 4), (5, 6), (6, 6)];
        let mut leads_to: BTreeMap<i32, BTreeSet<i32>> = BTreeMap::new();
        for (from, to) in edges {
            leads_to.entry(from).or_default().insert(to);
        }
        assert_eq!(circles(&leads_to), [vec![1, 2, 3], vec![4, 5]]);
    }
}
