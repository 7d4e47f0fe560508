// A server of the packages that follow the TypeScript SDK 1.x: 2026-07-28, and sessions of 2025 on the same endpoint.
// Usage: node typescript2_server.mjs

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from "@modelcontextprotocol/node";
import {
  McpServer,
  createMcpHandler,
  inputRequired,
  isLegacyRequest,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { EventStore, RETRY_MS, bodyOf, listening, pause, text } from "./typescript_parts.mjs";

function makeServer({ era }) {
  const server = new McpServer({ name: "typescript2-peer", version: "1.0.0" });
  server.registerTool("echo", { inputSchema: z.object({ text: z.string() }) }, ({ text: given }) => text(given));
  server.registerTool("count", { inputSchema: z.object({ to: z.number() }) }, async ({ to }, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (let progress = 1; progress <= to; progress++) {
      if (progressToken !== undefined)
        await ctx.mcpReq.notify({
          method: "notifications/progress",
          params: { progressToken, progress, total: to },
        });
      await pause(20);
    }
    return text(`counted to ${to}`);
  });
  if (era === "legacy")
    server.registerTool("poll", { inputSchema: z.object({}) }, async (_, ctx) => {
      ctx.http?.closeSSE?.();
      await pause(50);
      return text("answered after the close");
    });
  server.registerTool("ask", { inputSchema: z.object({}) }, async (_, ctx) => {
    const question = { message: "Go on?", requestedSchema: { type: "object", properties: {} } };
    if (era === "legacy") return text(`the answer was ${(await ctx.mcpReq.elicitInput(question)).action}`);
    const given = ctx.mcpReq.inputResponses?.question;
    if (given === undefined)
      return inputRequired({ inputRequests: { question: inputRequired.elicit(question) }, requestState: "asked" });
    return text(`the answer was ${given.action}`);
  });
  server.registerTool("fail", { inputSchema: z.object({ secret: z.string() }) }, ({ secret }) => {
    throw new Error(`this tool fails: ${secret}`);
  });
  server.registerResource("greeting", "memo://greeting", {}, (uri) => ({
    contents: [{ uri: uri.href, text: "Grüße, 世界 \u2028 one line still" }],
  }));
  server.registerPrompt("ask", { argsSchema: z.object({ topic: z.string() }) }, ({ topic }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Tell me about ${topic}.` } }],
  }));
  return server;
}

const modern = toNodeHandler(createMcpHandler(makeServer, { legacy: "reject" }));
const transports = new Map();

async function newSession() {
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    eventStore: new EventStore(),
    retryInterval: RETRY_MS,
    onsessioninitialized: (id) => transports.set(id, transport),
    onsessionclosed: (id) => transports.delete(id),
  });
  await makeServer({ era: "legacy" }).connect(transport);
  return transport;
}

const http = createServer(async (request, response) => {
  const session = request.headers["mcp-session-id"];
  const body = await bodyOf(request);
  if (!(await isLegacyRequest(await toWebRequest(request, body), body)))
    return modern(request, response, body);
  const isInitialize = body?.method === "initialize";
  const transport = transports.get(session) ?? (isInitialize ? await newSession() : undefined);
  if (transport) return transport.handleRequest(request, response, body);
  return response
    .writeHead(session ? 404 : 400, { "Content-Type": "application/json" })
    .end(JSON.stringify({ jsonrpc: "2.0", error: { code: -32000, message: "no such session" } }));
});

listening(http);
