//! One test's own place: state directory, home, working directory, tag.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::Mode;
use tempfile::TempDir;

use crate::{Fifo, Invocation, Process, Tag, leftovers};

/// A private world for one test of a binary. When it is dropped, no process of it may be left: else the test fails, and
/// whoever is left is killed.
#[derive(Debug)]
pub struct Rig {
    binary: PathBuf,
    place: TempDir,
    tag: Tag,
    user: Option<u32>,
}

impl Rig {
    /// A place for tests of `binary`, usually `env!("CARGO_BIN_EXE_kennel")`.
    ///
    /// # Panics
    /// When the temporary directory cannot be made.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        let place = tempfile::Builder::new().prefix("kennel-test-").tempdir().expect("a temporary directory");
        let rig = Self { binary: binary.into(), place, tag: Tag::unique(), user: None };
        for name in ["state", "home", "work"] {
            std::fs::create_dir(rig.place.path().join(name)).expect("a directory of the test");
        }
        let private = Mode::from_bits_truncate(0o700);
        rustix::fs::chmod(rig.state(), private).expect("a private state directory");
        rig
    }

    /// The same for another user; only root can.
    ///
    /// # Panics
    /// When the place cannot be given to that user.
    #[must_use]
    pub fn owned_by(mut self, uid: u32) -> Self {
        let owner = Some(rustix::fs::Uid::from_raw(uid));
        let group = Some(rustix::fs::Gid::from_raw(uid));
        rustix::fs::chmod(self.place.path(), Mode::from_bits_truncate(0o755))
            .expect("a place others may enter");
        for path in [self.state(), self.home(), self.work()] {
            rustix::fs::chown(&path, owner, group).expect("give the place away");
        }
        self.user = Some(uid);
        self
    }

    /// Run the binary with these words.
    pub fn kennel<W: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = W>) -> Invocation {
        let mut invocation = self.program(&self.binary);
        invocation.args(words);
        invocation
    }

    /// Run any program in the same place, with the same tag.
    pub fn program(&self, program: impl AsRef<OsStr>) -> Invocation {
        let mut invocation = Invocation::new(program.as_ref(), self.tag, self.user);
        for name in ["KENNEL_TASK", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "BASH_ENV", "ENV"]
        {
            invocation.env_remove(name);
        }
        invocation
            .env("KENNEL_STATE_DIR", self.state())
            .env("HOME", self.home())
            .env("LC_ALL", "C.UTF-8")
            .env("KENNEL", &self.binary)
            .env("HOSTILE", hostile())
            .current_dir(self.work());
        invocation
    }

    /// Run bash with this script; `$KENNEL` and `$HOSTILE` name the two binaries.
    pub fn bash(&self, script: &str) -> Invocation {
        let mut invocation = self.program("bash");
        invocation.args(["--norc", "--noprofile", "-c", script]);
        invocation
    }

    /// The binary under test.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// The state directory.
    pub fn state(&self) -> PathBuf {
        self.place.path().join("state")
    }

    /// The home directory.
    pub fn home(&self) -> PathBuf {
        self.place.path().join("home")
    }

    /// The working directory.
    pub fn work(&self) -> PathBuf {
        self.place.path().join("work")
    }

    /// A new FIFO in this place.
    pub fn fifo(&self, name: &str) -> Fifo {
        Fifo::create(self.place.path().join(name))
    }

    /// The tag that everything started here carries.
    pub fn tag(&self) -> Tag {
        self.tag
    }

    /// Every process that was started here, keepers too.
    pub fn processes(&self) -> Vec<Process> {
        self.tag.holders()
    }

    /// The processes of this place with that short name.
    pub fn named(&self, comm: &str) -> Vec<Process> {
        self.processes().into_iter().filter(|process| process.comm == comm).collect()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let failing = std::thread::panicking();
        let patience = if failing { Duration::ZERO } else { Duration::from_secs(5) };
        let left = leftovers(self.tag, patience);
        assert!(failing || left.is_empty(), "processes left behind:\n{}", left.join("\n"));
    }
}

/// The binary to test: `built`, unless `KENNEL_TEST_BINARY` names another, so that tests can meet a release build without
/// being one.
#[expect(clippy::disallowed_methods, reason = "the tests' own environment")]
pub fn binary_or(built: &str) -> PathBuf {
    std::env::var_os("KENNEL_TEST_BINARY").map_or_else(|| built.into(), PathBuf::from)
}

/// The `hostile` binary. It stands beside the test's own; where it has not been built yet, cargo builds it.
///
/// # Panics
/// When it cannot be built.
#[expect(clippy::disallowed_methods, reason = "the tests' own environment, and cargo is no task")]
pub fn hostile() -> &'static Path {
    static PATH: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    PATH.get_or_init(|| {
        let test = std::env::current_exe().expect("our own path");
        let beside =
            test.ancestors().skip(1).take(2).map(|dir| dir.join("hostile")).find(|path| path.is_file());
        beside.unwrap_or_else(|| {
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let release = test.components().any(|part| part.as_os_str() == "release");
            let mut build = std::process::Command::new(cargo);
            build.args(["build", "--quiet", "--package", "testkit", "--bin", "hostile"]);
            build.args(release.then_some("--release"));
            assert!(
                build.status().is_ok_and(|status| status.success()),
                "cargo could not build the fixtures"
            );
            test.ancestors().nth(2).expect("a target directory").join("hostile")
        })
    })
}
