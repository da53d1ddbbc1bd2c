/** The tables: sortable, and linked with the timeline. */

import { type Data, type Model, type OpRow, SECOND } from "./data";
import { element } from "./dom";
import * as format from "./format";

/** What a row stands for on the timeline: events with this op and line, -1 for any. */
export interface Target {
  op: number;
  line: number;
  waits: boolean;
}

interface Column<Row> {
  name: string;
  numeric: boolean;
  key(row: Row): number | string;
  cell(row: Row): Node | string;
}

interface Table<Row> {
  columns: Column<Row>[];
  rows: Row[];
  target(row: Row): Target;
  empty: string;
  /** The column that orders the rows at first. */
  by: number;
}

export type Tab = "lines" | "ops" | "waits" | "memory";
export const TABS: [Tab, string][] = [
  ["lines", "By line"],
  ["ops", "By op"],
  ["waits", "Waits"],
  ["memory", "Memory"],
];

/** Rows that a table shows at first, and at most. */
const FEW = 16;
const MOST = 1000;

export class Tables {
  private readonly orders = new Map<Tab, [number, boolean]>();
  private readonly unfolded = new Set<Tab>();
  private readonly tables: Record<Tab, Table<never>>;
  private chosen: Target | null = null;
  tab: Tab = "lines";

  constructor(
    private readonly model: Model,
    private readonly place: HTMLElement,
    private readonly swatch: (op: number) => string,
    private readonly choose: (target: Target | null) => void,
  ) {
    const { data } = model;
    this.tables = {
      lines: this.lines(grouped(data.tables.ops, (row) => `${row.op} ${row.line} ${row.device}`)),
      ops: this.ops(grouped(data.tables.ops, (row) => `${row.op} ${row.device}`)),
      waits: this.waits(data),
      memory: this.memory(data),
    } as unknown as Record<Tab, Table<never>>;
  }

