// Moving about in the timeline: view, selection, keys, pointers.

function setView(from, to) {
  const { shown } = state;
  const whole = shown.to - shown.from;
  const span = Math.min(Math.max(to - from, shown.timed ? 0.01 : 2), whole);
  let left = from + (to - from - span) / 2;
  left = Math.min(Math.max(left, shown.from), shown.to - span);
  state.from = left;
  state.to = left + span;
  draw();
}

function middle() {
  const x = state.item ? state.item.at[0] : NaN;
  return state.from <= x && x <= state.to ? x : (state.from + state.to) / 2;
}

function zoom(factor, around = middle()) {
  setView(around - (around - state.from) * factor, around + (state.to - around) * factor);
}

const pan = (share) => setView(state.from + (state.to - state.from) * share, state.to + (state.to - state.from) * share);
const showAll = () => setView(state.shown.from, state.shown.to);

function revealInTimeline(item) {
  const [x] = item.at;
  const span = state.to - state.from;
  if (x < state.from || x > state.to) setView(x - span / 2, x + span / 2);
  const top = state.shown.laneOf.get(item.exchange) * LANE;
  const height = canvas.clientHeight - AXIS;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + LANE > box.scrollTop + height) box.scrollTop = top + LANE - height;
}

function itemAt(pixel, y) {
  const lane = state.shown.lanes[Math.floor((y - AXIS + box.scrollTop) / LANE)];
  if (!lane || y < AXIS || pixel < frame.left) return null;
  let best = null;
  let distance = 9;
  for (const item of state.shown.laneItems.get(lane)) {
    const away = Math.abs(toPixel(item.at[0]) - pixel);
    if (away < distance || (away === distance && item.pins.length)) [best, distance] = [item, away];
  }
  if (best) return best;
  const x = toX(pixel);
  const exchange = lane.exchanges.find((one) => one.start[0] <= x && x <= one.last[0]);
  return exchange ? state.shown.laneItems.get(lane).find((item) => item.exchange === exchange) : null;
}

function step(direction) {
  const { item } = state;
  const items = item ? state.shown.laneItems.get(state.shown.lanes[state.shown.laneOf.get(item.exchange)]) : state.shown.items;
  const index = item ? items.indexOf(item) + direction : 0;
  if (items[index]) select(items[index]);
}

function changeLane(direction) {
  const { shown, item } = state;
  const number = item ? shown.laneOf.get(item.exchange) + direction : 0;
  const lane = shown.lanes[number];
  if (!lane) return;
  const [x] = item ? item.at : [state.from];
  const items = shown.laneItems.get(lane);
  select(items.reduce((best, one) => (Math.abs(one.at[0] - x) < Math.abs(best.at[0] - x) ? one : best), items[0]));
}

function nextFinding(direction) {
  const withPins = state.shown.items.filter((item) => item.pins.length);
  if (!withPins.length) return;
  const from = state.item ? state.item.index : -1;
  const found = direction > 0
    ? withPins.find((item) => item.index > from) || withPins[0]
    : withPins.findLast((item) => item.index < from) || withPins[withPins.length - 1];
  select(found, found.pins[0]);
}

const KEYS = {
  ArrowLeft: (shift) => (shift ? pan(-0.2) : step(-1)),
  ArrowRight: (shift) => (shift ? pan(0.2) : step(1)),
  ArrowUp: () => changeLane(-1),
  ArrowDown: () => changeLane(1),
  "+": () => zoom(0.6),
  "=": () => zoom(0.6),
  "-": () => zoom(1 / 0.6),
  0: () => showAll(),
  n: () => nextFinding(1),
  p: () => nextFinding(-1),
  Enter: () => byId("details").focus(),
};

function followPointers() {
  const down = new Map();
  let moved = 0;
  box.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    down.set(event.pointerId, event.offsetX);
    moved = 0;
  });
  box.addEventListener("pointermove", (event) => {
    if (!down.has(event.pointerId)) return;
    const before = [...down.values()];
    const last = down.get(event.pointerId);
    down.set(event.pointerId, event.offsetX);
    const after = [...down.values()];
    moved += Math.abs(event.offsetX - last);
    if (moved > 4) canvas.setPointerCapture?.(event.pointerId);
    if (down.size === 1) {
      const by = ((last - event.offsetX) / frame.width) * (state.to - state.from);
      setView(state.from + by, state.to + by);
    } else if (down.size === 2) {
      const apart = (pair) => Math.max(Math.abs(pair[0] - pair[1]), 10);
      zoom(apart(before) / apart(after), toX((after[0] + after[1]) / 2));
    }
  });
  const up = (event) => {
    const wasDown = down.delete(event.pointerId);
    if (!wasDown || moved > 4 || event.type === "pointercancel") return;
    const bounds = canvas.getBoundingClientRect();
    const item = itemAt(event.clientX - bounds.left, event.clientY - bounds.top);
    if (item) select(item, item.pins[0] || null, { reveal: false });
    if (item) revealInLog(item);
  };
  for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, up);
  box.addEventListener("wheel", (event) => {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      zoom(1.0015 ** event.deltaY, toX(event.offsetX));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      pan((event.deltaX || event.deltaY) / frame.width);
    }
  }, { passive: false });
  box.addEventListener("scroll", draw);
  box.addEventListener("keydown", (event) => {
    const key = KEYS[event.key];
    if (!key || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    key(event.shiftKey);
  });
}
