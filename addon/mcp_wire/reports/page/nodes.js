"use strict";
// The report page. Everything that came from the wire is data: it becomes text nodes and strokes on a canvas, never
// markup. Nothing is fetched, nothing is stored.

const LANE = 46; // pixels
const AXIS = 24;
const ROW = 28;
const SILENCE_MS = 1000;
const LEVELS = ["error", "warning", "info"];
const PARTIES = ["client", "server", "intermediary", "either", "pipeline"];
const KIND_COLOURS = {
  request: "request", notification: "notification", response: "response", error: "failure", batch: "response",
};

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);

function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "text") node.textContent = value;
    else if (name === "class") node.className = value;
    else if (name === "on") node.addEventListener("click", value);
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}
