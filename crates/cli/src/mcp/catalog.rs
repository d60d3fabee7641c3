//! Input schemas, by hand: every word of them is read by a model on every turn.

use serde_json::{Value, json};

pub(crate) fn bash() -> Value {
    json!({"type": "object", "properties": {
        "command": {"type": "string", "description": "bash command line"},
        "description": {"type": "string", "description": "what it does, in 5-10 words"},
        "timeout": {"type": "integer", "minimum": 0, "description": "ms; 0 = default"},
        "run_in_background": {"type": "boolean"},
        "wait_ms": {"type": "integer", "minimum": 0, "description": "answer at the latest after so long"},
        "on_timeout": {"type": "string", "enum": ["kill", "background"]},
        "cwd": {"type": "string", "description": "directory of this command only"},
        "env": {"type": "object", "additionalProperties": {"type": "string"}},
        "session_id": {"type": "string"},
        "stdin": {"type": "boolean", "description": "open it for TaskInput"},
        "pty": {"type": "boolean", "description": "give it a terminal"},
        "keep": {"type": "boolean", "description": "let it outlive this server"},
    }, "required": ["command"]})
}

pub(crate) fn read(id: &str) -> Value {
    json!({"type": "object", "properties": {
        id: {"type": "string"},
        "block": {"type": "boolean", "description": "wait for the end"},
        "timeout": {"type": "integer", "minimum": 0, "maximum": 600_000, "description": "longest wait, ms"},
        "until": {"type": "string", "description": "wait for this regex"},
        "offset": {"type": "integer", "minimum": 0, "description": "byte offset, as next_offset"},
        "tail": {"type": "integer", "minimum": 1, "description": "last lines only"},
        "filter": {"type": "string", "description": "only lines that match this regex"},
    }, "required": [id]})
}

pub(crate) fn kill() -> Value {
    json!({"type": "object", "properties": {
        "shell_id": {"type": "string", "description": "the task's id; task_id and bash_id mean the same"},
        "signal": {"type": "string", "enum": ["SIGTERM", "SIGKILL", "SIGINT"]},
        "force": {"type": "boolean", "description": "SIGKILL after the grace; default true"},
        "timeout": {"type": "integer", "minimum": 0, "description": "grace, ms; default 5000"},
    }, "required": ["shell_id"]})
}

pub(crate) fn list() -> Value {
    json!({"type": "object", "properties": {
        "status": {"type": "string", "enum": ["running", "completed", "failed", "killed", "lost"]},
    }})
}

pub(crate) fn exec() -> Value {
    json!({"type": "object", "properties": {
        "cmd": {"type": "string", "description": "bash command line"},
        "workdir": {"type": "string"},
        "yield_time_ms": {"type": "integer", "minimum": 0, "description": "answer at the latest after so long"},
        "max_output_tokens": {"type": "integer", "minimum": 1},
        "tty": {"type": "boolean", "description": "give it a terminal, which write_stdin needs"},
        "justification": {"type": "string", "description": "what it is for"},
    }, "required": ["cmd"]})
}

pub(crate) fn gemini_run() -> Value {
    json!({"type": "object", "properties": {
        "command": {"type": "string", "description": "bash command line"},
        "description": {"type": "string"},
        "dir_path": {"type": "string", "description": "directory of this command"},
        "is_background": {"type": "boolean"},
    }, "required": ["command"]})
}

pub(crate) fn gemini_read() -> Value {
    json!({"type": "object", "properties": {
        "pid": {"type": "integer", "minimum": 1},
        "task_id": {"type": "string"},
        "lines": {"type": "integer", "minimum": 1, "description": "default 100"},
        "delay_ms": {"type": "integer", "minimum": 0, "description": "wait so long for the end first"},
    }})
}

pub(crate) fn input() -> Value {
    json!({"type": "object", "properties": {
        "task_id": {"type": "string"},
        "text": {"type": "string", "description": "as it is: end a line with \n"},
        "keys": {"type": "string", "description": "of a terminal: C-c Enter Tab Esc Up"},
        "eof": {"type": "boolean"},
    }, "required": ["task_id"]})
}

pub(crate) fn write() -> Value {
    json!({"type": "object", "properties": {
        "session_id": {"type": "string"},
        "chars": {"type": "string"},
        "yield_time_ms": {"type": "integer", "minimum": 0},
        "max_output_tokens": {"type": "integer", "minimum": 1},
    }, "required": ["session_id"]})
}
