/** Colours: those of the theme, and one for each of the most expensive ops. */

import type { Data } from "./data";

export interface Theme {
  text: string;
  muted: string;
  faint: string;
  line: string;
  surface: string;
  raised: string;
  wait: string;
  accent: string;
  other: string;
  area: string;
  ops: string[];
  onOp: string;
  onOther: string;
  onWait: string;
}

const OPS = 7;

export function theme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    text: of("text"),
    muted: of("muted"),
    faint: of("faint"),
    line: of("line"),
    surface: of("surface"),
    raised: of("raised"),
    wait: of("wait"),
    accent: of("accent"),
    other: of("other"),
    area: of("area"),
    ops: Array.from({ length: OPS }, (_, i) => of(`op-${i}`)),
    onOp: of("on-op"),
    onOther: of("on-other"),
    onWait: of("on-wait"),
  };
}

/** The rank of each op by its time, up to the number of colours; -1 for the others. */
export function ranks(data: Data): Int32Array {
  const seconds = new Float64Array(data.ops.length);
  for (const row of data.tables.ops) seconds[row.op] += row.seconds;
  const order = Array.from(seconds.keys()).filter((op) => seconds[op] > 0);
  order.sort((a, b) => seconds[b] - seconds[a]);
  const found = new Int32Array(data.ops.length).fill(-1);
  order.slice(0, OPS).forEach((op, rank) => (found[op] = rank));
  return found;
}
