//! The topology file: a header with the counts of nodes, switches and links, the switches' ids, then a line for each
//! link: `a b rate delay error_rate`.

use std::collections::{BTreeMap, BTreeSet};

use scenario::quantity::{self, Dimension, Increase};
use scenario::{Refusal, ScenarioError};
use topology::{MAX_HOSTS, MAX_PORTS, MAX_SWITCHES, wire_name};
use units::{BitsPerSecond, Picos};
use workload::decimal;

use super::instant;
use super::simulator::{Field, Traits};
use crate::Source;
use crate::source::{Line, Word};

/// Nodes by id, and links.
#[derive(Clone, Debug)]
pub struct Topology {
    source: Source,
    bare_rates: bool,
    cuts_delays: bool,
    /// True if the node is a switch, by id.
    is_switch: Vec<bool>,
    /// Links in the file's order.
    pub links: Vec<Link>,
    /// First line after the links that the header counts, if there are more lines.
    pub unread_from: Option<usize>,
    /// Line of the first link that is parallel to an earlier link.
    pub parallel_at: Option<usize>,
}

/// A link between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// One end.
    pub a: u32,
    /// The other end.
    pub b: u32,
    /// Rate in each direction.
    pub rate: BitsPerSecond,
    /// Propagation delay.
    pub delay: Picos,
    /// Share of frames that a receiver loses, in units of 10^-12; the config's rate if zero.
    pub error_trillionths: u64,
    /// Number among parallel links, from 1.
    pub number: u32,
}

impl Topology {
    /// Parses a topology file.
    pub fn parse(source: &Source, traits: &Traits) -> Result<Self, ScenarioError> {
        let rows = source.lines();
        let Some(header) = rows.first() else {
            let help = format!("write: {}", forms(traits));
            return Err(source.error_at_end("a topology file without a header", &help));
        };
        let Counts { nodes, switches, links } = counts(source, header, traits)?;
        let (is_switch, read) = switch_ids(source, &rows[1..], nodes, switches)?;
        let rest = &rows[1 + read..];
        let mut topology = Self {
            is_switch,
            links: Vec::with_capacity(links),
            unread_from: rest.get(links).map(|row| row.number),
            parallel_at: None,
            source: source.clone(),
            bare_rates: traits.bare_rates,
            cuts_delays: traits.cuts_delays,
        };
        let mut degrees = vec![0; nodes as usize];
        let mut joined: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for number in 0..links {
            let Some(row) = rest.get(number) else {
                let title = format!("{number} links; the header counts {links}");
                return Err(source.error_at_end(&title, "write a line for each link"));
            };
            let link = topology.link(row)?;
            topology.check_degrees(row, link, &mut degrees)?;
            let count = joined.entry((link.a.min(link.b), link.a.max(link.b))).or_default();
            *count += 1;
            if *count > 1 {
                topology.parallel_at.get_or_insert(row.number);
            }
            topology.links.push(Link { number: *count, ..link });
        }
        let idle = (0..nodes).find(|&node| degrees[node as usize] == 0);
        if let Some(node) = idle {
            let title = format!("node {node} has no link");
            let help = "give each node a link, or count fewer nodes";
            return Err(source.error(header.span(), &title, help));
        }
        Ok(topology)
    }

    /// Returns the name of the file.
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// Returns the ids of all nodes.
    pub fn nodes(&self) -> std::ops::Range<u32> {
        0..self.is_switch.len().try_into().expect("a file's nodes are counted in 32 bits")
    }

    /// Returns true if a node is a switch; otherwise it is a host, if it exists.
    pub fn is_switch(&self, node: u32) -> bool {
        self.is_switch.get(node as usize).copied().unwrap_or(false)
    }

    /// Returns a node's name in the scenario.
    pub fn node_name(&self, node: u32) -> String {
        let kind = if self.is_switch(node) { 's' } else { 'h' };
        format!("{kind}{node}")
    }

    /// Returns the number of links between two nodes.
    pub fn links_between(&self, a: u32, b: u32) -> usize {
        let joins = |link: &&Link| (link.a, link.b) == (a, b) || (link.a, link.b) == (b, a);
        self.links.iter().filter(joins).count()
    }

    /// Returns the names of a link's two wires in the scenario.
    pub fn wire_names(&self, link: &Link) -> [String; 2] {
        let (a, b) = (self.node_name(link.a), self.node_name(link.b));
        [wire_name(&a, &b, link.number), wire_name(&b, &a, link.number)]
    }

    /// Returns the rates of all links, in ascending order.
    pub fn rates(&self) -> BTreeSet<BitsPerSecond> {
        self.links.iter().map(|link| link.rate).collect()
    }

