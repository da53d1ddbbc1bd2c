/** Draws the timeline. The cost depends on the number of pixels, not on the number of events. */

import { type EventId, lowerBound, type Model, SECOND, type Series } from "./data";
import { bytes, integer, time } from "./format";
import type { Theme } from "./palette";
import { ticks, type View } from "./view";

export const AXIS = 26;
const SPAN = 18;
const TICK = 9;
const GAP = 8;
const SERIES = 46;
const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

/** Where a strip or a series is drawn. */
export interface Band {
  top: number;
  height: number;
  thread: number;
  strip: number;
  series: number;
}

export interface Layout {
  bands: Band[];
  labels: { text: string; detail: string; top: number; height: number }[];
  height: number;
}

export function layOut(model: Model): Layout {
  const bands: Band[] = [];
  const labels: Layout["labels"] = [];
  let top = AXIS + GAP;
  model.threads.forEach((thread, t) => {
    const start = top;
    thread.strips.forEach((strip, s) => {
      const height = strip.kind === "ticks" ? TICK : SPAN;
      bands.push({ top, height, thread: t, strip: s, series: -1 });
      top += height + 2;
    });
    if (thread.strips.length === 0) top += SPAN;
    labels.push({ text: thread.name, detail: "", top: start, height: Math.max(top - start - 2, SPAN) });
    top += GAP;
  });
  model.series.forEach((series, s) => {
    bands.push({ top, height: SERIES, thread: -1, strip: -1, series: s });
    labels.push({ text: series.name, detail: `peak ${amount(series, series.peak)}`, top, height: SERIES });
    top += SERIES + GAP;
  });
  return { bands, labels, height: top };
}

export function amount(series: Series, value: number): string {
  return series.unit === "bytes" ? bytes(value) : integer(value);
}

export interface Scene {
  model: Model;
  layout: Layout;
  view: View;
  theme: Theme;
  ranks: Int32Array;
  /** The width of the column of labels. */
  gutter: number;
  width: number;
  /** Events to emphasise; the others are drawn faintly. */
  matches: Uint8Array | null;
  selected: EventId;
  hovered: EventId;
  /** A marked interval. */
  range: [number, number] | null;
}

export function draw(context: CanvasRenderingContext2D, scene: Scene): void {
  const { layout, theme, gutter, width } = scene;
  context.clearRect(0, 0, width, layout.height);
  context.font = FONT;
  context.textBaseline = "middle";
  context.lineWidth = 1;
  drawAxis(context, scene);
  context.save();
  context.beginPath();
  context.rect(gutter, AXIS, width - gutter, layout.height - AXIS);
  context.clip();
  for (const band of layout.bands) {
    if (band.series >= 0) drawSeries(context, scene, band);
    else if (scene.model.threads[band.thread].strips[band.strip].kind === "ticks") drawTicks(context, scene, band);
    else drawSpans(context, scene, band);
  }
  if (scene.range) drawRange(context, scene, scene.range);
  for (const id of [scene.hovered, scene.selected]) if (id >= 0) outline(context, scene, id);
  if (scene.selected >= 0) drawArrows(context, scene);
  context.restore();
  drawLabels(context, scene);
  context.strokeStyle = theme.line;
  context.beginPath();
  context.moveTo(gutter - 0.5, 0);
  context.lineTo(gutter - 0.5, layout.height);
  context.stroke();
}

export function toX({ view, gutter, width }: Scene, at: number): number {
  return gutter + ((at - view.from) / view.span) * (width - gutter);
}

export function toTime({ view, gutter, width }: Scene, x: number): number {
  return view.from + ((x - gutter) / (width - gutter)) * view.span;
}

function drawAxis(context: CanvasRenderingContext2D, scene: Scene): void {
  const { view, theme, gutter, width, layout, model } = scene;
  context.fillStyle = theme.muted;
  context.strokeStyle = theme.line;
  const marks = ticks(view.from, view.to, (width - gutter) / 110);
  const digits = Math.min(8, Math.max(3, Math.ceil(Math.log10(Math.abs(view.to) / Math.max(marks[1] - marks[0], 1) + 1)) + 1));
  for (const at of marks) {
    const x = Math.round(toX(scene, at)) + 0.5;
    context.beginPath();
    context.moveTo(x, AXIS - 5);
    context.lineTo(x, layout.height);
    context.stroke();
    const text = time(at / SECOND, Number.isFinite(digits) ? digits : 4);
    if (x + 4 + context.measureText(text).width < width) context.fillText(text, x + 4, AXIS / 2);
  }
  context.strokeStyle = theme.faint;
  context.setLineDash([2, 3]);
  const steps = model.data.steps.filter((at) => at >= view.from && at <= view.to);
  // Marks closer than this would hide what lies between them.
  const marked = steps.length * 24 <= width - gutter ? steps : [];
  for (const at of [...marked, model.data.block]) {
    if (at < view.from || at > view.to) continue;
    const x = Math.round(toX(scene, at)) + 0.5;
    context.beginPath();
    context.moveTo(x, AXIS);
    context.lineTo(x, layout.height);
    context.stroke();
  }
  context.setLineDash([]);
}

