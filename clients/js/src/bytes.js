/** Bytes and the texts that stand for them. */

/** Text as bytes in UTF-8. */
export const utf8 = (text) => new TextEncoder().encode(text);

/** Whether a value is text, without half of a surrogate pair, which UTF-8 cannot say. */
export const isText = (value) => typeof value === "string" && !/\p{Surrogate}/u.test(value);

/** The bytes of several arrays in one. */
export const concat = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));

/** Bytes in hexadecimal digits, and back. */
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
export const unhex = (digits) => Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** Bytes in base64url without padding. */
export const base64 = (bytes) => {
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
};
