/** The page of results: it draws what a collector says of a survey, and again with every report that comes in. */

import { element, put, theirs } from "./elements.js";
import { questionCard } from "./figures.js";
import { groupsCard } from "./group-card.js";
import { language, number, say, switcher } from "./language.js";
import { aboutCard, budgetCard, guarantee, healthCard, methodsCard } from "./report.js";
import { follow, token } from "./event-stream.js";
import { textCard } from "./text-card.js";

const id = document.documentElement.dataset.survey;
const asked = new URLSearchParams(location.search);
const classroom = asked.has("class") ? await import("./classroom.js") : null;
const page = { survey: null, state: null, kind: "anytime", cards: [], arrivals: [], stream: null };

/** Reports in a minute, from what was seen in the last ten; nothing if nothing came. */
function rate() {
  const now = Date.now();
  page.arrivals = page.arrivals.filter(([time]) => now - time < 600_000);
  const [first, last] = [page.arrivals[0], page.arrivals.at(-1)];
  const minutes = first ? (now - first[0]) / 60_000 : 0;
  return minutes > 0.05 && last[1] > first[1] ? (last[1] - first[1]) / minutes : 0;
}

const STATUS = { connecting: "wait", live: "good", lost: "bad", trouble: "bad", denied: "bad", gone: "bad" };
let told = "";

/** The connection in a word. A screen reader is told of changes only, not of every attempt. */
function status(name, code) {
  if (name === "connecting" && told) return;
  if (name !== told) put("status", element("span", { class: `chip ${STATUS[name]}` }, say(`live.${name}`)));
  told = name;
  if (name === "denied") askForToken(code);
  if (name === "gone") put("main", element("h1", {}, say("live.gone")));
}

function askForToken(code) {
  const input = element("input", { type: "password", id: "token", autocomplete: "off", required: true, spellcheck: "false" });
  const wrong = code === "no_token" ? null : element("p", { class: "wrong", role: "alert" }, say(`live.${code === "wrong_role" ? "wrong_role" : "bad_token"}`));
  const submit = (event) => {
    event.preventDefault();
    token(input.value.trim());
    told = "";
    page.stream.again();
  };
  put("main", element("h1", {}, theirs(document.title)),
    element("form", { class: "card", onsubmit: submit },
      element("label", { class: "field", for: "token" }, element("span", {}, say("live.token")), input),
      element("p", { class: "help" }, say("live.token_help")), wrong, element("button", {}, say("live.open"))));
  input.focus();
}

function take(name, data) {
  if (name === "survey") begin(data);
  else if (name === "state") {
    page.state = data;
    page.arrivals.push([Date.now(), data.reports]);
    draw();
  }
}

/** What never changes is made once; the same survey again, after a connection was lost, leaves the page as it is. */
function begin(survey) {
  if (page.survey?.digest === survey.digest && page.cards.length) return;
  page.survey = survey;
  document.title = say("results.title", { title: survey.title });
  if (classroom) {
    page.cards = [classroom.begin(survey)];
    return;
  }
  const cards = survey.questions.map((question) => (question.kind === "text" ? textCard : questionCard)(survey, question));
  page.cards = [healthCard(survey), ...cards, groupsCard(survey, () => page.state), methodsCard(survey)].filter(Boolean);
  const count = element("p", { class: "count" });
  page.cards.push({ show: (state) => count.replaceChildren(element("strong", { class: "number" }, number(state.reports)), ` ${say("results.reports", { state: say(`results.${state.state}`) })}`, state.waiting ? element("span", { class: "help waiting" }, ` · ${say("results.waiting", { count: number(state.waiting) })}`) : "") });
  put("main", element("h1", {}, theirs(survey.title)), count, guarantee(survey), controls(survey),
    cards.map(({ node }) => node), page.cards.slice(cards.length + 1).map(({ node }) => node).filter(Boolean),
    element("div", { class: "columns" }, budgetCard(survey), page.cards[0].node), aboutCard(survey));
}

function controls(survey) {
  const kinds = ["anytime", "population", "respondents"].map((kind) =>
    element("option", { value: kind, selected: kind === page.kind }, say(`results.${kind}`)));
  const choose = ({ target }) => { page.kind = target.value; draw(); };
  const waves = survey.waves > 1 && element("label", { class: "inline" }, say("results.wave"), " ",
    element("select", { autocomplete: "off", onchange: ({ target }) => { asked.set("wave", target.value); location.search = String(asked); } },
      Array.from({ length: Math.min(survey.waves, 1000) }, (_, wave) => element("option", { value: wave, selected: String(wave) === asked.get("wave") }, number(wave + 1)))));
  return element("div", { class: "controls noprint" },
    element("label", { class: "inline" }, say("results.intervals"), " ", element("select", { autocomplete: "off", onchange: choose }, kinds)), waves,
    element("a", { class: "button plain", href: `?${new URLSearchParams({ ...Object.fromEntries(asked), class: "" })}` }, say("results.classroom")),
    element("button", { type: "button", class: "plain", onclick: printed }, say("results.print")));
}

/** A printed report has its tables open, but for those of the expected widths. */
function printed() {
  /** @type {NodeListOf<HTMLDetailsElement>} */
  const tables = document.querySelectorAll("details.data:not([open])");
  const closed = [...tables].filter((part) => !part.closest(".progress"));
  for (const part of closed) part.open = true;
  draw();
  setTimeout(() => {
    print();
    for (const part of closed) part.open = false;
  }, 100);
}

function draw() {
  if (!page.survey || !page.state) return;
  const { state, kind, survey } = page;
  const pace = rate();
  const found = new Map(state.questions.map((one) => [one.id, one]));
  const cards = classroom ? [] : page.cards.slice(1, 1 + survey.questions.length);
  for (const [at, card] of cards.entries()) card.show(found.get(survey.questions[at].id), kind, pace, state);
  for (const card of page.cards.filter((one) => !cards.includes(one))) card.show(state, kind, pace);
  document.documentElement.dataset.reports = state.reports;
}

put("switch", switcher(element));
document.documentElement.lang = language;
const wave = asked.get("wave");
page.stream = follow(`/v1/surveys/${id}/live${/^\d+$/.test(wave ?? "") ? `?wave=${wave}` : ""}`, { take, status });
