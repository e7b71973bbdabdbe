//! Measurement of a switch's links, and the headroom computed from it.

use fabric_core::scheme::Scheme;
use fabric_core::wire::LinkDelayFrame;
use fabric_core::wire::link_delay::Kind;
use units::Picos;

use super::{Observer, PortConfig, Switch};

impl<F: Copy + Default, S: Scheme> Switch<F, S> {
    /// Sends a link delay request to the neighbour of a port, if links are measured.
    pub fn measure_link<O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        observer: &mut O,
    ) -> Result<(), O::Error> {
        if !self.config.measures_links {
            return Ok(());
        }
        let PortConfig { address, headroom, .. } = self.config.ports[usize::from(port)];
        let meter = self.ports.meter(port);
        let request = meter.request(address);
        let out_of_date = meter.is_out_of_date();
        self.ports.push_link_delay(port, request);
        if out_of_date {
            let set = self.tables.set_headroom(port.into(), headroom);
            observer.headroom_changed(now, port, set, None)?;
        }
        Ok(())
    }

    pub(super) fn receive_link_delay<O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        message: &LinkDelayFrame,
        observer: &mut O,
    ) -> Result<(), O::Error> {
        let PortConfig { address, rate, response, .. } = self.config.ports[usize::from(port)];
        if message.kind == Kind::Request {
            let answer = message.answer(address, now.to_nanos(), response);
            self.ports.push_link_delay(port, answer);
            return Ok(());
        }
        if !self.config.measures_links {
            return Ok(());
        }
        if let Some(measured) = self.ports.meter(port).receive(message, now.to_nanos()) {
            let wanted = measured.headroom(rate, &self.config.frames);
            let set = self.tables.set_headroom(port.into(), wanted);
            observer.headroom_changed(now, port, set, Some(measured))?;
        }
        Ok(())
    }
}
