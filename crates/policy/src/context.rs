//! Where a command would run.

/// What the text does not say: directories and their roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Context {
    pub(crate) cwd: String,
    pub(crate) home: String,
    /// Empty if there is none.
    pub(crate) workspace: String,
    /// The work is in the home directory itself.
    pub(crate) works_at_home: bool,
    pub(crate) temp: Vec<String>,
    /// Paths that count as the machine's, whatever they are.
    pub(crate) protected: Vec<String>,
}

impl Context {
    /// The name of the user, by the home directory.
    pub(crate) fn user(&self) -> &str {
        self.home.rsplit('/').next().unwrap_or_default()
    }
}
