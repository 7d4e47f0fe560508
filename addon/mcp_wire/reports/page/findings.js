// The findings, grouped by root cause.

function listFindings() {
  const groups = new Map();
  for (const finding of state.shown.findings) {
    const cause = `${finding.who}: ${finding.layer.replaceAll("_", " ")}`;
    if (!groups.has(cause)) groups.set(cause, []);
    groups.get(cause).push(finding);
  }
  const grave = (group) => Math.min(...group.map((finding) => LEVELS.indexOf(finding.level)));
  const nodes = [...groups].sort(([, one], [, other]) => grave(one) - grave(other)).map(([cause, group]) => {
    group.sort((one, other) => LEVELS.indexOf(one.level) - LEVELS.indexOf(other.level));
    const title = cause[0].toUpperCase() + cause.slice(1);
    return el("section", {}, el("h3", { text: title }), el("ul", { class: "findings" }, ...group.map(findingNode)));
  });
  if (!nodes.length) nodes.push(el("p", { text: "Nothing was found. That certifies neither peer." }));
  byId("findings").replaceChildren(...nodes);
}

function findingNode(finding) {
  const place = `${finding.path}${finding.count > 1 ? `, ${finding.count} times` : ""}${finding.reason ? `, accepted: ${finding.reason}` : ""}`;
  finding.node = el(
    "li",
    { class: finding.level },
    el("div", {}, el("span", { class: `level ${finding.level}`, text: finding.level }), " ", el("code", { text: finding.code })),
    el("div", { text: finding.message }),
    el("div", {}, el("button", { type: "button", text: "Show", "aria-label": `Show ${finding.code}`, on: () => openFinding(finding) }),
      " ", el("span", { class: "wire muted", text: place })),
  );
  return finding.node;
}

function openFinding(finding) {
  select(finding.item || null, finding);
  byId("details").focus();
}
