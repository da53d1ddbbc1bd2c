/** What is known about the selected event, or about a marked interval. */

import { type EventId, type Model, SECOND } from "./data";
import { element } from "./dom";
import * as format from "./format";
import { causes, seconds } from "./tables";

export function eventDetails(model: Model, id: EventId, select: (id: EventId) => void): Node[] {
  const { data } = model;
  const own = model.own(id);
  const facts: [string, Node | string][] = [];
  const kind = model.kind(id);
  const line = model.mainLine[id];
  if (kind !== "submit") facts.push(["Duration", format.time(seconds(model, id))]);
  facts.push(["Start", format.time(model.start[id] / SECOND, 6)]);
  facts.push(["Thread", data.threads[model.threadOf(id)].name]);
  const link = (other: EventId, text: string) => {
    const button = element("button", { type: "button", class: "link" }, text);
    button.addEventListener("click", () => select(other));
    return button;
  };
  const parts: Node[] = [];
  if (kind === "run") {
    const moved = data.runs.bytes[own];
    let flops = 0;
    for (let m = data.runs.members[own]; m < data.runs.members[own + 1]; m++) flops += data.members.flops[m];
    facts.push(["Moved", format.bytes(moved)]);
    facts.push(["Reached", format.rate(flops, moved, seconds(model, id))]);
    const submits = model.submits(own);
    if (submits.length > 0) {
      const first = Math.min(...submits.map((submit) => model.start[submit]));
      facts.push(["Submitted", link(submits[0], `${format.time((model.start[id] - first) / SECOND)} earlier`)]);
    }
    const waits = model.waits(own);
    facts.push(["Waited for by", waits.length > 0 ? link(waits[0], data.calls[data.waits.call[model.own(waits[0])]]) : "nothing"]);
    const list = element("tbody");
    for (let m = data.runs.members[own]; m < data.runs.members[own + 1]; m++) {
      const place = model.place(data.members.line[m]);
      list.append(
        element(
          "tr",
          {},
          element("td", {}, data.ops[data.members.op[m]]),
          element("td", { title: data.lines[data.members.line[m]][0] }, place),
          element("td", {}, data.shapes[data.members.shape[m]]),
          element("td", { class: "number" }, format.percent(data.members.share[m] / 1000)),
        ),
      );
    }
    const count = data.runs.members[own + 1] - data.runs.members[own];
    const title = count > 1 ? `${count} ops fused into one pass` : "One op";
    parts.push(element("h3", {}, title), element("div", { class: "scroll" }, element("table", { class: "members" }, list)));
  } else if (kind === "wait") {
    const run = data.waits.run[own];
    const op = data.waits.op[own];
    facts.push(["Idle", format.time(data.waits.idle[own] / SECOND)]);
    facts.push(["Computing", format.time(data.waits.computing[own] / SECOND)]);
    const wanted = op >= 0 ? `${data.ops[op]} at ${model.place(data.waits.opLine[own])}` : "everything";
    facts.push(["Waited for", run >= 0 ? link(run, wanted) : wanted]);
    parts.push(element("h3", {}, "Time spent on"), causes(model, data.waits.causes[own], seconds(model, id)));
  } else {
    const run = data.submits.run[own];
    facts.push(["Result", data.shapes[data.submits.shape[own]]]);
    facts.push(["Run", run >= 0 ? link(run, `${format.time((model.start[run] - model.start[id]) / SECOND)} later`) : "not run: nobody could read the result"]);
  }
  const code = line >= 0 ? data.lines[line][2] : "";
  const place = line >= 0 ? model.place(line) : "";
  return [
    element("h2", {}, model.name(id)),
    element("p", { class: "source", title: line >= 0 ? `${data.lines[line][0]}:${data.lines[line][1]}` : "" }, element("span", { class: "place" }, place), code !== "" && element("code", {}, code)),
    definitions(facts),
    ...parts,
  ];
}

export function rangeDetails(model: Model, [from, to]: [number, number]): Node[] {
  const byOp = new Map<number, number>();
  let runs = 0;
  let waited = 0;
  let submitted = 0;
  const { members, runs: all } = model.data;
  for (let id = 0; id < model.count; id++) {
    const inside = Math.min(model.end[id], to) - Math.max(model.start[id], from);
    const kind = model.kind(id);
    if (kind === "submit") {
      if (inside >= 0) submitted++;
    } else if (inside > 0) {
      if (kind === "wait") waited += inside;
      else {
        runs++;
        for (let m = all.members[id]; m < all.members[id + 1]; m++) {
          byOp.set(members.op[m], (byOp.get(members.op[m]) ?? 0) + (inside * members.share[m]) / 1000);
        }
      }
    }
  }
  const list = element("tbody");
  for (const [op, time] of [...byOp].sort((a, b) => b[1] - a[1]).slice(0, 8)) {
    const cells = [format.time(time / SECOND), format.percent(time / (to - from))];
    list.append(element("tr", {}, element("td", {}, model.data.ops[op]), ...cells.map((cell) => element("td", { class: "number" }, cell))));
  }
  return [
    element("h2", {}, `Interval of ${format.time((to - from) / SECOND)}`),
    definitions([
      ["Start", format.time(from / SECOND, 6)],
      ["Runs", format.integer(runs)],
      ["Submissions", format.integer(submitted)],
      ["Waiting", format.time(waited / SECOND)],
    ]),
    element("h3", {}, "Time by op"),
    byOp.size > 0 ? element("table", { class: "members" }, list) : element("p", { class: "empty" }, "No op ran."),
  ];
}

function definitions(facts: [string, Node | string][]): Node {
  const list = element("dl");
  for (const [name, value] of facts) list.append(element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  return list;
}
