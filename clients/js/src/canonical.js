/**
 * JSON with one spelling, by RFC 8785: the same value has the same text here and in Python. What another reader might
 * understand in another way is an error: a key that occurs twice, a whole number that is no double, half of a pair.
 */

import { isText } from "./bytes.js";
import { must, ParameterError } from "./errors.js";

const MAX_DEPTH = 32;
const MAX_BYTES = 2 ** 20;

/** The canonical text of a value. Its bytes are those of UTF-8. */
export function dumps(value, depth = 0) {
  const inner = (entry) => dumps(entry, depth + 1);
  if (depth < MAX_DEPTH && Array.isArray(value)) return `[${value.map(inner)}]`;
  if (depth < MAX_DEPTH && isObject(value)) {
    const keys = Object.keys(value).sort();
    return `{${keys.map((key) => `${dumps(key)}:${inner(value[key])}`)}}`;
  }
  must(
    isText(value) || value === null || typeof value === "boolean" || Number.isFinite(value),
    `JSON must be Unicode and finite numbers, at most ${MAX_DEPTH} deep`,
    value,
  );
  return JSON.stringify(value);
}

/** Whether a value is an object such as JSON has. */
export const isObject = (value) => Object.prototype.toString.call(value) === "[object Object]";

/** What an object has under a name itself, and not by descent. */
export const own = (object, name) => (Object.hasOwn(object, name) ? object[name] : undefined);

const TOKEN = /"(?:[^"\\]|\\.)*"(\s*:)?|-?\d[\d.eE+-]*/g;

/** A value from JSON, canonical or not, as text or as bytes: at most 2^20 of them. */
export function loads(data) {
  let text = data;
  let keys = 1;
  let value;
  must(data.length <= MAX_BYTES, `JSON must have at most ${MAX_BYTES} bytes`, data.length);
  try {
    if (typeof data !== "string") text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
    value = JSON.parse(text, function (_, entry) {
      keys -= +!Array.isArray(this); // The value itself counts as one.
      return entry;
    });
  } catch (error) {
    throw new ParameterError(`not JSON: ${error.message}`);
  }
  for (const [token, colon] of text.matchAll(TOKEN)) {
    keys += colon ? 1 : 0;
    must(!/^-?\d{16,}$/.test(token) || String(Number(token)) === token, "a whole number must be a double", token);
  }
  must(!keys, "a key must occur once", keys);
  dumps(value); // What cannot be written back is refused.
  return value;
}
