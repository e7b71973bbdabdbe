//! Tables of a switch whose packet has its port already.

use fabric_core::cell::{Cell64, Sharing};
use fabric_core::drop_reason::DropReason;
use fabric_core::map_abi::{
    Descriptor, EgressClass, EgressQueue, IngressQueue, NextHop, PolicyRoute, Port, Route,
    SchemeBlock, SchemeLine, Storm, SwitchConfig, SwitchState,
};
use fabric_core::tables::Tables;

/// See the module.
pub struct WayOut<'a, T> {
    tables: &'a T,
    route: Route,
}

impl<'a, T> WayOut<'a, T> {
    /// Tables whose routes lead to `port`, or nowhere.
    pub fn new(tables: &'a T, port: Option<u16>) -> Self {
        let route = port.map_or(Route::default(), |port| Route { members: 1, first: port.into() });
        Self { tables, route }
    }
}

impl<T: Sharing> Sharing for WayOut<'_, T> {
    const SHARED: bool = T::SHARED;
}

/// Forwards methods to the tables behind.
macro_rules! behind {
    ($(fn $name:ident($($argument:ident: $type:ty)?) -> $row:ty;)*) => {
        $(
            #[inline]
            fn $name(&self, $($argument: $type)?) -> Option<&$row> {
                self.tables.$name($($argument)?)
            }
        )*
    };
}

impl<T: Tables> Tables for WayOut<'_, T> {
    behind! {
        fn config() -> SwitchConfig;
        fn switch() -> SwitchState;
        fn port(port: u32) -> Port;
        fn ingress_queue(row: u32) -> IngressQueue;
        fn egress_queue(row: u32) -> EgressQueue;
        fn egress_class(row: u32) -> EgressClass;
        fn storm(row: u32) -> Storm;
        fn next_hop(index: u32) -> NextHop;
        fn policy_route(index: u32) -> PolicyRoute;
        fn descriptor(slot: u32) -> Descriptor;
        fn free_slot(index: u32) -> Cell64;
        fn drops(reason: DropReason) -> Cell64;
        fn scheme_line(index: u32) -> SchemeLine;
        fn lossy_line(index: u32) -> SchemeLine;
        fn scheme_block(index: u32) -> SchemeBlock;
    }

    #[inline]
    fn host_of(&self, destination: u32) -> u32 {
        self.tables.host_of(destination)
    }

    #[inline]
    fn route(&self, _host: u32) -> Option<&Route> {
        Some(&self.route)
    }
}
