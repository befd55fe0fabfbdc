/**
 * Results for a projector, revealed step by step: what was sent, the naive count, the corrected estimate, its standard
 * deviation, its epsilon. Space and the arrows move; with several questions, up and down change the question.
 */

import { bars, dots, responsive } from "./charts.js";
import { element, put, theirs } from "./elements.js";
import { domainOf, rowsOf } from "./figures.js";
import { measured, share } from "./number-format.js";
import { number, say } from "./language.js";
import { countOf, factor } from "./odds.js";

const STEPS = ["sent", "naive", "estimate", "deviation", "epsilon"];
const KEYS = { ArrowRight: [1, 0], " ": [1, 0], PageDown: [1, 0], Enter: [1, 0], ArrowLeft: [-1, 0], PageUp: [-1, 0], Backspace: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
const MOST_ROWS = 8;

export function begin(survey) {
  const questions = survey.questions.filter(({ kind }) => kind !== "text");
  let [step, at, state] = [0, 0, null];
  const chart = responsive(element, drawStep);
  const [heading, text, count, place] = [element("h1"), element("p", { class: "said", "aria-live": "polite" }), element("p", { class: "count" }), element("ol", { class: "steps" })];
  const move = (by, question = 0) => {
    step = Math.min(Math.max(step + by, 0), STEPS.length);
    at = (at + question + questions.length) % questions.length;
    draw();
  };
  const button = (key, by) => element("button", { type: "button", class: "plain", onclick: () => move(by) }, say(key));
  document.documentElement.classList.add("classroom");
  addEventListener("keydown", (event) => {
    const moved = KEYS[event.key];
    const target = /** @type {Element} */ (event.target);
    if (!moved || event.ctrlKey || event.metaKey || event.altKey || target.closest("select, input") || (target.closest("button, a") && [" ", "Enter"].includes(event.key))) return;
    event.preventDefault();
    move(...moved);
  });
  put("main", heading, count, place, text, chart.place,
    element("div", { class: "actions noprint" }, button("classroom.back", -1), button("classroom.next", 1)),
    element("p", { class: "soft small noprint" }, say("classroom.keys")));

  function draw() {
    const question = questions[at];
    if (!state || !question) return;
    const found = state.questions.find(({ id }) => id === question.id);
    heading.replaceChildren(theirs(question.text));
    count.replaceChildren(element("strong", { class: "number" }, number(found.n)), ` ${say("classroom.reports", { address: `${location.host}/s/${survey.id}` })}`);
    place.replaceChildren(...STEPS.map((name, number_) => element("li", { "aria-current": number_ + 1 === step ? "step" : null, class: number_ + 1 <= step ? "done" : "" }, say(`classroom.${name}`))));
    const ready = !found.withheld;
    const current = step && ready ? STEPS[step - 1] : null;
    document.documentElement.dataset.step = current ?? "start";
    text.textContent = !ready ? say("figures.minimum", { n: found.n, minimum: survey.minimum }) : current ? sentence(current, question, found) : say("classroom.start");
    chart.place.hidden = !current || current === "epsilon";
    if (current) chart.show({ step: current, question, found });
  }
  return { show(now) { state = now; draw(); } };
}

/** The rows for a projector: the most frequent ones, with the interval about those in the room. */
const rowsFor = (found) => {
  const rows = rowsOf(found, "respondents");
  return rows.length > MOST_ROWS ? [...rows].sort((a, b) => b.estimate - a.estimate).slice(0, MOST_ROWS) : rows;
};

function drawStep({ step, question, found }, width) {
  const rows = rowsFor(found);
  const { measure, n, rows: { raw } } = found;
  const common = { width, large: true, title: question.text, description: rows.map(({ label, estimate }) => `${label}: ${measured(estimate, measure)}`).join("; ") };
  if (raw && measure !== "mean" && step === "sent") return bars({ ...common, description: say("classroom.sent"), rows: rows.map((row) => ({ label: row.label, value: Math.round(row.raw * n) })), most: n, format: number });
  if (raw && measure !== "mean" && step === "naive") return bars({ ...common, description: say("classroom.naive"), rows: rows.map((row) => ({ label: row.label, value: row.raw })), most: 1, format: (value) => share(value, 0) });
  if (!raw && (step === "sent" || step === "naive")) return null;
  const bare = step === "sent" || step === "naive";
  const shown = rows.map((row) => ({ ...row, ...(bare ? { estimate: undefined } : {}), ...(step === "deviation" ? {} : { low: undefined }) }));
  return dots({ ...common, rows: shown, domain: domainOf(rows, found, question), ends: measure === "mean" ? [question.low, question.high] : [0, 1], format: (value) => (measure === "mean" ? number(value) : share(value, 0)) });
}

function sentence(step, question, found) {
  const rows = rowsFor(found);
  const { measure, n } = found;
  const lead = question.kind === "yes_no" ? rows[1] : [...rows].sort((a, b) => b.estimate - a.estimate)[0];
  const values = { label: lead.label, n, measured: measured(lead.estimate, measure), p: share(question.p ?? 0), q: share(question.q ?? 0) };
  const known = lead.raw !== null && question.p !== null && measure !== "mean";
  if (step === "sent") return known ? say("classroom.sent_text", { ...values, count: Math.round(lead.raw * n) }) : say("classroom.sent_any", { n });
  if (step === "naive") return known ? say("classroom.naive_text", { ...values, raw: share(lead.raw) }) : say("classroom.naive_any");
  if (step === "estimate") return known ? say("classroom.estimate_text", { ...values, raw: share(lead.raw) }) : say("classroom.estimate_any", values);
  if (step === "deviation") {
    const low = measured(lead.low, measure);
    return say("classroom.deviation_text", { ...values, stderr: measured(lead.stderr, measure), low, high: measured(lead.high, measure) });
  }
  const odds = known ? countOf(question.q) : null;
  const privacy = say("classroom.epsilon_text", { epsilon: number(Number(question.epsilon.toPrecision(6)), 4), factor: factor(question.epsilon) });
  return odds ? `${privacy} ${say("classroom.odds", { ...odds, label: lead.label })}` : privacy;
}

