//! Tools of several round trips (2026 era): the result is a question until the call comes back with the answer.

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, InputRequests, InputRequiredResult, InputResponses, RequestStateCodec,
};
use rmcp::service::RequestContext;
use serde_json::{Map, Value, json};

use crate::{parsed, text};

type Answered = Result<CallToolResponse, ErrorData>;

/// The answer of such a tool; `None` for the name of another.
pub(crate) fn call(
    codec: &RequestStateCodec,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<Option<CallToolResponse>, ErrorData> {
    let responses = request.input_responses.as_ref();
    let state = request.request_state.as_deref();
    let answer = match request.name.as_ref() {
        "test_input_required_result_elicitation"
        | "test_input_required_result_missing_response"
        | "test_input_required_result_extra_params"
        | "test_input_required_result_elicitation_validation" => {
            once(responses, "user_name", form("What is your name?", "name"), |answer| {
                format!("Hello, {}!", field(answer, "name"))
            })
        }
        "test_streaming_elicitation" => {
            once(responses, "value", form("A value?", "value"), |_| "done".to_owned())
        }
        "test_input_required_result_sampling" => {
            once(responses, "capital_question", sample("What is the capital of France?"), |answer| {
                let words =
                    answer.get("content").and_then(|content| content.get("text")).and_then(Value::as_str);
                format!("Sampling response: {}", words.unwrap_or_default())
            })
        }
        "test_input_required_result_list_roots" => once(responses, "client_roots", roots(), |answer| {
            format!("Roots: {}", answer.get("roots").cloned().unwrap_or_default())
        }),
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
            match state {
                None => question(codec, 1, &[("confirm", form_of("Please confirm", "ok", "boolean"))]),
                Some(state) => round(codec, state).map(|_| text("Confirmed: state-ok").into()),
            }
        }
        "test_input_required_result_multiple_inputs" => {
            let wanted = [
                ("user_name", form("What is your name?", "name")),
                ("greeting", sample("Generate a greeting")),
                ("client_roots", roots()),
            ];
            let all = wanted.iter().all(|(key, _)| response(responses, key).is_some());
            match state {
                Some(state) if all => round(codec, state).map(|_| text("All inputs received").into()),
                _ => question(codec, 1, &wanted),
            }
        }
        "test_input_required_result_multi_round" => {
            match state.map(|state| round(codec, state)).transpose()? {
                None => question(codec, 1, &[("step1", form("Step 1: What is your name?", "name"))]),
                Some(1) => {
                    question(codec, 2, &[("step2", form("Step 2: What is your favorite color?", "color"))])
                }
                Some(_) => Ok(text("Multi-round flow complete").into()),
            }
        }
        "test_input_required_result_capabilities" => by_capabilities(responses, context),
        _ => return Ok(None),
    };
    answer.map(Some)
}

/// The prompt that asks.
pub(crate) fn prompt(request: &GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
    match response(request.input_responses.as_ref(), "user_context") {
        Some(answer) => {
            let words = format!("Prompt with elicited context: {}", field(answer, "context"));
            let message = json!({"role": "user", "content": {"type": "text", "text": words}});
            parsed::<GetPromptResult>(json!({"resultType": "complete", "messages": [message]}))
                .map(Into::into)
        }
        None => asking(&[("user_context", form("What context should the prompt use?", "context"))])
            .map(Into::into),
    }
}

/// One question, one answer.
fn once(
    responses: Option<&InputResponses>,
    key: &str,
    wanted: Value,
    say: impl FnOnce(&Map<String, Value>) -> String,
) -> Answered {
    match response(responses, key) {
        Some(answer) => Ok(text(say(answer)).into()),
        None => asking(&[(key, wanted)]).map(Into::into),
    }
}

/// Asks only for what the client says that it can do.
fn by_capabilities(responses: Option<&InputResponses>, context: &RequestContext<RoleServer>) -> Answered {
    if responses.is_some() {
        return Ok(text("Capability-aware flow complete").into());
    }
    let can = context.client_capabilities().unwrap_or_default();
    let wanted = [
        can.elicitation.map(|_| ("user_name", form("What is your name?", "name"))),
        can.sampling.map(|_| ("greeting", sample("Generate a greeting"))),
        can.roots.map(|_| ("client_roots", roots())),
    ];
    let wanted: Vec<(&str, Value)> = wanted.into_iter().flatten().collect();
    if wanted.is_empty() { Ok(text("nothing can be asked").into()) } else { asking(&wanted).map(Into::into) }
}

/// An answer that is an object; anything else counts as none.
fn response<'r>(responses: Option<&'r InputResponses>, key: &str) -> Option<&'r Map<String, Value>> {
    responses.and_then(|all| all.get(key)).and_then(Value::as_object)
}

fn field(answer: &Map<String, Value>, name: &str) -> String {
    let value = answer.get("content").and_then(|content| content.get(name)).and_then(Value::as_str);
    value.unwrap_or("friend").to_owned()
}

fn asking(wanted: &[(&str, Value)]) -> Result<InputRequiredResult, ErrorData> {
    Ok(InputRequiredResult::from_input_requests(requests(wanted)?))
}

/// A question with a sealed state that says which round it is.
fn question(codec: &RequestStateCodec, round: u64, wanted: &[(&str, Value)]) -> Answered {
    let sealed = codec.seal(round.to_string().as_bytes());
    Ok(InputRequiredResult::new(Some(requests(wanted)?), Some(sealed)).into())
}

/// The round of a state that came back, if it is ours.
fn round(codec: &RequestStateCodec, state: &str) -> Result<u64, ErrorData> {
    let forged = || ErrorData::invalid_params("requestState failed integrity verification", None);
    let opened = codec.open(state).map_err(|_forged| forged())?;
    String::from_utf8_lossy(&opened).parse().map_err(|_forged| forged())
}

fn requests(wanted: &[(&str, Value)]) -> Result<InputRequests, ErrorData> {
    wanted.iter().map(|(key, request)| Ok(((*key).to_owned(), parsed(request.clone())?))).collect()
}

fn form(message: &str, name: &str) -> Value {
    form_of(message, name, "string")
}

fn form_of(message: &str, name: &str, kind: &str) -> Value {
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": {
        "type": "object", "properties": {name: {"type": kind}}, "required": [name]}}})
}

fn sample(prompt: &str) -> Value {
    json!({"method": "sampling/createMessage", "params": {"maxTokens": 100,
        "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}]}})
}

fn roots() -> Value {
    json!({"method": "roots/list"})
}
