/** What may be answered, and how an answer is turned into the code that a mechanism takes. */

import { isText, utf8 } from "./bytes.js";
import { isObject, own } from "./canonical.js";
import { differ, fields, isWhole, oneOf, whole } from "./checks.js";
import { expect, must, within } from "./errors.js";
import { GRID } from "./exact.js";
import { between } from "./scale.js";

/** Nothing, NaN and the empty text count as no answer. */
const MISSING = ["", null, undefined, NaN];

/** Whether an answer is missing, 1 or 0; an error if it is and there is no category for that. */
function missingPolicy(policy) {
  oneOf("missing", policy, "refuse", "category");
  return (value) => {
    const missing = +MISSING.includes(value);
    expect(missing <= +(policy === "category"), "not be missing", value);
    return missing;
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
  const checkMissing = missingPolicy(missing);
  const size = whole("values", count + +(missing === "category"), 2, most);
  return {
    size,
    first: labels ? labels[0] : 0,
    encode(value) {
      const missed = checkMissing(value);
      const label = plain(value);
      const code = [codes ? codes.get(label) : label, count][missed];
      expect(isWhole(code, 0, count - 1 + missed), `be one of ${count} values`, value);
      return code;
    },
  };
}

// Answers about many topics: a code maps each topic that an answer speaks of to what it says.

/** Up to so many topics, time does not tell how many of them an answer speaks of. */
const MOST_FILLED = 1000;

/**
 * From a list, with an entry for each topic that is spoken of, to a code. It is filled up by an entry about topics that
 * there are not. `read` gives the topic of an entry and what it says.
 */
function about(size, entry, read) {
  const fillers = Array(Math.min(size, MOST_FILLED)).fill(entry);
  return (list, once) => {
    /** @type {[any, any][]} */
    const pairs = Array.from({ length: Math.max(list.length, fillers.length) }, (_, at) => {
      const given = +(at < list.length);
      const [topic, said] = read([fillers, list][given][at]);
      return [[size + at, topic][given], said];
    });
    const code = new Map(pairs);
    expect(!once || code.size === pairs.length, "hold each key once", list);
    return code;
  };
}

/** Any number of options. */
export function options(data) {
  const { size, first, encode } = values({ values: fields(data, "options").options, missing: "refuse" }, 2 ** 20);
  const read = about(size, first, (option) => [encode(option), 1]);
  return {
    topics: size,
    encode(value) {
      const held = value instanceof Set ? [...value] : value;
      expect(Array.isArray(held), "be a list of options", value);
      return read(held);
    },
  };
}

/** A number for some of the keys: how far it lies from low (0) to high (1), as a multiple of 2^-53. */
export function keyed(data) {
  const { keys, low, high, outside } = fields(data, "keys low high outside");
  const { size, first, encode } = values({ values: keys, missing: "refuse" });
  const inside = between(low, high, outside);
  const read = about(size, [first, high], (pair) => {
    const [key, number] = expect(Array.isArray(pair) && pair.length === 2, "map keys to numbers", pair);
    return [encode(key), Math.floor(((inside(number) - low) / (high - low)) * GRID) / GRID];
  });
  return {
    topics: size,
    encode(value) {
      const list = isObject(value) ? Object.entries(value) : value instanceof Map ? [...value] : value;
      expect(Array.isArray(list), "map keys to numbers", value);
      return read(list, true);
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

/**
 * All texts of up to so many bytes; a code holds those bytes, with zeros behind them up to one more than the most there
 * can be, and their number. Time does not tell how long a text is, up to four times the most.
 */
export function texts(data) {
  const { max_bytes: most, missing, longer, normalise } = fields(data, "max_bytes missing longer normalise");
  const checkMissing = missingPolicy(missing);
  const cut = oneOf("longer", longer, "refuse", "cut") === "cut";
  oneOf("normalise", normalise, "none", "NFC");
  whole("max_bytes", most, cut ? 4 : 1, 2 ** 12);
  return (value) => {
    const text = [value, ""][checkMissing(value)];
    expect(typeof text === "string", "be valid text", value);
    // Behind any text come spaces and one character of three bytes: engines keep texts with such a one in another way.
    const filled = `${text.padEnd(4 * most)}\u4e00`;
    expect(isText(filled), "be valid text", value);
    const bytes = utf8(normalise === "NFC" ? filled.normalize() : filled);
    let length = bytes.length - 2 - filled.length + text.length;
    expect(cut || length <= most, `take at most ${most} bytes`, length);
    length = Math.min(length, most);
    // A character that does not fit is left out whole. It has at most three bytes before the end.
    for (let at = 0; at < 3; at++) length -= +((bytes[length] & 0xc0) === 0x80);
    return { bytes: bytes.fill(0, length).slice(0, most + 1), length };
  };
}
