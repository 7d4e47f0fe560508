// The page: one conversation at a time, and what its controls do.

function show(conversation) {
  conversation.ready ??= prepared(conversation);
  const shown = conversation.ready;
  state.shown = shown;
  state.item = state.finding = null;
  state.code = "";
  shown.laneItems = new Map(shown.lanes.map((lane) => [lane, []]));
  shown.pinned = new Map();
  for (const item of shown.items) {
    shown.laneItems.get(shown.lanes[shown.laneOf.get(item.exchange)]).push(item);
    if (!item.findings.length) continue;
    if (!shown.pinned.has(item.exchange)) shown.pinned.set(item.exchange, []);
    shown.pinned.get(item.exchange).push(item);
  }
  byId("verdict").textContent = shown.verdict;
  byId("verdict").className = `level ${shown.worst}`;
  byId("facts").replaceChildren(...shown.facts.map(([name, value]) => el("li", {}, `${name}: `, el("span", { class: "wire", text: value }))));
  byId("coverage").textContent = shown.coverage;
  byId("recovery").replaceChildren(...shown.recovery.map((advice) => el("li", {},
    el("code", { text: advice.action }), " for ", el("span", { class: "wire", text: `${advice.path} (exchange ${advice.exchange})` }), `: ${advice.condition}`)));
  byId("advice").hidden = !shown.recovery.length;
  byId("wire").hidden = !shown.exchanges.length;
  byId("missing").textContent = shown.leftOut;
  options(byId("code"), "every code", [...new Set(shown.findings.map((finding) => finding.code))].sort());
  [state.from, state.to] = [shown.from, shown.to];
  listFindings();
  log.scrollTop = 0;
  box.scrollTop = 0;
  showDetails();
  layOut();
  applyFilter();
}

function options(node, all, values) {
  node.replaceChildren(el("option", { value: "", text: all }), ...values.map((value) => el("option", { value, text: value })));
}

function begin() {
  readColours();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    readColours();
    draw();
  });
  options(byId("party"), "everybody", PARTIES);
  byId("party").addEventListener("change", (event) => {
    state.party = event.target.value;
    applyFilter();
  });
  byId("code").addEventListener("change", (event) => {
    state.code = event.target.value;
    applyFilter();
  });
  byId("only").addEventListener("change", (event) => {
    state.only = event.target.checked;
    applyFilter();
  });
  for (const level of LEVELS) {
    byId(`show-${level}`).addEventListener("change", (event) => {
      if (event.target.checked) state.levels.add(level);
      else state.levels.delete(level);
      applyFilter();
    });
  }
  byId("closer").addEventListener("click", () => zoom(0.6));
  byId("farther").addEventListener("click", () => zoom(1 / 0.6));
  byId("all").addEventListener("click", showAll);
  log.addEventListener("scroll", drawLog);
  log.addEventListener("keydown", moveInLog);
  followPointers();
  new ResizeObserver(() => {
    layOut();
    drawLog();
  }).observe(box);
  const choice = byId("conversation");
  choice.replaceChildren(...data.conversations.map((conversation, index) => el("option", { value: String(index), text: `${conversation.transcript}: ${conversation.verdict}` })));
  choice.addEventListener("change", () => show(data.conversations[Number(choice.value)]));
  byId("choice").hidden = data.conversations.length < 2;
  if (data.conversations.length) show(data.conversations[0]);
}

begin();
