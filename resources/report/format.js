// Formats sizes, times and names for readers, in the same words as the command line.

/** Rounds as the command line does: half to even. */
function fixed(value, digits) {
  const scaled = value * 10 ** digits, below = Math.floor(scaled);
  const even = below % 2 === 0 ? below : below + 1;
  return (scaled - below === 0.5 ? even / 10 ** digits : value).toFixed(digits);
}

function threeDigits(value, unit) {
  const size = Math.abs(value);
  return fixed(value, size >= 100 ? 0 : size >= 10 ? 1 : 2) + ' ' + unit;
}

function inUnits(value, units) {
  for (const [name, size] of units)
    if (Math.abs(value) >= size && size > 1) return threeDigits(value / size, name);
  return value + ' ' + units[units.length - 1][0];
}

const BYTE_UNITS = [['TiB', 2 ** 40], ['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10], ['B', 1]];
const TIME_UNITS = [['s', 1e9], ['ms', 1e6], ['us', 1e3], ['ns', 1]];

const bytesText = (bytes) => inUnits(bytes, BYTE_UNITS);
const timeText = (nanoseconds) => inUnits(nanoseconds, TIME_UNITS);

/** Returns "+7.10 %" for 1.071. */
function overheadText(overhead) {
  const percent = (overhead - 1) * 100;
  const digits = Math.abs(percent) < 10 ? 2 : Math.abs(percent) < 100 ? 1 : 0;
  return (percent < 0 ? '' : '+') + (Math.abs(percent) < 1e-9 ? 0 : percent).toFixed(digits) + ' %';
}

function counted(count, one, many) {
  return count.toLocaleString('en') + ' ' + (count === 1 ? one : many);
}

/**
 * Returns a name from a file in the form in which it is shown. Control characters, and characters that
 * change the direction of text, are replaced by a mark.
 */
function plainName(name) {
  const unseen = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
  return name.replace(unseen, '\ufffd');
}

/** Returns 1, 2 or 5 times a power of ten: the smallest such number that is not below `raw`. */
function roundStep(raw) {
  const power = 10 ** Math.floor(Math.log10(raw));
  for (const factor of [1, 2, 5])
    if (factor * power >= raw * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

/** Returns the smallest power of two that is not below `raw`; below 8, the result of `roundStep`. */
function roundStepOfBytes(raw) {
  return raw < 8 ? roundStep(raw) : 2 ** Math.ceil(Math.log2(raw) - 1e-9);
}

/** Returns about `count` round numbers from `low` to `high`, and one unit for all of them. */
function ticksOf(low, high, count, units, stepOf) {
  const [unit, size] = units.find(([, one]) => high / 1.5 >= one) || units[units.length - 1];
  const step = stepOf(Math.max(high - low, 1e-9) / size / count);
  const digits = step >= 1 ? 0 : Math.ceil(-Math.log10(step) - 1e-9);
  const ticks = [];
  for (let k = Math.ceil(low / size / step - 1e-9); k * step * size <= high * (1 + 1e-12); ++k)
    ticks.push({value: k * step * size, text: (k * step).toFixed(digits)});
  return {ticks, unit};
}

const bytesTicks = (low, high, count) => ticksOf(low, high, count, BYTE_UNITS, roundStepOfBytes);
const timeTicks = (low, high, count) => ticksOf(low, high, count, TIME_UNITS, roundStep);
const countTicks = (low, high, count) =>
    ticksOf(low, high, count, [['runs', 1]], (raw) => Math.max(1, roundStep(raw)));
const percentTicks = (low, high, count) => {
  const {ticks} = ticksOf((low - 1) * 100, (high - 1) * 100, count, [['', 1]], roundStep);
  const textOf = (tick) => (tick.value > 1e-9 ? '+' : '') + tick.text + ' %';
  return {ticks: ticks.map((tick) => ({value: 1 + tick.value / 100, text: textOf(tick)})), unit: ''};
};

/** Returns the rows as lines of comma-separated fields (RFC 4180). */
function csvText(rows) {
  const field = (value) => {
    const text = String(value);
    return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  return rows.map((row) => row.map(field).join(',')).join('\r\n') + '\r\n';
}
