//! Habits that take too much of one thing, then stay. Each says that it is in place right before it takes the last of it.

use std::fs::File;
use std::io::Write as _;

use crate::Orders;
use crate::sys::{self, Side};

const MIB: usize = 1 << 20;

/// `greedy-memory FIRST MORE`: so many MiB, and more.
pub(crate) fn memory(orders: &Orders) {
    sys::ignore_requests();
    let (first, more) = (orders.number(0, 32) as usize, orders.number(1, 32) as usize);
    let mut taken = vec![1_u8; first * MIB];
    orders.ready();
    taken.resize((first + more) * MIB, 1);
    hold(&taken)
}

/// `shared-memory MIB CHILDREN`: memory that so many children have in common with their parent.
pub(crate) fn shared_memory(orders: &Orders) {
    let taken = vec![1_u8; orders.number(0, 32) as usize * MIB];
    for _ in 0..orders.number(1, 4) {
        if let Side::Child = sys::fork() {
            hold(&taken);
        }
    }
    orders.ready();
    hold(&taken)
}

/// `greedy-files COUNT`: so many descriptors, as far as they can be had.
pub(crate) fn files(orders: &Orders) {
    sys::ignore_requests();
    orders.ready();
    let taken: Vec<File> = (0..orders.number(0, 100)).filter_map(|_| File::open("/dev/null").ok()).collect();
    hold(&taken)
}

/// `greedy-disk FILE`: writes until it is refused, ignoring the signal for that.
pub(crate) fn disk(orders: &Orders) {
    sys::ignore_requests();
    sys::disposition(&[libc::SIGXFSZ], libc::SIG_IGN);
    orders.ready();
    let written = File::create(orders.text(0, "filled")).map(|mut file| {
        while file.write_all(&[0; 4096]).is_ok() {}
        file
    });
    hold(&written)
}

fn hold<T>(taken: &T) -> ! {
    std::hint::black_box(taken);
    sys::hold()
}
