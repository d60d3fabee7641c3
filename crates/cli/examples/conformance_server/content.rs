//! Tools, prompts and resources that only give something back, as the suite describes them.

use serde_json::{Map, Value, json};

/// A red pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8/5+hHgAHggJ/PchI7wAAAABJRU5ErkJggg==";
/// No sound.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

/// Tools without arguments.
const PLAIN: [&str; 27] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_error_handling",
    "test_tool_with_logging",
    "test_tool_with_progress",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_reconnection",
    "test_missing_capability",
    "test_streaming_elicitation",
    "test_logging_tool",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
    "test_input_required_result_elicitation_validation",
    "test_input_required_result_missing_response",
    "test_input_required_result_extra_params",
];

/// Every tool, as it is listed.
pub(crate) fn tools() -> Vec<Value> {
    let tool = |name: &str, input: Value| json!({"name": name, "description": name, "inputSchema": input});
    let mut tools: Vec<Value> =
        PLAIN.iter().map(|name| tool(name, json!({"type": "object", "properties": {}}))).collect();
    for (name, argument) in [("test_sampling", "prompt"), ("test_elicitation", "message")] {
        let input =
            json!({"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]});
        tools.push(tool(name, input));
    }
    tools.push(tool("json_schema_2020_12_tool", schema_2020_12()));
    tools.push(tool(
        "test_custom_header",
        json!({"type": "object", "properties": {"value": {"type": "string", "x-mcp-header": "Value"}}, "required": ["value"]}),
    ));
    tools
}

fn schema_2020_12() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "address", "type": "object", "properties": {
            "street": {"type": "string"}, "city": {"type": "string"}}}},
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
        "allOf": [{"anyOf": [{"required": ["name"]}, {"required": ["address"]}]}],
        "if": {"required": ["address"]},
        "then": {"properties": {"address": {"required": ["street"]}}},
        "else": {"required": ["name"]},
        "additionalProperties": false
    })
}

/// What a tool that only gives something back gives.
pub(crate) fn result(name: &str) -> Option<Value> {
    let text = |text: &str| json!({"type": "text", "text": text});
    let image = json!({"type": "image", "data": PNG, "mimeType": "image/png"});
    let resource = |uri: &str, kind: &str, text: &str| json!({"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}});
    let (content, failed) = match name {
        "test_simple_text" => (json!([text("This is a simple text response for testing.")]), false),
        "test_image_content" => (json!([image]), false),
        "test_audio_content" => (json!([{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]), false),
        "test_embedded_resource" => (
            json!([resource(
                "test://embedded-resource",
                "text/plain",
                "This is an embedded resource content."
            )]),
            false,
        ),
        "test_multiple_content_types" => (
            json!([
                text("Multiple content types test:"),
                image,
                resource(
                    "test://mixed-content-resource",
                    "application/json",
                    "{\"test\":\"data\",\"value\":123}"
                ),
            ]),
            false,
        ),
        "test_error_handling" => {
            (json!([text("This tool intentionally returns an error for testing")]), true)
        }
        "json_schema_2020_12_tool" => (json!([text("valid")]), false),
        "test_custom_header" => (json!([text("a header came with it")]), false),
        _ => return None,
    };
    Some(json!({"resultType": "complete", "content": content, "isError": failed}))
}

pub(crate) fn prompts() -> Value {
    let plain = |name: &str| json!({"name": name, "description": name});
    json!([
        plain("test_simple_prompt"),
        {"name": "test_prompt_with_arguments", "description": "with arguments", "arguments": [
            {"name": "arg1", "description": "first", "required": true},
            {"name": "arg2", "description": "second", "required": true}]},
        {"name": "test_prompt_with_embedded_resource", "description": "with a resource", "arguments": [
            {"name": "resourceUri", "description": "which", "required": true}]},
        plain("test_prompt_with_image"),
        plain("test_input_required_result_prompt"),
    ])
}

/// A prompt's messages.
pub(crate) fn prompt(name: &str, arguments: &Map<String, Value>) -> Option<Value> {
    let given = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let says = |content: Value| json!({"role": "user", "content": content});
    let text = |text: String| says(json!({"type": "text", "text": text}));
    Some(match name {
        "test_simple_prompt" => json!([text("This is a simple prompt for testing.".to_owned())]),
        "test_prompt_with_arguments" => json!([text(format!(
            "Prompt with arguments: arg1='{}', arg2='{}'",
            given("arg1"),
            given("arg2")
        ))]),
        "test_prompt_with_embedded_resource" => json!([
            says(
                json!({"type": "resource", "resource": {"uri": given("resourceUri"), "mimeType": "text/plain",
                "text": "Embedded resource content for testing."}})
            ),
            text("Please process the embedded resource above.".to_owned()),
        ]),
        "test_prompt_with_image" => json!([
            says(json!({"type": "image", "data": PNG, "mimeType": "image/png"})),
            text("Please analyze the image above.".to_owned()),
        ]),
        _ => return None,
    })
}

pub(crate) fn resources() -> Value {
    json!([
        {"uri": "test://static-text", "name": "Static Text Resource", "mimeType": "text/plain"},
        {"uri": "test://static-binary", "name": "Static Binary Resource", "mimeType": "image/png"},
        {"uri": "test://watched-resource", "name": "Watched Resource", "mimeType": "text/plain"},
    ])
}

pub(crate) fn templates() -> Value {
    json!([{"uriTemplate": "test://template/{id}/data", "name": "Dynamic Resource", "mimeType": "application/json"}])
}

/// A resource's content.
pub(crate) fn resource(uri: &str) -> Option<Value> {
    if let Some(id) = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data")) {
        let text = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")}).to_string();
        return Some(json!({"uri": uri, "mimeType": "application/json", "text": text}));
    }
    Some(match uri {
        "test://static-text" | "test://watched-resource" => {
            json!({"uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource."})
        }
        "test://static-binary" => json!({"uri": uri, "mimeType": "image/png", "blob": PNG}),
        _ => return None,
    })
}
