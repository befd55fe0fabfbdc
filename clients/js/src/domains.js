/** What may be answered, and how an answer is turned into the code that a mechanism takes. */

import { isText, utf8 } from "./bytes.js";
import { isObject, own } from "./canonical.js";
import { differ, fields, finite, isWhole, oneOf, whole } from "./checks.js";
import { demand, DomainError, must, within } from "./errors.js";
import { GRID, ulp, units } from "./exact.js";

const expect = (holds, rule, value) => demand(DomainError, holds, `an answer must ${rule}`, value);

/** Nothing, NaN and the empty text count as no answer. */
const isMissing = (value) => (value ?? "") === "" || Number.isNaN(value);

/** What a missing answer stands for: a category of its own, or nothing. */
function missingPolicy(policy, category) {
  oneOf("missing", policy, "refuse", "category");
  return (value) => {
    expect(policy === "category", "not be missing", value);
    return category;
  };
}

/** True and 1 are one label, false and 0 another. */
const plain = (label) => (typeof label === "boolean" ? Number(label) : label);

const isLabel = (label) => Number.isFinite(plain(label)) || (typeof label === "string" && label);

/** A fixed list of values, or the numbers from 0 on; a code is a place in the list. */
export function values(data, most = 2 ** 32) {
  const { values: list, missing } = fields(data, "values missing");
  const labels = Array.isArray(list) ? list.map(plain) : null;
  if (labels) must(list.every(isLabel), "labels must be text or numbers", differ("labels", labels));
  const count = labels ? list.length : whole("values", list, 1, most);
  const codes = labels && new Map(labels.map((label, code) => [label, code]));
  const category = missingPolicy(missing, count);
  const size = whole("the number of values", count + (missing === "category"), 2, most);
  return {
    size,
    encode(value) {
      if (isMissing(value)) return category(value);
      const code = codes ? codes.get(plain(value)) : plain(value);
      expect(isWhole(code, 0, count - 1), `be one of ${count} values`, value);
      return code;
    },
  };
}

// Answers about many topics: a code maps each topic that an answer speaks of to what it says.

/** Any number of options. */
export function options(data) {
  const topics = values({ values: fields(data, "options").options, missing: "refuse" }, 2 ** 20);
  return {
    topics: topics.size,
    encode(value) {
      const held = value instanceof Set ? [...value] : value;
      expect(Array.isArray(held), "be a list of options", value);
      return new Map(held.map((option) => [topics.encode(option), 1]));
    },
  };
}

/** A number for some of the keys: how far it lies from low (0) to high (1), as a multiple of 2^-53. */
export function keyed(data) {
  const { keys, low, high, outside } = fields(data, "keys low high outside");
  const topics = values({ values: keys, missing: "refuse" });
  const inside = between(low, high, outside);
  return {
    topics: topics.size,
    encode(value) {
      const list = isObject(value) ? Object.entries(value) : value instanceof Map ? [...value] : value;
      const fits = Array.isArray(list) && list.every((pair) => Array.isArray(pair) && pair.length === 2);
      expect(fits, "map keys to numbers", value);
      const place = (number) => Math.floor(((inside(number) - low) / (high - low)) * GRID) / GRID;
      const places = new Map(list.map(([key, number]) => [topics.encode(key), place(number)]));
      expect(places.size === list.length, "hold each key once", value);
      return places;
    },
  };
}

/** Checked ends, and what becomes of a number: outside it is refused, or clipped to the nearer end. */
function between(low, high, outside) {
  oneOf("outside", outside, "refuse", "clip");
  must(finite("low", low) < finite("high", high) && finite("high - low", high - low), "low must be below high", low);
  return (value) => {
    expect(typeof value === "number" && !Number.isNaN(value), "be a number", value);
    if (outside === "clip") return Math.min(Math.max(value, low), high);
    return expect(value >= low && value <= high, `lie from ${low} to ${high}`, value);
  };
}

/** Equally spaced points from low to high. A number between two of them is rounded to one at random. */
export function scale(data) {
  const { low, high, steps, outside } = fields(data, "low high steps outside");
  const inside = between(low, high, outside);
  const widest = Math.max(Math.abs(low), Math.abs(high));
  whole("steps", steps, 1, 2 ** 20);
  must((high - low) / steps >= 4 * ulp(widest), "steps must differ", steps);
  const count = BigInt(steps);
  const width = units(high) - units(low);
  const grid = BigInt(GRID);
  const slack = (count * units(widest)) / width + 1n;
  return {
    steps,
    encode(value, source) {
      const place = (units(inside(value)) - units(low)) * count; // in units of the width
      const exact = (place * grid) / width;
      const near = exact + slack; // A number next to a grid point is that point.
      const found = [exact, near - (near % grid)][+(near % grid <= 2n * slack)];
      return Number(found / grid) + source.coin(Number(found % grid) / GRID);
    },
  };
}

/** Several named domains; a code is the list of theirs. */
export function attributes(data) {
  must(Array.isArray(data) && data.length > 1, "attributes must be 2 or more", data);
  const names = data.map((entry) => fields(entry, "name values missing").name);
  must(names.every((name) => typeof name === "string" && name), "names must be text", differ("names", names));
  const domains = data.map(({ name, ...domain }) => values(domain));
  return {
    sizes: domains.map((domain) => domain.size),
    encode(value) {
      const named = isObject(value) && Object.keys(value).every((name) => names.includes(name));
      const row = named ? names.map((name) => own(value, name)) : value;
      expect(Array.isArray(row) && row.length === names.length, `have values for ${names}`, value);
      return row.map((entry, at) => within(names[at], () => domains[at].encode(entry)));
    },
  };
}

/** All texts of up to so many bytes; a code is those bytes. */
export function texts(data) {
  const { max_bytes: most, missing, longer, normalise } = fields(data, "max_bytes missing longer normalise");
  const category = missingPolicy(missing, utf8(""));
  const cut = oneOf("longer", longer, "refuse", "cut") === "cut";
  oneOf("normalise", normalise, "none", "NFC");
  whole("max_bytes", most, cut ? 4 : 1, 2 ** 12);
  return (value) => {
    if (isMissing(value)) return category(value);
    expect(isText(value), "be valid text", value);
    const bytes = utf8(normalise === "NFC" ? value.normalize() : value);
    let end = bytes.length;
    expect(cut || end <= most, `take at most ${most} bytes`, end);
    end = Math.min(end, most);
    while ((bytes[end] & 0xc0) === 0x80) end--; // A character that does not fit is left out whole.
    return bytes.subarray(0, end);
  };
}
