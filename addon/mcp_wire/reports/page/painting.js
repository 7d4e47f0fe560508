// The timeline as a picture: a lane a stream, strokes on one canvas, only what is in view.

// Endings that cut something off; that a client leaves is its own affair.
const BROKEN = new Set(["server_closed", "server_reset", "client_reset", "disconnected"]);
const box = byId("timeline");
const canvas = box.querySelector("canvas");
const pen = canvas.getContext("2d");
let colours = {};
let drawing = false;

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const names = ["page", "panel", "line", "text", "muted", "accent", "error", "warning", "info", "bar", "bar-edge",
    "request", "notification", "response", "failure", "other", "chunk"];
  colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

// Where lanes begin behind their labels, and how wide they are. Kept, because asking the page for every event is slow.
const frame = { left: 84, width: 10, right: 94 };
const toPixel = (x) => frame.left + ((x - state.from) / (state.to - state.from)) * frame.width;
const toX = (pixel) => state.from + ((pixel - frame.left) / frame.width) * (state.to - state.from);

function layOut() {
  frame.right = box.clientWidth;
  frame.left = Math.min(210, Math.max(84, Math.round(frame.right * 0.2)));
  frame.width = Math.max(frame.right - frame.left, 10);
  const lanes = Math.max(state.shown.lanes.length, 1);
  const limit = Math.max(144, Math.round(window.innerHeight * 0.52) - 2);
  const height = Math.min(AXIS + lanes * LANE + 4, limit);
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  canvas.width = Math.round(frame.right * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${frame.right}px`;
  canvas.style.height = `${height}px`;
  byId("room").style.height = `${Math.max(AXIS + lanes * LANE + 4 - height, 0)}px`;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  draw();
}

function draw() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    paint();
  });
}

function paint() {
  const { shown } = state;
  const height = canvas.clientHeight;
  pen.fillStyle = colours.page;
  pen.fillRect(0, 0, frame.right, height);
  const scrolled = box.scrollTop;
  const first = Math.max(0, Math.floor(scrolled / LANE));
  const last = Math.min(shown.lanes.length - 1, Math.floor((scrolled + height) / LANE));
  for (let number = first; number <= last; number++) {
    paintLane(shown.lanes[number], number, AXIS + number * LANE - scrolled);
  }
  paintAxis();
}

function paintAxis() {
  pen.fillStyle = colours.panel;
  pen.fillRect(0, 0, frame.right, AXIS);
  pen.fillStyle = colours.muted;
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  const narrow = frame.left < 190;
  label(state.shown.timed ? (narrow ? "time" : "time since the first exchange") : narrow ? "order" : "order (times unknown)", 8, AXIS / 2, frame.left - 12);
  const step = niceStep((state.to - state.from) / Math.max(frame.width / 110, 1));
  for (let x = Math.ceil(state.from / step) * step; x <= state.to; x += step) {
    const at = toPixel(x);
    pen.fillStyle = colours.line;
    pen.fillRect(at, AXIS - 5, 1, 5);
    pen.fillStyle = colours.muted;
    if (at + 60 < frame.right) pen.fillText(tick(x, step), at + 3, AXIS / 2);
  }
}

function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-3)));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= least) || power * 10;
  return state.shown.timed ? step : Math.max(1, Math.round(step));
}

function tick(x, step) {
  if (!state.shown.timed) return `#${Math.round(x)}`;
  if (step >= 1000) return `${Number((x / 1000).toFixed(3))} s`;
  return `${Number(x.toFixed(3))} ms`;
}

function paintLane(lane, number, top) {
  if (number % 2) {
    pen.fillStyle = colours.panel;
    pen.fillRect(0, top, frame.right, LANE);
  }
  pen.save();
  pen.beginPath();
  pen.rect(frame.left, top, frame.width, LANE);
  pen.clip();
  let before = null;
  for (const exchange of lane.exchanges) {
    if (lane.stream && before) paintJoint(before, exchange, top);
    before = exchange;
    if (exchange.last[0] < state.from || exchange.start[0] > state.to) continue;
    pen.globalAlpha = filtered() && !state.shown.lit.has(exchange) ? 0.3 : 1;
    paintExchange(exchange, top);
  }
  pen.globalAlpha = 1;
  for (const exchange of lane.exchanges) paintPins(exchange, top);
  paintSelection(lane, top);
  pen.restore();
  pen.fillStyle = colours.line;
  pen.fillRect(0, top + LANE - 1, frame.right, 1);
  pen.fillStyle = colours.text;
  pen.font = "13px system-ui, sans-serif";
  pen.textBaseline = "middle";
  label(lane.label, 8, top + 16, frame.left - 14);
  pen.fillStyle = colours.muted;
  pen.font = "12px system-ui, sans-serif";
  label(lane.note, 8, top + 33, frame.left - 14);
}

// Text that ends in an ellipsis where it does not fit. Long strings are cut first: measuring is linear in the length.
function label(text, x, y, room) {
  let shown = text.slice(0, 80);
  if (pen.measureText(shown).width > room) {
    let low = 0;
    let high = shown.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (pen.measureText(`${shown.slice(0, middle)}…`).width <= room) low = middle;
      else high = middle - 1;
    }
    shown = low ? `${shown.slice(0, low)}…` : "";
  }
  pen.fillText(shown, x, y);
}

