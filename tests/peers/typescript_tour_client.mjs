// The client of the official TypeScript SDK 1.x on a tour of our own servers. Prints what it saw as one JSON object.
// Usage: node typescript_tour_client.mjs URL

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { tour } from "./typescript_tour.mjs";

const client = new Client({ name: "typescript-peer", version: "1.0.0" }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, () => ({ action: "decline" }));

const transport = new StreamableHTTPClientTransport(new URL(process.argv[2]));
await client.connect(transport);
const saw = await tour({
  client,
  call: (name, args, options = {}) => client.callTool({ name, arguments: args }, undefined, options),
});
await transport.terminateSession();
await client.close();
console.log(JSON.stringify(saw));
