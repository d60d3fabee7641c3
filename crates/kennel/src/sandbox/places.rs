//! Places with a meaning: what a sandbox hides, shows or protects when nobody says otherwise.

/// Beneath a home directory: keys, tokens, profiles of browsers and agents. Unreadable in every sandbox.
pub(super) const SECRETS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".colima",
    ".oci",
    ".netrc",
    ".pgpass",
    ".my.cnf",
    ".pypirc",
    ".git-credentials",
    ".vault-token",
    ".password-store",
    ".1password",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".terraform.d/credentials.tfrc.json",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/op",
    ".config/git/credentials",
    ".config/rclone",
    ".local/share/keyrings",
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    "snap/firefox",
    "snap/chromium",
    ".claude.json",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
];

/// Of root's machine: what only root could read anyway.
pub(super) const SECRETS_OF_ROOT: &[&str] = &["/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-"];

/// Beneath a home directory: what a later shell or git of the user's would run. Read-only where the home directory is the
/// workspace.
pub(super) const START_UP: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".inputrc",
    ".xprofile",
    ".xinitrc",
    ".gitconfig",
    ".config/git",
    ".config/fish",
    ".config/autostart",
    ".config/systemd",
    ".config/environment.d",
    ".config/kennel",
];

/// Where homes of others are.
pub(super) const HOMES: &[&str] = &["/home", "/root"];

/// Nodes that any program may open, and the directory of terminals.
pub(super) const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// `/run` holds the sockets of services (docker, D-Bus, the user's agents): hidden but for what programs and names need.
pub(super) const RUN: &str = "/run";
pub(super) const RUN_SHOWN: &[&str] = &[
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager",
    "/run/current-system",
    "/run/booted-system",
    "/run/opengl-driver",
];

/// Shared by all users and programs: each sandboxed task or session has its own.
pub(super) const SHARED_TEMP: &[&str] = &["/tmp", "/var/tmp"];
pub(super) const SHARED_MEMORY: &str = "/dev/shm";
