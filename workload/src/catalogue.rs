//! Published flow-size distributions that ship with xoff; each file names its source.
//!
//! A new one is a file in `workload/distributions/` and a line of `TABLES`; docs/traffic.md counts them.

use std::sync::Arc;

use super::distribution::SizeDistribution;

/// Names and tables, in alphabetical order.
const TABLES: [(&str, &str); 12] = [
    ("ali-storage", include_str!("../distributions/ali-storage.cdf")),
    ("cache-follower", include_str!("../distributions/cache-follower.cdf")),
    ("data-mining", include_str!("../distributions/data-mining.cdf")),
    ("edu1", include_str!("../distributions/edu1.cdf")),
    ("edu2", include_str!("../distributions/edu2.cdf")),
    ("google-rpc", include_str!("../distributions/google-rpc.cdf")),
    ("hadoop", include_str!("../distributions/hadoop.cdf")),
    ("hadoop-all", include_str!("../distributions/hadoop-all.cdf")),
    ("memcached", include_str!("../distributions/memcached.cdf")),
    ("solar", include_str!("../distributions/solar.cdf")),
    ("web-server", include_str!("../distributions/web-server.cdf")),
    ("websearch", include_str!("../distributions/websearch.cdf")),
];

/// Returns the names, in alphabetical order.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    TABLES.iter().map(|(name, _)| *name)
}

/// Returns the distribution with a name.
pub fn distribution(name: &str) -> Option<Arc<SizeDistribution>> {
    let (_, text) = TABLES.iter().find(|(known, _)| *known == name)?;
    Some(Arc::new(SizeDistribution::parse(text).expect("a table that ships is well formed")))
}

#[cfg(test)]
mod tests {
    use super::super::random::RandomStream;
    use super::*;

    /// Mean from the comment in a table.
    fn published_mean(text: &str) -> u128 {
        let line = text.lines().find_map(|line| line.strip_prefix("# mean ")).unwrap();
        line.split(' ').next().unwrap().parse().unwrap()
    }

    #[test]
    fn means_are_those_of_the_files() {
        for (name, text) in TABLES {
            let mean = distribution(name).unwrap().mean_q16();
            let rounded = (mean + (1 << 15)) >> 16;
            assert!(rounded.abs_diff(published_mean(text)) <= 1, "{name}: {rounded}");
        }
    }

    #[test]
    fn drawn_sizes_have_the_mean() {
        for name in names() {
            let sizes = distribution(name).unwrap();
            let mut stream = RandomStream::new(3, 0, 0);
            let count = 400_000;
            let draws: Vec<f64> = (0..count).map(|_| sizes.draw(&mut stream).0 as f64).collect();
            let mean = draws.iter().sum::<f64>() / f64::from(count);
            let square = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>();
            let error = (square / f64::from(count)).sqrt() / f64::from(count).sqrt();
            let expected = sizes.mean_q16() as f64 / 65536.0;
            // Sizes are rounded down to whole bytes, on average half a byte below the table's mean.
            assert!((mean - expected).abs() < 4.0 * error + 0.6, "{name}: {mean} {expected}");
        }
    }
}
