//! Habits of output.

use std::io::Write as _;

use rustix::fd::AsFd;

use crate::Orders;
use crate::sys;

/// Write everything; a reader that has gone ends the program, as SIGPIPE would.
pub(crate) fn write_all(to: impl AsFd, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match rustix::io::write(to.as_fd(), bytes) {
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => sys::leave(141),
        }
    }
}

/// `chatty [NAP_MS]`: a line every so many milliseconds (5), for as long as it lives.
pub(crate) fn chatty(orders: &Orders) {
    orders.ready();
    for count in 0_u64.. {
        write_all(rustix::stdio::stdout(), format!("tick {count}\n").as_bytes());
        sys::nap_ms(orders.number(0, 5));
    }
}

/// `alternate [N]`: N (100) numbered lines, in turn on stdout and stderr, one write each.
pub(crate) fn alternate(orders: &Orders) {
    for count in 0..orders.number(0, 100) {
        let line = format!("{count}\n");
        if count % 2 == 0 {
            write_all(rustix::stdio::stdout(), line.as_bytes());
        } else {
            write_all(rustix::stdio::stderr(), line.as_bytes());
        }
    }
    orders.ready();
}

/// `slow-utf8 [TEXT] [NAP_MS] [TIMES]`: the bytes of TEXT (`€`), one write each, with a nap (20) between.
pub(crate) fn slow_utf8(orders: &Orders) {
    let text = orders.text(0, "€");
    orders.ready();
    for _ in 0..orders.number(2, 1) {
        for byte in text.as_encoded_bytes() {
            write_all(rustix::stdio::stdout(), &[*byte]);
            sys::nap_ms(orders.number(1, 20));
        }
    }
}

/// `flood [MIB]`: so many MiB (100) of numbered 64-byte lines, as fast as they are taken; the last line says `end`.
pub(crate) fn flood(orders: &Orders) {
    let lines = u64::from(orders.number(0, 100)) * 16_384;
    let mut block = Vec::with_capacity(1 << 16);
    orders.ready();
    for line in 0..lines {
        writeln!(block, "{line:063}").ok();
        if block.len() >= 1 << 16 {
            write_all(rustix::stdio::stdout(), &block);
            block.clear();
        }
    }
    block.extend_from_slice(b"end\n");
    write_all(rustix::stdio::stdout(), &block);
}