function drawLabels(context: CanvasRenderingContext2D, scene: Scene): void {
  const { layout, theme, gutter } = scene;
  for (const { text, detail, top, height } of layout.labels) {
    const middle = top + Math.min(height, SPAN + 2) / 2 + (detail ? 4 : 0);
    context.fillStyle = theme.text;
    context.fillText(fit(context, text, gutter - 20), 8, middle);
    if (detail) {
      context.fillStyle = theme.muted;
      context.fillText(fit(context, detail, gutter - 20), 8, middle + 15);
    }
  }
}

function colour(scene: Scene, id: EventId): [string, string] {
  const { model, theme, ranks } = scene;
  if (model.kind(id) === "wait") return [theme.wait, theme.onWait];
  const rank = model.mainOp[id] >= 0 ? ranks[model.mainOp[id]] : -1;
  return rank >= 0 ? [theme.ops[rank], theme.onOp] : [theme.other, theme.onOther];
}

/** Draws a strip; of the events that share a pixel, an emphasised one or else the longest of the first few. */
function drawSpans(context: CanvasRenderingContext2D, scene: Scene, band: Band): void {
  const { model, view, matches, width } = scene;
  const { ids } = model.threads[band.thread].strips[band.strip];
  let i = lowerBound(ids.length, (k) => model.end[ids[k]], view.from);
  const pixel = view.span / (width - scene.gutter);
  while (i < ids.length && model.start[ids[i]] <= view.to) {
    let id = ids[i];
    let next = i + 1;
    const left = toX(scene, model.start[id]);
    let right = toX(scene, model.end[id]);
    if (right - left < 1) {
      // Everything up to the next pixel is one mark.
      const until = model.start[id] + pixel;
      next = Math.max(next, lowerBound(ids.length, (k) => model.end[ids[k]], until));
      for (let k = i; k < next; k++) {
        if (matches?.[ids[k]]) {
          id = ids[k];
          break;
        }
        if (k < i + 16 && model.end[ids[k]] - model.start[ids[k]] > model.end[id] - model.start[id]) id = ids[k];
      }
      right = left + 1;
    }
    const [fill, ink] = colour(scene, id);
    context.globalAlpha = matches && !matches[id] ? 0.16 : 1;
    context.fillStyle = fill;
    const wide = right - left;
    context.fillRect(left, band.top, wide > 4 ? wide - 0.75 : Math.max(wide, 1), band.height);
    const shown = Math.max(left, scene.gutter);
    if (Math.min(right, width) - shown > 28) {
      context.fillStyle = ink;
      const name = model.name(id);
      // The colour says that it is a wait.
      const text = fit(context, name.replace(/^wait: /, ""), Math.min(right, width) - shown - 10);
      if (text) context.fillText(text, shown + 5, band.top + band.height / 2 + 0.5);
    }
    i = next;
  }
  context.globalAlpha = 1;
}

function drawTicks(context: CanvasRenderingContext2D, scene: Scene, band: Band): void {
  const { model, view, matches, theme, width } = scene;
  const { ids } = model.threads[band.thread].strips[band.strip];
  const pixel = view.span / (width - scene.gutter);
  let i = lowerBound(ids.length, (k) => model.start[ids[k]], view.from);
  while (i < ids.length && model.start[ids[i]] <= view.to) {
    const at = model.start[ids[i]];
    const next = Math.max(i + 1, lowerBound(ids.length, (k) => model.start[ids[k]], at + pixel));
    let bright = !matches;
    for (let k = i; matches && k < next; k++) bright ||= matches[ids[k]] === 1;
    context.fillStyle = theme.muted;
    context.globalAlpha = bright ? 0.85 : 0.16;
    context.fillRect(toX(scene, at), band.top + 1, 1, band.height - 2);
    i = next;
  }
  context.globalAlpha = 1;
}

