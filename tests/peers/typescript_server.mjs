// A server of the official TypeScript SDK 1.x: sessions, an event store, a tool of each kind.
// Usage: node typescript_server.mjs

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";
import { EventStore, RETRY_MS, bodyOf, listening, pause, text } from "./typescript_parts.mjs";

function makeServer() {
  const server = new McpServer({ name: "typescript-peer", version: "1.0.0" });
  server.registerTool("echo", { inputSchema: { text: z.string() } }, ({ text: given }) => text(given));
  server.registerTool("count", { inputSchema: { to: z.number() } }, async ({ to }, extra) => {
    const progressToken = extra._meta?.progressToken;
    for (let progress = 1; progress <= to; progress++) {
      if (progressToken !== undefined)
        await extra.sendNotification({
          method: "notifications/progress",
          params: { progressToken, progress, total: to },
        });
      await pause(20);
    }
    return text(`counted to ${to}`);
  });
  server.registerTool("poll", { inputSchema: {} }, async (_, extra) => {
    extra.closeSSEStream?.();
    await pause(50);
    return text("answered after the close");
  });
  server.registerTool("ask", { inputSchema: {} }, async (_, extra) => {
    const { action } = await extra.sendRequest(
      { method: "elicitation/create", params: { message: "Go on?", requestedSchema: { type: "object", properties: {} } } },
      z.looseObject({ action: z.string() }),
    );
    return text(`the answer was ${action}`);
  });
  server.registerTool("fail", { inputSchema: { secret: z.string() } }, ({ secret }) => {
    throw new Error(`this tool fails: ${secret}`);
  });
  server.registerResource("greeting", "memo://greeting", {}, (uri) => ({
    contents: [{ uri: uri.href, text: "Grüße, 世界 \u2028 one line still" }],
  }));
  server.registerPrompt("ask", { argsSchema: { topic: z.string() } }, ({ topic }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Tell me about ${topic}.` } }],
  }));
  return server;
}

const transports = new Map();

async function newSession() {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    eventStore: new EventStore(),
    retryInterval: RETRY_MS,
    onsessioninitialized: (id) => transports.set(id, transport),
    onsessionclosed: (id) => transports.delete(id),
  });
  await makeServer().connect(transport);
  return transport;
}

const http = createServer(async (request, response) => {
  const session = request.headers["mcp-session-id"];
  const body = await bodyOf(request);
  const isInitialize = body?.method === "initialize";
  const transport = transports.get(session) ?? (isInitialize ? await newSession() : undefined);
  if (transport) await transport.handleRequest(request, response, body);
  else
    response
      .writeHead(session ? 404 : 400, { "Content-Type": "application/json" })
      .end(JSON.stringify({ jsonrpc: "2.0", error: { code: -32000, message: "no such session" } }));
});

listening(http);
