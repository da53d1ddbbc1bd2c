/** The timeline: a canvas with zoom, pan, selection and keys, and an overview above it. */

import { type EventId, lowerBound, type Model } from "./data";
import { amount, AXIS, box, draw, type Layout, layOut, type Scene, toTime, toX } from "./draw";
import { ranks, theme } from "./palette";
import { View } from "./view";

export interface Listener {
  selected(id: EventId): void;
  hovered(id: EventId, x: number, y: number): void;
  /** The pointer is over a series: its name, and its value there. */
  valued(name: string, value: string, x: number, y: number): void;
  ranged(range: [number, number] | null): void;
}

/** How near a pointer must be to an event, in pixels. */
const NEAR = 3;

export class Timeline {
  readonly view: View;
  private readonly layout: Layout;
  private readonly scene: Scene;
  private readonly context: CanvasRenderingContext2D;
  private readonly overviewContext: CanvasRenderingContext2D;
  private readonly busy: { running: Float32Array; waiting: Float32Array };
  private pending = false;

  constructor(
    readonly model: Model,
    readonly canvas: HTMLCanvasElement,
    readonly overview: HTMLCanvasElement,
    private readonly listener: Listener,
  ) {
    this.view = new View(model.data.first, model.data.last);
    this.layout = layOut(model);
    this.context = contextOf(canvas);
    this.overviewContext = contextOf(overview);
    this.busy = density(model, 600);
    this.scene = {
      model,
      layout: this.layout,
      view: this.view,
      theme: theme(),
      ranks: ranks(model.data),
      gutter: 150,
      width: 800,
      matches: null,
      selected: -1,
      hovered: -1,
      range: null,
    };
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement ?? canvas);
    this.listen();
    this.resize();
  }

  get selected(): EventId {
    return this.scene.selected;
  }

  get range(): [number, number] | null {
    return this.scene.range;
  }

  /** Reads the colours again, after the theme has changed. */
  recolour(): void {
    this.scene.theme = theme();
    this.redraw();
  }

  select(id: EventId, show = false): void {
    this.scene.selected = id;
    if (show && id >= 0) this.reveal(id);
    this.redraw();
    this.listener.selected(id);
  }

  emphasise(matches: Uint8Array | null): void {
    this.scene.matches = matches;
    this.redraw();
  }

  mark(range: [number, number] | null): void {
    this.scene.range = range;
    this.redraw();
    this.listener.ranged(range);
  }

  showAll(): void {
    this.view.show(this.view.first, this.view.last);
    this.redraw();
  }

  /** Zooms to the marked interval, or else to the selected event. */
  showSelection(): void {
    const { range, selected, model } = this.scene;
    if (range) this.view.show(...range);
    else if (selected >= 0) {
      const length = Math.max(model.end[selected] - model.start[selected], 20);
      this.view.show(model.start[selected] - length, model.end[selected] + length);
    }
    this.redraw();
  }

  zoom(factor: number, around = (this.view.from + this.view.to) / 2): void {
    this.view.zoom(factor, around);
    this.redraw();
  }

  pan(part: number): void {
    this.view.pan(part * this.view.span);
    this.redraw();
  }

  /** Selects the next or previous event: of the emphasised ones, or of the strip of the selected one. */
  step(by: 1 | -1): void {
    const { model, matches, selected } = this.scene;
    let ids: ArrayLike<EventId>;
    if (matches) {
      const found: EventId[] = [];
      for (let id = 0; id < model.count; id++) if (matches[id]) found.push(id);
      ids = found.sort((a, b) => model.start[a] - model.start[b] || a - b);
    } else if (selected >= 0) {
      const [thread, strip] = model.home[selected];
      ids = model.threads[thread].strips[strip].ids;
    } else {
      const spans = model.threads.flatMap((thread) => thread.strips).find((strip) => strip.kind === "spans");
      ids = spans?.ids ?? [];
    }
    if (ids.length === 0) return;
    const position = Array.prototype.indexOf.call(ids, selected);
    const next = position < 0 ? (by > 0 ? 0 : ids.length - 1) : (position + by + ids.length) % ids.length;
    this.select(ids[next], true);
  }

  /** The position of an event on the page, for tests and tooltips. */
  centre(id: EventId): [number, number] {
    const [left, top, width, height] = box(this.scene, id);
    const area = this.canvas.getBoundingClientRect();
    return [area.left + left + width / 2, area.top + top + height / 2];
  }

  private reveal(id: EventId): void {
    const { model } = this.scene;
    const [start, end] = [model.start[id], model.end[id]];
    if (end - start > this.view.span) this.view.show(start - (end - start) * 0.1, end + (end - start) * 0.1);
    else if (start < this.view.from || end > this.view.to) this.view.pan((start + end) / 2 - (this.view.from + this.view.to) / 2);
  }

  private resize(): void {
    const width = Math.max((this.canvas.parentElement ?? this.canvas).clientWidth, 240);
    this.scene.width = width;
    this.scene.gutter = width < 640 ? 92 : 150;
    fitCanvas(this.canvas, this.context, width, this.layout.height);
    fitCanvas(this.overview, this.overviewContext, width, 34);
    this.redraw();
  }

  private redraw(): void {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      draw(this.context, this.scene);
      this.drawOverview();
    });
  }

  private drawOverview(): void {
    const { scene, view, busy } = this;
    const context = this.overviewContext;
    const { gutter, width, theme } = scene;
    const room = width - gutter;
    context.clearRect(0, 0, width, 34);
    const bins = busy.running.length;
    const wide = room / bins;
    for (let i = 0; i < bins; i++) {
      context.fillStyle = theme.other;
      context.fillRect(gutter + i * wide, 26 - busy.running[i] * 22, wide + 0.5, busy.running[i] * 22);
      if (busy.waiting[i] > 0.02) {
        context.fillStyle = theme.wait;
        context.globalAlpha = Math.max(busy.waiting[i], 0.3);
        context.fillRect(gutter + i * wide, 28, wide + 0.5, 3);
        context.globalAlpha = 1;
      }
    }
    const left = gutter + ((view.from - view.first) / (view.last - view.first)) * room;
    const right = gutter + ((view.to - view.first) / (view.last - view.first)) * room;
    context.fillStyle = theme.surface;
    context.globalAlpha = 0.72;
    context.fillRect(gutter, 0, left - gutter, 34);
    context.fillRect(right, 0, width - right, 34);
    context.globalAlpha = 1;
    context.strokeStyle = theme.accent;
    context.strokeRect(left + 0.5, 0.5, Math.max(right - left - 1, 2), 33);
    context.font = '11px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
    context.textBaseline = "middle";
    context.fillStyle = theme.muted;
    context.fillText("Overview", 8, 17);
  }

  /** The event at a position of the canvas, or -1. */
  private at(x: number, y: number): EventId {
    const { scene, model } = this;
    if (x < scene.gutter) return -1;
    const band = this.layout.bands.find((band) => y >= band.top - 1 && y <= band.top + band.height + 1 && band.series < 0);
    if (!band) return -1;
    const { ids } = model.threads[band.thread].strips[band.strip];
    const from = toTime(scene, x - NEAR);
    const to = toTime(scene, x + NEAR);
    const exact = toTime(scene, x);
    let best = -1;
    let distance = Infinity;
    for (let i = lowerBound(ids.length, (k) => model.end[ids[k]], from); i < ids.length && model.start[ids[i]] <= to; i++) {
      const id = ids[i];
      const away = Math.max(model.start[id] - exact, exact - model.end[id], 0);
      const emphasised = scene.matches && !scene.matches[id] ? 1 : 0;
      if (away + emphasised * (to - from) < distance) [best, distance] = [id, away + emphasised * (to - from)];
    }
    return best;
  }

  private listen(): void {
    const { canvas, scene, model } = this;
    let down: { x: number; at: number; from: number; marks: boolean; moved: boolean } | null = null;
    const position = (event: PointerEvent | WheelEvent): [number, number] => {
      const area = canvas.getBoundingClientRect();
      return [event.clientX - area.left, event.clientY - area.top];
    };
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const [x, y] = position(event);
      const marks = event.shiftKey || y < AXIS;
      down = { x, at: toTime(scene, x), from: this.view.from, marks, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = position(event);
      if (!down) {
        const id = this.at(x, y);
        if (id !== scene.hovered) {
          scene.hovered = id;
          this.redraw();
        }
        canvas.style.cursor = id >= 0 ? "pointer" : y < AXIS || event.shiftKey ? "col-resize" : "grab";
        this.listener.hovered(id, event.clientX, event.clientY);
        const band = this.layout.bands.find((band) => band.series >= 0 && y >= band.top && y <= band.top + band.height);
        if (band && x >= scene.gutter) {
          const series = model.series[band.series];
          const i = lowerBound(series.at.length, (k) => series.at[k], toTime(scene, x)) - 1;
          this.listener.valued(series.name, amount(series, i < 0 ? 0 : series.values[i]), event.clientX, event.clientY);
        }
        return;
      }
      if (!down.moved && Math.abs(x - down.x) < 4) return;
      down.moved = true;
      this.listener.hovered(-1, 0, 0);
      if (down.marks) {
        const now = toTime(scene, Math.max(x, scene.gutter));
        this.mark([Math.min(now, down.at), Math.max(now, down.at)]);
      } else {
        canvas.style.cursor = "grabbing";
        const shift = ((down.x - x) / (scene.width - scene.gutter)) * this.view.span;
        this.view.pan(down.from + shift - this.view.from);
        this.redraw();
      }
    });
    canvas.addEventListener("pointerup", (event) => {
      const [x, y] = position(event);
      if (down && !down.moved) {
        if (down.marks) this.mark(null);
        else this.select(this.at(x, y));
      }
      down = null;
    });
    canvas.addEventListener("pointercancel", () => (down = null));
    canvas.addEventListener("pointerleave", () => {
      scene.hovered = -1;
      this.listener.hovered(-1, 0, 0);
      this.redraw();
    });
    canvas.addEventListener("dblclick", () => this.showSelection());
    canvas.addEventListener(
      "wheel",
      (event) => {
        const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
        if (event.ctrlKey || event.metaKey || event.altKey) {
          const around = toTime(scene, Math.max(position(event)[0], scene.gutter));
          this.zoom(1.0025 ** Math.max(Math.min(event.deltaY, 200), -200), around);
        } else if (sideways) {
          this.pan((event.deltaX || event.deltaY) / (scene.width - scene.gutter));
        } else return;
        event.preventDefault();
      },
      { passive: false },
    );
    let dragging = false;
    const move = (event: PointerEvent) => {
      const area = this.overview.getBoundingClientRect();
      const part = (event.clientX - area.left - scene.gutter) / (scene.width - scene.gutter);
      const centre = this.view.first + part * (this.view.last - this.view.first);
      this.view.pan(centre - (this.view.from + this.view.to) / 2);
      this.redraw();
    };
    this.overview.addEventListener("pointerdown", (event) => {
      dragging = true;
      this.overview.setPointerCapture(event.pointerId);
      move(event);
    });
    this.overview.addEventListener("pointermove", (event) => dragging && move(event));
    this.overview.addEventListener("pointerup", () => (dragging = false));
  }

  /** The pixel of a time, for tests. */
  x(at: number): number {
    return toX(this.scene, at);
  }
}

