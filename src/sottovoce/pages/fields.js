/** Questions as forms. Nothing that is typed has a place to be submitted to, and browsers are asked to forget it. */

import { DomainError, Source } from "./sottovoce.js";
import { element, theirs } from "./elements.js";
import { number, say } from "./language.js";
import { labelOf, valuesOf } from "./odds.js";

const MOST_RADIO_BUTTONS = 12;
const MOST_LISTED_OPTIONS = 150;
let count = 0;

/** A choice of one or of any number of values. A long list is searched. */
function picker(question, multiple, changed) {
  const values = valuesOf(question);
  const group = `choice${++count}`;
  const held = new Set();
  const pick = (value, { checked }) => {
    if (!multiple) held.clear();
    if (checked) held.add(value);
    else held.delete(value);
    changed();
  };
  const option = (value) =>
    element(
      "label",
      { class: "option" },
      element("input", {
        type: multiple ? "checkbox" : "radio",
        name: group,
        autocomplete: "off",
        checked: held.has(value),
        onchange: ({ target }) => pick(value, target),
      }),
      theirs(labelOf(question, value)),
    );
  const many = values.length > MOST_RADIO_BUTTONS;
  const short = values.every((value) => labelOf(question, value).length < 24);
  const list = element("div", { class: `options${many ? " many" : ""}${short ? " short" : ""}` });
  const more = element("p", { class: "help", role: "status" });
  const show = (text) => {
    const found = values.filter((value) => held.has(value) || labelOf(question, value).toLowerCase().includes(text));
    list.replaceChildren(...found.slice(0, MOST_LISTED_OPTIONS).map(option));
    more.textContent =
      found.length > MOST_LISTED_OPTIONS
        ? say("fields.more", { n: found.length - MOST_LISTED_OPTIONS })
        : many
          ? say("fields.found", { n: found.length })
          : "";
  };
  show("");
  const search =
    many &&
    element(
      "label",
      { class: "field" },
      element("span", {}, say("fields.search")),
      element("input", {
        type: "search",
        autocomplete: "off",
        oninput: ({ target }) => show(target.value.trim().toLowerCase()),
      }),
    );
  if (many) Object.assign(list, { tabIndex: 0 });
  if (many) list.setAttribute("role", "group");
  if (many) list.setAttribute("aria-label", say("fields.options"));
  return {
    parts: [search, list, many && more],
    read: () => (multiple ? [...held] : held.size ? [...held][0] : undefined),
    given: () => multiple || held.size > 0,
  };
}

/** One line of text. */
function line(attributes, read, changed) {
  const input = element("input", {
    type: "text",
    autocomplete: "off",
    spellcheck: "false",
    ...attributes,
    oninput: () => changed(),
  });
  return { input, read: () => read(input.value), given: () => input.value.trim() !== "" };
}

const toNumber = (text) =>
  /^\s*[-+−]?(\d+[.,]?\d*|[.,]\d+)\s*$/.test(text) ? Number(text.trim().replace(",", ".").replace("−", "-")) : NaN;

function numberField({ low, high, outside }, changed) {
  const help = say(outside === "clip" ? "fields.number_clip" : "fields.number", { low, high });
  return { ...line({ inputmode: "decimal", class: "narrow" }, toNumber, changed), help };
}

function textField({ max_bytes: most, missing }, changed) {
  const help = say(missing === "category" ? "fields.text_missing" : "fields.text", { most });
  return { ...line({ dir: "auto" }, (text) => text.trim() || null, changed), help };
}

const LEAST_TYPED_VALUES = 13;

/** A long run of whole numbers is typed, not chosen. */
const isTyped = ({ values, missing }) => typeof values === "number" && values >= LEAST_TYPED_VALUES && missing === "refuse";

/** @returns {{ input?: HTMLElement, parts?: HTMLElement[], help?: string, read: () => any, given: () => boolean }} */
function made(question, changed) {
  if (question.kind === "number") return numberField(question, changed);
  if (question.kind === "text") return textField(question, changed);
  if (question.kind !== "multiple" && isTyped(question))
    return numberField({ low: 0, high: question.values - 1, outside: "refuse" }, changed);
  return picker(question, question.kind === "multiple", changed);
}

/** Why an answer cannot be taken, or nothing. */
function complaint(question, { given, read }) {
  const free = question.kind === "multiple" || (question.kind === "text" && question.missing === "category");
  if (!free && !given()) return say("fields.needed");
  try {
    question.mechanism.encode(read(), new Source());
    return "";
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    if (question.kind === "text") return say("fields.too_long", { most: question.max_bytes });
    const { low = 0, high = question.values - 1 } = question;
    return say("fields.outside", { low: number(low), high: number(high) });
  }
}

/**
 * A field for one question: the `node`, `read()` for the answer, and `check()`, which shows what is wrong and says
 * whether nothing is.
 */
export function field(question, legend, ...below) {
  const id = `field${++count}`;
  const wrong = element("p", { class: "wrong", id: `${id}-wrong`, role: "alert", hidden: true });
  const complain = (text) => {
    wrong.hidden = !text;
    wrong.textContent = text;
    node.toggleAttribute("data-wrong", Boolean(text));
    own.input?.setAttribute("aria-invalid", String(Boolean(text)));
  };
  const own = made(question, () => wrong.hidden || complain(complaint(question, own)));
  if (own.input) own.input.setAttribute("aria-describedby", `${id}-help ${id}-wrong`);
  if (own.input) own.input.setAttribute("aria-label", question.text ?? question.id);
  const help = own.help && element("p", { class: "help", id: `${id}-help` }, own.help);
  const several = question.kind === "multiple" && element("p", { class: "help" }, say("fields.several"));
  const node = element(
    "fieldset",
    { id, tabindex: "-1" },
    legend,
    help || several,
    own.parts ?? own.input,
    wrong,
    ...below,
  );
  const check = () => {
    const text = complaint(question, own);
    complain(text);
    return !text;
  };
  return { id: question.id, node, read: own.read, given: own.given, check };
}

/** A public answer: it is sent as it is. */
export function publicField(covariate, legend) {
  const asked = { ...covariate, kind: "choice", missing: "refuse" };
  const encode = (value) => {
    if (!covariate.values.includes(value)) throw new DomainError("not listed");
  };
  return field({ ...asked, mechanism: { encode } }, legend);
}
