//! Notes on settings that an import ignores without an effect on results.

use scenario::ScenarioError;
use units::Nanos;

use super::config::Config;
use super::flows::Flows;
use super::scenario::is_endless;
use super::simulator::Simulator;
use super::topology::Topology;
use super::translation::Translation;
use crate::Subject;

/// Outputs of `ConWeave`'s simulator that xoff does not write, and the period of its monitor.
const CONWEAVE_OUTPUTS: [&str; 6] = [
    "CNP_OUTPUT_FILE",
    "VOQ_MON_FILE",
    "VOQ_MON_DETAIL_FILE",
    "UPLINK_MON_FILE",
    "CONN_MON_FILE",
    "SW_MONITORING_INTERVAL",
];
/// Topologies whose bandwidth-delay products `ConWeave`'s simulator knows.
const CONWEAVE_TOPOLOGIES: [&str; 2] = ["leaf_spine_128_100G_OS2", "fat_k8_100G_OS2"];

impl Translation {
    /// Adds notes on outputs, on settings without an effect, and on parts of files that are not read.
    pub fn notes(
        &mut self,
        config: &Config,
        topology: &Topology,
        flows: &Flows,
    ) -> Result<(), ScenarioError> {
        self.outputs(config)?;
        self.unknown(config);
        self.unused(config);
        self.limits(config, topology)?;
        self.unread(topology, flows);
        Ok(())
    }

    fn outputs(&mut self, config: &Config) -> Result<(), ScenarioError> {
        let unused = config.simulator.traits().unused;
        for (key, file) in [
            ("FCT_OUTPUT_FILE", "fct.txt"),
            ("PFC_OUTPUT_FILE", "pfc.txt"),
            ("QLEN_MON_FILE", "qlen.txt"),
        ] {
            if config.has(key) && !unused.contains(&key) {
                let columns = match config.simulator {
                    Simulator::ConWeave if !config.has_dialect => {
                        ", with addresses where this simulator has ids"
                    }
                    _ => "",
                };
                let columns = if key == "FCT_OUTPUT_FILE" { columns } else { "" };
                let what = format!("it is {file} in the results folder{columns}");
                self.remarks.note(config.place(key), &what);
            }
        }
        for key in CONWEAVE_OUTPUTS.into_iter().filter(|key| config.has(key)) {
            self.remarks.note(config.place(key), "nothing like this file is written");
        }
        if config.simulator == Simulator::Hpcc
            && config.has("TRACE_FILE")
            && config.flag("ENABLE_TRACE", true)?
        {
            let what = "no packet trace (.tr) is written; [[captures]] records frames";
            self.remarks.note(config.place("TRACE_FILE"), what);
        }
        Ok(())
    }

    /// Adds notes on keys that the simulator does not have.
    fn unknown(&mut self, config: &Config) {
        for key in &config.unknown {
            self.remarks.unknown_keys.push(key.place.clone());
            if key.is_output {
                self.remarks.note(&key.place, "not taken: it names an output of another program");
            } else {
                let there = "a key of another program";
                self.remarks.asked(&key.place, there, "not taken");
            }
        }
    }

    /// Adds notes on settings without an effect in the simulator.
    fn unused(&mut self, config: &Config) {
        for key in config.simulator.traits().unused.iter().filter(|key| config.has(key)) {
            self.remarks.note(config.place(key), "the simulator does not use it");
        }
        for key in &config.surplus {
            let what = "the count says how many pairs are read; what follows is not";
            self.remarks.note(config.place(key), what);
        }
        if config.simulator == Simulator::Ns3Datacenter {
            let what = "the command line has it: see --argument";
            for key in ["CC_MODE", "HAS_WIN"].into_iter().filter(|key| config.has(key)) {
                self.remarks.note(config.place(key), what);
            }
        }
    }

    /// Adds notes on limits of the simulator that xoff does not have.
    fn limits(&mut self, config: &Config, topology: &Topology) -> Result<(), ScenarioError> {
        if config.simulator != Simulator::ConWeave {
            return Ok(());
        }
        if config.flag("ENABLE_IRN", false)? && config.flag("ENABLE_PFC", true)? {
            let what = "run.py refuses IRN with PFC; the simulator itself runs it";
            self.remarks.note(config.place("ENABLE_IRN"), what);
        }
        let file = config.word("TOPOLOGY_FILE")?.text;
        if !CONWEAVE_TOPOLOGIES.iter().any(|name| file.contains(name)) {
            let what = format!("the simulator runs {} only", CONWEAVE_TOPOLOGIES.join(" and "));
            self.remarks.note(config.place("TOPOLOGY_FILE"), &what);
        }
        if topology.links.iter().any(|link| link.delay.to_nanos() != Nanos(1000)) {
            let what = "the simulator runs links of 1000ns only";
            self.remarks.note(Subject::for_file(topology.name(), None, ""), what);
        }
        Ok(())
    }

    fn unread(&mut self, topology: &Topology, flows: &Flows) {
        for (name, line) in
            [(topology.name(), topology.unread_from), (flows.name(), flows.unread_from)]
        {
            if let Some(line) = line {
                let what = "from here on the header counts nothing, and nothing is read";
                self.remarks.note(Subject::for_file(name, Some(line), ""), what);
            }
        }
        if flows.empty > 0 {
            let what = format!("flows of 0 bytes ({}) have one byte, here too", flows.empty);
            self.remarks.note(Subject::for_file(flows.name(), None, ""), &what);
        }
        let stop = self.time_offset.0 + self.duration.0;
        let of_run = flows.list.iter().filter(|flow| flow.start.0 < stop);
        let endless = of_run.filter(|flow| is_endless(flow, topology, self)).count();
        if endless > 0 {
            let what = format!(
                "flows ({endless}) with more bytes than their links carry before the simulator stops are unlimited"
            );
            self.remarks.note(Subject::for_file(flows.name(), None, ""), &what);
        }
        let late = flows.list.iter().filter(|flow| flow.start.0 >= stop).count();
        if late > 0 {
            let what = format!("{late} flows would start when the simulator has stopped: left out");
            self.remarks.note(Subject::for_file(flows.name(), None, ""), &what);
        }
    }
}
