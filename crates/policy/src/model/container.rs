//! Containers: what of the machine they are given.

use super::{Call, Spec};
use crate::eval::Checker;
use crate::eval::env::Env;
use crate::paths::Zone;

/// Options that open the machine to a container.
const HOST: &[&str] = &[
    "--privileged",
    "--pid host",
    "--cap-add ALL",
    "--cap-add SYS_ADMIN",
    "--device /dev/sd",
    "--userns host",
];

impl Checker<'_> {
    pub(super) fn container(&mut self, env: &mut Env, call: &Call<'_>) {
        let spec = Spec::new("vw", "volume mount device pid cap-add security-opt network ipc uts userns");
        let opts = spec.read(call.args);
        for volume in opts.values("v volume mount") {
            self.mounted(env, volume);
        }
        let starts = matches!(call.args.first().map(String::as_str), Some("run" | "create" | "exec"));
        let all = call.args.join(" ").replace('=', " ");
        if starts && HOST.iter().any(|flag| all.contains(flag)) {
            // The processes of the machine, and the rights over them, are the machine.
            let escapes = all.contains("--privileged") && all.contains("--pid host");
            self.report(if escapes { "container.host" } else { "container.privileged" }, "");
        }
    }

    fn mounted(&mut self, env: &Env, volume: &str) {
        let named = |part: &'_ str| {
            part.strip_prefix("source=").or_else(|| part.strip_prefix("src=")).map(str::to_owned)
        };
        let source = volume.split(',').find_map(named);
        let source = source.unwrap_or_else(|| volume.split(':').next().unwrap_or_default().to_owned());
        let full = self.absolute(env, &source).into_iter().next().unwrap_or_default();
        if ["docker.sock", "podman.sock", "containerd.sock"].iter().any(|socket| full.ends_with(socket)) {
            return self.report("container.host", &full);
        }
        let place = crate::paths::place(&full, self.ctx);
        let read_only = volume.ends_with(":ro") || volume.contains("readonly");
        let by_path = source.starts_with(['/', '~', '.']);
        match place.zone {
            Zone::Root if source.starts_with('/') && (!place.certain || read_only) => {
                self.report("container.mount", &full);
            }
            _ if !by_path || !place.certain || read_only => {}
            Zone::Root => self.report("container.host", &full),
            // `/etc` is the machine; `/etc/localtime` is not.
            Zone::System if full.matches('/').count() == 1 || super::effect::is_vital_file(&full) => {
                self.report("container.host", &full);
            }
            Zone::System if !harmless(&full) => self.report("container.mount", &full),
            Zone::Home => self.report("container.mount", &full),
            _ => {}
        }
    }
}

/// Files and directories of the system that containers are given all the time.
fn harmless(path: &str) -> bool {
    const GIVEN: &[&str] = &[
        "/etc/localtime",
        "/etc/timezone",
        "/etc/ssl/certs",
        "/etc/machine-id",
        "/dev/shm",
        "/dev/null",
        "/dev/net/tun",
    ];
    GIVEN.contains(&path)
}
