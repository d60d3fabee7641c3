//! What a child found in force when it was about to run its program, as eight bytes on the error pipe.

/// The mechanisms that hold, and why others do not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact about one mechanism")]
pub struct Facts {
    /// ABI of the Landlock rules in force; 0: none.
    pub landlock_abi: u8,
    /// The errno of Landlock, where it was refused.
    pub landlock_errno: u8,
    /// A mount namespace with the layout's view.
    pub mounts: bool,
    /// The errno of the namespaces, where they were refused.
    pub mounts_errno: u8,
    /// System calls are filtered.
    pub seccomp: bool,
    /// The errno of the filter, where it was refused.
    pub seccomp_errno: u8,
    /// A network namespace without a way out.
    pub network_namespace: bool,
    /// All but harmless capabilities are gone.
    pub capabilities: bool,
    /// `PR_SET_NO_NEW_PRIVS`.
    pub no_new_privs: bool,
    /// Without mounts, rules alone leave something open that the layout closes.
    pub leaky: bool,
    /// It was made by way of a user namespace.
    pub user_namespace: bool,
    /// Descriptors above 2 are closed by the exec.
    pub descriptors: bool,
}

impl Facts {
    /// No stage has this number.
    const KIND: u8 = 0xFA;

    /// As they go over the error pipe.
    pub(crate) fn to_wire(self) -> [u8; 8] {
        let flags = [
            self.mounts,
            self.seccomp,
            self.network_namespace,
            self.capabilities,
            self.no_new_privs,
            self.leaky,
            self.user_namespace,
            self.descriptors,
        ];
        let bits = flags.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag));
        [
            Self::KIND,
            bits,
            self.landlock_abi,
            self.landlock_errno,
            self.mounts_errno,
            self.seccomp_errno,
            0,
            0,
        ]
    }

    /// Reads them back; `None` for anything else.
    pub fn from_wire(bytes: [u8; 8]) -> Option<Self> {
        let [Self::KIND, bits, landlock_abi, landlock_errno, mounts_errno, seccomp_errno, 0, 0] = bytes
        else {
            return None;
        };
        let flag = |at: u8| bits >> at & 1 == 1;
        Some(Self {
            landlock_abi,
            landlock_errno,
            mounts: flag(0),
            mounts_errno,
            seccomp: flag(1),
            seccomp_errno,
            network_namespace: flag(2),
            capabilities: flag(3),
            no_new_privs: flag(4),
            leaky: flag(5),
            user_namespace: flag(6),
            descriptors: flag(7),
        })
    }
}

/// What a command would find, as far as that can be told without trying: nothing is changed and nothing started. A
/// container may forbid more than can be seen from here.
pub fn expected() -> Facts {
    let number =
        |file: &str| std::fs::read_to_string(file).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let user_namespaces = number("/proc/sys/user/max_user_namespaces").is_some_and(|most| most > 0)
        && number("/proc/sys/kernel/unprivileged_userns_clone") != Some(0)
        && number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") != Some(1);
    let administrates = rustix::thread::capabilities(None)
        .is_ok_and(|own| own.effective.contains(rustix::thread::CapabilitySet::SYS_ADMIN));
    let denied = u8::try_from(rustix::io::Errno::PERM.raw_os_error()).unwrap_or(u8::MAX);
    let unknown = u8::try_from(rustix::io::Errno::NOSYS.raw_os_error()).unwrap_or(u8::MAX);
    Facts {
        landlock_abi: crate::ruleset::kernel_abi(),
        landlock_errno: unknown,
        mounts: administrates || user_namespaces,
        mounts_errno: denied,
        seccomp: crate::seccomp::is_known_here()
            && std::fs::exists("/proc/sys/kernel/seccomp").unwrap_or(false),
        seccomp_errno: unknown,
        network_namespace: false,
        capabilities: true,
        no_new_privs: true,
        leaky: false,
        user_namespace: !administrates,
        descriptors: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_round_trip_and_are_no_failure() {
        for bits in 0..=255_u8 {
            let wire = [Facts::KIND, bits, 7, 1, 2, 3, 0, 0];
            let facts = Facts::from_wire(wire).expect("facts");
            assert_eq!(facts.to_wire(), wire);
            assert_eq!(crate::Failure::from_wire(wire), None);
        }
    }
}
