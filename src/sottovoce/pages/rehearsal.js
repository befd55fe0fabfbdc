/** A rehearsal with a made-up answer: what could be sent. Nothing is sent, charged or kept. */

import { element, theirs } from "./elements.js";
import { field } from "./fields.js";
import { number, say } from "./language.js";
import { meaning } from "./odds.js";

const DRAWS_AT_ONCE = 10;
const MOST_ROWS = 8;

/** Draw reports for a made-up answer, list the last of them, and count them all. */
export function rehearsal(question, written) {
  const counts = new Map();
  let drawn = 0;
  let before = "";
  const shown = element("div", { role: "status" });
  const made = field(question, element("legend", { class: "hidden" }, say("rehearsal.answer")));
  const draw = () => {
    if (!made.check()) return;
    const answer = made.read();
    if (JSON.stringify(answer) !== before) counts.clear();
    if (!counts.size) drawn = 0;
    before = JSON.stringify(answer);
    const fresh = Array.from({ length: DRAWS_AT_ONCE }, () => meaning(question, written, question.mechanism.randomize(answer)));
    for (const { text } of fresh) counts.set(text, (counts.get(text) ?? 0) + 1);
    drawn += DRAWS_AT_ONCE;
    shown.replaceChildren(...results(fresh, counts, drawn, answer));
  };
  return element(
    "div",
    {},
    element("p", { class: "help" }, say("rehearsal.help")),
    made.node,
    element(
      "div",
      { class: "actions" },
      element("button", { type: "button", class: "plain", onclick: draw }, say("rehearsal.draw", { n: DRAWS_AT_ONCE })),
    ),
    shown,
  );
}

function results(fresh, counts, drawn, answer) {
  const rows = [...counts].sort(([, a], [, b]) => b - a);
  const left = rows.slice(MOST_ROWS).reduce((sum, [, count]) => sum + count, 0);
  const isOther = ({ values }) => values && !values.includes(answer ?? null);
  return [
    element("p", {}, say("rehearsal.last", { n: fresh.length })),
    element(
      "ul",
      { class: "chips" },
      fresh.map((one) => theirs(one.text, "li", isOther(one) ? { class: "other" } : {})),
    ),
    element("p", {}, say("rehearsal.all", { n: drawn })),
    element(
      "ul",
      {},
      rows
        .slice(0, MOST_ROWS)
        .map(([text, count]) =>
          element("li", {}, element("span", { class: "number" }, `${number(count)} × `), theirs(text)),
        ),
      left > 0 && element("li", {}, say("rehearsal.rest", { n: left })),
    ),
  ];
}
