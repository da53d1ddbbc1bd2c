/** The data of the page, as Python writes it, and what follows from it. Times are in units of 0.1 µs. */

export const SECOND = 1e7;

/** An op or its line: indices into `ops` and `lines`. */
export interface OpRow {
  op: number;
  line: number;
  device: string;
  count: number;
  seconds: number;
  fused: number;
  bytes: number;
  flops: number;
}

export interface WaitRow {
  line: number;
  call: number;
  count: number;
  seconds: number;
  idle: number;
  computing: number;
  /** Op, line and seconds, the most expensive first; op -1 where no op ran. */
  causes: [number, number, number][];
}

export interface MemoryRow {
  line: number;
  op: number;
  device: string;
  peak: number;
  held: number;
  allocated: number;
  count: number;
}

export interface Data {
  title: string;
  program: string;
  facts: [string, string][];
  advice: string[];
  /** Seconds that the events cover. */
  span: number;
  /** First and last time of the events, and the end of the statement. */
  first: number;
  last: number;
  block: number;
  threads: { name: string; kind: "frontend" | "worker" | "lane" }[];
  ops: string[];
  /** File, number, text. */
  lines: [string, number, string][];
  calls: string[];
  shapes: string[];
  runs: {
    thread: number[];
    start: number[];
    length: number[];
    bytes: number[];
    age: number[];
    /** Offset of the first member; one more than there are runs. */
    members: number[];
  };
  members: { op: number[]; line: number[]; shape: number[]; share: number[]; flops: number[] };
  submits: { thread: number[]; at: number[]; op: number[]; line: number[]; shape: number[]; run: number[] };
  waits: {
    thread: number[];
    start: number[];
    length: number[];
    call: number[];
    line: number[];
    op: number[];
    opLine: number[];
    run: number[];
    idle: number[];
    computing: number[];
    causes: [number, number, number][][];
  };
  steps: number[];
  memory: { device: string; at: number[]; bytes: number[] }[];
  tables: { ops: OpRow[]; waits: WaitRow[]; memory: MemoryRow[] };
}

/** An event of the timeline. Runs come first, then waits, then submissions, so a number names an event. */
export type EventId = number;
export type Kind = "run" | "wait" | "submit";

/** Events that do not overlap, in the order of their times. */
export interface Strip {
  kind: "spans" | "ticks";
  ids: Int32Array;
}

export interface Thread {
  name: string;
  kind: string;
  strips: Strip[];
}

/** Values over time; each holds until the next. */
export interface Series {
  name: string;
  unit: "bytes" | "ops";
  at: Float64Array;
  values: Float64Array;
  peak: number;
}

export class Model {
  readonly threads: Thread[];
  readonly series: Series[];
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly runCount: number;
  readonly waitCount: number;
  readonly count: number;
  /** The op that stands for each event: the one with the largest share of a run. */
  readonly mainOp: Int32Array;
  readonly mainLine: Int32Array;
  /** The strip of each event. */
  readonly home: [number, number][];
  private readonly submitsOf = new Map<number, number[]>();
  private readonly waitsFor = new Map<number, number[]>();

  constructor(readonly data: Data) {
    const { runs, waits, submits, members } = data;
    this.runCount = runs.start.length;
    this.waitCount = waits.start.length;
    this.count = this.runCount + this.waitCount + submits.at.length;
    this.start = new Float64Array(this.count);
    this.end = new Float64Array(this.count);
    this.mainOp = new Int32Array(this.count).fill(-1);
    this.mainLine = new Int32Array(this.count).fill(-1);
    for (let i = 0; i < this.runCount; i++) {
      this.start[i] = runs.start[i];
      this.end[i] = runs.start[i] + runs.length[i];
      let best = runs.members[i];
      for (let m = best + 1; m < runs.members[i + 1]; m++) if (members.share[m] > members.share[best]) best = m;
      this.mainOp[i] = members.op[best];
      this.mainLine[i] = members.line[best];
    }
    for (let i = 0; i < this.waitCount; i++) {
      const id = this.runCount + i;
      this.start[id] = waits.start[i];
      this.end[id] = waits.start[i] + waits.length[i];
      this.mainLine[id] = waits.line[i];
      if (waits.run[i] >= 0) push(this.waitsFor, waits.run[i], id);
    }
    for (let i = 0; i < submits.at.length; i++) {
      const id = this.runCount + this.waitCount + i;
      this.start[id] = this.end[id] = submits.at[i];
      this.mainOp[id] = submits.op[i];
      this.mainLine[id] = submits.line[i];
      if (submits.run[i] >= 0) push(this.submitsOf, submits.run[i], id);
    }
    this.home = new Array(this.count);
    this.threads = this.layOut();
    this.series = [this.depth(), ...data.memory.map(memorySeries)].filter((series) => series.at.length > 0);
  }

