/** The person's ledger: what this browser has spent on all surveys of this site, and what is left. */

import { details, element, svg, theirs } from "./elements.js";
import { me } from "./device.js";
import { language, number, say } from "./language.js";

export const epsilon = (value) => `ε = ${number(value, 4)}`;

/** A bar that is filled by a share. */
export const meter = (share) =>
  element(
    "span",
    { class: "meter", "aria-hidden": "true" },
    svg(
      "svg",
      { viewBox: "0 0 100 1", preserveAspectRatio: "none" },
      svg("rect", { class: "is", width: 100 * Math.min(Math.max(share, 0), 1), height: 1 }),
    ),
  );

const day = (at) => new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }).format(new Date(at));

function row({ at, survey, wave, question, epsilon: cost }) {
  return element(
    "tr",
    {},
    element("td", {}, day(at)),
    theirs(survey, "td"),
    element("td", { class: "number" }, number(wave + 1)),
    theirs(question, "td"),
    element("td", { class: "number" }, number(cost, 4)),
  );
}

function table(charges) {
  const heads = ["when", "survey", "wave", "question", "cost"].map((key) =>
    element("th", { scope: "col", class: ["wave", "cost"].includes(key) ? "number" : null }, say(`ledger.${key}`)),
  );
  return element(
    "div",
    { class: "table", tabindex: "0", role: "region", "aria-label": say("ledger.title") },
    element("table", {}, element("thead", {}, element("tr", {}, heads)), element("tbody", {}, charges.map(row))),
  );
}

/** A budget is the owner's decision: a field to change it, and what happens then. */
function change(budget, changed) {
  const input = element("input", {
    type: "text",
    inputmode: "decimal",
    autocomplete: "off",
    class: "narrow",
    value: String(budget),
    "aria-describedby": "budget-help",
  });
  const wrong = element("p", { class: "wrong", role: "alert", hidden: true }, say("ledger.budget_wrong"));
  const set = async () => {
    const wished = Number(input.value.trim().replace(",", "."));
    wrong.hidden = Number.isFinite(wished) && wished > 0;
    if (!wrong.hidden) return input.focus();
    await me.setBudget(wished);
    return changed();
  };
  return details(
    say("ledger.change"),
    element("p", { id: "budget-help", class: "help" }, say("ledger.change_help")),
    element("label", { class: "field" }, element("span", {}, say("ledger.budget_label")), input),
    wrong,
    element("button", { type: "button", class: "plain", onclick: set }, say("ledger.change_do")),
  );
}

/** The ledger as a card, up to date; `changed` is called when the budget was changed. */
export async function ledger(changed, open = false) {
  const { budget, spent, left, charges } = await me.ledger();
  const card = element(
    "section",
    { class: "card", id: "ledger" },
    element("h2", {}, say("ledger.title")),
    element(
      "p",
      {},
      say("ledger.total", { spent: number(spent, 4), budget: number(budget, 4), left: number(left, 4) }),
    ),
    meter(spent / budget),
    element("p", { class: "soft small" }, say("ledger.here")),
    charges.length > 0 &&
      Object.assign(details(say("ledger.entries", { n: charges.length }), table(charges)), { open }),
    change(budget, changed),
  );
  return card;
}
