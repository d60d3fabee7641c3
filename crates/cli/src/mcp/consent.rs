//! Who says yes where the policy asks, or where a kill is to be confirmed: a person, through the client.
//!
//! 2025 era: a request of ours to the client, in the middle of the call. 2026 era: the call comes back with a question and
//! is repeated with the answer. What comes back then is the client's word, so the state that it carries is sealed: bound to
//! the tenant, the tool and the very arguments, valid for some minutes, and good for one answer.

use std::collections::BTreeMap;
use std::time::Duration;

use kennel::policy::Verdict;
use rmcp::model::{
    CancelledNotificationParam, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationSchema, InputRequest, InputRequiredResult, ProtocolVersion, SealOptions,
    ServerRequest,
};
use rmcp::service::{PeerRequestOptions, ServiceError};
use serde_json::Value;

use super::answer::Refusal;
use super::engine::random_bytes;
use super::server::Call;
use crate::render;

/// How long a person may think.
const ANSWER_WITHIN: Duration = Duration::from_secs(300);
/// The question's name in both directions.
const QUESTION: &str = "consent";

/// What came of it.
#[derive(Debug)]
pub(crate) enum Consent {
    /// Nobody had to be asked.
    NotNeeded,
    /// Yes.
    Given,
    /// No, or there is nobody who could be asked.
    Refused,
    /// The client is to ask and to repeat the call.
    AskBack(Box<InputRequiredResult>),
}

/// A yes to a command about which the policy asks.
pub(crate) async fn to_command(call: &Call<'_>, verdict: &Verdict) -> Result<Consent, Refusal> {
    let question =
        format!("{}\n\nRun it?\n{}", render::verdict_in_words(verdict), shown(call, "command", "cmd"));
    ask(call, question).await
}

/// A yes to `question`.
pub(crate) async fn ask(call: &Call<'_>, question: String) -> Result<Consent, Refusal> {
    let modern =
        call.context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    if !can_ask(call) {
        return Ok(Consent::Refused);
    }
    if modern { by_repetition(call, question) } else { by_request(call, question).await }
}

/// Whether the client can put a form before a person.
fn can_ask(call: &Call<'_>) -> bool {
    let capability = call.context.client_capabilities().and_then(|capabilities| capabilities.elicitation);
    // Neither mode named means forms: that is how it was before there were two.
    capability.is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
}

async fn by_request(call: &Call<'_>, question: String) -> Result<Consent, Refusal> {
    let peer = &call.context.peer;
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form(question)));
    let asked = peer.send_cancellable_request(request, PeerRequestOptions::with_timeout(ANSWER_WITHIN)).await;
    let asked = match asked {
        Ok(asked) => asked,
        Err(error) => return Ok(unasked(&error)),
    };
    let id = asked.id.clone();
    let refusal = tokio::select! {
        answer = asked.await_response() => return Ok(match answer {
            Ok(ClientResult::ElicitResult(answer)) => said(&answer),
            Ok(_another) => unasked(&ServiceError::UnexpectedResponse),
            Err(error) => unasked(&error),
        }),
        () = call.context.ct.cancelled() => Refusal::own("cancelled", "the call was cancelled"),
        () = call.server.engine().closing() => Refusal::own("closing", "the server is ending"),
    };
    // The person would still look at a form whose answer nobody reads.
    let taken_back = CancelledNotificationParam::new(Some(id), Some(refusal.line()));
    if let Err(error) = peer.notify_cancelled(taken_back).await {
        tracing::debug!(%error, "the question could not be taken back");
    }
    Err(refusal)
}

fn unasked(error: &ServiceError) -> Consent {
    tracing::debug!(%error, "the client could not ask");
    Consent::Refused
}

fn by_repetition(call: &Call<'_>, question: String) -> Result<Consent, Refusal> {
    let engine = call.server.engine();
    let bound = bound_to(call);
    if let (Some(state), Some(answers)) = (&call.request_state, &call.input_responses) {
        // Forged, another call's, too old, or used before: asked again.
        if let Ok(nonce) = engine.codec().open_with(state, &bound)
            && engine.take_question(&String::from_utf8_lossy(&nonce))
            && let Some(answer) = answers.get(QUESTION)
        {
            let answer: Result<ElicitResult, _> = serde_json::from_value(answer.clone());
            return Ok(answer.map_or(Consent::Refused, |answer| said(&answer)));
        }
    }
    let nonce = random_bytes::<16>().map_err(|error| Refusal::own("random", format!("{error:#}")))?;
    let nonce = format!("{:032x}", u128::from_ne_bytes(nonce));
    engine.put_question(&nonce);
    let sealed = engine
        .codec()
        .seal_with(nonce.as_bytes(), &SealOptions::new().associated_data(&bound).ttl(ANSWER_WITHIN));
    let request = InputRequest::Elicitation(ElicitRequest::new(form(question)));
    let requests = BTreeMap::from([(QUESTION.to_owned(), request)]);
    Ok(Consent::AskBack(Box::new(InputRequiredResult::new(Some(requests), Some(sealed)))))
}

/// What the answer is good for: this tenant, this tool, these arguments, in whatever order they come back.
fn bound_to(call: &Call<'_>) -> Vec<u8> {
    let arguments: BTreeMap<&String, &Value> = call.given.iter().flatten().collect();
    let tenant = call.server.tenant().name();
    serde_json::to_vec(&(tenant, &call.tool, arguments)).unwrap_or_default()
}

/// A form without fields: to accept it is the answer.
fn form(question: String) -> ElicitRequestParams {
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question,
        requested_schema: ElicitationSchema::new(BTreeMap::new()),
    }
}

/// Accepted is yes, unless the person's client filled in a "no" after all.
fn said(answer: &ElicitResult) -> Consent {
    let no =
        |content: &Value| content.as_object().is_some_and(|map| map.values().any(|value| *value == false));
    if answer.action == ElicitationAction::Accept && !answer.content.as_ref().is_some_and(no) {
        Consent::Given
    } else {
        Consent::Refused
    }
}

fn shown(call: &Call<'_>, name: &str, alias: &str) -> String {
    let arguments = call.given.as_ref();
    let command = arguments.and_then(|given| given.get(name).or_else(|| given.get(alias)));
    render::shorten(&render::escape(command.and_then(Value::as_str).unwrap_or_default()), 2_000)
}
