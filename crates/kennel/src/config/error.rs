//! Why a layer is refused.

use super::layer::Origin;

/// Why a layer of configuration is refused. Nothing runs until it is corrected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// It is not TOML, or a value has another type.
    #[error("read {from}: {why}")]
    Malformed {
        /// The layer.
        from: Origin,
        /// What, and where in it.
        why: String,
    },
    /// It has a key that does not exist.
    #[error("read {from}: there is no key {key:?}")]
    UnknownKey {
        /// The layer.
        from: Origin,
        /// The key.
        key: String,
        /// What may have been meant.
        nearest: Option<&'static str>,
    },
    /// It loosens, and is not trusted to.
    #[error("apply {key} = {value} from {from}, which may only tighten (it is {now} now)")]
    Loosens {
        /// The layer.
        from: Origin,
        /// The key.
        key: &'static str,
        /// What it says.
        value: String,
        /// What is in force without it.
        now: String,
    },
    /// Its rules are refused.
    #[error("apply the rules of {from}: failed to {source}")]
    Rules {
        /// The layer.
        from: Origin,
        /// Why.
        source: policy::ConfigError,
    },
}

impl ConfigError {
    /// The layer.
    pub fn origin(&self) -> &Origin {
        match self {
            Self::Malformed { from, .. }
            | Self::UnknownKey { from, .. }
            | Self::Loosens { from, .. }
            | Self::Rules { from, .. } => from,
        }
    }

    /// Whether it is about something that the layer may not say, as opposed to something that nobody could.
    pub fn loosens(&self) -> bool {
        matches!(self, Self::Loosens { .. })
            || matches!(self, Self::Rules { source: policy::ConfigError::ProjectLoosens(_), .. })
    }

    /// What to do.
    pub fn hint(&self) -> Option<String> {
        if let Self::UnknownKey { nearest, .. } = self {
            let all = "kennel config show lists the keys";
            return Some(nearest.map_or(all.to_owned(), |key| format!("did you mean {key}? {all}")));
        }
        if !self.loosens() {
            return None;
        }
        Some(match (self, self.origin()) {
            (Self::Loosens { key: "on_hook_failure", .. }, _) => {
                "only the user's own file may: kennel config path".to_owned()
            }
            (_, Origin::Project(file)) => {
                let dir = file.parent().unwrap_or(file).display();
                format!("read the file; then take the line out, or trust it as it is: kennel trust {dir}")
            }
            (_, Origin::Variable { .. }) => {
                "inside a task the environment is the agent's; set it in your own file".to_owned()
            }
            _ => "set it in your own file: kennel config path".to_owned(),
        })
    }
}
