// The client of the packages that follow the TypeScript SDK 1.x on a tour. Prints what it saw as one JSON object.
// Usage: node typescript2_client.mjs URL legacy|auto

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { tour } from "./typescript_tour.mjs";

const [url, mode] = process.argv.slice(2);
const client = new Client(
  { name: "typescript2-peer", version: "1.0.0" },
  { capabilities: { elicitation: {} }, versionNegotiation: { mode } },
);
client.setRequestHandler("elicitation/create", () => ({ action: "decline" }));

const transport = new StreamableHTTPClientTransport(new URL(url));
await client.connect(transport);
const saw = await tour({
  client,
  call: (name, args, options) => client.callTool({ name, arguments: args }, options),
});
await transport.terminateSession();
await client.close();
console.log(JSON.stringify(saw));
