//! Dangers that are in the shape of a line, not in one command: bombs, and shells at the end of a connection.

use std::rc::Rc;

use super::shell::SHELLS;
use crate::ast::{Command, Item, Kind, Mode, Part, Pipeline, Script, Word};
use crate::eval::Checker;

/// Programs that are a connection.
const PEERS: &[&str] = &["nc", "ncat", "netcat", "socat", "telnet", "openssl", "nc.traditional"];
/// Commands that make a loop wait.
#[rustfmt::skip]
const WAITERS: &[&str] = &[
    "wait", "sleep", "read", "inotifywait", "curl", "wget", "ssh", "timeout", "flock", "break", "exit",
    "return",
];

impl Checker<'_> {
    /// A function that starts itself more than once, or without waiting.
    pub(crate) fn definition_shapes(&mut self, name: &str, body: &Rc<Command>) {
        if multiplies_command(body, &|word| word == name) {
            self.report("proc.bomb", name);
        }
    }

    /// A shell between the ends of a connection; a script that starts itself.
    pub(crate) fn pipe_shapes(&mut self, pipeline: &Pipeline) {
        let names: Vec<Option<String>> = pipeline.stages.iter().map(stage_name).collect();
        let is =
            |name: &Option<String>, list: &[&str]| name.as_deref().is_some_and(|name| list.contains(&name));
        for (i, stage) in pipeline.stages.iter().enumerate() {
            let (Some(shell), Some(next)) = (names.get(i), names.get(i + 1)) else { continue };
            // `sh -c 'code'` prints; a shell that reads is steered.
            if is(shell, SHELLS) && is(next, PEERS) && reads_commands(stage) {
                self.report("net.shell", "");
            }
        }
        let own = |name: &Option<String>| name.as_deref().is_some_and(|name| name == "$0");
        if names.iter().filter(|name| own(name)).count() > 1 {
            self.report("proc.bomb", "$0");
        }
    }

    /// A script that starts itself and does not wait.
    pub(crate) fn item_shapes(&mut self, item: &Item) {
        let own = |(_, pipeline): &(crate::ast::Link, Pipeline)| {
            pipeline.stages.iter().any(|stage| stage_name(stage).as_deref() == Some("$0"))
        };
        if item.mode == Mode::Background && item.chain.iter().any(own) {
            self.report("proc.bomb", "$0");
        }
    }

    /// A loop without end that starts processes without waiting.
    pub(crate) fn loop_shapes(&mut self, condition: &Script, body: &Script) {
        let endless = condition.items.iter().all(|item| {
            item.chain.iter().all(|(_, pipeline)| {
                pipeline.stages.len() == 1
                    && pipeline.stages.iter().all(|stage| match &stage.kind {
                        Kind::Simple(simple) => simple.words.first().and_then(Word::bare).is_some_and(|name| {
                            matches!(name, ":" | "true" | "false" | "[" | "test" | "1") && !simple.words.iter().any(|word| word.bare().is_none())
                        }),
                        Kind::Arith(word) => matches!(word.parts.as_slice(), [Part::Quoted(text)] if text.trim() != "0" && text.trim().bytes().all(|b| b.is_ascii_digit())),
                        _ => false,
                    })
            })
        });
        if endless {
            self.endless(body);
        }
    }

    pub(crate) fn endless(&mut self, body: &Script) {
        let background = starts_background(body);
        let waits =
            body.items.iter().filter(|item| item.mode == Mode::Foreground).flat_map(|item| &item.chain).any(
                |(_, pipeline)| {
                    pipeline
                        .stages
                        .iter()
                        .any(|stage| stage_name(stage).is_some_and(|name| WAITERS.contains(&name.as_str())))
                },
            );
        if background && !waits {
            self.report("proc.bomb", "");
        }
    }

    /// A shell whose input or output is a network file.
    pub(crate) fn socket_shapes(&mut self, command: &Command) {
        let shell = stage_name(command).is_some_and(|name| {
            SHELLS.contains(&name.as_str()) || matches!(name.as_str(), "exec" | "0<&196")
        });
        let runs = match &command.kind {
            Kind::Simple(simple) => {
                shell
                    && !simple
                        .words
                        .iter()
                        .skip(1)
                        .any(|word| word.bare().is_some_and(|text| text.starts_with("-c")))
                    && simple.words.len() < 4
            }
            Kind::Group(script) | Kind::Subshell(script) => any_command(script, &|inner| {
                stage_name(inner).is_some_and(|name| SHELLS.contains(&name.as_str()))
            }),
            Kind::Loop { .. } => true,
            _ => false,
        };
        let only_redirects = matches!(&command.kind, Kind::Simple(simple) if simple.words.len() == 1 && stage_name(command).as_deref() == Some("exec"));
        if runs && !only_redirects {
            self.report("net.shell", "");
        }
    }
}