function drawSeries(context: CanvasRenderingContext2D, scene: Scene, band: Band): void {
  const { model, view, theme, gutter, width } = scene;
  const { at, values, peak } = model.series[band.series];
  const floor = band.top + band.height;
  const y = (value: number) => floor - (peak > 0 ? value / peak : 0) * (band.height - 3);
  context.beginPath();
  context.moveTo(gutter, floor);
  let i = lowerBound(at.length, (k) => at[k], view.from);
  let now = i > 0 ? values[i - 1] : 0;
  for (let x = gutter; x < width; x++) {
    const until = toTime(scene, x + 1);
    let most = now;
    for (; i < at.length && at[i] < until; i++) {
      now = values[i];
      most = Math.max(most, now);
    }
    context.lineTo(x, y(most));
    context.lineTo(x + 1, y(most));
  }
  context.lineTo(width, floor);
  context.closePath();
  context.fillStyle = theme.area;
  context.fill();
  context.strokeStyle = theme.line;
  context.beginPath();
  context.moveTo(gutter, floor + 0.5);
  context.lineTo(width, floor + 0.5);
  context.stroke();
}

/** Where an event is drawn: left, top, width, height. */
export function box(scene: Scene, id: EventId): [number, number, number, number] {
  const { model, layout } = scene;
  const [thread, strip] = model.home[id];
  const band = layout.bands.find((band) => band.thread === thread && band.strip === strip);
  const left = toX(scene, model.start[id]);
  return [left, band?.top ?? 0, Math.max(toX(scene, model.end[id]) - left, 1), band?.height ?? 0];
}

function outline(context: CanvasRenderingContext2D, scene: Scene, id: EventId): void {
  const [left, top, width, height] = box(scene, id);
  context.strokeStyle = id === scene.selected ? scene.theme.text : scene.theme.muted;
  context.lineWidth = id === scene.selected ? 2 : 1;
  const x = Math.max(left, scene.gutter - 4);
  context.strokeRect(x - 0.5, top - 0.5, Math.min(width + left - x, scene.width + 4) + 1, height + 1);
  context.lineWidth = 1;
}

/** From the submissions of the selected event to its run, and from there to the waits for it. */
function drawArrows(context: CanvasRenderingContext2D, scene: Scene): void {
  const { model, theme } = scene;
  const run = model.runOf(scene.selected);
  if (run < 0) return;
  const [left, top, wide, high] = box(scene, run);
  for (const id of model.submits(run)) {
    const [x, y, , height] = box(scene, id);
    arrow(context, theme.accent, [x, y + height / 2], [left, top + high / 2]);
  }
  for (const id of model.waits(run)) {
    const [x, y, width, height] = box(scene, id);
    arrow(context, theme.wait, [left + wide, top + high / 2], [x + width, y + height / 2]);
  }
}

function arrow(context: CanvasRenderingContext2D, stroke: string, from: [number, number], to: [number, number]): void {
  const bend = Math.min(Math.max(Math.abs(to[0] - from[0]) / 3, 12), 80);
  context.strokeStyle = context.fillStyle = stroke;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(...from);
  context.bezierCurveTo(from[0] + bend, from[1], to[0] - bend, to[1], ...to);
  context.stroke();
  context.beginPath();
  context.moveTo(...to);
  context.lineTo(to[0] - 7, to[1] - 4);
  context.lineTo(to[0] - 7, to[1] + 4);
  context.fill();
  context.beginPath();
  context.arc(...from, 2.5, 0, 2 * Math.PI);
  context.fill();
  context.lineWidth = 1;
}

function drawRange(context: CanvasRenderingContext2D, scene: Scene, [from, to]: [number, number]): void {
  const left = toX(scene, from);
  const right = toX(scene, to);
  context.fillStyle = scene.theme.accent;
  context.globalAlpha = 0.14;
  context.fillRect(left, AXIS, right - left, scene.layout.height - AXIS);
  context.globalAlpha = 1;
  context.fillRect(left, AXIS, 1, scene.layout.height - AXIS);
  context.fillRect(right, AXIS, 1, scene.layout.height - AXIS);
}

const widths = new Map<string, number>();

function widthOf(context: CanvasRenderingContext2D, text: string): number {
  let width = widths.get(text);
  if (width === undefined) {
    if (widths.size > 5000) widths.clear();
    width = context.measureText(text).width;
    widths.set(text, width);
  }
  return width;
}

/** The text, shortened with an ellipsis to fit; empty if nothing useful fits. */
function fit(context: CanvasRenderingContext2D, text: string, room: number): string {
  const width = widthOf(context, text);
  if (width <= room) return text;
  const keep = Math.floor((text.length * room) / width) - 1;
  return keep < 2 ? "" : `${text.slice(0, keep)}…`;
}
