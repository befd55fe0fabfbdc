/**
 * A personal key: 256 secret bits from which a person's draws follow, on any device and after lost storage.
 *
 * A `Respondent` with a key derives each draw by HMAC-SHA256 instead of asking the browser for random bits. The same
 * person, survey, wave and answer then give the same report, wherever they are asked. Every survey has a key of its own,
 * derived by the survey's digest: one coin under two mechanisms would reveal an answer. A page is given that one alone.
 *
 * Who has the key and the reports can take the noise off.
 */

import { DomainError, dumps, ParameterError, sha256, SottovoceError, Source } from "./sottovoce.js";

const KEY_BYTES = 32;
const REPORT_ID_BYTES = 16;
const TEXT_PREFIX = "sottovoce-key:1:";
const SURVEY_LABEL = "sottovoce survey key 1";
const DRAW_LABEL = "sottovoce draw 1";
const MEMORY_LABEL = "sottovoce memory 1";
const NAME_LABEL = "sottovoce key name 1";
const NAME_BYTES = 8;
const ROLES = ["cohort", "permanent", "instantaneous", "fresh", "report"];
/** Drawn once for all waves. */
const ROLES_WITHOUT_WAVE = ["cohort", "permanent"];
/** 43 characters of base64url hold 258 bits: the last two are zero. */
const TEXT = /^[\w-]{42}[AEIMQUYcgkosw048]$/;

const utf8 = (text) => new TextEncoder().encode(text);
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