  show(tab: Tab): void {
    this.tab = tab;
    const { columns, rows, target, empty, by } = this.tables[tab];
    const [order, rises] = this.orders.get(tab) ?? [by, false];
    const sorted = [...rows].sort((a, b) => {
      const [x, y] = [columns[order].key(a), columns[order].key(b)];
      const compared = typeof x === "string" ? x.localeCompare(String(y)) : x - Number(y);
      return rises ? compared : -compared;
    });
    if (rows.length === 0) {
      this.place.replaceChildren(element("p", { class: "empty" }, empty));
      return;
    }
    const head = element("tr");
    columns.forEach((column, k) => {
      const sort = k === order ? (rises ? "ascending" : "descending") : "none";
      const button = element("button", { type: "button" }, column.name);
      button.addEventListener("click", () => {
        this.orders.set(tab, [k, k === order ? !rises : !column.numeric]);
        this.show(tab);
        this.place.querySelectorAll<HTMLButtonElement>("th button")[k].focus();
      });
      head.append(element("th", { "aria-sort": sort, scope: "col", ...(column.numeric ? { class: "number" } : {}) }, button));
    });
    const body = element("tbody");
    const shown = this.unfolded.has(tab) || sorted.length <= FEW + 3 ? MOST : FEW;
    for (const row of sorted.slice(0, shown)) {
      const line = element("tr", { tabindex: "0" });
      const own = target(row);
      if (this.isChosen(own)) line.setAttribute("aria-selected", "true");
      for (const column of columns) line.append(element("td", column.numeric ? { class: "number" } : {}, column.cell(row)));
      const click = () => this.pick(this.isChosen(own) ? null : own);
      line.addEventListener("click", click);
      line.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          event.stopPropagation();
          click();
        }
      });
      body.append(line);
    }
    const parts: HTMLElement[] = [element("table", {}, element("thead", {}, head), body)];
    if (sorted.length > shown) {
      const more = element("button", { type: "button", class: "link more" }, `${sorted.length - shown} more rows`);
      more.addEventListener("click", () => {
        this.unfolded.add(tab);
        this.show(tab);
      });
      parts.push(more);
    }
    this.place.replaceChildren(...parts);
  }

  /** Marks the rows of an event without changing the timeline. */
  mark(target: Target | null): void {
    this.chosen = target;
    this.show(this.tab);
  }

  private pick(target: Target | null): void {
    this.chosen = target;
    this.choose(target);
    this.show(this.tab);
  }

  private isChosen(target: Target): boolean {
    const { chosen } = this;
    return chosen !== null && chosen.waits === target.waits && chosen.op === target.op && chosen.line === target.line;
  }

  private source(line: number): Node {
    const [file, number, code] = this.model.data.lines[line];
    return element(
      "span",
      { class: "source", title: file ? `${file}:${number}` : "" },
      element("span", { class: "place" }, this.model.place(line) || "unknown line"),
      code !== "" && element("code", {}, code),
    );
  }

  private op(op: number, count = 1): Node {
    const dot = element("span", { class: "swatch", style: `background: ${this.swatch(op)}` });
    return element("span", { class: "op" }, dot, this.model.data.ops[op], count > 1 && element("span", { class: "faint" }, ` and ${count - 1} more`));
  }

  private bar(seconds: number): Node {
    const part = seconds / this.model.data.span;
    return element(
      "span",
      { class: "share" },
      element("span", { class: "bar", style: `--part: ${Math.min(part, 1)}` }),
      element("span", { class: "percent" }, format.percent(part)),
    );
  }

  private measured(): Column<Group>[] {
    const several = new Set(this.model.data.tables.ops.map((row) => row.device)).size > 1;
    const columns: Column<Group>[] = [
      { name: "Self ms", numeric: true, key: (row) => row.seconds, cell: (row) => format.milliseconds(row.seconds) },
      { name: "% of wall", numeric: true, key: (row) => row.seconds, cell: (row) => this.bar(row.seconds) },
      { name: "Count", numeric: true, key: (row) => row.count, cell: (row) => format.integer(row.count) },
      { name: "Moved", numeric: true, key: (row) => row.bytes, cell: (row) => format.bytes(row.bytes) },
      {
        name: "Reached",
        numeric: true,
        key: (row) => (row.flops > 0 ? row.flops : row.bytes) / Math.max(row.seconds, 1e-12),
        cell: (row) => format.rate(row.flops, row.bytes, row.seconds),
      },
      {
        name: "Fused",
        numeric: true,
        key: (row) => row.fused / row.count,
        cell: (row) => (row.fused === 0 ? "no" : row.fused === row.count ? "yes" : `${row.fused} of ${row.count}`),
      },
    ];
    if (several) columns.push({ name: "Device", numeric: false, key: (row) => row.device, cell: (row) => row.device });
    return columns;
  }

  private lines(rows: Group[]): Table<Group> {
    return {
      columns: [
        { name: "Line", numeric: false, key: (row) => this.model.place(row.line), cell: (row) => this.source(row.line) },
        { name: "Op", numeric: false, key: (row) => this.model.data.ops[row.op], cell: (row) => this.op(row.op) },
        ...this.measured(),
      ],
      rows,
      target: (row) => ({ op: row.op, line: row.line, waits: false }),
      empty: "Nothing ran.",
      by: 2,
    };
  }

  private ops(rows: Group[]): Table<Group> {
    return {
      columns: [
        { name: "Op", numeric: false, key: (row) => this.model.data.ops[row.op], cell: (row) => this.op(row.op) },
        { name: "Lines", numeric: true, key: (row) => row.lines.size, cell: (row) => format.integer(row.lines.size) },
        ...this.measured(),
      ],
      rows,
      target: (row) => ({ op: row.op, line: -1, waits: false }),
      empty: "Nothing ran.",
      by: 2,
    };
  }

  private waits(data: Data): Table<Data["tables"]["waits"][number]> {
    return {
      columns: [
        { name: "Waits at", numeric: false, key: (row) => this.model.place(row.line), cell: (row) => this.source(row.line) },
        { name: "Call", numeric: false, key: (row) => data.calls[row.call], cell: (row) => data.calls[row.call] },
        { name: "Count", numeric: true, key: (row) => row.count, cell: (row) => format.integer(row.count) },
        { name: "ms", numeric: true, key: (row) => row.seconds, cell: (row) => format.milliseconds(row.seconds) },
        { name: "% of wall", numeric: true, key: (row) => row.seconds, cell: (row) => this.bar(row.seconds) },
        { name: "Idle ms", numeric: true, key: (row) => row.idle, cell: (row) => format.milliseconds(row.idle) },
        { name: "Computing ms", numeric: true, key: (row) => row.computing, cell: (row) => format.milliseconds(row.computing) },
        {
          name: "Spent on",
          numeric: false,
          key: (row) => (row.causes.length > 0 && row.causes[0][0] >= 0 ? data.ops[row.causes[0][0]] : ""),
          cell: (row) => causes(this.model, row.causes.slice(0, 2), row.seconds),
        },
      ],
      rows: data.tables.waits,
      target: (row) => ({ op: -1, line: row.line, waits: true }),
      empty: "Nothing waits.",
      by: 3,
    };
  }

  private memory(data: Data): Table<Data["tables"]["memory"][number]> {
    const sized = (name: string, of: (row: Data["tables"]["memory"][number]) => number) => ({
      name,
      numeric: true,
      key: of,
      cell: (row: Data["tables"]["memory"][number]) => format.bytes(of(row)),
    });
    return {
      columns: [
        { name: "Line", numeric: false, key: (row) => this.model.place(row.line), cell: (row) => this.source(row.line) },
        { name: "Op", numeric: false, key: (row) => data.ops[row.op], cell: (row) => this.op(row.op) },
        sized("At the peak", (row) => row.peak),
        sized("At the end", (row) => row.held),
        sized("Allocated", (row) => row.allocated),
        { name: "Count", numeric: true, key: (row) => row.count, cell: (row) => format.integer(row.count) },
        { name: "Device", numeric: false, key: (row) => row.device, cell: (row) => row.device },
      ],
      rows: data.tables.memory,
      target: (row) => ({ op: row.op, line: row.line, waits: false }),
      empty: "No result of 4 KiB or more.",
      by: 2,
    };
  }
}

/** The ops that a wait's time was spent on, in words. */
export function causes(model: Model, list: [number, number, number][], seconds: number): Node {
  const made = element("span", { class: "causes" });
  for (const [op, line, spent] of list) {
    const what = op < 0 ? "no op: planning and waking" : `${model.data.ops[op]} at ${model.place(line)}`;
    const part = seconds > 0 ? ` ${format.percent(spent / seconds)}` : "";
    made.append(element("span", {}, what, element("span", { class: "faint" }, part)));
  }
  return made;
}

export function seconds(model: Model, id: number): number {
  return (model.end[id] - model.start[id]) / SECOND;
}

interface Group extends OpRow {
  lines: Set<number>;
}

function grouped(rows: OpRow[], key: (row: OpRow) => string): Group[] {
  const groups = new Map<string, Group>();
  for (const row of rows) {
    const known = groups.get(key(row));
    if (!known) {
      groups.set(key(row), { ...row, lines: new Set([row.line]) });
      continue;
    }
    known.count += row.count;
    known.seconds += row.seconds;
    known.fused += row.fused;
    known.bytes += row.bytes;
    known.flops += row.flops;
    known.lines.add(row.line);
  }
  return [...groups.values()];
}
