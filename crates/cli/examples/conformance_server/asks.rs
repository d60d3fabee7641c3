//! Tools that speak with the client while they work: progress, logging, and the questions of the 2025 era.
#![expect(deprecated, reason = "the suite tests logging and sampling as long as they are in the protocol")]

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, CreateMessageRequestParams,
    ElicitRequestParams, ErrorData, LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam,
    SamplingMessage,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use crate::{clock, parsed, text};

/// Between two notifications, so that they are not read in one go with the result.
const PAUSE: Duration = Duration::from_millis(50);

pub(crate) async fn call(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let argument = |name: &str| {
        let value = request.arguments.as_ref().and_then(|all| all.get(name)).and_then(Value::as_str);
        value.unwrap_or_default().to_owned()
    };
    match request.name.as_ref() {
        "test_tool_with_logging" => {
            for words in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
                log(context, LoggingLevel::Info, words).await;
                clock::passed(Some(PAUSE)).await;
            }
            Ok(text("logged"))
        }
        "test_logging_tool" => {
            if let Some(level) = context.meta.log_level() {
                log(context, level, "a level was asked for").await;
            }
            Ok(text("done"))
        }
        "test_tool_with_progress" => progress(context).await,
        "test_reconnection" => {
            clock::passed(Some(PAUSE * 2)).await;
            Ok(text("Reconnection test completed"))
        }
        "test_missing_capability" => {
            let capabilities = context.client_capabilities().unwrap_or_default();
            let needed = || ClientCapabilities::builder().enable_sampling().build();
            let missing = || ErrorData::missing_required_client_capability(needed());
            capabilities.sampling.map(|_| text("declared")).ok_or_else(missing)
        }
        "test_sampling" => sampling(context, &argument("prompt")).await,
        "test_elicitation" => elicit(context, &argument("message"), user_schema()).await,
        "test_elicitation_sep1034_defaults" => elicit(context, "All have defaults", defaults_schema()).await,
        "test_elicitation_sep1330_enums" => elicit(context, "Choose", enums_schema()).await,
        other => Err(ErrorData::invalid_params(format!("no tool {other}"), None)),
    }
}

async fn log(context: &RequestContext<RoleServer>, level: LoggingLevel, words: &str) {
    let message = LoggingMessageNotificationParam::new(level, json!(words)).with_logger("fixtures");
    let _client_gone = context.peer.notify_logging_message(message).await;
}

async fn progress(context: &RequestContext<RoleServer>) -> Result<CallToolResult, ErrorData> {
    for value in [0.0, 50.0, 100.0] {
        if let Some(token) = context.meta.get_progress_token() {
            let tick = ProgressNotificationParam::new(token, value).with_total(100.0).with_message("working");
            let _client_gone = context.peer.notify_progress(tick).await;
        }
        clock::passed(Some(PAUSE)).await;
    }
    Ok(text("done"))
}

async fn sampling(context: &RequestContext<RoleServer>, prompt: &str) -> Result<CallToolResult, ErrorData> {
    let asked = CreateMessageRequestParams::new(vec![SamplingMessage::user_text(prompt)], 100);
    let answer = context.peer.create_message(asked).await;
    let answer = answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let words = answer.message.content.first().and_then(|content| content.as_text());
    Ok(text(format!("LLM response: {}", words.map(|words| words.text.as_str()).unwrap_or_default())))
}

async fn elicit(
    context: &RequestContext<RoleServer>,
    message: &str,
    schema: Value,
) -> Result<CallToolResult, ErrorData> {
    let asked = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.to_owned(),
        requested_schema: parsed(schema)?,
    };
    let answer = context.peer.create_elicitation(asked).await;
    let answer = answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let action = serde_json::to_value(&answer.action).unwrap_or_default();
    let action = action.as_str().unwrap_or_default().to_owned();
    let content = answer.content.unwrap_or_default();
    Ok(text(format!("Elicitation completed: action={action}, content={content}")))
}

fn user_schema() -> Value {
    json!({"type": "object", "properties": {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }, "required": ["username", "email"]})
}

fn defaults_schema() -> Value {
    json!({"type": "object", "properties": {
        "name": {"type": "string", "description": "User's name", "default": "John Doe"},
        "age": {"type": "integer", "description": "User's age", "default": 30},
        "score": {"type": "number", "description": "User's score", "default": 95.5},
        "status": {"type": "string", "description": "Status", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "description": "Verified", "default": true},
    }})
}

fn enums_schema() -> Value {
    let titled = |words: [&str; 3]| -> Vec<Value> {
        (1..)
            .zip(words)
            .map(|(number, title)| json!({"const": format!("value{number}"), "title": title}))
            .collect()
    };
    json!({"type": "object", "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": titled(["First Option", "Second Option", "Third Option"])},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled(["First Choice", "Second Choice", "Third Choice"])}},
    }})
}
