// What there is to see, worked out once for each conversation.

function prepared(conversation) {
  const byIndex = new Map(conversation.exchanges.map((exchange) => [exchange.index, exchange]));
  const findings = conversation.findings.map((finding) => {
    const place = /^\/exchanges\/(\d+)(?:\/response\/chunks\/(\d+))?/.exec(finding.path);
    const exchange = place ? byIndex.get(Number(place[1])) : undefined;
    const number = place && place[2] !== undefined ? Number(place[2]) : null;
    const event = exchange && number !== null ? exchange.events.find((one) => one.number === number) : undefined;
    return { ...finding, at: exchange || null, event: event || null };
  });
  const { lanes, laneOf } = lanesOf(conversation.exchanges);
  const items = itemsOf(conversation.exchanges, findings);
  let first = Infinity;
  let last = -Infinity;
  for (const exchange of conversation.exchanges) {
    first = Math.min(first, exchange.start[0]);
    last = Math.max(last, exchange.last[0]);
    exchange.silences = conversation.timed ? silencesOf(exchange) : [];
  }
  if (!(first <= last)) [first, last] = [0, 1];
  const room = Math.max((last - first) * 0.02, conversation.timed ? 1 : 0.5);
  return { ...conversation, findings, lanes, laneOf, items, from: first - room, to: last + room, byIndex };
}

// A lane a logical stream, its resumptions joined; exchanges without a stream share lanes as far as they do not overlap.
function lanesOf(exchanges) {
  const streams = new Map();
  const plain = [];
  for (const exchange of exchanges) {
    if (exchange.stream !== null) {
      if (!streams.has(exchange.stream)) streams.set(exchange.stream, { stream: true, exchanges: [] });
      streams.get(exchange.stream).exchanges.push(exchange);
      continue;
    }
    let lane = plain.find((one) => one.until <= exchange.start[0]);
    if (!lane) {
      lane = { stream: false, exchanges: [], until: 0 };
      plain.push(lane);
    }
    lane.exchanges.push(exchange);
    lane.until = Math.max(exchange.last[0], exchange.start[0]);
  }
  const lanes = [...plain, ...streams.values()];
  const laneOf = new Map();
  lanes.forEach((lane, number) => {
    const [origin] = lane.exchanges;
    lane.label = lane.stream ? origin.label || `${origin.method} ${origin.target}` : "without a stream";
    lane.note = lane.stream ? [origin.id, origin.session].filter(Boolean).join(" · ") : "";
    for (const exchange of lane.exchanges) laneOf.set(exchange, number);
  });
  return { lanes, laneOf };
}

// Everything that has a moment, in the order in which it was seen.
function itemsOf(exchanges, findings) {
  const items = [];
  for (const exchange of exchanges) {
    items.push({ kind: "request", exchange, event: null, at: exchange.start, what: `→ ${exchange.label || exchange.method}` });
    if (exchange.head) {
      const media = exchange.isStream ? "event stream" : exchange.answer;
      items.push({ kind: "head", exchange, event: null, at: exchange.head, what: `← ${exchange.status} ${media}` });
    }
    for (const event of exchange.events) {
      items.push({ kind: "event", exchange, event, at: event.at, what: event.label });
    }
    if (exchange.end && exchange.ended && exchange.ended !== "complete") {
      items.push({ kind: "end", exchange, event: null, at: exchange.end, what: ended(exchange) });
    }
  }
  items.sort((one, other) => one.at[1] - other.at[1]);
  const find = new Map();
  items.forEach((item, index) => {
    item.index = index;
    item.findings = [];
    find.set(item.event || `${item.exchange.index} ${item.kind}`, item);
  });
  for (const finding of findings) {
    if (finding.event) finding.item = find.get(finding.event);
    else if (finding.at) {
      finding.item = partsOf(finding).map((part) => find.get(`${finding.at.index} ${part}`)).find(Boolean);
    }
    if (finding.item) finding.item.findings.push(finding);
  }
  return items;
}

// Where a finding about an exchange has its pin: at the request, at the response head, or at the end.
function partsOf({ path, at }) {
  const part = path.slice(`/exchanges/${at.index}`.length);
  if (part === "/response" || part === "/response/chunks") return ["end", "head", "request"];
  return part.startsWith("/response") ? ["head", "request"] : ["request"];
}

function silencesOf(exchange) {
  if (!exchange.head) return [];
  const gaps = [];
  let before = exchange.head[0];
  const signs = [...exchange.chunks.map((chunk) => chunk[0]), ...(exchange.end ? [exchange.end[0]] : [])];
  for (const sign of exchange.isStream ? signs : []) {
    if (sign - before >= SILENCE_MS) gaps.push([before, sign]);
    before = Math.max(before, sign);
  }
  return gaps;
}

const ended = (exchange) => `${exchange.ended.replaceAll("_", " ")}${exchange.reset ? ` (${exchange.reset})` : ""}`;

function moment(x) {
  if (!state.shown.timed) return `#${Math.round(x)}`;
  return Math.abs(x) < 10_000 ? `${Number(x.toFixed(1))} ms` : `${(x / 1000).toFixed(2)} s`;
}
