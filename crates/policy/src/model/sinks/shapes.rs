//! What code does that only shows in words that occur together.

use super::super::lang::Language;
use super::super::shell::SHELLS;
use super::Sink;
use super::lexer::Token;

/// Ways to write a loop that does not end, without blanks.
#[rustfmt::skip]
const ENDLESS: &[&str] = &[
    "whileTrue", "while1", "while(1)", "while(true)", "whiletrue", "forkwhile", "whilefork", "loop{", "loopdo", "for(;;)",
    "until0", "while(fork", "forkuntil", "iter(int", "itertools.count", "1while", "fork;fork", "setInterval",
];
#[rustfmt::skip]
const CONNECTING: &[&str] = &[
    "socket", "Socket", "TCPSocket", "UDPSocket", "createConnection", "fsockopen", "pfsockopen", "INET", "create_connection",
    "stream_socket_client",
];
/// What ties a process to a connection.
#[rustfmt::skip]
const WIRING: &[&str] = &[
    "dup2", "subprocess", "pty", "spawn", "exec", "popen", "proc_open", "system", "fdopen", "reopen", "popen3", "IO",
    "execl", "STDIN", "execve", "shell_exec", "pipe", "execute",
];
#[rustfmt::skip]
const FETCHING: &[&str] = &[
    "urlopen", "urlretrieve", "requests", "httpx", "fetch", "LWP", "HTTP", "URI", "open_uri", "file_get_contents", "https",
    "axios", "curl_exec", "aiohttp", "urllib", "Net", "getstore",
];
#[rustfmt::skip]
const DECODING: &[&str] = &[
    "b64decode", "atob", "a85decode", "unhexlify", "fromhex", "decode64", "base64_decode", "decompress", "marshal",
    "unpack", "fromCharCode", "gzinflate", "str_rot13", "urlsafe_b64decode", "b32decode",
];
const SENDING: &[&str] =
    &["post", "put", "send", "sendall", "request", "urlopen", "upload", "sendto", "Post"];

/// Adds what the words of `code` together mean.
pub(super) fn find(code: &str, tokens: &[Token], language: Language, found: &mut Vec<Sink>) {
    let words = Words { tokens };
    if bombs(code, &words, language) {
        found.push(Sink::Bomb);
    }
    let inet = |text: &str| text.starts_with("/inet/tcp") || text.starts_with("/inet/udp");
    let net_module =
        words.text(|text| matches!(text, "net" | "node:net")) && words.name(&["connect", "Socket"]);
    let connects = words.name(CONNECTING) || net_module || words.text(inet);
    if connects && (wired(&words, language) || steered(found)) {
        found.push(Sink::ReverseShell);
    }
    let fetches = fetches(&words);
    let evals = evals(tokens, language);
    if fetches && evals {
        // In one line the two belong together; in a program they may have nothing to do with each other.
        let line = code.len() < 400 && !code.trim().contains('\n');
        found.push(if line { Sink::RemoteCode } else { Sink::OpaqueCode });
    } else if evals && words.name(DECODING) {
        found.push(Sink::OpaqueCode);
    }
    let posts = words.name(SENDING) || words.text(|text| matches!(text, "POST" | "PUT" | "PATCH"));
    let line = code.len() < 400 && !code.trim().contains('\n');
    if line && (connects || (fetches && posts)) && opens_environment(tokens) {
        found.push(Sink::Environment);
    }
    if connects || (fetches && posts) {
        found.insert(0, Sink::Connects);
    }
}

struct Words<'a> {
    tokens: &'a [Token],
}

impl Words<'_> {
    /// Whether a part of a dotted name is one of these.
    fn name(&self, wanted: &[&str]) -> bool {
        self.tokens.iter().any(|token| match token {
            Token::Name(name) => name.split(['.', ':', '>', '-', '$']).any(|part| wanted.contains(&part)),
            _ => false,
        })
    }

    fn text(&self, test: impl Fn(&str) -> bool) -> bool {
        self.tokens.iter().any(|token| matches!(token, Token::Text(text) | Token::Run(text) if test(text)))
    }
}

fn bombs(code: &str, words: &Words<'_>, language: Language) -> bool {
    let squeezed: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    let itself = language == Language::JavaScript
        && words.name(&["spawn", "exec", "fork"])
        && squeezed.contains("__filename");
    itself || (words.name(&["fork"]) && ENDLESS.iter().any(|shape| squeezed.contains(shape)))
}

/// Whether a shell is named, and something that hands it a connection.
fn wired(words: &Words<'_>, language: Language) -> bool {
    let shell = |text: &str| {
        let name = text.split_whitespace().next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        SHELLS.contains(&name) || matches!(name, "cmd.exe" | "powershell.exe" | "cmd")
    };
    words.text(shell) && (words.name(WIRING) || language == Language::Awk)
}

/// Whether a command is run that is only known at run time.
fn steered(found: &[Sink]) -> bool {
    found.iter().any(|sink| match sink {
        Sink::Shell(code) => crate::mark::is_opaque(code),
        Sink::Argv(argv) => argv.first().is_some_and(|program| crate::mark::is_opaque(program)),
        _ => false,
    })
}

/// Whether the environment is used as a whole, and not one variable of it.
fn opens_environment(tokens: &[Token]) -> bool {
    tokens.iter().enumerate().any(|(at, token)| {
        let Token::Name(name) = token else { return false };
        let whole = matches!(
            name.as_str(),
            "os.environ"
                | "environ"
                | "os.environ.copy"
                | "os.environ.items"
                | "process.env"
                | "ENV"
                | "ENV.to_h"
                | "ENV.inspect"
                | "ENV.to_a"
                | "$_ENV"
                | "_ENV"
        );
        whole && !matches!(tokens.get(at + 1), Some(Token::Mark('[' | '{')))
    })
}

fn fetches(words: &Words<'_>) -> bool {
    let address = words.text(|text| text.contains("://"));
    let module = words.text(|text| matches!(text, "http" | "https" | "node:http" | "node:https"));
    module || (words.name(FETCHING) && (address || words.name(&["get"]))) || (words.name(&["get"]) && address)
}

/// Whether a string is run as code of the same language.
fn evals(tokens: &[Token], language: Language) -> bool {
    let wanted: &[&str] = match language {
        Language::Python => &["eval", "exec"],
        Language::JavaScript => &["eval", "Function", "runInThisContext", "vm.runInThisContext"],
        Language::Ruby => &["eval", "instance_eval", "class_eval"],
        Language::Php => &["eval", "assert", "create_function"],
        Language::Lua => &["load", "loadstring", "dostring"],
        _ => &["eval"],
    };
    tokens.iter().enumerate().any(|(at, token)| {
        let block = matches!(tokens.get(at + 1), Some(Token::Mark('{')));
        matches!(token, Token::Name(name) if wanted.contains(&name.as_str())) && !block
    })
}
