/** Numbers as text. */

const TIMES: [number, string][] = [
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
  [1e-9, "ns"],
];

/** A time in seconds, with a unit. */
export function time(seconds: number, digits = 4): string {
  if (seconds === 0) return "0";
  const [scale, unit] = TIMES.find(([scale]) => Math.abs(seconds) >= scale) ?? TIMES[TIMES.length - 1];
  return `${trim(seconds / scale, digits)} ${unit}`;
}

export function bytes(count: number): string {
  let unit = "B";
  for (const next of ["kB", "MB", "GB", "TB"]) {
    if (Math.abs(count) < 1000) break;
    count /= 1000;
    unit = next;
  }
  return `${trim(count, 3)} ${unit}`;
}

/** Milliseconds with thousands separated, for columns. */
export function milliseconds(seconds: number): string {
  return (seconds * 1e3).toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
}

export function percent(part: number): string {
  return `${(100 * part).toFixed(1)} %`;
}

export function integer(count: number): string {
  return count.toLocaleString("en");
}

/** What an op reached: floating-point operations per second, or bandwidth. */
export function rate(flops: number, moved: number, seconds: number): string {
  if (!(seconds > 0) || (flops === 0 && moved === 0)) return "";
  if (flops === 0) return `${bytes(moved / seconds)}/s`;
  const speed = flops / seconds;
  return speed >= 1e9 ? `${trim(speed / 1e9, 3)} GFLOP/s` : `${trim(speed / 1e6, 3)} MFLOP/s`;
}

function trim(value: number, digits: number): string {
  if (Math.abs(value) >= 10 ** digits) return value.toLocaleString("en", { maximumFractionDigits: 0 });
  return String(Number(value.toPrecision(digits)));
}
