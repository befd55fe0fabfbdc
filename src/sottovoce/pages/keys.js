/** So that nothing is drawn twice: a browser that promises to remember, or a key of the person's own. */

import { ParameterError } from "./sottovoce.js";
import { SurveyKey } from "./personal-key.js";
import { me } from "./device.js";
import { details, element, svg } from "./elements.js";
import { keyIn, linkOf } from "./key-link.js";
import { say } from "./language.js";
import { button, note, paragraph } from "./respondent-cards.js";
import { qrCode } from "./qr-code.js";
import { download } from "./receipt.js";

/** Empty modules around a QR code, by which readers find it. */
const QUIET_ZONE = 4;

/** Whether a survey has questions whose answers are drawn once for all waves. */
export const remembers = ({ questions }) => questions.some(({ mechanism }) => mechanism.begin);

let asked;

/** Whether the browser promises to keep what it stores. It is asked once, and may take its time: some ask the person. */
function persistence() {
  asked ??= navigator.storage?.persist?.().catch(() => false) ?? Promise.resolve(false);
  return asked;
}

/** Use the key in a text; whether there is one. */
export function useKey(text, survey) {
  try {
    me.key = SurveyKey.fromText(keyIn(text) ?? "", survey.digest);
    return true;
  } catch (error) {
    if (!(error instanceof ParameterError)) throw error;
    return false;
  }
}

/**
 * Why this survey cannot be answered here as it stands, or null. `known` is what was drawn for it before: it goes on with
 * the key it was begun with. Browsers promise to remember on secure pages alone.
 */
export function keyProblem(survey, known, again) {
  const key = me.key?.name(survey.digest) ?? null;
  if (known.key !== undefined && known.key !== key) {
    if (known.key) return note("warn", say("key.needed"), paragraph(key ? "key.other_help" : "key.needed_help"));
    const without = () => {
      me.key = undefined;
      return again();
    };
    return note("warn", say("key.late"), paragraph("key.late_help"), button("key.without", without, { class: "plain" }));
  }
  if (remembers(survey) && !key && !isSecureContext) {
    return note("warn", say("key.insecure"), paragraph("key.insecure_help"));
  }
  return null;
}

/** What the browser promised, in words, as soon as it is known. */
function promise() {
  const place = element("div", { role: "status" }, paragraph("key.asking"));
  persistence().then((kept) => {
    const said = kept
      ? paragraph("key.kept")
      : element("div", { class: "note warn" }, element("h3", {}, say("key.may_forget")), paragraph("key.may_forget_help"));
    place.replaceChildren(said);
  });
  return place;
}

function picture(text) {
  const rows = qrCode(text);
  if (!rows) return null;
  const dark = rows.flatMap((row, y) => row.map((on, x) => (on ? `M${x} ${y}h1v1h-1z` : "")));
  const size = rows.length + 2 * QUIET_ZONE;
  return svg(
    "svg",
    { class: "qr", viewBox: `${-QUIET_ZONE} ${-QUIET_ZONE} ${size} ${size}`, role: "img", "aria-label": say("key.code") },
    svg("rect", { class: "light", x: -QUIET_ZONE, y: -QUIET_ZONE, width: size, height: size }),
    svg("path", { class: "dark", d: dark.join("") }),
  );
}

/** A new key as a link, a code and a file. It is used when the person says that it is kept. */
function made(survey, changed) {
  const key = SurveyKey.generate(survey.digest);
  const link = linkOf(key);
  const use = () => {
    me.key = key;
    return changed();
  };
  const copied = element("span", { role: "status", class: "soft" });
  const copy = async () => {
    await navigator.clipboard.writeText(link);
    copied.textContent = say("key.copied");
  };
  return [
    paragraph("key.keep"),
    element("pre", { tabindex: "0", id: "key-link" }, link),
    picture(link),
    element(
      "div",
      { class: "actions" },
      button("key.save", () => download(`key-${survey.id}.txt`, `${link}\n`, "text/plain"), { class: "plain" }),
      navigator.clipboard && button("key.copy", copy, { class: "plain" }),
      copied,
    ),
    element("div", { class: "actions" }, button("key.use", use)),
  ];
}

/** A key that the person has: pasted, or in a file. */
function own(survey, changed) {
  const input = element("input", { type: "password", autocomplete: "off", spellcheck: "false" });
  const file = element("input", { type: "file", accept: "text/plain,.txt" });
  const wrong = element("p", { class: "wrong", role: "alert", hidden: true }, say("key.wrong"));
  const take = (text) => {
    wrong.hidden = useKey(text, survey);
    return wrong.hidden ? changed() : input.focus();
  };
  file.addEventListener("change", async () => take(file.files.length ? await file.files[0].slice(0, 4096).text() : ""));
  return [
    element("label", { class: "field" }, element("span", {}, say("key.paste")), input),
    element("label", { class: "field" }, element("span", {}, say("key.file")), file),
    wrong,
    element("div", { class: "actions" }, button("key.take", () => take(input.value), { class: "plain" })),
  ];
}

/** A card about remembering; `changed` is called when there is a key. With `open` its parts are open. */
export function memoryCard(survey, changed, open = false) {
  const place = element("div", {}, button("key.make", () => place.replaceChildren(...made(survey, changed)), { class: "plain" }));
  const about = ["what", "secret", "forced", "ledger"].map((name) => element("li", {}, say(`key.${name}`)));
  const offers = [
    Object.assign(details(say("key.offer"), element("ul", {}, about), place), { open }),
    Object.assign(details(say("key.have"), ...own(survey, changed)), { open }),
  ];
  return element(
    "section",
    { class: "card", id: "memory" },
    element("h2", {}, say("key.title")),
    me.key ? paragraph("key.in_use") : [paragraph("key.why"), isSecureContext && promise(), offers],
  );
}
