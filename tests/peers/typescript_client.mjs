// The official TypeScript SDK's client on a tour of server-everything. Prints what it saw as one JSON object.
// Usage: node typescript_client.mjs URL

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";

const client = new Client(
  { name: "typescript-peer", version: "1.0.0" },
  { capabilities: { roots: { listChanged: true }, sampling: {}, elicitation: {} } },
);
const asked = [];

client.setRequestHandler(ListRootsRequestSchema, () => {
  asked.push("roots");
  return { roots: [{ uri: "file:///tmp/project", name: "project" }] };
});
client.setRequestHandler(CreateMessageRequestSchema, () => {
  asked.push("sampling");
  return { role: "assistant", model: "none", content: { type: "text", text: "sampled" } };
});
client.setRequestHandler(ElicitRequestSchema, () => {
  asked.push("elicitation");
  return { action: "decline" };
});

const saw = {};
const textOf = (result) => result.content.filter((block) => block.type === "text").map((block) => block.text).join(" ");
const call = async (name, args = {}, options = {}) =>
  textOf(await client.callTool({ name, arguments: args }, undefined, options));

const transport = new StreamableHTTPClientTransport(new URL(process.argv[2]));
await client.connect(transport);
saw.tools = (await client.listTools()).tools.map((tool) => tool.name).sort();
saw.resources = (await client.listResources()).resources.length;
saw.prompts = (await client.listPrompts()).prompts.map((prompt) => prompt.name).sort();
saw.echo = await call("echo", { message: "naïve 文字" });
saw.sum = await call("get-sum", { a: 2, b: 40 });

const steps = [];
saw.long = await call(
  "trigger-long-running-operation",
  { duration: 0.3, steps: 3 },
  { onprogress: (progress) => steps.push(progress.progress) },
);
saw.steps = steps;

await call("trigger-sampling-request", { prompt: "hello", maxTokens: 10 });
await call("trigger-elicitation-request");
await call("get-roots-list");
saw.asked = [...new Set(asked)].sort();

saw.together = await Promise.all([1, 2, 3].map((n) => call("get-sum", { a: n, b: n })));
await client.getPrompt({ name: "simple-prompt" });
await transport.terminateSession();
await client.close();
console.log(JSON.stringify(saw));
