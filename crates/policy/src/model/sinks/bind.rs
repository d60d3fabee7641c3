//! Names that code gives to things before it uses them: imports under another name, loop variables, receivers.

use super::Scan;
use super::lexer::Token;

/// Methods that do something to what they are called on.
const RECEIVING: &[&str] = &[
    "unlink",
    "rmdir",
    "write_text",
    "write_bytes",
    "read_text",
    "read_bytes",
    "execute",
    "rmtree",
    "delete",
];

impl Scan<'_> {
    /// Finds what names stand for, wherever in the code that is said.
    pub(super) fn bind(&mut self) {
        for at in 0..self.tokens.len() {
            let Some(Token::Name(word)) = self.tokens.get(at) else {
                self.block_variable(at);
                continue;
            };
            let named = |offset: usize| match self.tokens.get(at + offset) {
                Some(Token::Name(name)) => Some(name.clone()),
                _ => None,
            };
            // `const {execSync: run} = require(…)`
            if self.language == super::Language::JavaScript
                && matches!(self.tokens.get(at + 1), Some(Token::Mark(':')))
                && super::SHELL_CALLS.contains(&word.as_str())
                && let Some(name) = named(2)
                && self.aliases.len() < super::CONSTANTS_MAX
            {
                self.aliases.push((name, word.clone()));
            }
            match (word.as_str(), named(1), named(2), named(3)) {
                ("import", Some(what), Some(by), Some(name))
                    if by == "as" && self.aliases.len() < super::CONSTANTS_MAX =>
                {
                    self.aliases.push((name, what));
                }
                ("for" | "foreach", Some(name), Some(within), _) if within == "in" => {
                    let value = self.resolve(at + 3, self.statement_end(at + 3));
                    if !value.is_empty() {
                        self.constant(&name, value);
                    }
                }
                _ => {}
            }
        }
    }

    /// `list.each { |x| … }`: the text before the block is what `x` goes over.
    fn block_variable(&mut self, at: usize) {
        let opens = matches!(self.tokens.get(at), Some(Token::Mark('|')))
            && matches!(self.tokens.get(at + 2), Some(Token::Mark('|')))
            && at > 0
            && matches!(self.tokens.get(at - 1), Some(Token::Mark('{')));
        let Some(Token::Name(name)) = self.tokens.get(at + 1).filter(|_| opens) else { return };
        let before = self.tokens.iter().take(at).rev().take(12);
        let text = before.into_iter().find_map(|token| match token {
            Token::Text(text) => Some(text.clone()),
            _ => None,
        });
        if let Some(text) = text {
            let name = name.clone();
            self.constant(&name, text);
        }
    }

    /// Keeps what a name stands for.
    pub(super) fn constant(&mut self, name: &str, value: String) {
        if self.constants.len() < super::CONSTANTS_MAX && self.aliases.len() < super::CONSTANTS_MAX {
            self.constants.push((name.to_owned(), value));
        }
    }

    /// What a name was imported as.
    pub(super) fn unaliased(&self, name: &str) -> String {
        let (first, rest) = name.split_once('.').map_or((name, ""), |(first, rest)| (first, rest));
        match self.aliases.iter().find(|(alias, _)| alias == first) {
            Some((_, what)) if rest.is_empty() => what.clone(),
            Some((_, what)) => format!("{what}.{rest}"),
            None => name.to_owned(),
        }
    }

    /// The text of what a method is called on: `Path("x").unlink()`, `"x".execute()`.
    pub(super) fn receiver(&self, at: usize, last: &str) -> Option<String> {
        let before = |back: usize| at.checked_sub(back).and_then(|i| self.tokens.get(i));
        if !RECEIVING.contains(&last) || !matches!(before(1), Some(Token::Mark('.'))) {
            return None;
        }
        match before(2) {
            Some(Token::Text(text)) => Some(text.clone()),
            Some(Token::Mark(')')) => {
                let open =
                    self.tokens.iter().take(at - 2).rposition(|token| matches!(token, Token::Mark('(')))?;
                // A module that is called for is no path.
                let module = open.checked_sub(1).and_then(|i| self.tokens.get(i)).is_some_and(|token| {
                    matches!(token, Token::Name(name) if matches!(name.as_str(), "require" | "__import__" | "import"))
                });
                Some(self.resolve(open + 1, at - 2)).filter(|text| !text.is_empty() && !module)
            }
            _ => None,
        }
    }

    /// Whether code imports or names a module, so that its functions may stand alone.
    pub(super) fn mentions(&self, modules: &[&str]) -> bool {
        modules.iter().any(|module| self.words.contains(module))
    }
}
