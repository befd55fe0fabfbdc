/** Cards, notes and buttons of the page of a person who answers. */

import { details, element, put, theirs } from "./elements.js";
import { field, publicField } from "./fields.js";
import { language, number, say } from "./language.js";
import { epsilon, meter } from "./ledger.js";
import { belief, factor, mixedText, oddsOf } from "./odds.js";
import { rehearsal } from "./rehearsal.js";

const { dataset } = document.documentElement;

/** Show parts in place of all that was there, and go to the top of it, for eyes and for screen readers. */
export function show(heading, ...parts) {
  heading.tabIndex = -1;
  put("main", heading, ...parts);
  heading.focus();
  scrollTo(0, 0);
}

/** A note to a person; one of a kind is read out at once. */
export const note = (kind, title, ...parts) =>
  element(
    "div",
    { class: `note ${kind}`, role: kind ? "alert" : "status" },
    title && element("h2", {}, title),
    ...parts,
  );
export const paragraph = (key, values) => element("p", {}, say(key, values));
export const button = (key, onclick, attributes = {}) =>
  element("button", { type: "button", onclick, ...attributes }, say(key));
export const waveOf = ({ waves }, wave) =>
  waves > 1 && element("p", { class: "soft" }, say("respondent.wave", { wave: wave + 1, waves }));

/** The steps of a submission, and where we are. */
export const steps = (now) =>
  element(
    "ol",
    { class: "steps", "aria-label": say("respondent.steps") },
    ["answer", "final", "check", "sent"].map((key) =>
      element("li", key === now ? { "aria-current": "step" } : {}, say(`respondent.step_${key}`)),
    ),
  );

/** The title of a survey, and what is said about it. */
export function head(survey) {
  const { title, description, contact } = survey;
  return [
    theirs(title, "h1"),
    [
      description && theirs(description, "p", { class: "lead description" }),
      contact && element("p", { class: "soft small" }, `${say("noscript.contact")} `, theirs(contact)),
    ],
  ];
}

/** What the collector says a shuffler adds; null if it cannot be had, since nobody has to wait for it. */
async function fetchMixed(id) {
  try {
    const answer = await fetch(`/v1/surveys/${encodeURIComponent(id)}/guarantee`, { credentials: "omit" });
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

/** Who could learn what: the trust model, the exact epsilon, and what an attacker could come to believe. */
export function guarantee(survey) {
  const cost = survey.epsilon;
  const remembers = survey.questions.some(({ mechanism }) => mechanism.begin);
  const bounds = JSON.parse(survey.canonical).questions.map(({ mechanism }) => mechanism);
  const changes = bounds.filter((written) => written.mechanism === "memoized").map((written) => written.changes ?? -1);
  const values = { epsilon: String(cost), factor: factor(cost), belief: number(belief(cost)) };
  const mixed = element("p", { hidden: true });
  if (survey.shuffle)
    fetchMixed(survey.id).then((found) => {
      if (!found?.central?.epsilon) return;
      mixed.textContent = mixedText(found);
      mixed.hidden = false;
    });
  return element(
    "section",
    { class: "card" },
    element("h2", {}, say("respondent.protection")),
    paragraph("respondent.protection_short"),
    details(
      say("respondent.who"),
      element(
        "ul",
        {},
        [remembers ? "you_remember" : "you", survey.trust, "everybody", "network"].map((key) =>
          element("li", {}, say(`trust.${key}`)),
        ),
        Math.max(...changes) >= 0 && element("li", {}, say("trust.follows", { changes: Math.max(...changes) })),
      ),
      element("p", {}, say("respondent.exact", values)),
      mixed,
      survey.waves > 1 && paragraph("respondent.exact_waves", { waves: survey.waves }),
      element("p", { class: "soft small" }, say("respondent.digest"), " ", element("code", {}, survey.digest)),
    ),
  );
}

/** The odds of one question, as sentences with a bar each. */
const odds = (question, written) =>
  element(
    "ul",
    { class: "odds" },
    oddsOf(question, written).map(({ text, chance }) =>
      element("li", {}, theirs(text), chance === undefined ? null : meter(chance)),
    ),
  );

/** What one question costs, and an attacker's belief in words. */
const price = ({ epsilon: cost }) =>
  element(
    "p",
    { class: "soft small" },
    say("respondent.price", { epsilon: epsilon(cost), factor: factor(cost), belief: number(belief(cost)) }),
  );

/** A question with its odds and its rehearsal. */
export function questionCard(survey, question, written, at) {
  const place = survey.questions.length > 1 && element("span", { class: "soft" }, `${number(at + 1)}. `);
  const twice = question.text === survey.title;
  const legend = element("legend", { class: twice ? "hidden" : null }, place, theirs(question.text));
  const made = field(question, legend);
  const short = oddsOf(question, written)
    .map(({ text }) => text)
    .join(" ");
  const below = element(
    "div",
    { class: "below" },
    theirs(short, "p", { class: "soft small" }),
    details(say("respondent.odds"), odds(question, written), price(question)),
    details(say("respondent.rehearse"), rehearsal(question, written)),
  );
  return { ...made, card: element("section", { class: "card question" }, made.node, below) };
}

/** All that is sent as it is. */
export function publicCard(covariates) {
  const fields = covariates.map((covariate) =>
    publicField(covariate, element("legend", {}, theirs(covariate.text ?? covariate.id))),
  );
  const card = element(
    "section",
    { class: "card" },
    element("h2", {}, say("respondent.public")),
    element("p", { class: "note warn" }, say("respondent.public_help")),
    fields.map(({ node }) => node),
  );
  return { fields, card };
}

/** Why this browser will not answer, if it will not. */
export function refusalNote(survey, state, { refusal, left, least }) {
  const { expires } = survey;
  if (state === "closed") return note("warn", say("refused.closed"), paragraph("refused.closed_help"));
  if (expires && (state === "expired" || new Date() >= expires)) {
    return note("warn", say("refused.expired"), paragraph("refused.expired_help", { when: when(expires) }));
  }
  if (survey.shuffle && !globalThis.crypto?.subtle)
    return note("warn", say("refused.seal"), paragraph("refused.seal_help"));
  if (!refusal) return null;
  if (!refusal.includes("digest")) {
    const values = { cost: number(least, 4), left: number(left, 4) };
    return note("warn", say("refused.budget"), paragraph("refused.budget_help", values));
  }
  return note("bad", say("refused.digest"), paragraph("refused.digest_help"), forTechnicians(refusal));
}

/** A moment in words. */
export const when = (date) =>
  new Intl.DateTimeFormat(language, { dateStyle: "long", timeStyle: "short" }).format(new Date(date));

/** What all of a survey's costs add up to, to be shown. */
export const sum = (costs) => Object.values(costs).reduce((before, cost) => before + cost, 0);

/** Details that help those who run the survey. */
export const forTechnicians = (text) => details(say("refused.detail"), element("pre", { tabindex: "0" }, text));

/** A link to the results, if they are for everybody. */
export const resultsLink = () =>
  dataset.results === "public" &&
  element("a", { class: "button plain", href: `/s/${dataset.survey}/results` }, say("receipt.results"));