function paintJoint(before, after, top) {
  const [from, to] = [toPixel(before.last[0]), toPixel(after.start[0])];
  if (to < frame.left || from > frame.right || to <= from) return;
  pen.strokeStyle = colours.accent;
  pen.setLineDash([4, 3]);
  pen.beginPath();
  pen.moveTo(Math.max(from, frame.left - 10), top + 25);
  pen.lineTo(Math.min(to, frame.right + 10), top + 25);
  pen.stroke();
  pen.setLineDash([]);
}

function paintExchange(exchange, top) {
  const start = toPixel(exchange.start[0]);
  const head = exchange.head ? toPixel(exchange.head[0]) : null;
  const end = Math.max(toPixel(exchange.last[0]), start + 3);
  pen.fillStyle = colours["bar-edge"];
  pen.fillRect(start, top + 24, Math.max((head ?? end) - start, 1), 2);
  pen.fillStyle = colours.request;
  pen.fillRect(start - 1, top + 15, 3, 20);
  if (head !== null) {
    pen.fillStyle = colours.bar;
    pen.strokeStyle = colours["bar-edge"];
    pen.lineWidth = 1;
    const long = Math.max(end - head, 3);
    pen.fillRect(head, top + 15, long, 20);
    pen.strokeRect(head + 0.5, top + 15.5, Math.max(long - 1, 2), 19);
    for (const [from, to] of exchange.silences) paintSilence(from, to, top);
    paintChunks(exchange, top);
    paintEvents(exchange, top);
    if (!exchange.isStream && end - head > 40) {
      pen.fillStyle = colours.text;
      pen.font = "12px system-ui, sans-serif";
      pen.textBaseline = "middle";
      label(`${exchange.status} ${exchange.answer}`, head + 5, top + 25, end - head - 8);
    }
  }
  paintEnding(exchange, end, top);
}

function paintSilence(from, to, top) {
  const [left, right] = [Math.max(toPixel(from), frame.left - 4), Math.min(toPixel(to), frame.right + 4)];
  if (right - left < 6) return;
  pen.fillStyle = colours.page;
  pen.fillRect(left + 2, top + 14, right - left - 4, 22);
  pen.strokeStyle = colours["bar-edge"];
  pen.setLineDash([1, 4]);
  pen.beginPath();
  pen.moveTo(left + 3, top + 25);
  pen.lineTo(right - 3, top + 25);
  pen.stroke();
  pen.setLineDash([]);
  const text = `silent ${((to - from) / 1000).toFixed(1)} s`;
  pen.font = "12px system-ui, sans-serif";
  const wide = pen.measureText(text).width + 10;
  if (right - left > wide + 8) {
    const middle = (left + right - wide) / 2;
    pen.fillStyle = colours.page;
    pen.fillRect(middle, top + 16, wide, 18);
    pen.fillStyle = colours.muted;
    pen.textBaseline = "middle";
    pen.fillText(text, middle + 5, top + 25);
  }
}

