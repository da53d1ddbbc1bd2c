/** Starts the page: reads the data, makes the parts and connects them. */

import { type Data, type EventId, Model, SECOND } from "./data";
import { eventDetails, rangeDetails } from "./details";
import { byId, element } from "./dom";
import * as format from "./format";
import { ranks } from "./palette";
import { type Tab, Tables, TABS, type Target } from "./tables";
import { Timeline } from "./timeline";

function start(): void {
  const data = JSON.parse(byId("data").textContent ?? "") as Data;
  const model = new Model(data);
  const order = ranks(data);
  const swatch = (op: number) => (order[op] >= 0 ? `var(--op-${order[op]})` : "var(--other)");
  head(data);
  legend(data, order, swatch);

  const details = byId("details");
  const hint = details.innerHTML;
  const tip = byId("tip");
  let query = "";
  let target: Target | null = null;

  const timeline = new Timeline(model, byId<HTMLCanvasElement>("timeline"), byId<HTMLCanvasElement>("overview"), {
    selected: (id) => {
      if (id >= 0) details.replaceChildren(...eventDetails(model, id, (other) => timeline.select(other, true)));
      else if (timeline.range) details.replaceChildren(...rangeDetails(model, timeline.range));
      else details.innerHTML = hint;
      if (target === null) tables.mark(id >= 0 ? targetOf(model, id, tables.tab) : null);
    },
    hovered: (id, x, y) => {
      tip.hidden = id < 0;
      if (id < 0) return;
      const length = model.kind(id) === "submit" ? "" : `  ${format.time((model.end[id] - model.start[id]) / SECOND)}`;
      const place = model.mainLine[id] >= 0 ? model.place(model.mainLine[id]) : "";
      tip.replaceChildren(element("strong", {}, model.name(id)), length, element("br"), element("span", { class: "faint" }, place));
      placeTip(tip, x, y);
    },
    valued: (name, value, x, y) => {
      tip.hidden = false;
      tip.replaceChildren(`${name}: `, element("strong", {}, value));
      placeTip(tip, x, y);
    },
    ranged: (range) => {
      if (range) details.replaceChildren(...rangeDetails(model, range));
      else if (timeline.selected < 0) details.innerHTML = hint;
    },
  });

  const tables = new Tables(model, byId("table"), swatch, (chosen) => {
    target = chosen;
    emphasise();
    if (chosen && found > 0) {
      timeline.select(-1);
      timeline.step(1);
    }
  });
  const tabs = byId("tabs");
  for (const [tab, name] of TABS) {
    const button = element("button", { type: "button", role: "tab", id: `tab-${tab}`, "aria-controls": "table" }, name);
    button.addEventListener("click", () => open(tab));
    tabs.append(button);
  }
  const open = (tab: Tab) => {
    for (const [other] of TABS) byId(`tab-${other}`).setAttribute("aria-selected", String(other === tab));
    tables.show(tab);
  };
  tabs.addEventListener("keydown", (event) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    const position = TABS.findIndex(([tab]) => tab === tables.tab);
    const [next] = TABS[(position + by + TABS.length) % TABS.length];
    open(next);
    byId(`tab-${next}`).focus();
    event.preventDefault();
    event.stopPropagation();
  });

  const search = byId<HTMLInputElement>("search");
  const count = byId("count");
  let found = 0;
  const emphasise = () => {
    const matches = query || target ? matching(model, query, target) : null;
    found = matches ? matches.reduce((sum, match) => sum + match, 0) : 0;
    count.textContent = matches ? `${format.integer(found)} event${found === 1 ? "" : "s"}` : "";
    timeline.emphasise(matches);
  };
  search.addEventListener("input", () => {
    query = search.value.trim().toLowerCase();
    emphasise();
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") timeline.step(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") {
      search.value = query = "";
      emphasise();
      byId("timeline").focus();
    }
    event.stopPropagation();
  });

  const keys: Record<string, () => void> = {
    "+": () => timeline.zoom(0.5),
    "=": () => timeline.zoom(0.5),
    w: () => timeline.zoom(0.5),
    "-": () => timeline.zoom(2),
    s: () => timeline.zoom(2),
    ArrowLeft: () => timeline.pan(-0.2),
    a: () => timeline.pan(-0.2),
    ArrowRight: () => timeline.pan(0.2),
    d: () => timeline.pan(0.2),
    n: () => timeline.step(1),
    p: () => timeline.step(-1),
    f: () => timeline.showSelection(),
    "0": () => timeline.showAll(),
    "/": () => search.focus(),
    "?": () => toggleHelp(),
    Escape: () => {
      query = search.value = "";
      target = null;
      byId("help").hidden = true;
      timeline.mark(null);
      timeline.select(-1);
      tables.mark(null);
      emphasise();
    },
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
    keys[event.key]();
    event.preventDefault();
  });
  const buttons: [string, () => void][] = [
    ["zoom-in", () => timeline.zoom(0.5)],
    ["zoom-out", () => timeline.zoom(2)],
    ["zoom-all", () => timeline.showAll()],
    ["show-help", () => toggleHelp()],
    ["theme", () => switchTheme()],
  ];
  for (const [id, click] of buttons) byId(id).addEventListener("click", click);
  const switchTheme = () => {
    const root = document.documentElement;
    root.dataset.theme = isDark() ? "light" : "dark";
    timeline.recolour();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => timeline.recolour());
  open(data.tables.waits.length > 0 && data.tables.ops.length === 0 ? "waits" : "lines");
  // For tests of the page.
  Object.assign(window, { forerun: { model, timeline } });
}

