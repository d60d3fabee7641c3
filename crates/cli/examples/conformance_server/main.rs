//! Fixtures of the official conformance suite on Kennel's own HTTP stack: the gate, the limits and the connections that
//! `kennel serve` has are what is tested. `tests/acceptance/clients/run` starts it.
//!
//! Prints `listening on http://ADDRESS/mcp`. It asks for no token, because the suite has none to give.
#![allow(clippy::print_stdout, reason = "where it listens")]

mod asks;
#[allow(dead_code, unreachable_pub, reason = "the binary's own module")]
#[path = "../../src/clock.rs"]
mod clock;
mod content;
#[allow(dead_code, unreachable_pub, reason = "the binary's own module")]
#[path = "../../src/jsonrpc.rs"]
mod jsonrpc;
mod rounds;
#[allow(dead_code, unused_imports, unreachable_pub, reason = "the binary's own module")]
#[path = "../../src/serve/stack/mod.rs"]
mod stack;
mod subscriptions;

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CompletionInfo, ErrorData, GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, RequestStateCodec, ServerCapabilities, ServerConfig,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use subscriptions::Subscriptions;

/// What the suite asks for.
#[derive(Clone)]
struct Fixtures {
    codec: RequestStateCodec,
    subscriptions: Subscriptions,
}

/// A part of the protocol that was written down as JSON.
fn parsed<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// A list or a reading, fresh for a minute.
fn cached<T: DeserializeOwned>(name: &str, items: impl Into<Value>) -> Result<T, ErrorData> {
    parsed(json!({"resultType": "complete", "ttlMs": 60_000, "cacheScope": "public", name: items.into()}))
}

fn text(words: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![rmcp::model::ContentBlock::text(words)])
}

#[expect(
    deprecated,
    reason = "the suite tests logging, sampling and roots as long as they are in the protocol"
)]
impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_logging()
            .enable_completions()
            .build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("kennel-conformance", "1"))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        content::tools().into_iter().find(|tool| tool["name"] == name).and_then(|tool| parsed(tool).ok())
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        cached("tools", content::tools())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(result) = content::result(&request.name) {
            return parsed::<CallToolResult>(result).map(Into::into);
        }
        if let Some(answer) = rounds::call(&self.codec, &request, &context)? {
            return Ok(answer);
        }
        if self.subscriptions.trigger(&request.name).await {
            return Ok(text("triggered").into());
        }
        asks::call(&request, &context).await.map(Into::into)
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        cached("prompts", content::prompts())
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name == "test_input_required_result_prompt" {
            return rounds::prompt(&request);
        }
        let arguments = request.arguments.unwrap_or_default();
        let messages = content::prompt(&request.name, &arguments)
            .ok_or_else(|| ErrorData::invalid_params(format!("no prompt {}", request.name), None))?;
        parsed::<rmcp::model::GetPromptResult>(json!({"resultType": "complete", "messages": messages}))
            .map(Into::into)
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        cached("resources", content::resources())
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        cached("resourceTemplates", content::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let contents = content::resource(&request.uri).ok_or_else(|| {
            ErrorData::resource_not_found(
                format!("no resource {}", request.uri),
                Some(json!({"uri": request.uri})),
            )
        })?;
        cached::<rmcp::model::ReadResourceResult>("contents", json!([contents])).map(Into::into)
    }

    async fn subscribe(
        &self,
        _request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.subscriptions.hold(&context).await;
        Ok(())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let values = vec![format!("{}-completed", request.argument.value)];
        let info = CompletionInfo::new(values).map_err(|error| ErrorData::internal_error(error, None))?;
        Ok(CompleteResult::new(info))
    }

    async fn set_level(
        &self,
        _request: rmcp::model::SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("listening on http://{}/mcp", listener.local_addr()?);
        let codec = RequestStateCodec::try_new(*b"a key for tests, and for no more")?;
        let fixtures = Fixtures { codec, subscriptions: Subscriptions::default() };
        let stop = CancellationToken::new();
        let door = stack::Door::new(None, &stop, move || fixtures.clone());
        stack::run(listener, Arc::new(stack::Gate::new(vec![door])), 256, stop).await;
        Ok(())
    })
}