/// The name of a simple command, as far as it is written plainly; `$0` for the script itself.
fn stage_name(command: &Command) -> Option<String> {
    let Kind::Simple(simple) = &command.kind else { return None };
    let mut words = simple.words.iter();
    let mut word = words.next()?;
    while word
        .bare()
        .is_some_and(|name| matches!(name, "sudo" | "exec" | "nohup" | "command" | "setsid" | "env"))
    {
        match words.next() {
            Some(next) => word = next,
            None => break,
        }
    }
    match word.parts.as_slice() {
        [Part::Bare(text)] => text.rsplit('/').next().map(str::to_owned),
        [Part::Param(param)] | [Part::Bare(_), Part::Param(param)] if param.name == "0" => {
            Some("$0".to_owned())
        }
        [Part::Double(parts)] => match parts.as_slice() {
            [Part::Param(param)] | [Part::Bare(_), Part::Param(param)] if param.name == "0" => {
                Some("$0".to_owned())
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether a list leaves something running, itself or in brackets.
fn starts_background(script: &Script) -> bool {
    script.items.iter().any(|item| {
        item.mode == Mode::Background
            || item.chain.iter().flat_map(|(_, pipeline)| &pipeline.stages).any(|stage| match &stage.kind {
                Kind::Group(inner) | Kind::Subshell(inner) => starts_background(inner),
                _ => false,
            })
    })
}

/// Whether a shell reads its commands from its input.
fn reads_commands(command: &Command) -> bool {
    let Kind::Simple(simple) = &command.kind else { return false };
    simple
        .words
        .iter()
        .skip(1)
        .all(|word| word.bare().is_some_and(|text| text.starts_with('-') && !text.contains('c')))
}

/// Whether `body` runs a command that `calls` in a pipeline, in the background, or twice.
fn multiplies_command(body: &Command, calls: &dyn Fn(&str) -> bool) -> bool {
    match &body.kind {
        Kind::Group(script) | Kind::Subshell(script) => multiplies(script, calls),
        Kind::If { branches, otherwise } => {
            branches.iter().any(|(condition, body)| multiplies(condition, calls) || multiplies(body, calls))
                || otherwise.as_ref().is_some_and(|script| multiplies(script, calls))
        }
        Kind::Loop { condition, body } => multiplies(condition, calls) || multiplies(body, calls),
        Kind::For { body, .. } | Kind::ForArith { body, .. } => multiplies(body, calls),
        _ => false,
    }
}

fn multiplies(script: &Script, calls: &dyn Fn(&str) -> bool) -> bool {
    let called = |item: &Item| {
        item.chain
            .iter()
            .flat_map(|(_, pipeline)| &pipeline.stages)
            .filter(|stage| {
                stage_name(stage).is_some_and(|name| calls(&name))
                    || matches!(&stage.kind, Kind::Simple(simple) if simple.words.iter().any(|word| substitutes(word, calls)))
            })
            .count()
    };
    let background = script.items.iter().any(|item| item.mode == Mode::Background && called(item) > 0);
    let piped = script.items.iter().any(|item| {
        item.chain.iter().any(|(_, pipeline)| {
            pipeline.stages.len() > 1
                && pipeline.stages.iter().any(|stage| stage_name(stage).is_some_and(|name| calls(&name)))
        })
    });
    let nested = script.items.iter().flat_map(|item| &item.chain).flat_map(|(_, pipeline)| &pipeline.stages);
    background || piped || nested.into_iter().any(|stage| multiplies_command(stage, calls))
}

/// Whether a word's substitution calls.
fn substitutes(word: &Word, calls: &dyn Fn(&str) -> bool) -> bool {
    word.parts.iter().any(|part| match part {
        Part::Substitution(script) => {
            any_command(script, &|command| stage_name(command).is_some_and(|name| calls(&name)))
        }
        _ => false,
    })
}

fn any_command(script: &Script, wanted: &dyn Fn(&Command) -> bool) -> bool {
    script.items.iter().flat_map(|item| &item.chain).flat_map(|(_, pipeline)| &pipeline.stages).any(wanted)
}
