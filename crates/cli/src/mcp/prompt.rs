//! The prompt `tasks`: what runs in the background, for a person who wants to talk about it.

use rmcp::model::{GetPromptResult, Prompt, PromptMessage, Role};

use super::answer::Refusal;
use super::engine::{Engine, Tenant};
use super::text;

pub(crate) const NAME: &str = "tasks";

pub(crate) fn listed() -> Prompt {
    Prompt::new(NAME, Some("What runs in the background, and what has ended"), None)
        .with_title("Background tasks")
}

pub(crate) async fn tasks(engine: &Engine, tenant: &Tenant) -> Result<GetPromptResult, Refusal> {
    let tasks = engine.tasks(tenant).await?;
    let lines: Vec<String> = tasks.iter().filter(|task| task.background).map(text::task).collect();
    let list = if lines.is_empty() { "none".to_owned() } else { lines.join("\n") };
    let words = format!(
        "These are the background tasks that Kennel knows:\n\n{list}\n\n\
         Summarise what runs, what has failed and what can be ended. TaskOutput reads a task, KillShell ends it."
    );
    let message = PromptMessage::new_text(Role::User, text::squeeze(&words, text::CHARS_MAX));
    Ok(GetPromptResult::new(vec![message]).with_description("Background tasks"))
}
