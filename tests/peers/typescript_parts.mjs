// What the servers of both TypeScript SDKs share.

export const RETRY_MS = 100;

export const text = (given) => ({ content: [{ type: "text", text: given }] });

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Keeps the events of one session; an id names the stream and the place in it. */
export class EventStore {
  #streams = new Map();

  async storeEvent(streamId, message) {
    const events = this.#streams.get(streamId) ?? [];
    this.#streams.set(streamId, events);
    events.push(message);
    return `${streamId}#${events.length}`;
  }

  async getStreamIdForEventId(eventId) {
    return eventId.slice(0, eventId.lastIndexOf("#"));
  }

  async replayEventsAfter(lastEventId, { send }) {
    const streamId = await this.getStreamIdForEventId(lastEventId);
    const after = Number(lastEventId.slice(streamId.length + 1));
    for (const [index, message] of (this.#streams.get(streamId) ?? []).entries())
      if (index >= after && "jsonrpc" in message)
        await send(`${streamId}#${index + 1}`, message);
    return streamId;
  }
}

export async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString()) : undefined;
}

export function listening(http) {
  http.listen(0, "127.0.0.1", () => console.log(`listening on ${http.address().port}`));
  process.on("SIGTERM", () => process.exit(0));
}
