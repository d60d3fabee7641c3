//! Layers over one another: later wins, and what is not trusted only tightens.

use policy::{LayerKind, Policy};

use super::error::ConfigError;
use super::layer::{Layer, Origin};
use super::settings::Settings;
use super::value::{Order, Setting, Value};

/// What is in force: settings and rules.
#[derive(Debug, Clone)]
pub struct Config {
    /// The values.
    pub settings: Settings,
    /// The rules of the check.
    pub policy: Policy,
}

impl Default for Config {
    fn default() -> Self {
        Self { settings: Settings::default(), policy: Policy::builtin() }
    }
}

impl Config {
    /// The built-in values with these layers over them, in order.
    ///
    /// # Errors
    /// The first thing in a layer that is unknown, malformed, or not the layer's to say.
    pub fn from_layers(layers: &[Layer]) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        for layer in layers {
            config.settings.apply(layer.said()?, &layer.origin)?;
            config.policy = with_rules(config.policy, layer)?;
        }
        Ok(config)
    }
}

fn with_rules(policy: Policy, layer: &Layer) -> Result<Policy, ConfigError> {
    let kind = match &layer.origin {
        Origin::Project(_) | Origin::Variable { inside_task: true, .. } => LayerKind::Project,
        Origin::Trusted(_) => LayerKind::Trusted,
        _ => LayerKind::User,
    };
    let text = match &layer.origin {
        Origin::Variable { name, .. } if *name == Layer::variable("blocked_commands") => {
            // As the settings read it: a list, or commas.
            let said = layer.said()?;
            format!("blocked_commands = {}", said.blocked_commands.unwrap_or_default())
        }
        Origin::Variable { .. } => return Ok(policy),
        _ => layer.text.clone(),
    };
    policy
        .with_layer(kind, &text, Settings::NAMES)
        .map_err(|source| ConfigError::Rules { from: layer.origin.clone(), source })
}

/// Puts a layer's value in the place of the older one.
pub(super) fn put<T: Value>(
    slot: &mut Setting<T>,
    value: T,
    (key, order): (&'static str, Order),
    from: &Origin,
) -> Result<(), ConfigError> {
    let value = if order == Order::Adds { value.join(&slot.value) } else { value };
    let tightens = match order {
        Order::Lower | Order::LowerButUser => value <= slot.value,
        Order::Higher => value >= slot.value,
        Order::Adds => true,
        Order::Fixed => value == slot.value,
    };
    let may_loosen =
        if order == Order::LowerButUser { matches!(from, Origin::User(_)) } else { from.may_loosen() };
    if !tightens && !may_loosen {
        let (value, now) = (value.to_string(), slot.value.to_string());
        return Err(ConfigError::Loosens { from: from.clone(), key, value, now });
    }
    *slot = Setting { value, origin: from.clone() };
    Ok(())
}
