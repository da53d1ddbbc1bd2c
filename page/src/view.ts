/** The visible part of the time. */

export class View {
  from: number;
  to: number;

  constructor(
    readonly first: number,
    readonly last: number,
  ) {
    this.from = first;
    this.to = last;
  }

  get span(): number {
    return this.to - this.from;
  }

  get isWhole(): boolean {
    return this.from <= this.first && this.to >= this.last;
  }

  /** Shows this interval, as far as it is inside the profile. The shortest is 1 µs. */
  show(from: number, to: number): void {
    const span = Math.min(Math.max(to - from, 10), this.last - this.first);
    const start = Math.min(Math.max((from + to - span) / 2, this.first), this.last - span);
    this.from = start;
    this.to = start + span;
  }

  zoom(factor: number, around: number): void {
    const span = Math.min(Math.max(this.span * factor, 10), this.last - this.first);
    const part = (around - this.from) / this.span;
    this.move(around - part * span - this.from, span);
  }

  pan(by: number): void {
    this.move(by, this.span);
  }

  private move(by: number, span: number): void {
    const start = Math.min(Math.max(this.from + by, this.first), this.last - span);
    this.from = start;
    this.to = start + span;
  }
}

/** Round times in an interval, about `count` of them. */
export function ticks(from: number, to: number, count: number): number[] {
  const rough = (to - from) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= rough) ?? rough;
  const found: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
  return found;
}
