/** Events from a collector over one long request: it survives a collector that goes away and comes back. */

const STORED_TOKEN = "sottovoce-token";
const RETRY_MILLISECONDS = [500, 1000, 2000, 4000, 8000];
const SILENCE_MILLISECONDS = 45_000; // The collector sends something every 15 seconds.

/** The token of the person: typed in, or in the address after #token=, from where it is taken away at once. */
export function token(given) {
  const fragment = new URLSearchParams(location.hash.slice(1));
  if (fragment.has("token")) {
    given ??= fragment.get("token");
    fragment.delete("token");
    history.replaceState(null, "", location.pathname + location.search + (String(fragment) ? `#${fragment}` : ""));
  }
  try {
    if (given !== undefined) sessionStorage.setItem(STORED_TOKEN, given);
    return sessionStorage.getItem(STORED_TOKEN) ?? "";
  } catch {
    return given ?? ""; // A browser may keep nothing at all.
  }
}

/** A request with the token. */
export const get = (path, options = {}) => {
  const known = token();
  return fetch(path, { ...options, cache: "no-store", headers: known ? { authorization: `Bearer ${known}` } : {} });
};

async function read(body, take) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const events = (waiting + part.value).split("\n\n");
    waiting = events.pop();
    for (const text of events) take(text);
    take("");
  }
}

function parsed(text) {
  const fields = Object.fromEntries(text.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]));
  return fields.data ? [fields.event, JSON.parse(fields.data)] : null;
}

/**
 * Follow a stream: `take(name, data)` for every event, `status(name, code)` when the connection changes: connecting, live,
 * lost, denied or gone. Those two last are final until `again` is called; `stop` ends it.
 */
export function follow(path, { take, status }) {
  let [control, failures, last, wake, over] = [null, 0, 0, null, false];

  async function once() {
    control = new AbortController();
    last = Date.now();
    status("connecting");
    const answer = await get(path, { signal: control.signal });
    const refused = { 401: "denied", 403: "denied", 400: "gone", 404: "gone" }[answer.status];
    if (refused) {
      status(refused, (await answer.json()).error.code);
      return false;
    }
    if (!answer.ok) throw new Error(String(answer.status));
    await read(answer.body, (text) => {
      last = Date.now();
      const event = text && parsed(text);
      if (!event) return;
      failures = 0;
      status(event[0] === "trouble" ? "trouble" : "live");
      take(...event);
    });
    return true;
  }

  async function run() {
    while (!over) {
      const goes = await once().catch(() => null);
      if (over || goes === false) return;
      status("lost");
      const wait = RETRY_MILLISECONDS[Math.min(failures++, RETRY_MILLISECONDS.length - 1)] * (0.75 + Math.random() / 2);
      await new Promise((done) => { wake = done; setTimeout(done, wait); });
    }
  }

  setInterval(() => { if (control && Date.now() - last > SILENCE_MILLISECONDS) control.abort(); }, 5000);
  for (const event of ["online", "focus"]) addEventListener(event, () => wake?.());
  run();
  return {
    again() { failures = 0; run(); },
    stop() { over = true; control?.abort(); wake?.(); },
  };
}
