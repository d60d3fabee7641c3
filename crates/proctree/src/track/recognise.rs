//! What a process says of itself: the marker in its environment, the tag in its limits.

use std::cell::RefCell;
use std::collections::HashMap;

use super::options::Marker;
use crate::read::{MarkerRead, environ_value, rttime_hard_limit};

/// What marker and tag say of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It has the tag: only descendants can.
    Tagged,
    /// It has the marker with our value: a hint, a stranger may have copied it.
    Marked,
    /// It has the marker with another value, or an empty one.
    Left,
    /// It says nothing.
    Silent,
    /// Its environment may not be read.
    Unreadable,
}

/// Reads each process once per look.
#[derive(Debug)]
pub(crate) struct Recogniser<'a> {
    marker: Option<&'a Marker>,
    tag: Option<u64>,
    read: RefCell<HashMap<i32, Standing>>,
}

impl<'a> Recogniser<'a> {
    pub(crate) fn new(marker: Option<&'a Marker>, tag: Option<u64>) -> Self {
        Self { marker, tag, read: RefCell::default() }
    }

    pub(crate) fn looks_for_anything(&self) -> bool {
        self.marker.is_some() || self.tag.is_some()
    }

    pub(crate) fn standing(&self, pid: i32) -> Standing {
        *self.read.borrow_mut().entry(pid).or_insert_with(|| self.ask(pid))
    }

    fn ask(&self, pid: i32) -> Standing {
        let marked = match self.marker {
            None => Standing::Silent,
            Some(marker) => match environ_value(pid, &marker.name) {
                MarkerRead::Value(value) if value == marker.value && !value.is_empty() => Standing::Marked,
                MarkerRead::Value(_) => Standing::Left,
                MarkerRead::Absent => Standing::Silent,
                MarkerRead::Unreadable => Standing::Unreadable,
            },
        };
        // What has left by its own word has left, whatever it cannot shed.
        let may_be_tagged = marked != Standing::Left && self.tag.is_some();
        if may_be_tagged && rttime_hard_limit(pid) == self.tag { Standing::Tagged } else { marked }
    }
}
