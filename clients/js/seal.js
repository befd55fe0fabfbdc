/**
 * Sealing reports for surveys with a shuffler: HPKE (RFC 9180) in base mode, with X25519, HKDF-SHA256 and AES-128-GCM
 * of WebCrypto. A page must come by HTTPS or from this machine to have that; Node has it from 20 on.
 *
 * Loading this module is what makes `Survey` take a survey with the field `shuffle`.
 */

import { encode, ParameterError, SottovoceError, Survey } from "./sottovoce.js";

const KEM = [0x4b, 0x45, 0x4d, 0, 0x20]; // "KEM", DHKEM(X25519, HKDF-SHA256)
const SUITE = [0x48, 0x50, 0x4b, 0x45, 0, 0x20, 0, 1, 0, 1]; // "HPKE", that, HKDF-SHA256, AES-128-GCM
const PKCS8 = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x6e, 4, 0x22, 4, 0x20]; // Before a private key.
const HASH_BYTES = 32;
const NONE = new Uint8Array();

/** Bytes that sealing adds: a fresh public key and a tag. */
export const OVERHEAD = 48;

const utf8 = (text) => new TextEncoder().encode(text);

function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function subtle() {
  const found = globalThis.crypto?.subtle;
  if (!found) throw new SottovoceError("sealing needs crypto.subtle: the page must come by HTTPS, or from this machine");
  return found;
}

// HKDF with the labels of RFC 9180, section 4.

async function hmac(key, data) {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  // An empty key is that of zeros; WebCrypto wants one that is not empty.
  const made = await subtle().importKey("raw", key.length ? key : new Uint8Array(HASH_BYTES), algorithm, false, ["sign"]);
  return new Uint8Array(await subtle().sign("HMAC", made, data));
}

const extract = (suite, salt, label, input) => hmac(salt, joined(utf8("HPKE-v1"), suite, utf8(label), input));

/** At most 32 bytes, for which one round is enough. */
async function expand(suite, secret, label, info, size) {
  const labelled = joined([size >> 8, size & 255], utf8("HPKE-v1"), suite, utf8(label), info, [1]);
  return (await hmac(secret, labelled)).slice(0, size);
}

// X25519.

const importPublic = (bytes) => subtle().importKey("raw", bytes, { name: "X25519" }, true, []);

/** A private key, of which WebCrypto makes the public half, and no other bytes. */
async function importPair(bytes) {
  const key = await subtle().importKey("pkcs8", joined(PKCS8, bytes), { name: "X25519" }, true, ["deriveBits"]);
  const { x } = await subtle().exportKey("jwk", key);
  return { privateKey: key, publicBytes: unbase64(x) };
}

async function freshPair() {
  const { privateKey, publicKey } = await subtle().generateKey({ name: "X25519" }, true, ["deriveBits"]);
  return { privateKey, publicBytes: new Uint8Array(await subtle().exportKey("raw", publicKey)) };
}

async function shared(privateKey, publicBytes) {
  const found = await subtle().deriveBits({ name: "X25519", public: await importPublic(publicBytes) }, privateKey, 256);
  const bytes = new Uint8Array(found);
  if (bytes.every((byte) => byte === 0)) throw new ParameterError("the public key is not a point that can be sealed to");
  return bytes;
}

/** The key and the nonce that both sides have, from what they share. */
export async function schedule(dh, enc, recipient, info) {
  const prk = await extract(KEM, NONE, "eae_prk", dh);
  const secret = await expand(KEM, prk, "shared_secret", joined(enc, recipient), HASH_BYTES);
  const psk = await extract(SUITE, NONE, "psk_id_hash", NONE);
  const context = joined([0], psk, await extract(SUITE, NONE, "info_hash", info));
  const master = await extract(SUITE, secret, "secret", NONE);
  const [key, nonce] = [await expand(SUITE, master, "key", context, 16), await expand(SUITE, master, "base_nonce", context, 12)];
  return { secret, key, nonce };
}

async function crypt(how, { key, nonce }, data, extra) {
  const made = await subtle().importKey("raw", key, "AES-GCM", false, [how]);
  return new Uint8Array(await subtle()[how]({ name: "AES-GCM", iv: nonce, additionalData: extra }, made, data));
}

/** A message sealed to a public key of 32 bytes: the fresh public key, then the ciphertext. Tests give `ephemeral`. */
export async function sealTo(recipient, message, info, { extra = NONE, ephemeral = null } = {}) {
  const { privateKey, publicBytes } = ephemeral ? await importPair(ephemeral) : await freshPair();
  const made = await schedule(await shared(privateKey, recipient), publicBytes, recipient, info);
  return joined(publicBytes, await crypt("encrypt", made, message, extra));
}

