//! The two hooks at which a switch port receives a frame, and their differences.

use core::ffi::c_void;

use aya_ebpf::EbpfContext;
use aya_ebpf::bindings::__sk_buff;
use aya_ebpf::helpers::generated::{bpf_skb_load_bytes, bpf_skb_pull_data, bpf_xdp_load_bytes};
use aya_ebpf::programs::XdpContext;
use fabric_core::drop_reason::DropReason;
use fabric_core::record::MAX_FRAME;

use crate::frame::PacketBytes;

/// A program's context, at one of the hooks.
pub trait Hook: EbpfContext {
    /// True if standalone switches may use the hook. TC filters would outlive the switch's process,
    /// and a frame may consist of several pieces there before [`Self::prepare`].
    const MAY_STAND_ALONE: bool;

    /// Returns the index of the interface that received the frame.
    fn interface(&self) -> u32;

    /// Makes the whole frame readable and writable in one piece, or returns the reason to drop it.
    fn prepare(&self) -> Result<(), DropReason>;

    /// Returns the bytes of a prepared frame.
    fn bytes(&self) -> PacketBytes;

    /// Copies the frame's first `length` bytes to `target`.
    ///
    /// # Safety
    /// `target` has room for `length` bytes, and `length` is 1 to [`MAX_FRAME`]: the verifier checks the bounds.
    unsafe fn copy(&self, target: *mut u8, length: u32);
}

/// Native and generic XDP. The kernel rejects frames of several pieces for a program that does not
/// declare support for them. Generic XDP joins the pieces first.
impl Hook for XdpContext {
    const MAY_STAND_ALONE: bool = true;

    #[inline(always)]
    fn interface(&self) -> u32 {
        // SAFETY: `ctx` is the program's own context, valid while it runs.
        unsafe { (*self.ctx).ingress_ifindex }
    }

    #[inline(always)]
    fn prepare(&self) -> Result<(), DropReason> {
        Ok(())
    }

    #[inline(always)]
    fn bytes(&self) -> PacketBytes {
        PacketBytes::new(self.data(), self.data_end())
    }

    #[inline(always)]
    unsafe fn copy(&self, target: *mut u8, length: u32) {
        // SAFETY: the caller vouches for the room.
        unsafe { bpf_xdp_load_bytes(self.ctx, 0, target.cast(), length) };
    }
}

/// TC ingress. No signature names the type of its context: see `egress_auditor`.
pub struct SkBuff(pub *mut c_void);

impl SkBuff {
    #[inline(always)]
    fn fields(&self) -> &__sk_buff {
        // SAFETY: the pointer is the program's own context, valid while it runs.
        unsafe { &*self.0.cast() }
    }
}

impl EbpfContext for SkBuff {
    fn as_ptr(&self) -> *mut c_void {
        self.0
    }
}

impl Hook for SkBuff {
    const MAY_STAND_ALONE: bool = false;

    #[inline(always)]
    fn interface(&self) -> u32 {
        self.fields().ifindex
    }

    /// A packet tap, such as tcpdump, shares the frame's bytes, and a long frame may consist of several pieces.
    #[inline(always)]
    fn prepare(&self) -> Result<(), DropReason> {
        let length = self.fields().len;
        if length as usize > MAX_FRAME {
            return Err(DropReason::TooLong);
        }
        // Before this hook the kernel moves an 802.1Q tag out of the bytes. XDP finds the tag as an EtherType.
        if self.fields().vlan_present != 0 {
            return Err(DropReason::UnknownEtherType);
        }
        // SAFETY: the context is the program's own; pointers into the frame are read afterwards only.
        match unsafe { bpf_skb_pull_data(self.0.cast(), length) } {
            0 => Ok(()),
            // Out of memory.
            _ => Err(DropReason::SubstrateLoss),
        }
    }

    #[inline(always)]
    fn bytes(&self) -> PacketBytes {
        let skb = self.fields();
        PacketBytes::new(skb.data as usize, skb.data_end as usize)
    }

    #[inline(always)]
    unsafe fn copy(&self, target: *mut u8, length: u32) {
        // SAFETY: the caller vouches for the room.
        unsafe { bpf_skb_load_bytes(self.0, 0, target.cast(), length) };
    }
}