/** How much of each part of the profile at least one thread ran or waited, for the overview. */
function density(model: Model, bins: number): { running: Float32Array; waiting: Float32Array } {
  const { first, last } = model.data;
  const wide = Math.max((last - first) / bins, 1);
  const running = new Float32Array(bins);
  const waiting = new Float32Array(bins);
  for (let id = 0; id < model.runCount + model.waitCount; id++) {
    const sums = model.kind(id) === "run" ? running : waiting;
    const [start, end] = [model.start[id] - first, model.end[id] - first];
    const to = Math.min(Math.floor(end / wide), bins - 1);
    for (let bin = Math.max(Math.floor(start / wide), 0); bin <= to; bin++) {
      sums[bin] += Math.max(Math.min(end, (bin + 1) * wide) - Math.max(start, bin * wide), 0) / wide;
    }
  }
  const most = Math.max(1, running.reduce((a, b) => Math.max(a, b), 0));
  return { running: running.map((sum) => sum / most), waiting: waiting.map((sum) => Math.min(sum, 1)) };
}

function contextOf(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  const context = canvas.getContext("2d");
  if (!context) throw new Error("this browser has no canvas");
  return context;
}

function fitCanvas(canvas: HTMLCanvasElement, context: CanvasRenderingContext2D, width: number, height: number): void {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
}
