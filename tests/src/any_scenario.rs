//! Scenarios drawn from the JSON Schema: any set of keys, with ordinary values and the extremes of
//! their types.
//!
//! The schema is generated from the types of the keys, so a new key is drawn without a change here.
//! Only names have to be known: hosts, switches and labels that a drawn topology may have.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::strategy::Union;
use serde_json::{Value, json};

const RATES: Pool = Pool {
    ordinary: &["100Gbps", "25Gbps", "10Gbps"],
    extreme: &["1kbps", "1001bps", "3Gbps", "7999999999999bps", "8Tbps", "1bps", "9Tbps"],
};
const TIMES: Pool = Pool {
    ordinary: &["600ns", "1us", "10us", "100us", "1ms"],
    extreme: &["0s", "1ps", "999ps", "1ns", "1001ps", "1s", "86399s", "86400s", "86401s"],
};
const DELAYS: Pool = Pool {
    ordinary: &["600ns", "1us", "10us", "100us", "3m", "40m", "2km"],
    extreme: &[
        "0s",
        "0m",
        "1ps",
        "0.0002m",
        "999ps",
        "1001ps",
        "1s",
        "86400s",
        "17280000km",
        "17280001km",
    ],
};
const SIZES: Pool = Pool {
    ordinary: &["1kB", "3kB", "20kB", "200kB", "1MB"],
    extreme: &[
        "0B",
        "1B",
        "59B",
        "16MB",
        "256MB",
        "1GB",
        "4294967295B",
        "4294967296B",
        "65536GB",
        "1000TB",
        "1001TB",
    ],
};
/// Lengths of flows. The ideal time of an incomplete flow takes time for each gibibyte.
const LENGTHS: Pool = Pool {
    ordinary: SIZES.ordinary,
    extreme: &["0B", "1B", "59B", "4294967295B", "4294967296B", "64GB", "1001TB"],
};
const RATIOS: Pool = Pool {
    ordinary: &["1/16", "1/4", "1/2", "1", "4"],
    extreme: &[
        "20000",
        "1/64",
        "64",
        "4294967295",
        "1/4294967295",
        "4294967294/4294967295",
        "4294967295/4294967294",
        "4294967296",
    ],
};
const NUMBERS: [i64; 7] = [0, 1, 65_535, 65_536, 4_294_967_295, 4_294_967_296, i64::MAX];

/// Values of a type, as a file has them.
struct Pool {
    ordinary: &'static [&'static str],
    extreme: &'static [&'static str],
}

impl Pool {
    fn draw(&self) -> BoxedStrategy<Value> {
        let (ordinary, extreme) = (self.ordinary, self.extreme);
        prop_oneof![
            7 => prop::sample::select(ordinary),
            1 => prop::sample::select(extreme),
        ]
        .prop_map(Value::from)
        .boxed()
    }
}

/// Scenario files, as text.
pub fn scenarios() -> impl Strategy<Value = String> {
    let root = scenario::json_schema();
    let schema = Schema { definitions: root["$defs"].clone() };
    let keys = schema.draw("", &root);
    keys.prop_map(|keys| toml::to_string(&keys).expect("keys and values are TOML"))
}

struct Schema {
    definitions: Value,
}

impl Schema {
    /// Values of `key`, which the schema describes.
    fn draw(&self, key: &str, schema: &Value) -> BoxedStrategy<Value> {
        // The `at` of a route is a name, the `at` of a storm a time.
        if schema["$ref"] != "#/$defs/Time"
            && let Some(names) = names(key)
        {
            return names;
        }
        if let Some(reference) = schema["$ref"].as_str() {
            let name = reference.rsplit('/').next().expect("a reference is a path");
            return match name {
                "Rate" | "Increase" => RATES.draw(),
                "Time" => TIMES.draw(),
                "Propagation" => DELAYS.draw(),
                "Size" if ["bytes", "sizes"].contains(&key) => LENGTHS.draw(),
                "Size" => SIZES.draw(),
                "Ratio" => RATIOS.draw(),
                _ => self.draw(key, &self.definitions[name]),
            };
        }
        if let Some(choices) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
            let choices = choices.iter().filter(|choice| !names_a_file(choice));
            return Union::new(choices.map(|choice| self.draw_variant(key, choice))).boxed();
        }
        if let Some(constant) = schema.get("const") {
            return Just(constant.clone()).boxed();
        }
        if let Some(values) = schema["enum"].as_array() {
            return prop::sample::select(values.clone()).boxed();
        }
        match schema["type"].as_str() {
            Some("object") => self.draw_object(schema),
            Some("array") => {
                let least = usize::from(key == "flows");
                vec(self.draw(key, &schema["items"]), least..3).prop_map(Value::from).boxed()
            }
            Some("integer") => draw_integer(schema),
            Some("number") => {
                let bound = |name: &str| schema[name].as_f64().expect("a range has both ends");
                let (least, most) = (bound("minimum"), bound("maximum"));
                let inner = [0.000_001, 0.001, 0.5, 2.0].into_iter();
                let values = inner.filter(|value| (least..=most).contains(value));
                let values: Vec<f64> = values.chain([least, most]).collect();
                prop::sample::select(values).prop_map(Value::from).boxed()
            }
            Some("boolean") => any::<bool>().prop_map(Value::from).boxed(),
            // A route's flows, by their label.
            Some("string") if key == "flows" => {
                prop::sample::select(vec!["a", "one", "poisson"]).prop_map(Value::from).boxed()
            }
            Some("string") if key == "host" => Just(Value::from("h0")).boxed(),
            Some("string") if key == "omit" => {
                prop::sample::select(vec!["queues", "pause*", "*"]).prop_map(Value::from).boxed()
            }
            // Buffer of a switch, by its ports.
            Some("string") if key == "buffer" => {
                prop::sample::select(vec!["9.6KiB/port/Gbps", "100B/port/Gbps", "0B/port/Gbps"])
                    .prop_map(Value::from)
                    .boxed()
            }
            // A part of a time.
            Some("string") if schema["pattern"] == "^[0-9]+/[0-9]+$" => RATIOS.draw(),
            _ => panic!("no values are known for `{key}`: {schema}"),
        }
    }

    /// A fabric of listed nodes has to be whole.
    fn draw_variant(&self, key: &str, choice: &Value) -> BoxedStrategy<Value> {
        if choice["properties"]["kind"]["const"] == "custom" {
            return draw_custom_topology();
        }
        self.draw(key, choice)
    }

    fn draw_object(&self, schema: &Value) -> BoxedStrategy<Value> {
        let required = schema["required"].as_array();
        let Some(properties) = schema["properties"].as_object() else {
            return Just(json!({})).boxed();
        };
        let entry = |(key, schema): (&String, &Value)| {
            let name = key.clone();
            let value = self.draw(key, schema).prop_map(move |value| (name.clone(), value));
            let is_required = required.is_some_and(|required| required.contains(&json!(key)));
            match key.as_str() {
                _ if is_required => value.prop_map(Some).boxed(),
                "flows" | "duration" => value.prop_map(Some).boxed(),
                "switch" | "host" | "headroom" | "threshold" | "transport" => {
                    option::weighted(0.5, value).boxed()
                }
                // Most are refused.
                "routes" | "switches" => option::weighted(0.03, value).boxed(),
                // Some kinds require one of these.
                "bytes" | "period" | "rate" | "nth" => option::weighted(0.4, value).boxed(),
                _ => option::weighted(0.12, value).boxed(),
            }
        };
        let entries: Vec<_> = properties.iter().map(entry).collect();
        entries.prop_map(|entries| entries.into_iter().flatten().collect()).boxed()
    }
}

