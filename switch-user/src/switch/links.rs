//! Measurement of a switch's links, and the headroom computed from it.

use fabric_core::scheme::Scheme;
use fabric_core::wire::LinkDelayFrame;
use fabric_core::wire::link_delay::Kind;
use units::Picos;

use super::{Event, Observer, PortConfig, Switch};

impl<F: Copy + Default, S: Scheme> Switch<F, S> {
    /// Sends a link delay request to the neighbour of a port, if links are measured.
    pub fn measure_link<O: Observer>(&mut self, now: Picos, port: u16, observer: &mut O) {
        if !self.config.measures_links {
            return;
        }
        let PortConfig { address, headroom, .. } = self.config.ports[usize::from(port)];
        let meter = self.ports.meter(port);
        let request = meter.request(address);
        let out_of_date = meter.is_out_of_date();
        self.ports.push_link_delay(port, request);
        if out_of_date {
            let headroom = self.tables.set_headroom(port.into(), headroom);
            let event = Event::HeadroomChanged { port, headroom, measured: None };
            observer.event(now, &self.tables, event);
        }
    }

    pub(super) fn receive_link_delay<O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        message: &LinkDelayFrame,
        observer: &mut O,
    ) {
        let PortConfig { address, rate, response, .. } = self.config.ports[usize::from(port)];
        if message.kind == Kind::Request {
            let answer = message.answer(address, now.to_nanos(), response);
            self.ports.push_link_delay(port, answer);
            return;
        }
        if !self.config.measures_links {
            return;
        }
        if let Some(measured) = self.ports.meter(port).receive(message, now.to_nanos()) {
            let wanted = measured.headroom(rate, &self.config.frames);
            let headroom = self.tables.set_headroom(port.into(), wanted);
            let event = Event::HeadroomChanged { port, headroom, measured: Some(measured) };
            observer.event(now, &self.tables, event);
        }
    }
}
