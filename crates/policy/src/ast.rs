//! The shell program as data: what the parser makes and everything else reads.

use std::cell::OnceCell;
use std::rc::Rc;

/// Byte offsets into the line that was asked about. Text that is computed (a backtick command, the string of an
/// `eval`) carries the span of the word that it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// Commands that run one after the other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Script {
    pub(crate) items: Vec<Item>,
}

/// A chain of pipelines joined by `&&` and `||`.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) chain: Vec<(Link, Pipeline)>,
    pub(crate) mode: Mode,
}

/// What joins a pipeline to the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    First,
    And,
    Or,
}

/// Whether the shell waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Foreground,
    Background,
}

#[derive(Debug, Clone)]
pub(crate) struct Pipeline {
    pub(crate) stages: Vec<Command>,
}

#[derive(Debug, Clone)]
pub(crate) struct Command {
    pub(crate) kind: Kind,
    pub(crate) redirects: Vec<Redirect>,
    pub(crate) span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Simple(Simple),
    Group(Script),
    Subshell(Script),
    /// `for` and `select`; without words it goes over the positional parameters.
    For {
        name: String,
        words: Option<Vec<Word>>,
        body: Script,
    },
    ForArith {
        header: Word,
        body: Script,
    },
    Case {
        subject: Word,
        arms: Vec<(Vec<Word>, Script)>,
    },
    If {
        branches: Vec<(Script, Script)>,
        otherwise: Option<Script>,
    },
    /// `while` and `until`.
    Loop {
        condition: Script,
        body: Script,
    },
    Function {
        name: String,
        body: Rc<Command>,
    },
    Coproc(Box<Command>),
    Arith(Word),
    /// `[[ … ]]`: its operands, operators included as literal words.
    Test(Vec<Word>),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Simple {
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) words: Vec<Word>,
    /// Array assignments among the operands of `declare` and its kin.
    pub(crate) arrays: Vec<Assignment>,
}

#[derive(Debug, Clone)]
pub(crate) struct Assignment {
    pub(crate) name: String,
    pub(crate) index: Option<Word>,
    pub(crate) append: bool,
    pub(crate) value: AssignValue,
}

#[derive(Debug, Clone)]
pub(crate) enum AssignValue {
    Scalar(Word),
    Array(Vec<(Option<Word>, Word)>),
}

#[derive(Debug, Clone)]
pub(crate) struct Redirect {
    pub(crate) fd: Option<u32>,
    pub(crate) op: RedirectOp,
    pub(crate) target: Target,
}

#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// The file, the descriptor or the here-string.
    Word(Word),
    /// The body of a heredoc, which the parser meets only after the line of its redirection.
    Doc(Rc<OnceCell<Word>>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RedirectOp {
    Read,
    Write,
    Append,
    ReadWrite,
    /// `<&`
    DupIn,
    /// `>&`
    DupOut,
    /// `&>` and `&>>`
    Both,
    HereString,
    HereDoc,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Word {
    pub(crate) parts: Vec<Part>,
}

#[derive(Debug, Clone)]
pub(crate) enum Part {
    /// Unquoted text: globs, braces and tildes in it are active.
    Bare(String),
    /// Text that stands for itself.
    Quoted(String),
    /// `"…"`; also what is expanded like it.
    Double(Vec<Part>),
    Param(Box<Param>),
    Substitution(Script),
    Arith(Vec<Part>),
    Process(Flow, Script),
}

/// Which way the bytes of a process substitution go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    FromCommand,
    IntoCommand,
}

#[derive(Debug, Clone)]
pub(crate) struct Param {
    pub(crate) name: String,
    pub(crate) indirect: bool,
    /// `${x}`, not `$x`.
    pub(crate) braced: bool,
    pub(crate) index: Option<Vec<Part>>,
    pub(crate) op: ParamOp,
}

#[derive(Debug, Clone)]
pub(crate) enum ParamOp {
    Plain,
    Length,
    /// `-`, `=`, `?` or `+`, with or without a colon.
    Default {
        kind: char,
        colon: bool,
        word: Vec<Part>,
    },
    TrimPrefix {
        longest: bool,
        pattern: Vec<Part>,
    },
    TrimSuffix {
        longest: bool,
        pattern: Vec<Part>,
    },
    Substring {
        offset: Vec<Part>,
        length: Option<Vec<Part>>,
    },
    /// `anchor` is `/` for all, `#` for a prefix, `%` for a suffix, a space for the first.
    Replace {
        anchor: char,
        pattern: Vec<Part>,
        with: Vec<Part>,
    },
    Case {
        upper: bool,
        all: bool,
    },
    Transform(char),
    /// `${!prefix*}` and `${!array[@]}`
    Names,
}

impl Word {
    /// The text, where the word is one piece of unquoted text.
    pub(crate) fn bare(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Bare(text)] => Some(text),
            _ => None,
        }
    }
}
