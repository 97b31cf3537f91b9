// Sizes, times and names as people read them: the same words as those of the command line.

/** Rounded as the command line does it: from the middle between two numbers to the even one. */
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

/** 1.071 is "+7.10 %". */
function overheadText(overhead) {
  const percent = (overhead - 1) * 100;
  const digits = Math.abs(percent) < 10 ? 2 : Math.abs(percent) < 100 ? 1 : 0;
  return (percent < 0 ? '' : '+') + (Math.abs(percent) < 1e-9 ? 0 : percent).toFixed(digits) + ' %';
}

function counted(count, one, many) {
  return count.toLocaleString('en') + ' ' + (count === 1 ? one : many);
}

/**
 * A name from a file as it is shown. Control characters, and those that turn the direction of what comes
 * after them, would change the words beside it: each becomes a mark.
 */
function plainName(name) {
  const unseen = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
  return name.replace(unseen, '\ufffd');
}

/** The least of 1, 2 and 5 times a power of ten that is not below `raw`. */
function roundStep(raw) {
  const power = 10 ** Math.floor(Math.log10(raw));
  for (const factor of [1, 2, 5])
    if (factor * power >= raw * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

/** Powers of two, as sizes in memory come; below 8 units decimal steps read better. */
function roundStepOfBytes(raw) {
  return raw < 8 ? roundStep(raw) : 2 ** Math.ceil(Math.log2(raw) - 1e-9);
}

/** Places of round numbers from `low` to `high`, with the unit that suits them all. */
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

/** Lines of comma-separated fields (RFC 4180). */
function csvText(rows) {
  const field = (value) => {
    const text = String(value);
    return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  return rows.map((row) => row.map(field).join(',')).join('\r\n') + '\r\n';
}
