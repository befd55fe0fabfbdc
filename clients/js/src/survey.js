/** A published survey: checked field by field, its costs recomputed, known by the digest of its one spelling. */

import { hex, utf8 } from "./bytes.js";
import { dumps, isObject, loads } from "./canonical.js";
import { differ, fields, finite, oneOf, whole } from "./checks.js";
import { must, Refusal, within } from "./errors.js";
import { above, units } from "./exact.js";
import { sha256 } from "./sha256.js";
import { mechanism } from "./mechanisms.js";

const CONTROL = /(?![\t\n])\p{Cc}|[\u202a-\u202e\u2066-\u2069\ufeff]/u;

/** Text that a person can read. */
const readable = (name, value, most) =>
  must(
    typeof value === "string" && value.trim() && [...value].length <= most && !CONTROL.test(value),
    `${name} must be text of at most ${most} characters without controls`,
    value,
  );

const matching = (name, value, pattern) =>
  must(pattern.test(readable(name, value, 64)), `${name} must match ${pattern}`, value);

const listOf = (name, list, least, most) =>
  must(Array.isArray(list) && list.length >= least && list.length <= most, `${name} must be ${least} to ${most}`, list);

/** Different labels: text, or numbers where those are allowed. */
function labels(list, most, numbers) {
  for (const label of differ("values", listOf("values", list, 2, most))) {
    (numbers && typeof label === "number" ? finite : readable)("each value", label, 200);
  }
}

/** For each kind of question what may be answered, as its mechanism's domain has it. */
const KINDS = {
  yes_no: "values missing",
  choice: "values missing",
  multiple: "values",
  ordered: "values missing",
  number: "low high outside",
  text: "max_bytes missing longer normalise",
};

/** One question, with its mechanism. By its domain a mechanism fits one kind alone, but for that of ordered values. */
function question(data) {
  const words = KINDS[oneOf("kind", data.kind, ...Object.keys(KINDS))];
  const more = data.kind === "number" ? " estimate bins?" : "";
  const given = fields(data, `id text kind epsilon mechanism ${words}${more}`);
  const { text, kind, values, epsilon, mechanism: written, estimate, bins } = given;
  readable("text", text, 1e3);
  if (kind === "yes_no" || Array.isArray(values)) labels(values, kind === "yes_no" ? 2 : 1e4, true);
  const made = mechanism(written);
  must((kind === "ordered") === (made.name === "ranges"), "mechanism must fit its question", made.name);
  must(epsilon === made.epsilon && epsilon <= 36, `epsilon must be what the mechanism costs, ${made.epsilon}`, epsilon);
  const { steps, options, ...domain } = (written.permanent ?? written).domain;
  if (options) domain.values = options;
  const own = Object.fromEntries(words.split(" ").map((name) => [name, data[name]]));
  must(dumps(own) === dumps(domain), "mechanism must fit its question", domain);
  if (kind === "number") {
    const fitting = { mean: "mean", distribution: "square_wave" }[estimate];
    must(made.name === fitting && bins === written.bins, "mechanism must fit its question", estimate);
  }
  return { ...data, mechanism: made };
}

/** Something public about a person. */
function covariate(data) {
  if ("text" in fields(data, "id values text?")) readable("text", data.text, 1e3);
  labels(data.values, 1e4, false);
  return data;
}

const entries = (name, list, most, read) =>
  listOf(name, list, 1, most).map((data, at) =>
    within(`${name} ${at + 1}`, () => {
      matching("id", data?.id, /^[a-z][a-z0-9_-]*$/);
      return read(data);
    }),
  );

/** A time in UTC, to the second. */
function time(value) {
  const date = new Date(value);
  must(
    +date > 0 && date.toISOString().replace(".000", "") === value && value.length === 20,
    "expires must be a time in UTC",
    value,
  );
  return date;
}

const NAMES = "sottovoce id title description? contact? trust budget minimum expires? schedule covariates? questions";

export class Survey {
  /** A survey from the text or the bytes of JSON, or from what JSON.parse gives. */
  constructor(given) {
    const data = loads(typeof given === "string" || given instanceof Uint8Array ? given : dumps(given));
    must(data?.sottovoce === 1, "a survey must be of version 1", data?.sottovoce);
    matching("id", data.id, /^[a-z0-9-]+$/);
    if ("split" in data || !("budget" in data) || data.questions?.some?.((entry) => !isObject(entry?.mechanism))) {
      throw new Refusal(`survey ${data.id} must be published`);
    }
    if ("federated" in data) throw new Refusal(`survey ${data.id} is for curators`);
    const { schedule, expires, questions, covariates } = Object.assign(this, { covariates: [] }, fields(data, NAMES + Survey.more));
    Survey.also(data);
    for (const name of ["title", "description", "contact"]) {
      if (name in data) readable(name, data[name], name === "description" ? 1e4 : 200);
    }
    oneOf("trust", data.trust, "local", "shuffle", "federated", "central");
    whole("minimum", data.minimum, 1, 1e9);
    this.waves = whole("waves", fields(schedule, "waves every?").waves, 1, 1e4);
    if ("every" in schedule) oneOf("every", schedule.every, "hour", "day", "week", "month", "year");
    this.expires = "expires" in data ? time(expires) : null;
    this.questions = entries("questions", questions, 100, question);
    if ("covariates" in data) this.covariates = entries("covariates", covariates, 20, covariate);
    differ("ids", [...this.questions, ...this.covariates].map(({ id }) => id));
    const bits = this.questions.reduce((sum, { mechanism: made }) => sum + made.bits, 0);
    must(bits <= 2 ** 20, "reports must take at most 2^20 bits", bits);
    /** What all questions and all waves may cost a person, rounded up. */
    this.epsilon = above(this.questions.reduce((sum, { mechanism: made }) => sum + this.#cost(made), 0n));
    must(finite("budget", data.budget) >= this.epsilon, `budget must cover the costs, ${this.epsilon}`, data.budget);
    /** The one spelling of the document, and the digest that stands for it. */
    this.canonical = dumps(data);
    this.digest = `sha256:${hex(sha256(utf8(this.canonical)))}`;
  }

  #cost({ waves = this.waves, after, epsilon }) {
    must(waves >= this.waves, "a mechanism must be for all waves", waves);
    return after ? units(after(this.waves - 1)) : BigInt(this.waves) * units(epsilon);
  }
}

/** Fields that another module knows, and its check of them: see seal.js. Without the module they are refused. */
Survey.more = "";
Survey.also = (_data) => {};
