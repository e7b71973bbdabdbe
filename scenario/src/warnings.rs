//! What is allowed and hardly meant.

use super::Scenario;

impl Scenario {
    /// What a user probably did not mean, a sentence each, without a full stop.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for transport in self.transports() {
            let control = transport.congestion_control();
            if control.needs_marks() && self.switch.ecn.is_none() {
                warnings.push(format!(
                    "no switch marks packets, so {} never slows a sender down: write `switch.ecn`, or \
                     `congestion_control = \"none\"` in its transport if that is meant",
                    control.name()
                ));
            }
        }
        warnings.dedup();
        warnings
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn an_algorithm_that_waits_for_marks_in_vain_is_told() {
        let text = "[topology]\nkind = \"star\"\nhosts = 2\nhost_link = { rate = \"10Gbps\", delay = \"1us\" }\n\
                    [[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"\n";
        let warnings = |sets: &[&str]| {
            let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
            Scenario::parse(text, Path::new("a.toml"), &sets).unwrap().warnings()
        };
        for control in ["dcqcn", "dctcp"] {
            let set =
                format!("host.transport={{kind=\"roce-rc\",congestion_control=\"{control}\"}}");
            let told = warnings(&[&set]);
            assert!(told.len() == 1 && told[0].contains(control), "{told:?}");
            let ecn = "switch.ecn={kmin=\"1kB\",kmax=\"2kB\",pmax=1}";
            assert!(warnings(&[&set, ecn]).is_empty());
        }
        for control in ["none", "timely", "theta-powertcp"] {
            let set =
                format!("host.transport={{kind=\"roce-rc\",congestion_control=\"{control}\"}}");
            assert!(warnings(&[&set]).is_empty(), "{control}");
        }
    }
}
