//! The tools as the protocol sees them: names to work, arguments to calls, results to answers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, ErrorData,
    GetPromptRequestParams, GetPromptResponse, Implementation, InputResponses, JsonObject, ListPromptsResult,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{Peer, RequestContext};
use serde_json::Value;

use super::answer::{Refusal, Reply, respond};
use super::arguments::Arguments;
use super::bash::Habits;
use super::engine::{Engine, Tenant};
use super::profile::{Profile, Work};
use super::{bash, input, kill, list, output, prompt, words};
use crate::{clock, run};

/// Lists do not change while the server runs.
const LIST_FRESH_MS: u64 = 600_000;
/// How long a client may take to name its roots.
const ROOTS_WITHIN: Duration = Duration::from_secs(2);

/// One client's view of the engine.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    engine: Arc<Engine>,
    tenant: Tenant,
    tools: Arc<[Tool]>,
}

impl Server {
    pub(crate) fn new(engine: Arc<Engine>, tenant: Tenant, profile: Profile) -> Self {
        Self { engine, tenant, tools: profile.tools().into() }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    async fn work(&self, work: Work, call: &mut Call<'_>) -> Result<Reply, Refusal> {
        match work {
            Work::Run => bash::run(call, Habits::Bash).await,
            Work::Exec => bash::run(call, Habits::Exec).await,
            Work::Read => output::read(call, output::From::Beginning).await,
            Work::ReadOn => output::read(call, output::From::LastRead).await,
            Work::Kill => kill::kill(call).await,
            Work::List => list::list(call).await,
            Work::Write => input::write(call).await,
            Work::WriteAndRead => input::write_and_read(call).await,
        }
    }
}

/// One call.
#[derive(Debug)]
pub(crate) struct Call<'s> {
    pub(crate) server: &'s Server,
    pub(crate) tool: String,
    pub(crate) arguments: Arguments,
    /// As they came.
    pub(crate) given: Option<JsonObject>,
    pub(crate) input_responses: Option<InputResponses>,
    pub(crate) request_state: Option<String>,
    pub(crate) context: RequestContext<RoleServer>,
}

impl Call<'_> {
    /// What the caller should know about the call itself.
    pub(crate) fn notes(&self) -> Vec<String> {
        let unknown = self.arguments.unknown();
        if unknown.is_empty() {
            return Vec::new();
        }
        vec![format!("[unknown arguments were ignored: {}]", super::text::shorten(&unknown.join(", "), 200))]
    }

    /// The first of the client's roots, where it has some to name (2025 era).
    pub(crate) async fn root(&self) -> Option<PathBuf> {
        let capabilities = self.context.client_capabilities()?;
        let legacy = self.context.protocol_version()? < ProtocolVersion::V_2026_07_28;
        if capabilities.roots.is_none() || !legacy || self.server.tenant != Tenant::Local {
            return None;
        }
        tokio::select! {
            root = first_root(&self.context.peer) => root,
            () = clock::passed(Some(ROOTS_WITHIN)) => None,
        }
    }
}

#[expect(deprecated, reason = "roots are what clients of the 2025 era have")]
async fn first_root(peer: &Peer<RoleServer>) -> Option<PathBuf> {
    peer.list_roots().await.ok()?.roots.iter().find_map(|root| directory(&root.uri))
}

/// The directory that a `file:` URI names, if there is one.
fn directory(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?;
    let path = path.strip_prefix("localhost").unwrap_or(path);
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'%' => {
                let digit = |byte: Option<u8>| {
                    char::from(byte?).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
                };
                digit(rest.next())? * 16 + digit(rest.next())?
            }
            byte => byte,
        };
        bytes.push(byte);
    }
    let path = PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes));
    path.is_dir().then_some(path)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_prompts().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("kennel", env!("CARGO_PKG_VERSION")).with_title("Kennel"))
            .with_instructions(words::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let list = ListToolsResult::with_all_items(self.tools.to_vec());
        Ok(list.with_ttl_ms(LIST_FRESH_MS).with_cache_scope(CacheScope::Private))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(work) = Work::named(&request.name) else {
            let known: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_ref()).collect();
            let message = format!("unknown tool {:?}; there are {}", request.name, known.join(", "));
            return Err(ErrorData::invalid_params(message, None));
        };
        let mut call = Call {
            server: self,
            tool: request.name.into_owned(),
            arguments: Arguments::new(request.arguments.clone()),
            given: request.arguments,
            input_responses: request.input_responses,
            request_state: request.request_state,
            context,
        };
        match self.work(work, &mut call).await {
            Ok(reply) => Ok(respond(reply)),
            Err(refusal) => {
                let structured = failed(work, &call, &refusal);
                Ok(refusal.into_response(structured))
            }
        }
    }

    /// A method that is known with parameters that are not its own comes here too.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        match request.method.as_str() {
            "tools/call" | "prompts/get" => {
                Err(ErrorData::invalid_params(wrong_params(request.params.as_ref()), None))
            }
            _ => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None)),
        }
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let list = ListPromptsResult::with_all_items(vec![prompt::listed()]);
        Ok(list.with_ttl_ms(LIST_FRESH_MS).with_cache_scope(CacheScope::Private))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name != prompt::NAME {
            let message = format!("unknown prompt {:?}; there is {:?}", request.name, prompt::NAME);
            return Err(ErrorData::invalid_params(message, None));
        }
        let prompt = prompt::tasks(&self.engine, &self.tenant).await;
        prompt.map(Into::into).map_err(|refusal| ErrorData::internal_error(refusal.line(), None))
    }
}

/// What keeps the parameters of a call from being read, by the name of the field.
fn wrong_params(params: Option<&Value>) -> String {
    let shown = |value: &Value| super::text::shorten(&value.to_string(), 80);
    let params = match params {
        None | Some(Value::Null) => {
            return "`params` is missing: {\"name\": …, \"arguments\": {…}}".to_owned();
        }
        Some(Value::Object(params)) => params,
        Some(other) => return format!("`params` must be an object, not {}", shown(other)),
    };
    match params.get("name") {
        None => return "`params.name` is missing: the tool's name, a string".to_owned(),
        Some(Value::String(_)) => {}
        Some(other) => return format!("`params.name` must be a string, not {}", shown(other)),
    }
    match params.get("arguments") {
        None | Some(Value::Object(_)) => {
            format!("`params` cannot be read: {}", shown(&Value::Object(params.clone())))
        }
        Some(other) => format!("`params.arguments` must be an object, not {}", shown(other)),
    }
}

/// A result of the shape that the tool's schema promises, for work that was not done.
fn failed(work: Work, call: &Call<'_>, refusal: &Refusal) -> Value {
    let id = |names: &[&str]| {
        let given = call.given.as_ref()?;
        names.iter().find_map(|name| given.get(*name).and_then(Value::as_str))
    };
    match work {
        Work::Run | Work::Exec => run::failed_result(&refusal.info(), refusal.verdict()),
        Work::Write => input::failed(refusal),
        Work::WriteAndRead => output::failed(id(&["session_id"]), refusal),
        Work::Read | Work::ReadOn => output::failed(id(&output::ID), refusal),
        Work::Kill => kill::failed(id(&kill::ID), refusal),
        Work::List => list::failed(refusal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_a_directory_that_exists() {
        assert_eq!(directory("file:///"), Some(PathBuf::from("/")));
        assert_eq!(directory("file:///us%72"), Some(PathBuf::from("/usr")));
        for uri in ["file:///usr%", "file:///usr%zz", "https://example.org/", "file:///no/such"] {
            assert_eq!(directory(uri), None, "{uri}");
        }
    }
}
