//! The rules: what each decides, why, what to do instead, and examples of what it must and must not match.
//!
//! How a rule is found broken is code (`model`) or a pattern ([`patterns`]); what that means is said here, once.

pub(crate) mod patterns;
mod table;

use crate::verdict::Decision;
pub use patterns::glob;
pub(crate) use table::RULES;

/// One rule.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule {
    pub(crate) id: &'static str,
    pub(crate) decision: Decision,
    /// Whether loosening it needs `allow_hard` in the user's own file.
    pub(crate) hard: bool,
    pub(crate) reason: &'static str,
    pub(crate) instead: &'static str,
    /// Commands that break it.
    pub(crate) must: &'static [&'static str],
    /// Commands that look like it and are allowed.
    pub(crate) must_not: &'static [&'static str],
}

/// What is said of a finding whose rule is not in the table: a rule of a user.
const UNKNOWN: Rule = Rule {
    id: "rule.unknown",
    decision: Decision::Ask,
    hard: false,
    reason: "a configured rule matches",
    instead: "",
    must: &[],
    must_not: &[],
};

/// The rule of that id.
pub(crate) fn find(id: &str) -> &'static Rule {
    RULES.iter().find(|rule| rule.id == id).unwrap_or(&UNKNOWN)
}

/// The page of all rules with their examples, in Markdown; `docs/policy-rules.md` is this.
pub fn rules_page() -> String {
    let mut out = String::from(include_str!("page-head.md"));
    for rule in RULES {
        let decision = match rule.decision {
            Decision::Deny if rule.hard => "deny, hard",
            Decision::Deny => "deny",
            Decision::Ask => "ask",
            Decision::Allow => "allow",
        };
        out.extend(["\n### `", rule.id, "` (", decision, ")\n\n", &capital(rule.reason), "."]);
        if !rule.instead.is_empty() {
            out.extend([" Instead: ", rule.instead, "."]);
        }
        out.push('\n');
        list(&mut out, "Matches", rule.must);
        list(&mut out, "Does not match", rule.must_not);
    }
    out
}

fn list(out: &mut String, title: &str, examples: &[&str]) {
    if examples.is_empty() {
        return;
    }
    out.extend(["\n", title, ":\n\n"]);
    for example in examples {
        out.push_str("```sh\n");
        out.push_str(example);
        out.push_str("\n```\n");
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::{RULES, rules_page};
    use crate::{Command, Policy, Request};

    fn broken(line: &str) -> Vec<String> {
        let request = Request {
            command: Command::Shell(line),
            cwd: "/home/dev/project",
            home: "/home/dev",
            workspace: None,
        };
        Policy::builtin().check(&request).findings.into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn every_rule_matches_its_examples() {
        for rule in RULES {
            for line in rule.must {
                let found = broken(line);
                assert!(
                    found.iter().any(|id| id == rule.id),
                    "{} must match {line:?}, found {found:?}",
                    rule.id
                );
            }
            for line in rule.must_not {
                let found = broken(line);
                assert!(!found.iter().any(|id| id == rule.id), "{} must not match {line:?}", rule.id);
            }
        }
    }

    #[test]
    fn ids_are_unique() {
        for (i, rule) in RULES.iter().enumerate() {
            assert!(!RULES.iter().skip(i + 1).any(|other| other.id == rule.id), "{}", rule.id);
        }
    }

    /// `KENNEL_BLESS=1` writes the page instead.
    #[test]
    fn rules_page_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policy-rules.md");
        let page = rules_page();
        #[expect(clippy::disallowed_methods, reason = "a switch of the test")]
        if std::env::var_os("KENNEL_BLESS").is_some() {
            std::fs::create_dir_all(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs")).unwrap();
            std::fs::write(path, &page).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), page, "run with KENNEL_BLESS=1");
    }
}
