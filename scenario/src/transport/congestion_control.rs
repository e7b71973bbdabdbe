//! Choice of a congestion control: its name in a file.

use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum CongestionControlKeys {
    None,
    Cubic,
    #[default]
    Dcqcn,
    Dctcp,
    Hpcc,
    Powertcp,
    RttTarget,
    ThetaPowertcp,
    Timely,
}
