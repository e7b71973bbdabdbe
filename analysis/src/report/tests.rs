//! Reports of made-up results.

use super::chart::thinned;

#[test]
fn a_thinned_line_keeps_its_ends_and_peaks() {
    let points: Vec<(f64, f64)> = (0..10_000)
        .map(|x| (f64::from(x), if x == 4321 { 9.0 } else { f64::from(x % 7) / 7.0 }))
        .collect();
    let thin = thinned(&points, 400);
    assert!(thin.len() <= 400, "{}", thin.len());
    assert!(thin.is_sorted_by(|a, b| a.0 < b.0));
    assert_eq!((thin[0], thin[thin.len() - 1]), (points[0], points[9_999]));
    assert!(thin.contains(&(4321.0, 9.0)));
    assert_eq!(thinned(&points[..300], 400), points[..300]);
}