/// Names that a drawn fabric may know, if `key` has names.
fn names(key: &str) -> Option<BoxedStrategy<Value>> {
    let one_of =
        |names: &'static [&'static str]| prop::sample::select(names).prop_map(Value::from).boxed();
    let some_of = |names: &'static [&'static str]| {
        prop::sample::subsequence(names, 1..=names.len()).prop_map(Value::from).boxed()
    };
    Some(match key {
        "name" | "label" => one_of(&["a", "b"]),
        "src" => one_of(&["h0"]),
        "dst" | "receiver" => one_of(&["h1", "h2"]),
        "at" => one_of(&["s0", "s?", "leaf0", "*"]),
        "via" => some_of(&["s1", "spine0", "h1"]),
        "senders" => some_of(&["h0", "h3"]),
        "receivers" | "from" | "to" => some_of(&["h0", "h1", "h2"]),
        "labels" => some_of(&["*", "a"]),
        "wire" => one_of(&["*", "h0->*"]),
        "wires" => some_of(&["*", "h0->*"]),
        "failed_links" => Just(json!([])).boxed(),
        "expect" => prop::sample::select(vec![
            json!({ "summary": "lossless", "operator": "==", "value": true }),
            json!({ "table": "pauses", "aggregate": "count", "operator": "<", "value": 5,
                    "where": { "node": "s0" } }),
            json!({ "table": "flows", "column": "bytes", "aggregate": "p99", "operator": ">=", "value": "1B" }),
            json!({ "table": "flows", "aggregate": "max", "operator": "==", "value": 0 }),
        ])
        .prop_map(|entry| json!([entry]))
        .boxed(),
        "nodes" => Just(json!(["h0", "h1", "s0"])).boxed(),
        "destination_ports" => Just(json!({ "a": 65_535 })).boxed(),
        "flow_size_bins" | "size_classes" => prop_oneof![
            Just(json!([])),
            Just(json!(["1B", "1000TB"])),
            vec(SIZES.draw(), 1..3).prop_map(Value::from),
        ]
        .boxed(),
        _ => return None,
    })
}

fn names_a_file(schema: &Value) -> bool {
    schema["properties"].get("file").is_some() || schema["$ref"] == "#/$defs/SizeFileKeys"
}

/// Small numbers, most often such that a fabric has the hosts that flows name; and the bounds.
fn draw_integer(schema: &Value) -> BoxedStrategy<Value> {
    let bounds = [schema["minimum"].as_i64(), schema["maximum"].as_i64()];
    let extremes = bounds.into_iter().flatten().chain(NUMBERS).collect::<Vec<_>>();
    prop_oneof![
        10 => Just(4),
        10 => 1..=7i64,
        1 => prop::sample::select(extremes),
    ]
    .prop_map(Value::from)
    .boxed()
}

/// Two switches with two hosts each.
fn draw_custom_topology() -> BoxedStrategy<Value> {
    const LINKS: [[&str; 2]; 5] =
        [["h0", "s0"], ["h1", "s0"], ["s0", "s1"], ["h2", "s1"], ["h3", "s1"]];
    vec((RATES.draw(), TIMES.draw()), LINKS.len())
        .prop_map(|speeds| {
            let link = |([a, b], (rate, delay)): ([&str; 2], (Value, Value))| {
                json!({ "a": a, "b": b, "rate": rate, "delay": delay })
            };
            let links: Vec<Value> = LINKS.into_iter().zip(speeds).map(link).collect();
            let hosts = ["h0", "h1", "h2", "h3"];
            json!({ "kind": "custom", "switches": ["s0", "s1"], "hosts": hosts, "links": links })
        })
        .boxed()
}
