//! `xoff-host`: a RoCEv2 host on an interface of this machine. docs/standalone.md has examples.

use std::fmt::Display;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use fabric_core::priority::Priority;
use scenario::quantity;
use scenario::standalone::{StandaloneHost, parse_mac_address};
use scenario::whole_number::between;
use serde::Serialize;
use standalone::host::{self, Driver, Receiving, Sending, Settings, agreement};
use standalone::{Error, exit, print_line};
use switch_user::hook::XdpHook;
use units::Bytes;

/// A RoCEv2 host on an interface of this machine and namespace, by AF_XDP.
///
/// Traffic other than RoCEv2 and PFC goes to the kernel's stack. Hosts agree on queue pairs by TCP.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    host: HostArguments,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Args)]
struct HostArguments {
    /// The interface.
    #[arg(long)]
    interface: String,
    /// Its IPv4 address. Default: the interface's first address.
    #[arg(long)]
    address: Option<Ipv4Addr>,
    /// MAC address of the neighbour to which all packets go. Default: the neighbour from the kernel's routes and
    /// ARP.
    #[arg(long, value_name = "MAC", value_parser = mac_address)]
    gateway_mac: Option<[u8; 6]>,
    /// Rate of the link, to which the host paces what it sends.
    #[arg(long, default_value = "1Gbps")]
    rate: String,
    /// Payload of a full packet, at least 60 bytes less than the MTU. Both ends need the same value. Default 1000B.
    #[arg(long, value_name = "SIZE")]
    payload: Option<String>,
    /// Repair of losses: go-back-n or selective-repeat. Both ends need the same value. Default go-back-n.
    #[arg(long, value_name = "KIND")]
    reliability: Option<String>,
    /// Congestion control: none (line rate), dcqcn, dctcp or timely. Default none.
    #[arg(long, value_name = "KIND")]
    congestion_control: Option<String>,
    /// Sets a key of the section `[host]` of a scenario, such as `host.transport.dcqcn.profile=paper`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Runs XDP in front of the stack instead of in the driver, for an interface without native XDP.
    #[arg(long)]
    generic: bool,
    /// Prints the report as a line of JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Sends to a receiving host and prints how long the transfers took.
    Send {
        /// The receiver's IPv4 address.
        #[arg(long)]
        to: Ipv4Addr,
        /// Payload of each flow.
        #[arg(long, default_value = "1MB", value_parser = quantity::parse::<Bytes>)]
        bytes: Bytes,
        /// Priority of the packets, 0 to 7.
        #[arg(long, default_value_t = 3, value_parser = between(0u8, 7))]
        priority: u8,
        /// Number of flows that start at once, 1 to 256.
        #[arg(long, default_value_t = 1, value_parser = between(1u32, 256))]
        count: u32,
        /// TCP port on which the receiver listens.
        #[arg(long, default_value_t = agreement::PORT)]
        port: u16,
    },
    /// Receives until a signal arrives or all transfers have completed.
    Receive {
        /// Number of transfers to receive. Default: no limit.
        #[arg(long)]
        count: Option<u64>,
        /// TCP port on which to listen.
        #[arg(long, default_value_t = agreement::PORT)]
        port: u16,
    },
    /// Guardian of a host: restores the interface's settings if the host is killed.
    #[command(hide = true)]
    Restore,
}

fn mac_address(text: &str) -> Result<[u8; 6], String> {
    parse_mac_address(text)
        .ok_or_else(|| "write a unicast MAC address, such as 02:00:00:00:00:01".to_owned())
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    exit("xoff-host", run(&arguments))
}

fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let Arguments { host, command } = arguments;
    if matches!(command, Command::Restore) {
        return Ok(host::restore_at_end(&host.interface));
    }
    let settings = settings(host)?;
    let scenario::Transport::RoceRc(transport) = settings.host.scenario.host.transport else {
        unreachable!("other transports were refused");
    };
    let reliability = match transport.reliability {
        scenario::Reliability::GoBackN => "go-back-n",
        scenario::Reliability::SelectiveRepeat(_) => "selective-repeat",
    };
    let mut driver = host::start(&settings)?;
    match *command {
        Command::Send { to, bytes, priority, count, port } => {
            let priority = Priority::new(priority);
            let sending = Sending { to, port, bytes: bytes.0, count, priority };
            print(host.json, &host::send(&mut driver, &sending, reliability)?);
        }
        Command::Receive { count, port } => {
            let receiving = Receiving { port, count };
            let started = |driver: &Driver| {
                let (address, interface) = (driver.address(), driver.interface());
                print_line(format_args!("xoff-host: receiving at {address} on {interface}"));
            };
            let report = host::receive(&mut driver, &receiving, reliability, started)?;
            print(host.json, &report);
        }
        Command::Restore => unreachable!("it has returned"),
    }
    Ok(ExitCode::SUCCESS)
}

fn settings(arguments: &HostArguments) -> Result<Settings, Error> {
    let HostArguments { rate, payload, reliability, congestion_control, .. } = arguments;
    let keys = [
        ("host.payload", payload),
        ("host.transport.reliability", reliability),
        ("host.transport.congestion_control", congestion_control),
    ];
    let mut overrides = vec![format!("rate={rate}")];
    for (key, value) in keys {
        overrides.extend(value.iter().map(|value| format!("{key}={value}")));
    }
    overrides.extend_from_slice(&arguments.overrides);
    Ok(Settings {
        interface: arguments.interface.clone(),
        address: arguments.address,
        gateway: arguments.gateway_mac,
        host: StandaloneHost::parse(&overrides)?,
        hook: if arguments.generic { XdpHook::Generic } else { XdpHook::Native },
    })
}

/// Prints the report. Ignores failed writes: the transfers are over.
fn print<T: Serialize + Display>(as_json: bool, report: &T) {
    let text = if as_json {
        serde_json::to_string(report).expect("a report is plain data")
    } else {
        report.to_string()
    };
    let _ = writeln!(io::stdout(), "{text}");
}