  kind(id: EventId): Kind {
    return id < this.runCount ? "run" : id < this.runCount + this.waitCount ? "wait" : "submit";
  }

  /** The number of a wait or submission in its own table. */
  own(id: EventId): number {
    return id < this.runCount ? id : id < this.runCount + this.waitCount ? id - this.runCount : id - this.runCount - this.waitCount;
  }

  threadOf(id: EventId): number {
    const { runs, waits, submits } = this.data;
    const own = this.own(id);
    return { run: runs, wait: waits, submit: submits }[this.kind(id)].thread[own];
  }

  /** The run that an event belongs to, or -1. */
  runOf(id: EventId): number {
    const kind = this.kind(id);
    return kind === "run" ? id : (kind === "wait" ? this.data.waits : this.data.submits).run[this.own(id)];
  }

  submits(run: number): EventId[] {
    return this.submitsOf.get(run) ?? [];
  }

  waits(run: number): EventId[] {
    return this.waitsFor.get(run) ?? [];
  }

  name(id: EventId): string {
    const { data } = this;
    const own = this.own(id);
    switch (this.kind(id)) {
      case "wait":
        return `wait: ${data.calls[data.waits.call[own]]}`;
      case "submit":
        return `submit: ${data.ops[data.submits.op[own]]}`;
      case "run": {
        const names: string[] = [];
        for (let m = data.runs.members[id]; m < data.runs.members[id + 1]; m++) names.push(data.ops[data.members.op[m]]);
        return names.join(" · ");
      }
    }
  }

  /** Whether an event has the op and the line; -1 stands for any. */
  concerns(id: EventId, op: number, line: number): boolean {
    const { data } = this;
    if (this.kind(id) !== "run") {
      return (op < 0 || this.mainOp[id] === op) && (line < 0 || this.mainLine[id] === line);
    }
    for (let m = data.runs.members[id]; m < data.runs.members[id + 1]; m++) {
      if ((op < 0 || data.members.op[m] === op) && (line < 0 || data.members.line[m] === line)) return true;
    }
    return false;
  }

  place(line: number): string {
    const [file, number] = this.data.lines[line];
    return file ? `${file.split(/[\\/]/).slice(-2).join("/")}:${number}` : "";
  }

  private layOut(): Thread[] {
    const { threads } = this.data;
    const ticks: EventId[][] = threads.map(() => []);
    const spans: EventId[][] = threads.map(() => []);
    for (let id = 0; id < this.count; id++) (this.kind(id) === "submit" ? ticks : spans)[this.threadOf(id)].push(id);
    return threads.map(({ name, kind }, t) => {
      const byTime = (a: EventId, b: EventId) => this.start[a] - this.start[b] || this.end[b] - this.end[a];
      const levels: EventId[][] = [];
      const open: EventId[] = [];
      for (const id of spans[t].sort(byTime)) {
        while (open.length > 0 && this.end[open[open.length - 1]] <= this.start[id]) open.pop();
        (levels[open.length] ??= []).push(id);
        open.push(id);
      }
      const strips: Strip[] = levels.map((ids) => ({ kind: "spans", ids: Int32Array.from(ids) }));
      if (ticks[t].length > 0) strips.unshift({ kind: "ticks", ids: Int32Array.from(ticks[t].sort(byTime)) });
      strips.forEach((strip, s) => strip.ids.forEach((id) => (this.home[id] = [t, s])));
      return { name, kind, strips };
    });
  }

  /** How many submitted ops have not run yet. Ops that never ran are not counted. */
  private depth(): Series {
    const { submits } = this.data;
    const ups: number[] = [];
    const downs: number[] = [];
    submits.run.forEach((run, i) => {
      if (run < 0) return;
      ups.push(submits.at[i]);
      downs.push(this.end[run]);
    });
    const up = Float64Array.from(ups).sort();
    const down = Float64Array.from(downs).sort();
    const at = new Float64Array(up.length * 2);
    const values = new Float64Array(up.length * 2);
    let now = 0;
    let peak = 0;
    for (let i = 0, u = 0, d = 0; i < at.length; i++) {
      const rises = u < up.length && up[u] <= down[d];
      at[i] = rises ? up[u++] : down[d++];
      now += rises ? 1 : -1;
      values[i] = now;
      peak = Math.max(peak, now);
    }
    return { name: "Run-ahead depth", unit: "ops", at, values, peak };
  }
}

function memorySeries({ device, at, bytes }: Data["memory"][number]): Series {
  const values = Float64Array.from(bytes);
  return { name: `Memory, ${device}`, unit: "bytes", at: Float64Array.from(at), values, peak: values.reduce((a, b) => Math.max(a, b), 0) };
}

function push(map: Map<number, number[]>, key: number, value: number): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

/** The first position whose value is at least `wanted`, if the values rise. */
export function lowerBound(length: number, value: (i: number) => number, wanted: number): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (value(middle) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
