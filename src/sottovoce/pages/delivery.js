/** To the collector and back: the same bytes again and again until they are acknowledged or refused. */

const AGAIN = [408, 425, 429, 500, 502, 503, 504, 507];
const FIRST = 1;
const LONGEST = 30;
const PATIENCE = 15_000;
const PLAIN = { cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer" };

/** The collector refused; sending the same again would not help. */
export class Rejected extends Error {
  constructor(status, code, message) {
    super(message);
    Object.assign(this, { status, code });
  }
}

/**
 * Ask until there is an answer. `waiting({ seconds, offline, now })` is told of each wait, and `now()` ends it, as does
 * the network when it comes back.
 */
async function persist(place, options, waiting) {
  for (let attempt = 0; ; attempt++) {
    let seconds = Math.min(LONGEST, FIRST * 2 ** attempt) * (0.5 + Math.random() / 2);
    try {
      const answer = await fetch(place, { ...PLAIN, ...options, signal: AbortSignal.timeout(PATIENCE) });
      if (answer.ok) return answer;
      if (!AGAIN.includes(answer.status)) throw await rejected(answer);
      seconds = Math.max(seconds, Math.min(LONGEST, Number(answer.headers.get("retry-after")) || 0));
    } catch (error) {
      if (error instanceof Rejected) throw error;
    }
    await pause(seconds, waiting);
  }
}

async function rejected(answer) {
  const about = await answer.json().catch(() => ({}));
  return new Rejected(answer.status, String(about.error?.code ?? "unknown"), String(about.error?.message ?? ""));
}

function pause(seconds, waiting) {
  return new Promise((resolve) => {
    const now = () => {
      clearTimeout(timer);
      removeEventListener("online", now);
      resolve();
    };
    const timer = setTimeout(now, 1000 * seconds);
    addEventListener("online", now);
    waiting({ seconds: Math.ceil(seconds), offline: navigator.onLine === false, now });
  });
}

const placeOf = (id) => `/v1/surveys/${encodeURIComponent(id)}`;

/** The text of a published survey. */
export const fetchSurvey = async (id, waiting) => (await persist(placeOf(id), {}, waiting)).text();

/** What the collector says a shuffler adds; null if it cannot be had, since nobody has to wait for it. */
export async function fetchMixed(id) {
  try {
    const answer = await fetch(`${placeOf(id)}/guarantee`, { credentials: "omit" });
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

/** Send a report to the collector, as it is. */
export async function deliver(id, body, invitation, waiting) {
  const headers = { "content-type": "application/json", ...(invitation ? { "sottovoce-invitation": invitation } : {}) };
  await persist(`${placeOf(id)}/reports`, { method: "POST", body, headers }, waiting);
}

/** Send an envelope to a shuffler. */
export async function hand(address, envelope, waiting) {
  const headers = { "content-type": "application/octet-stream" };
  await persist(`${address}/reports`, { method: "POST", body: envelope, headers }, waiting);
}
