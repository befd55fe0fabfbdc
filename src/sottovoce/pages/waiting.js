/** How a page waits for a server: it never gives up, says why it waits and for how long, and a person can end the wait. */

import { element } from "./elements.js";
import { number, say } from "./language.js";
import { button } from "./respondent-cards.js";

const TIMEOUT_MILLISECONDS = 15_000;
const TICK_MILLISECONDS = 1000;

/** Options for send.js: as many attempts as it takes, with each wait shown in a place of the page. */
export const patience = (place) => ({
  attempts: Infinity,
  timeout: TIMEOUT_MILLISECONDS,
  sleep: (milliseconds) => wait(place, Math.max(1, Math.ceil(milliseconds / TICK_MILLISECONDS))),
});

/** Wait for some seconds. The network ends the wait when it comes back, and so does a button. */
function wait(place, seconds) {
  return new Promise((/** @type {(value?: undefined) => void} */ resolve) => {
    const left = element("span", { class: "number", "aria-hidden": "true" }, number(seconds));
    const end = () => {
      clearInterval(ticking);
      clearTimeout(ending);
      removeEventListener("online", end);
      resolve();
    };
    const ticking = setInterval(() => (left.textContent = number(Math.max(--seconds, 0))), TICK_MILLISECONDS);
    const ending = setTimeout(end, seconds * TICK_MILLISECONDS);
    addEventListener("online", end);
    place.replaceChildren(
      element("p", {}, element("strong", {}, say(navigator.onLine === false ? "send.offline" : "send.away"))),
      element("p", {}, element("span", { class: "waiting" }), say("send.again"), " ", left, " s"),
      element("div", { class: "actions" }, button("send.try", end, { class: "plain" })),
    );
  });
}
