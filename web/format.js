// Numbers, lengths of time and instants as text.

const whole = new Intl.NumberFormat('en');
const tenths = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });

export const count = number => whole.format(Math.round(number));

// With one decimal.
export const rate = number => tenths.format(number);

// 8.3, 83, 830, 8.3k, 83k, 8.3M
export function compact(number) {
  if (number === 0) return '0';
  if (Math.abs(number) < 10) return tenths.format(number).replace(/\.0$/, '');
  for (const [unit, name] of [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']]) {
    if (Math.abs(number) < unit) continue;
    const value = number / unit;
    return (value < 10 ? tenths.format(value).replace(/\.0$/, '') : whole.format(Math.round(value))) + name;
  }
  return whole.format(Math.round(number));
}

export function percent(part, sum) {
  if (!(sum > 0)) return '0 %';
  const value = 100 * part / sum;
  if (value > 0 && value < 0.1) return '< 0.1 %';
  return `${value >= 99.95 || value === 0 ? Math.round(value) : tenths.format(value)} %`;
}

// Microseconds: "41 µs", "1.2 ms", "3.4 s".
export function latency(micros) {
  if (micros < 1000) return `${Math.round(micros)} µs`;
  if (micros < 1e6) return `${tenths.format(micros / 1000)} ms`;
  return `${tenths.format(micros / 1e6)} s`;
}

// The same for an axis: "30 ms".
export const latencyTick = micros => latency(micros).replace('.0 ', ' ');

// Milliseconds, for reading: "210 ms", "4.1 s", "3 min 20 s", "2 h 5 min", "3 d 4 h".
export function span(ms) {
  if (ms < 0) return 'never';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${tenths.format(ms / 1000)} s`;
  const seconds = Math.round(ms / 1000);
  const parts = [[Math.floor(seconds / 86400), 'd'], [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'], [seconds % 60, 's']];
  const first = parts.findIndex(([value]) => value > 0);
  return parts.slice(first, first + 2).filter(([value]) => value > 0).map(([value, unit]) => `${value} ${unit}`).join(' ');
}

const kUnits = [['d', 86_400_000], ['h', 3_600_000], ['m', 60_000], ['s', 1000], ['ms', 1]];

// A duration as settings and commands write it: "60s", "10m", "1500ms". The largest unit that is exact.
export function durationText(ms) {
  if (ms === 60_000) return '60s';
  const [unit, size] = kUnits.find(([, each]) => ms % each === 0 && ms >= each) ?? kUnits.at(-1);
  return `${ms / size}${unit}`;
}

// The milliseconds of "60s", "1.5h" or "60000"; NaN for anything else.
export function parseDuration(text) {
  const found = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d)?\s*$/.exec(text);
  if (!found) return NaN;
  const unit = found[2] === 'min' ? 'm' : found[2] ?? 'ms';
  const ms = Number(found[1]) * kUnits.find(([name]) => name === unit)[1];
  return Number.isInteger(ms) ? ms : NaN;
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const clockMinutes = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const dated = new Intl.DateTimeFormat('en-GB',
  { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit' });

export const time = ms => clock.format(ms);
export const timeOfMinute = ms => clockMinutes.format(ms);

// The time; with the day where that is not the day of `now`.
export function when(ms, now = Date.now()) {
  return new Date(ms).toDateString() === new Date(now).toDateString() ? clock.format(ms) : dated.format(ms);
}