    /// Returns the rate of the first host's link.
    pub fn nic_rate(&self) -> BitsPerSecond {
        let first = self.nodes().find(|&node| !self.is_switch(node));
        first.and_then(|host| self.host_rate(host)).unwrap_or(BitsPerSecond(0))
    }

    /// Returns the rate of a host's link.
    pub fn host_rate(&self, host: u32) -> Option<BitsPerSecond> {
        let touches = |link: &&Link| link.a == host || link.b == host;
        self.links.iter().find(touches).map(|link| link.rate)
    }

    fn link(&self, row: &Line<'_>) -> Result<Link, ScenarioError> {
        let &[a, b, rate, delay, error] = row.words.as_slice() else {
            let title = format!("a link of {} fields", row.words.len());
            let help = "write five: node node rate delay error_rate";
            return Err(self.source.error(row.span(), &title, help));
        };
        let (from, to) = (self.node(a)?, self.node(b)?);
        if from == to {
            let title = format!("a link from node {from} to itself");
            return Err(self.source.error(b.span(), &title, "name two different nodes"));
        }
        if !self.is_switch(from) && !self.is_switch(to) {
            let title = format!("a link between the hosts {from} and {to}");
            return Err(self.source.error(row.span(), &title, "put a switch between them"));
        }
        Ok(Link {
            a: from,
            b: to,
            rate: read_rate(&self.source, rate, self.bare_rates)?,
            delay: self.delay(delay)?,
            error_trillionths: read_part(&self.source, error, "the error rate")?,
            number: 1,
        })
    }

    fn delay(&self, word: Word<'_>) -> Result<Picos, ScenarioError> {
        let exact = read_delay(&self.source, word)?;
        let cut = instant::delay(word.text).filter(|_| self.cuts_delays);
        Ok(cut.map_or(exact, Picos::from_nanos))
    }

    fn node(&self, word: Word<'_>) -> Result<u32, ScenarioError> {
        node_id(&self.source, word, self.nodes().end)
    }

    fn check_degrees(
        &self,
        row: &Line<'_>,
        link: Link,
        degrees: &mut [usize],
    ) -> Result<(), ScenarioError> {
        for (node, word) in [(link.a, row.words[0]), (link.b, row.words[1])] {
            let degree = &mut degrees[node as usize];
            *degree += 1;
            let (limit, kind) =
                if self.is_switch(node) { (MAX_PORTS, "switch") } else { (1, "host") };
            if *degree > limit {
                let title = format!("{kind} {node} has more than {limit} links");
                let help = format!(
                    "xoff's hosts have one link, its switches up to {MAX_PORTS}: change the topology"
                );
                return Err(self.source.error(word.span(), &title, &help));
            }
        }
        Ok(())
    }
}

/// Counts of a topology's first line.
struct Counts {
    nodes: u32,
    switches: usize,
    links: usize,
}

/// Describes the accepted forms of a topology's first line.
fn forms(traits: &Traits) -> String {
    let form = |fields: &&[Field]| {
        let names: Vec<&str> = fields.iter().map(|field| field.name()).collect();
        names.join(" ")
    };
    traits.topology_headers.iter().map(form).collect::<Vec<_>>().join("; or ")
}

fn counts(source: &Source, header: &Line<'_>, traits: &Traits) -> Result<Counts, ScenarioError> {
    let found = header.words.len();
    let Some(fields) = traits.topology_headers.iter().find(|fields| fields.len() == found) else {
        let help = format!("write: {}", forms(traits));
        return Err(source.error(header.span(), &format!("a header of {found} fields"), &help));
    };
    let most_nodes = u32::try_from(MAX_HOSTS + MAX_SWITCHES).expect("a few thousand");
    let mut counts = Counts { nodes: 0, switches: 0, links: 0 };
    for (&word, field) in header.words.iter().zip(*fields) {
        let what = format!("the count of {}", field.name());
        match field {
            Field::Nodes => counts.nodes = source.number(word, &what, most_nodes)?,
            Field::Switches(_) => {
                let most = MAX_SWITCHES - counts.switches;
                counts.switches += source.number(word, &what, most)?;
            }
            Field::Links => counts.links = source.number(word, &what, 1usize << 20)?,
            Field::OtherCount(_) => drop(source.number(word, &what, u64::MAX)?),
            Field::Rate(_) => drop(read_rate(source, word, traits.bare_rates)?),
            Field::Word(_) => {}
        }
    }
    Ok(counts)
}