function paintChunks(exchange, top) {
  if (!exchange.isStream || !exchange.boundaries) return;
  pen.fillStyle = colours.chunk;
  let drawn = -10;
  for (const [x] of exchange.chunks) {
    const at = toPixel(x);
    if (at < frame.left - 2 || at - drawn < 1) continue;
    if (at > frame.right) break;
    pen.fillRect(at, top + 35, 1, 6);
    drawn = at;
  }
}

function paintEvents(exchange, top) {
  const { events } = exchange;
  let drawn = -10;
  for (let index = 0; index < events.length; index++) {
    const event = events[index];
    const at = toPixel(event.at[0]);
    if (at < frame.left - 8 || at - drawn < 1) continue;
    if (at > frame.right) break;
    drawn = at;
    pen.fillStyle = colours[KIND_COLOURS[event.mark] || "other"];
    const high = event.mark === "comment" || event.mark === "empty" ? 8 : 16;
    pen.fillRect(at - 2, top + 25 - high / 2, 5, high);
    const next = index + 1 < events.length ? toPixel(events[index + 1].at[0]) : toPixel(exchange.last[0]);
    if (next - at > 60) {
      pen.fillStyle = colours.text;
      pen.font = "12px system-ui, sans-serif";
      pen.textBaseline = "middle";
      const silent = exchange.silences.find(([from]) => from >= event.at[0]);
      const room = Math.min(next, silent ? toPixel(silent[0]) : Infinity) - at - 10;
      if (room > 40) label(event.label, at + 6, top + 25, room);
    }
  }
}

function paintEnding(exchange, end, top) {
  const open = exchange.ended === "open" || (!exchange.ended && !exchange.end);
  pen.strokeStyle = BROKEN.has(exchange.ended) ? colours.error : colours.muted;
  pen.lineWidth = 2;
  pen.beginPath();
  if (open) {
    pen.moveTo(end, top + 19);
    pen.lineTo(end + 6, top + 25);
    pen.lineTo(end, top + 31);
  } else if (exchange.ended && exchange.ended !== "complete") {
    pen.moveTo(end - 4, top + 21);
    pen.lineTo(end + 4, top + 29);
    pen.moveTo(end + 4, top + 21);
    pen.lineTo(end - 4, top + 29);
  }
  pen.stroke();
  pen.lineWidth = 1;
}

// The shape says the level as well as the colour.
function paintPins(exchange, top) {
  const items = state.shown.pinned.get(exchange) || [];
  let drawn = -20;
  for (const item of items) {
    if (!item.pins.length) continue;
    const at = toPixel(item.at[0]);
    if (at < frame.left - 8 || at > frame.right + 8 || at - drawn < 2) continue;
    drawn = at;
    const level = LEVELS.find((one) => item.pins.some((finding) => finding.level === one));
    pen.fillStyle = colours[level];
    pen.beginPath();
    if (level === "error") {
      pen.moveTo(at - 6, top + 2);
      pen.lineTo(at + 6, top + 2);
      pen.lineTo(at, top + 13);
    } else if (level === "warning") {
      pen.moveTo(at, top + 2);
      pen.lineTo(at + 6, top + 8);
      pen.lineTo(at, top + 14);
      pen.lineTo(at - 6, top + 8);
    } else {
      pen.arc(at, top + 8, 5, 0, 2 * Math.PI);
    }
    pen.fill();
  }
}

function paintSelection(lane, top) {
  const { item } = state;
  if (!item || state.shown.lanes[state.shown.laneOf.get(item.exchange)] !== lane) return;
  const at = toPixel(item.at[0]);
  pen.strokeStyle = colours.accent;
  pen.lineWidth = 2;
  pen.strokeRect(at - 6, top + 14, 13, 23);
  pen.lineWidth = 1;
}
