//! Names of functions that are sinks.

#[rustfmt::skip]
pub(super) const SHELL_CALLS: &[&str] = &[
    "system", "popen", "getoutput", "getstatusoutput", "exec", "execSync", "spawn", "spawnSync", "execFile",
    "execFileSync", "shell_exec", "passthru", "proc_open", "pcntl_exec", "execute", "run", "call", "Popen",
    "check_call", "check_output", "popen2", "popen3", "popen4", "capture2", "capture2e", "capture3", "execl",
    "execlp", "execv", "execvp", "execvpe", "spawnl", "spawnlp", "spawnv", "spawnvp", "posix_spawn", "sh",
    "callCommand", "spawnCommand", "readCreateProcess", "callProcess", "rawSystem", "run_command", "shellout",
    "$", "shell", "shell-command", "cmd", "script", "call-process", "ShellExecute", "Command",
];
/// Of these, names that mean something else unless they belong to one of the owners.
pub(super) const AMBIGUOUS: &[(&str, &[&str])] = &[
    ("run", &["subprocess", "Deno", "execa", "invoke"]),
    ("call", &["subprocess"]),
    (
        "spawn",
        &["pty", "child_process", "cp", "", "Process", "Kernel", "os", "PTY", "Bun", "require", "Open3"],
    ),
    ("exec", &["child_process", "cp", "", "Kernel", "os", "require", "shell", "Process"]),
    ("execute", &["os", "require"]),
    ("cmd", &["System", "os", "require"]),
    ("sh", &["", "FileUtils"]),
    ("$", &["", "Bun"]),
    ("shell", &[""]),
    ("Command", &["Deno"]),
];
pub(super) const DELETE_CALLS: &[(&str, bool)] = &[
    ("rmtree", true),
    ("removeDirectoryRecursive", true),
    ("removePathForcibly", true),
    ("remove-directory", true),
    ("delete-directory-and-files", true),
    ("deltree", true),
    ("remove_tree", true),
    ("rm_rf", true),
    ("rm_r", true),
    ("remove_dir", true),
    ("remove_entry", true),
    ("remove_entry_secure", true),
    ("rmSync", true),
    ("rimraf", true),
    ("rimrafSync", true),
    ("removeSync", true),
    ("emptyDirSync", true),
    ("remove_dir_all", true),
    ("rmdirSync", true),
    ("delete-directory", true),
    ("rm", true),
    ("removeAll", true),
    ("deleteRecursive", true),
    ("rmdir", false),
    ("unlink", false),
    ("unlinkSync", false),
    ("remove", false),
    ("removedirs", false),
    ("delete", false),
    ("safe_unlink", false),
    ("delete-file", false),
    ("secure_delete", true),
    ("rm_f", false),
    ("del", true),
    ("deleteSync", true),
    ("unlink_recursive", true),
];
/// Owners whose `remove`, `rm`, `delete` and `rmdir` are about files.
#[rustfmt::skip]
pub(super) const FILE_OWNERS: &[&str] = &[
    "os", "fs", "File", "Dir", "FileUtils", "shutil", "Path", "pathlib", "promises", "fsPromises", "fse", "",
    "require", "Pathname", "IO", "Deno", "path",
];
/// Functions that list what is in a directory, mostly to do something to it.
pub(super) const WALKS: &[&str] =
    &["walk", "rglob", "glob", "iglob", "scandir", "listdir", "readdirSync", "fwalk", "globSync"];
/// What brings something from the network.
pub(super) const FETCHES: &[&str] = &["urlopen", "requests", "httpx", "aiohttp", "axios", "LWP", "open_uri"];
/// Functions that run a string in the same language.
pub(super) const EVALS: &[&str] =
    &["eval", "exec", "instance_eval", "Function", "runInThisContext", "assert"];
/// Functions that read, write or change files, or send signals.
#[rustfmt::skip]
pub(super) const FILE_CALLS: &[&str] = &[
    "open", "fopen", "Path", "openSync", "sysopen", "writeFileSync", "writeFile", "appendFileSync", "appendFile",
    "createWriteStream", "file_put_contents", "write_file", "truncate", "truncateSync", "write_text", "write_bytes",
    "read_text", "read_bytes", "write", "binwrite", "readFileSync", "readFile", "file_get_contents", "readlines", "read",
    "slurp", "copyfile", "copy", "copy2", "copyFileSync", "move", "rename", "renameSync", "cp", "mv", "chmod", "chmodSync",
    "kill", "replace", "renames", "rename_file",
];

/// Whether a call makes, or names, a place for temporary files.
pub(super) fn is_temp_maker(name: &str) -> bool {
    matches!(
        name.rsplit(['.', ':']).next().unwrap_or(name),
        "mkdtemp"
            | "mktmpdir"
            | "mkdtempSync"
            | "TemporaryDirectory"
            | "gettempdir"
            | "tmpdir"
            | "mkstemp"
            | "tempdir"
            | "NamedTemporaryFile"
            | "sys_get_temp_dir"
            | "tempnam"
    )
}
