//! Messages of the process-event connector: `nlmsghdr`, `cn_msg`, `proc_event` of `<linux/cn_proc.h>`.

/// What happened to a process. Threads are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcEvent {
    /// A process was made. `parent` is the process whose child it is: with `CLONE_PARENT` not the one that made it.
    Fork {
        /// Parent process.
        parent: i32,
        /// New process.
        child: i32,
    },
    /// The leader thread of a process has exited.
    Exit {
        /// The process.
        pid: i32,
    },
    /// Anything else, the birth and end of other threads included.
    Other,
}

/// One message of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// The answer to a request to listen: 0, or an errno.
    Acknowledged(u32),
    /// An event.
    Event(ProcEvent),
}

const HEADER_BYTES: usize = 16;
const CN_MSG_BYTES: usize = 20;
const CN_IDX_PROC: u32 = 1;
const CN_VAL_PROC: u32 = 1;
const PROC_EVENT_NONE: u32 = 0;
const PROC_EVENT_FORK: u32 = 1;
const PROC_EVENT_EXIT: u32 = 0x8000_0000;

/// Hands each message of a datagram to `found`; what is cut or not of this connector is skipped.
pub fn parse_messages(datagram: &[u8], found: &mut dyn FnMut(Message)) {
    let mut rest = datagram;
    while let Some(length) = word(rest, 0).and_then(|length| usize::try_from(length).ok()) {
        let Some(message) = rest.get(..length).filter(|_| length >= HEADER_BYTES) else { return };
        if let Some(parsed) = parse_message(message) {
            found(parsed);
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
}

fn parse_message(message: &[u8]) -> Option<Message> {
    let connector = message.get(HEADER_BYTES..)?;
    if word(connector, 0)? != CN_IDX_PROC || word(connector, 4)? != CN_VAL_PROC {
        return None;
    }
    // what, cpu, a timestamp of 8 bytes, then the data of the event.
    let event = connector.get(CN_MSG_BYTES..)?;
    let data = event.get(16..)?;
    match word(event, 0)? {
        PROC_EVENT_NONE => Some(Message::Acknowledged(word(data, 0)?)),
        // parent's thread and process, child's thread and process.
        PROC_EVENT_FORK => {
            let (parent, thread, child) = (pid(data, 4)?, pid(data, 8)?, pid(data, 12)?);
            let fork = ProcEvent::Fork { parent, child };
            Some(Message::Event(if thread == child { fork } else { ProcEvent::Other }))
        }
        PROC_EVENT_EXIT => {
            let (thread, pid) = (pid(data, 0)?, pid(data, 4)?);
            let exit = ProcEvent::Exit { pid };
            Some(Message::Event(if thread == pid { exit } else { ProcEvent::Other }))
        }
        _ => Some(Message::Event(ProcEvent::Other)),
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(word.try_into().ok()?))
}

fn pid(bytes: &[u8], at: usize) -> Option<i32> {
    i32::try_from(word(bytes, at)?).ok()
}

/// The request to listen (or no longer to), as one datagram.
pub fn listen_request(listen: bool) -> [u8; 40] {
    const PROC_CN_MCAST_LISTEN: u32 = 1;
    const PROC_CN_MCAST_IGNORE: u32 = 2;
    const NLMSG_DONE: u32 = 3;
    let operation = if listen { PROC_CN_MCAST_LISTEN } else { PROC_CN_MCAST_IGNORE };
    let low_half = |value: u32| if cfg!(target_endian = "little") { value } else { value << 16 };
    // length; type and flags; sequence; sender | id; id; sequence; ack; length of the data and flags | the data.
    let words = [40, low_half(NLMSG_DONE), 0, 0, CN_IDX_PROC, CN_VAL_PROC, 0, 0, low_half(4), operation];
    let mut request = [0; 40];
    for (bytes, word) in request.chunks_exact_mut(4).zip(words) {
        bytes.copy_from_slice(&word.to_ne_bytes());
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(what: u32, data: &[u32]) -> Vec<u8> {
        let length = u32::try_from(HEADER_BYTES + CN_MSG_BYTES + 16 + data.len() * 4).unwrap();
        let head = [length, 3, 0, 0, 1, 1, 9, 0, length - 36, what, 0, 7, 7];
        head.iter().chain(data).flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn parse(datagram: &[u8]) -> Vec<Message> {
        let mut found = Vec::new();
        parse_messages(datagram, &mut |message| found.push(message));
        found
    }

    #[test]
    fn processes_are_told_from_threads() {
        let fork = Message::Event(ProcEvent::Fork { parent: 10, child: 20 });
        assert_eq!(parse(&message(1, &[11, 10, 20, 20])), [fork]);
        assert_eq!(parse(&message(1, &[11, 10, 21, 20])), [Message::Event(ProcEvent::Other)]);
        let exit = Message::Event(ProcEvent::Exit { pid: 20 });
        assert_eq!(parse(&message(PROC_EVENT_EXIT, &[20, 20, 0, 17, 1, 1])), [exit]);
        assert_eq!(
            parse(&message(PROC_EVENT_EXIT, &[21, 20, 0, 17, 1, 1])),
            [Message::Event(ProcEvent::Other)]
        );
        assert_eq!(parse(&message(2, &[1, 1])), [Message::Event(ProcEvent::Other)]);
        assert_eq!(parse(&message(0, &[1])), [Message::Acknowledged(1)]);
    }

    #[test]
    fn several_messages_and_cut_ones() {
        let two = [message(0, &[0]), message(1, &[1, 1, 2, 2])].concat();
        assert_eq!(parse(&two).len(), 2);
        assert_eq!(parse(two.get(..two.len() - 1).unwrap()).len(), 1);
        assert_eq!(parse(&[0; 64]), []);
        assert_eq!(parse(&[255; 64]), []);
    }
}