function toBase64(bytes) {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function fromBase64(text) {
  if (typeof text !== "string" || !TEXT.test(text)) throw new ParameterError("a key must be 43 characters of base64url");
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
}

/** The length of a field in four bytes, then its text in UTF-8. No two lists of fields agree. */
function field(value) {
  const bytes = utf8(String(value ?? ""));
  const { length } = bytes;
  return [length >>> 24, (length >>> 16) & 255, (length >>> 8) & 255, length & 255, ...bytes];
}

/** HMAC with SHA-256, for keys of at most 64 bytes. */
export function hmac(key, data) {
  const pad = (byte) => Array.from({ length: 64 }, (_, at) => key[at] ^ byte);
  const inner = sha256(Uint8Array.of(...pad(0x36), ...data));
  return sha256(Uint8Array.of(...pad(0x5c), ...inner));
}

const mac = (key, ...fields) => hmac(key, Uint8Array.from(fields.flatMap(field)));

function checked(bytes) {
  if (bytes instanceof Uint8Array && bytes.length === KEY_BYTES) return Uint8Array.from(bytes);
  throw new ParameterError(`a key must have ${KEY_BYTES} bytes`);
}

function randomKey() {
  if (typeof globalThis.crypto?.getRandomValues !== "function") {
    throw new SottovoceError("there must be crypto.getRandomValues");
  }
  return globalThis.crypto.getRandomValues(new Uint8Array(KEY_BYTES));
}

const isMissing = (answer) => (answer ?? "") === "" || Number.isNaN(answer);

/**
 * The one spelling of an answer for deriving draws: canonical JSON, and `null` for a missing answer. The members of a
 * list or a set are written once each, sorted by the UTF-16 code units of their own texts.
 */
export function answerText(answer) {
  try {
    if (Array.isArray(answer) || answer instanceof Set) {
      return `[${[...new Set([...answer].map((member) => dumps(member)))].sort()}]`;
    }
    return dumps(isMissing(answer) ? null : answer);
  } catch (error) {
    if (!(error instanceof ParameterError)) throw error;
    throw new DomainError(`with a personal key an answer must have a form in JSON: ${error.message}`);
  }
}

/** The secret of one person, for all surveys. */
export class PersonalKey {
  #bytes;

  constructor(bytes) {
    this.#bytes = checked(bytes);
  }

  static generate() {
    return new PersonalKey(randomKey());
  }

  /** The key in a text such as `sottovoce-key:1:` and 43 characters of base64url. */
  static fromText(text) {
    if (!String(text).startsWith(TEXT_PREFIX)) throw new ParameterError(`a personal key must begin with ${TEXT_PREFIX}`);
    return new PersonalKey(fromBase64(text.slice(TEXT_PREFIX.length)));
  }

  /** The secret itself, for a file, a link or a QR code that only its owner sees. */
  toText() {
    return TEXT_PREFIX + toBase64(this.#bytes);
  }

  /** The key for one survey. It tells nothing about the personal key or about other surveys' keys. */
  forSurvey(digest) {
    return new SurveyKey(mac(this.#bytes, SURVEY_LABEL, digest), digest);
  }

  source(digest, question, wave, answer) {
    return this.forSurvey(digest).source(digest, question, wave, answer);
  }

  reportId(digest, wave) {
    return this.forSurvey(digest).reportId(digest, wave);
  }

  name(digest) {
    return this.forSurvey(digest).name(digest);
  }
}

/** A person's key for one published survey: all that a page of that survey is given. */
export class SurveyKey {
  #bytes;

  constructor(bytes, digest) {
    this.#bytes = checked(bytes);
    this.digest = digest;
  }

  /** A key for one survey that belongs to no personal key. */
  static generate(digest) {
    return new SurveyKey(randomKey(), digest);
  }

  static fromText(text, digest) {
    return new SurveyKey(fromBase64(text), digest);
  }

  /** The secret itself, for the fragment `#key=...` of the address of the survey's page. */
  toText() {
    return toBase64(this.#bytes);
  }

  /** The draws of one question in one wave. Those for which nobody names a role are fresh ones. */
  source(digest, question, wave, answer) {
    this.#check(digest);
    const draw = (...fields) => mac(this.#bytes, DRAW_LABEL, digest, question, ...fields);
    const hide = (key) => hex(mac(this.#bytes, MEMORY_LABEL, digest, question, key));
    return new KeyedSource(draw, hide, wave, new Map(), "fresh", answerText(answer));
  }

  /** The id of the submission: the same on every device, so that it is counted once. */
  reportId(digest, wave) {
    this.#check(digest);
    return hex(mac(this.#bytes, DRAW_LABEL, digest, "", "report", "", wave, 0).slice(0, REPORT_ID_BYTES));
  }

  /** A name by which a store knows the key again. The key does not follow from it. */
  name(digest) {
    this.#check(digest);
    return hex(mac(this.#bytes, NAME_LABEL, digest).slice(0, NAME_BYTES));
  }

  #check(digest) {
    if (digest !== this.digest) throw new ParameterError(`the key is for survey ${this.digest}, not for ${digest}`);
  }
}

/** Draws that follow from a survey key. Each role and code counts its draws from 0. */
class KeyedSource extends Source {
  #draw;
  #hide;
  #wave;
  #counts;
  #role;
  #code;

  constructor(draw, hide, wave, counts, role, code) {
    super();
    [this.#draw, this.#hide, this.#wave, this.#counts, this.#role, this.#code] = [draw, hide, wave, counts, role, code];
  }

  role(name, code) {
    if (!ROLES.includes(name)) throw new ParameterError(`a role must be one of ${ROLES}, got ${name}`);
    return new KeyedSource(this.#draw, this.#hide, this.#wave, this.#counts, name, String(code ?? ""));
  }

  /** What the key of a memory is written as, so that the store does not show which values were held. */
  hide(key) {
    return this.#hide(key);
  }

  draw() {
    const place = `${this.#role} ${this.#code}`;
    const number = this.#counts.get(place) ?? 0;
    this.#counts.set(place, number + 1);
    const wave = ROLES_WITHOUT_WAVE.includes(this.#role) ? "" : this.#wave;
    const bytes = this.#draw(this.#role, this.#code, wave, number).slice(0, 7);
    return Number(bytes.reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n) >> 3n);
  }
}
