// What is known of the selected event, exchange or finding.

function showDetails() {
  const { item, finding } = state;
  const parts = [el("h2", { text: "Details" })];
  if (!item && !finding) parts.push(el("p", { class: "muted", text: "Choose something in the timeline, the list or the findings." }));
  const about = finding ? [finding] : item ? item.findings : [];
  for (const one of about) parts.push(...findingParts(one));
  if (item?.event) parts.push(...eventParts(item.event, item.exchange));
  if (item) parts.push(...exchangeParts(item.exchange, item.findings.filter((one) => one !== finding && finding)));
  byId("details").replaceChildren(...parts);
  byId("details").scrollTop = 0;
}

function findingParts(finding) {
  const clause = finding.citation
    ? el("a", { href: finding.citation.url, rel: "noreferrer", text: `${finding.citation.revision} ${finding.citation.section}` })
    : null;
  return [
    el("h3", {}, el("span", { class: `level ${finding.level}`, text: finding.level }), " ", el("code", { text: finding.code })),
    el("p", { text: finding.message }),
    table([
      ["who must act", finding.who],
      ["cause", finding.layer.replaceAll("_", " ")],
      ["where", finding.path + (finding.line ? `, line ${finding.line}` : "")],
      ["how often", finding.count > 1 ? `${finding.count} times, last at ${finding.last_path || finding.path}` : ""],
      ["clause", clause],
      ["fix", finding.fix],
      ["explains", (finding.consequences || []).join(", ")],
      ["accepted", finding.reason ? `${finding.reason}${finding.date ? ` (${finding.date})` : ""}` : ""],
    ]),
  ];
}

function eventParts(event, exchange) {
  const chunks = event.chunks[0] === event.chunks[1] ? `chunk ${event.chunks[0]}` : `chunks ${event.chunks[0]} to ${event.chunks[1]}`;
  const since = exchange.head && state.shown.timed ? ` (${moment(event.at[0] - exchange.head[0])} after the response head)` : "";
  return [
    el("h3", { text: `Event ${event.number}: ${event.label}` }),
    table([
      ["seen at", moment(event.at[0]) + since],
      ["arrived in", exchange.boundaries ? chunks : `${chunks} (boundaries not observed)`],
      ["event", event.type],
      ["id", event.id],
      ["retry", event.retry === null ? "" : `${event.retry} ms`],
    ]),
    el("h4", { text: "On the wire" }),
    textBlock(event.text, event.cut),
    ...prettyData(event.text, event.cut),
  ];
}

function prettyData(text, cut) {
  const lines = text.split("\n").filter((line) => line.startsWith("data:"));
  if (cut || !lines.length) return [];
  try {
    const value = JSON.parse(lines.map((line) => line.slice(5).replace(/^ /, "")).join("\n"));
    return [el("h4", { text: "Data" }), el("pre", { tabindex: "0", text: JSON.stringify(value, null, 2) })];
  } catch {
    return [];
  }
}

function exchangeParts(exchange, others) {
  const parts = [
    el("h3", {}, "Exchange ", el("span", { class: "wire", text: exchange.id })),
    el("p", { class: "wire", text: `${exchange.method} ${exchange.target} ${exchange.version || ""}` }),
  ];
  if (others.length) {
    parts.push(el("p", { text: `Also here: ${others.map((one) => `${one.level} ${one.code}`).join(", ")}` }));
  }
  parts.push(
    table([
      ["began", moment(exchange.start[0])],
      ["response head", exchange.head ? moment(exchange.head[0]) : "not seen"],
      ["ended", exchange.ended ? `${ended(exchange)}${exchange.end ? ` at ${moment(exchange.end[0])}` : ""}` : "not known"],
      ["stream", exchange.isStream ? `${exchange.eventCount} events in ${exchange.chunkCount} chunks` : ""],
      ["resumes after", exchange.resumes],
      ["left out here", exchange.leftOut ? `${exchange.leftOut} events` : ""],
    ]),
    el("h4", { text: "Request headers" }),
    table(exchange.requestHeaders, "wire"),
    ...bodyParts("Request body", exchange.requestBody),
  );
  if (exchange.head) {
    parts.push(el("h4", { text: `Response ${exchange.status}` }), table(exchange.responseHeaders, "wire"));
    parts.push(...bodyParts("Response body", exchange.responseBody));
  }
  return parts;
}

function bodyParts(title, body) {
  if (!body) return [];
  if (body.absent) return [el("h4", { text: title }), el("p", { class: "muted", text: `not captured: ${body.absent}` })];
  if (!body.text && !body.cut) return [];
  let { text } = body;
  if (!body.cut) {
    try {
      text = JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      // It is no JSON, or not as JavaScript has it; shown as it stands.
    }
  }
  return [el("h4", { text: title }), textBlock(text, body.cut)];
}

function textBlock(text, cut) {
  return el("pre", { tabindex: "0", text: cut ? `${text}\n… ${cut} more characters` : text });
}

function table(pairs, className = "") {
  const lines = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el("table", {}, el("tbody", {}, ...lines.map(([name, value]) => {
    const cell = value instanceof Node ? el("td", {}, value) : el("td", { class: className, text: String(value) });
    return el("tr", {}, el("th", { scope: "row", text: name }), cell);
  })));
}
