// What is shown, filtered and selected.

const state = {
  shown: null,
  levels: new Set(LEVELS),
  party: "",
  code: "",
  only: false,
  from: 0,
  to: 1,
  item: null,
  finding: null,
  rows: [],
  visible: new Set(),
};

function passes(finding) {
  return state.levels.has(finding.level) && (!state.party || finding.party === state.party)
    && (!state.code || finding.code === state.code);
}

const filtered = () => state.levels.size < LEVELS.length || Boolean(state.party || state.code || state.only);

function applyFilter() {
  const { shown } = state;
  state.visible = new Set(shown.findings.filter(passes));
  for (const item of shown.items) item.pins = item.findings.filter((finding) => state.visible.has(finding));
  shown.lit = new Set([...state.visible].map((finding) => finding.at));
  state.rows = state.only || state.party || state.code || state.levels.size < LEVELS.length
    ? shown.items.filter((item) => (state.only ? item.pins.length > 0 : shown.lit.has(item.exchange)))
    : shown.items;
  let listed = 0;
  for (const finding of shown.findings) {
    const visible = state.visible.has(finding);
    finding.node.hidden = !visible;
    listed += visible;
  }
  for (const group of byId("findings").children) {
    group.hidden = ![...group.querySelectorAll("li")].some((node) => !node.hidden);
  }
  byId("count").textContent = `${listed} of ${shown.findings.length} findings, ${state.rows.length} of ${shown.items.length} rows`;
  byId("nothing").hidden = state.rows.length > 0;
  byId("log").hidden = state.rows.length === 0;
  drawLog();
  draw();
}

function select(item, finding = null, { reveal = true } = {}) {
  state.item = item;
  state.finding = finding;
  showDetails();
  if (item && reveal) {
    revealInTimeline(item);
    revealInLog(item);
  }
  drawLog();
  draw();
  byId("status").textContent = item ? described(item) : finding ? `${finding.level} ${finding.code}` : "";
}

function described(item) {
  const found = item.findings.map((finding) => `${finding.level} ${finding.code}`).join(", ");
  return `${moment(item.at[0])}, ${item.exchange.id}: ${item.what}${found ? `; ${found}` : ""}`;
}