/** Puts the tooltip beside the pointer, inside the window. */
function placeTip(tip: HTMLElement, x: number, y: number): void {
  const left = Math.min(x + 12, document.documentElement.clientWidth - tip.offsetWidth - 8);
  const below = y + 16 + tip.offsetHeight < innerHeight;
  tip.style.transform = `translate(${Math.max(left, 4)}px, ${below ? y + 16 : y - tip.offsetHeight - 8}px)`;
}

function isDark(): boolean {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function toggleHelp(): void {
  byId("help").hidden = !byId("help").hidden;
}

function head(data: Data): void {
  document.title = data.title;
  byId("title").textContent = data.title;
  byId("facts").append(
    ...data.facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
  );
  byId("advice").append(...data.advice.map((text) => element("p", {}, text.replace(/ %/g, "\u00a0%"))));
}

function legend(data: Data, order: Int32Array, swatch: (op: number) => string): void {
  const items: Node[] = [];
  const item = (colour: string, text: string) =>
    items.push(element("li", {}, element("span", { class: "swatch", style: `background: ${colour}` }), text));
  const named = Array.from(order.keys()).filter((op) => order[op] >= 0);
  named.sort((a, b) => order[a] - order[b]).forEach((op) => item(swatch(op), data.ops[op]));
  if (data.tables.ops.some((row) => order[row.op] < 0)) item("var(--other)", "other ops");
  item("var(--wait)", "wait");
  byId("legend").append(...items);
}

/** The rows that an event belongs to. */
function targetOf(model: Model, id: EventId, tab: Tab): Target {
  if (model.kind(id) === "wait") return { op: -1, line: model.mainLine[id], waits: true };
  return { op: model.mainOp[id], line: tab === "ops" ? -1 : model.mainLine[id], waits: false };
}

/** Which events contain the text, and belong to the row. */
function matching(model: Model, query: string, target: Target | null): Uint8Array {
  const { data } = model;
  const matches = new Uint8Array(model.count);
  const line = data.lines.map(([file, number, code], i) => {
    const text = `${file}:${number} ${code}`.toLowerCase();
    return text.includes(query) || model.place(i).toLowerCase().includes(query);
  });
  const op = data.ops.map((name) => name.toLowerCase().includes(query));
  const call = data.calls.map((name) => `wait: ${name}`.toLowerCase().includes(query));
  for (let id = 0; id < model.count; id++) {
    const kind = model.kind(id);
    if (target) {
      if (target.waits !== (kind === "wait")) continue;
      if (target.waits ? model.mainLine[id] !== target.line : !model.concerns(id, target.op, target.line)) continue;
    }
    let hit = query === "";
    if (!hit && kind === "wait") hit = call[data.waits.call[model.own(id)]] || line[model.mainLine[id]];
    else if (!hit && kind === "submit") hit = op[model.mainOp[id]] || line[model.mainLine[id]];
    else if (!hit) {
      for (let m = data.runs.members[id]; m < data.runs.members[id + 1] && !hit; m++) {
        hit = op[data.members.op[m]] || line[data.members.line[m]];
      }
    }
    if (hit) matches[id] = 1;
  }
  return matches;
}

start();