/** What was sealed, by the private key of 32 bytes; an error if it does not open. */
export async function openWith(key, sealed, info, { extra = NONE } = {}) {
  const { privateKey, publicBytes } = await importPair(key);
  const enc = sealed.slice(0, HASH_BYTES);
  try {
    const made = await schedule(await shared(privateKey, enc), enc, publicBytes, info);
    return await crypt("decrypt", made, sealed.slice(HASH_BYTES), extra);
  } catch {
    throw new SottovoceError("the message does not open with this key and this purpose");
  }
}

// Surveys and their envelopes.

const PUBLIC_KEY = /^[\w-]{42}[AEIMQUYcgkosw048]$/;
const ADDRESS = /^https?:\/\/[!-~]{1,500}$/;
const FIELDS = "address analyst delta honest minimum shuffler";

const isWhole = (value, least, most) => Number.isInteger(value) && value >= least && value <= most;

function unbase64(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

/** Refuse a survey whose field `shuffle` is not one. */
function check(data) {
  if (!Object.hasOwn(data, "shuffle")) return;
  const { shuffle, trust, covariates } = data;
  const need = (holds, rule) => {
    if (!holds) throw new ParameterError(`shuffle: ${rule}, got ${String(JSON.stringify(shuffle)).slice(0, 60)}`);
  };
  need(Object.prototype.toString.call(shuffle) === "[object Object]", `there must be just ${FIELDS}`);
  need(Object.keys(shuffle).sort().join(" ") === FIELDS, `there must be just ${FIELDS}`);
  need(trust === "shuffle", "it goes with trust: shuffle");
  need(!covariates?.length, "it goes without covariates");
  const { analyst, shuffler, address, minimum, honest, delta } = shuffle;
  need([analyst, shuffler].every((key) => typeof key === "string" && PUBLIC_KEY.test(key)), "a key must be one in base64url");
  need(analyst !== shuffler, "analyst and shuffler must have keys of their own");
  need(typeof address === "string" && ADDRESS.test(address), "address must be a URL");
  need(isWhole(minimum, 2, 1e9), "minimum must be whole, 2 to 10^9");
  need(isWhole(honest, 1, minimum), "honest must be whole, 1 to minimum");
  need(typeof delta === "number" && delta > 0 && delta < 1, "delta must be between 0 and 1");
}

const others = Survey.also;
Survey.more += " shuffle?";
Survey.also = (data) => {
  others(data);
  check(data);
};

/** Characters of the longest report in JSON. */
function longest({ length, bits }) {
  if (length) return Math.max(4, Math.ceil((8 * Math.ceil(length / 8)) / 6) + 2);
  return Math.max(4, String(2n ** BigInt(bits) - 1n).length + (bits > 53 ? 2 : 0));
}

/** Bytes of the longest submission to a survey, to which all are padded. */
export function paddedLength({ questions, digest, waves }) {
  const reports = Object.fromEntries(questions.map(({ id, mechanism }) => [id, "x".repeat(longest(mechanism) - 2)]));
  return utf8(encode({ covariates: {}, id: "0".repeat(32), reports, survey: digest, wave: waves - 1 })).length;
}

/**
 * The bytes to send to the shuffler, at `survey.shuffle.address` + "/reports" with the type application/octet-stream:
 * the text that `Respondent.answer` gave, sealed to the analyst, and that sealed to the shuffler. Keep the bytes: sent
 * again, they are counted once.
 */
export async function seal(given, body) {
  const survey = given instanceof Survey ? given : new Survey(given);
  if (!survey.shuffle) throw new ParameterError(`survey ${survey.id} has no shuffler: its reports are sent as they are`);
  const { survey: named, wave } = JSON.parse(body);
  if (named !== survey.digest) throw new ParameterError(`the submission is for survey ${named}, not for ${survey.digest}`);
  const padded = new Uint8Array(paddedLength(survey)).fill(0x20);
  padded.set(utf8(body));
  const purpose = utf8(`sottovoce report ${survey.digest} ${wave}`);
  const inner = await sealTo(unbase64(survey.shuffle.analyst), padded, purpose);
  const number = [wave >>> 24, (wave >>> 16) & 255, (wave >>> 8) & 255, wave & 255];
  const outer = utf8(`sottovoce envelope ${survey.digest}`);
  return sealTo(unbase64(survey.shuffle.shuffler), joined(number, inner), outer);
}
