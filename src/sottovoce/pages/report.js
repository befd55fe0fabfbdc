/** What stands around the figures: the guarantee, the budget, the health of the collection, the methods. */

import { details, element, svg, theirs } from "./elements.js";
import { nameOf } from "./figures.js";
import { share } from "./number-format.js";
import { number, say } from "./language.js";
import { factor, mixedText } from "./odds.js";

const epsilonText = (value) => number(Number(value.toPrecision(9)), 6);

/** The trust model and the exact guarantee, in one sentence. */
export const guarantee = (survey) =>
  element("p", { class: "note guarantee" }, say("report.guarantee", {
    way: say(`report.trust_${survey.trust}`), factor: factor(survey.epsilon), epsilon: epsilonText(survey.epsilon),
    all: survey.waves > 1 ? say("report.all_waves", { waves: survey.waves }) : say("report.all_questions"),
  }), survey.guarantee?.central.epsilon ? ` ${mixedText(survey.guarantee)}` : "");

/** What one respondent spends, question by question, of the budget. */
export function budgetCard({ questions, budget, epsilon, waves }) {
  let from = 0;
  const parts = questions.map(({ id, cost }, at) => {
    const start = from;
    from += cost / budget;
    return svg("rect", { class: `part part-${at % 6}`, x: `${100 * start}%`, width: `${(100 * cost) / budget}%`, height: "100%" }, svg("title", {}, `${id}: ε = ${epsilonText(cost)}`));
  });
  const left = Math.max(0, budget - epsilon);
  return element("section", { class: "card" }, element("h2", {}, say("report.budget")),
    element("div", { class: "meter tall" }, svg("svg", { role: "img", "aria-label": say("report.budget_spoken", { epsilon: epsilonText(epsilon), budget: epsilonText(budget) }) }, parts)),
    element("p", {}, say(waves > 1 ? "report.spent_waves" : "report.spent", { epsilon: epsilonText(epsilon), budget: epsilonText(budget), left: number(Number(left.toPrecision(3))), waves })),
    element("ul", { class: "costs" }, questions.map(({ id, cost, remembers }, at) =>
      element("li", {}, element("span", { class: `key part-${at % 6}`, "aria-hidden": "true" }), " ", theirs(id), ` ε = ${epsilonText(cost)}`, remembers && ` (${say("report.remembers")})`))));
}

const line = (name, ...value) => [element("dt", {}, name), element("dd", {}, ...value)];

/** Rejects by their reasons, duplicates, reports in each wave, versions, estimates that cannot be. */
export function healthCard(survey) {
  const list = element("dl", { class: "pairs" });
  const verdict = element("p", { class: "verdict" });
  const node = element("section", { class: "card health" }, element("h2", {}, say("health.title")), verdict, list,
    element("p", { class: "soft small" }, say("health.since")));
  const reasons = (rejected) => {
    const found = Object.entries(rejected);
    return found.length ? element("ul", { class: "plain" }, found.map(([code, n]) => element("li", {}, `${say(`reason.${REASONS.has(code) ? code : "other"}`, { code })}: ${number(n)}`))) : number(0);
  };
  return {
    node,
    show({ health, waves, questions }) {
      const odd = questions.filter(({ impossible }) => impossible?.length).map(({ id }) => id);
      const refused = Object.values(health.rejected).reduce((a, b) => a + b, 0);
      const bad = odd.length > 0 || refused > Math.max(5, health.accepted / 10);
      verdict.className = bad ? "note bad" : "note";
      verdict.textContent = say(odd.length ? "health.odd" : bad ? "health.refusing" : "health.good");
      list.replaceChildren(...[
        line(say("health.accepted"), number(health.accepted)),
        line(say("health.duplicates"), number(health.duplicates)),
        line(say("health.rejected"), reasons(health.rejected)),
        line(say("health.waves"), waves.length ? waves.slice(-12).map(([wave, n]) => say("health.wave", { wave: wave + 1, n })).join("; ") : number(0)),
        line(say("health.version"), element("code", {}, survey.digest.slice(0, 19)), ` ${say("health.mismatched", { n: health.rejected.mismatched ?? 0 })}`),
        line(say("health.impossible"), odd.length ? odd.join(", ") : say("health.none")),
      ].flat());
    },
  };
}

const REASONS = new Set(["malformed", "mismatched", "conflict", "closed", "expired", "invitation", "too_large", "too_slow", "bad_type", "shuffled"]);

/** A paragraph for a paper, with the numbers as they stand. */
export function methodsCard(survey) {
  const text = element("p", {});
  const node = element("section", { class: "card methods" }, element("h2", {}, say("report.methods")), text);
  return {
    node,
    show(state, kind) {
      const questions = survey.questions.map((one) => say("report.methods_question", { id: one.id, mechanism: nameOf(one), epsilon: epsilonText(one.epsilon) })).join("; ");
      text.replaceChildren(
        say("report.methods_text", {
          title: survey.title, digest: survey.digest, n: state.reports, wave: state.wave + 1, waves: survey.waves, questions, version: survey.version,
          epsilon: epsilonText(survey.epsilon), budget: epsilonText(survey.budget), factor: factor(survey.epsilon), minimum: survey.minimum,
        }), " ", say(`report.methods_${kind}`, { level: share(survey.level, 0) }), " ", say("report.methods_end"));
    },
  };
}

/** The survey itself. */
export const aboutCard = ({ description, contact, digest, expires, minimum }) =>
  element("section", { class: "card" }, element("h2", {}, say("report.about")),
    description && theirs(description, "p", { class: "description" }),
    element("dl", { class: "pairs" },
      contact && line(say("noscript.contact"), theirs(contact)),
      expires && line(say("report.expires"), expires),
      line(say("report.minimum"), number(minimum)),
      line(say("report.digest"), element("code", {}, digest))), details(say("report.api"),
      element("p", {}, say("report.api_text")), element("code", {}, `GET /v1/surveys/…/estimates`)));
