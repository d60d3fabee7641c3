//! Notifications of changes to whoever listens (2026 era).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::service::{SubscriptionContext, SubscriptionSink};

/// Who listens.
#[derive(Debug, Clone, Default)]
pub(crate) struct Subscriptions(Arc<Mutex<(u64, HashMap<u64, SubscriptionSink>)>>);

impl Subscriptions {
    fn with<T>(&self, act: impl FnOnce(&mut (u64, HashMap<u64, SubscriptionSink>)) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Knows a listener until it goes.
    pub(crate) async fn hold(&self, context: &SubscriptionContext) {
        let key = self.with(|(next, all)| {
            *next += 1;
            all.insert(*next, context.sink().clone());
            *next
        });
        context.cancelled().await;
        self.with(|(_, all)| all.remove(&key));
    }

    /// Tells the listeners of the change that this tool stands for; `false`: it stands for none.
    pub(crate) async fn trigger(&self, tool: &str) -> bool {
        let sinks: Vec<SubscriptionSink> = self.with(|(_, all)| all.values().cloned().collect());
        for sink in sinks {
            let _not_asked_for = match tool {
                "test_trigger_tool_change" => sink.notify_tool_list_changed().await,
                "test_trigger_prompt_change" => sink.notify_prompt_list_changed().await,
                _ => return false,
            };
        }
        matches!(tool, "test_trigger_tool_change" | "test_trigger_prompt_change")
    }
}