/// Returns which nodes are switches, and the number of rows that list them.
fn switch_ids(
    source: &Source,
    rows: &[Line<'_>],
    nodes: u32,
    switches: usize,
) -> Result<(Vec<bool>, usize), ScenarioError> {
    let mut is_switch = vec![false; nodes as usize];
    let mut found = 0;
    let mut read = 0;
    while found < switches {
        let Some(row) = rows.get(read) else {
            let title = format!("{found} ids of switches; the header counts {switches}");
            return Err(source.error_at_end(&title, "list the switches below the header"));
        };
        let is_id = |word: &Word<'_>| word.text.bytes().all(|byte| byte.is_ascii_digit());
        if !row.words.iter().all(is_id) {
            let title = format!("{found} ids of switches; the header counts {switches}");
            return Err(source.error(row.span(), &title, "list the switches below the header"));
        }
        for &word in &row.words {
            if found == switches {
                let title = format!("more ids of switches than the {switches} of the header");
                return Err(source.error(word.span(), &title, "correct the header or the list"));
            }
            let id = node_id(source, word, nodes)?;
            if std::mem::replace(&mut is_switch[id as usize], true) {
                let title = format!("switch {id} is listed twice");
                return Err(source.error(word.span(), &title, "list each switch once"));
            }
            found += 1;
        }
        read += 1;
    }
    Ok((is_switch, read))
}

fn node_id(source: &Source, word: Word<'_>, nodes: u32) -> Result<u32, ScenarioError> {
    let id = source.number(word, "the node", u32::MAX)?;
    if id < nodes {
        return Ok(id);
    }
    let help = format!("the nodes are 0 to {}", nodes.saturating_sub(1));
    Err(source.error(word.span(), &format!("there is no node {id}"), &help))
}

/// Parses a rate in ns-3's format: `100Gbps`, `50Mb/s`. If `bare` rates are allowed, also `25000000000.0` in bit/s,
/// truncated.
pub fn read_rate(
    source: &Source,
    word: Word<'_>,
    bare: bool,
) -> Result<BitsPerSecond, ScenarioError> {
    read_in_bits_per_second(source, word, bare)
}

/// Parses a rate increment in the format of rates, which may be zero.
pub fn read_increase(
    source: &Source,
    word: Word<'_>,
    bare: bool,
) -> Result<BitsPerSecond, ScenarioError> {
    read_in_bits_per_second(source, word, bare).map(|Increase(rate)| rate)
}

fn read_in_bits_per_second<D: Dimension>(
    source: &Source,
    word: Word<'_>,
    bare: bool,
) -> Result<D, ScenarioError> {
    let is_bare = bare && word.text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if let Some(number) = decimal::parse(word.text).filter(|_| is_bare) {
        let text = format!("{}bps", number / decimal::ONE);
        return quantity::parse_strictly(&text).map_err(|Refusal { title, help, .. }| {
            let help = format!("{help}; a rate without a unit is in bit/s");
            explain(source, word, &Refusal::new(title, help))
        });
    }
    let text = word.text.replace("b/s", "bps").replace("Kbps", "kbps");
    quantity::parse_strictly(&text).map_err(|refusal| explain(source, word, &refusal))
}

/// Parses a delay in ns-3's format: `1us`, `0.001ms`.
pub fn read_delay(source: &Source, word: Word<'_>) -> Result<Picos, ScenarioError> {
    quantity::parse_strictly(word.text).map_err(|refusal| explain(source, word, &refusal))
}

fn explain(source: &Source, word: Word<'_>, refusal: &Refusal) -> ScenarioError {
    source.error(word.span(), &refusal.title, refusal.help().unwrap_or("write another"))
}

/// Parses a probability in millionths.
pub fn read_probability(source: &Source, word: Word<'_>, what: &str) -> Result<u32, ScenarioError> {
    let part = read_fraction(source, word, what, (6, "six"))?;
    Ok(part.try_into().expect("at most a million"))
}

/// Parses a probability in units of 10^-12.
pub fn read_part(source: &Source, word: Word<'_>, what: &str) -> Result<u64, ScenarioError> {
    read_fraction(source, word, what, (12, "twelve"))
}

/// Parses a number from 0 to 1 with at most `digits` decimal places, in units of the last place.
fn read_fraction(
    source: &Source,
    word: Word<'_>,
    what: &str,
    (digits, named): (u32, &str),
) -> Result<u64, ScenarioError> {
    let unit = decimal::ONE / 10u128.pow(digits);
    match decimal::parse(word.text) {
        Some(value) if value <= decimal::ONE && value.is_multiple_of(unit) => {
            Ok((value / unit).try_into().expect("at most 10^12"))
        }
        _ => {
            let title = format!("{what} is `{}`", word.text);
            let help =
                format!("write a number from 0 to 1, with {named} digits behind the point at most");
            Err(source.error(word.span(), &title, &help))
        }
    }
}
