// Everything in order, as a list. Only the rows that can be seen are nodes.

const log = byId("log");
const rows = byId("rows");

function drawLog() {
  const { length } = state.rows;
  rows.style.height = `${length * ROW}px`;
  const first = Math.max(0, Math.floor(log.scrollTop / ROW) - 4);
  const last = Math.min(length, Math.ceil((log.scrollTop + log.clientHeight) / ROW) + 4);
  const nodes = [];
  for (let index = first; index < last; index++) nodes.push(row(state.rows[index], index, length));
  rows.replaceChildren(...nodes);
  const current = state.item ? byId(`row-${state.item.index}`) : null;
  if (current) log.setAttribute("aria-activedescendant", current.id);
  else log.removeAttribute("aria-activedescendant");
}

function row(item, index, length) {
  const levels = LEVELS.filter((level) => item.pins.some((finding) => finding.level === level));
  const node = el(
    "div",
    { class: index % 2 ? "row odd" : "row", role: "option", id: `row-${item.index}`, "aria-selected": String(item === state.item),
      "aria-posinset": String(index + 1), "aria-setsize": String(length), on: () => select(item, item.pins[0] || null) },
    el("span", { class: "when", text: moment(item.at[0]) }),
    el("span", { class: "who", text: item.exchange.id }),
    el("span", { class: "wire", text: item.what }),
    el("span", {}, ...levels.map((level) => el("span", { class: `level ${level}`, text: ` ${level}` }))),
  );
  node.style.top = `${index * ROW}px`;
  return node;
}

function revealInLog(item) {
  const index = state.rows.indexOf(item);
  if (index < 0) return;
  const top = index * ROW;
  if (top < log.scrollTop) log.scrollTop = top;
  else if (top + ROW > log.scrollTop + log.clientHeight) log.scrollTop = top + ROW - log.clientHeight;
}

function moveInLog(event) {
  const moves = { ArrowUp: -1, ArrowDown: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
  if (event.key === "Enter" && state.item) {
    event.preventDefault();
    byId("details").focus();
    return;
  }
  if (!(event.key in moves) || !state.rows.length) return;
  event.preventDefault();
  const from = state.item ? state.rows.indexOf(state.item) : -1;
  const to = Math.min(Math.max(from + moves[event.key], 0), state.rows.length - 1);
  select(state.rows[to], state.rows[to].pins[0] || null);
}
