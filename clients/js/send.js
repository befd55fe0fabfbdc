/**
 * Sending what a device made, until it is acknowledged. A collector counts a report once however often it comes, by the
 * id that is in it, so that it is safe to send again whatever was not acknowledged: after a lost connection, or on the
 * next visit of the page, when `answer` gives the same text. What a collector refuses is not sent again.
 */

/** Statuses after which the same request may succeed later. */
const RETRIED_STATUSES = [408, 425, 429, 500, 502, 503, 504, 507];
const FIRST_WAIT_MILLISECONDS = 250;
const LONGEST_WAIT_MILLISECONDS = 30_000;
/** Bytes that a browser goes on sending when its page is closed. */
const KEEPALIVE_BYTES = 60_000;
const NOT_A_COLLECTOR = "the answer is not that of a collector";

/** The collector refused; sending the same again would not help. */
export class Rejected extends Error {
  constructor(status, code, message) {
    super(`refused (${status} ${code}): ${message}`);
    Object.assign(this, { name: "Rejected", status, code });
  }
}

/** No acknowledgement came. It may have arrived all the same: send the same text again later. */
export class Undelivered extends Error {
  constructor(message) {
    super(message);
    this.name = "Undelivered";
  }
}

/**
 * Send a submission to a survey at `url`, such as https://host/v1/surveys/sleep, or the bytes of an envelope to the
 * address of a shuffler, until it is acknowledged. The result is { accepted, duplicates }: a report that was there
 * already is a duplicate, and as good as accepted.
 */
export async function send(url, body, { invitation = "", ...options } = {}) {
  const isText = typeof body === "string";
  const headers = { "content-type": isText ? "application/json" : "application/octet-stream" };
  if (invitation) headers["sottovoce-invitation"] = invitation;
  const keepalive = (isText ? new TextEncoder().encode(body) : body).length < KEEPALIVE_BYTES;
  return request(`${address(url)}/reports`, { method: "POST", body, headers, keepalive }, acknowledgement, options);
}

/** The text of the published survey at `url`. */
export const fetchSurvey = (url, options = {}) => request(address(url), { method: "GET" }, (text) => text, options);

/** What a collector or a shuffler says when it has taken reports, or nothing if a text says something else. */
function acknowledgement(text) {
  const { accepted, duplicates } = parsed(text) ?? {};
  return Number.isInteger(accepted) && Number.isInteger(duplicates) ? { accepted, duplicates } : undefined;
}

/** An address without a slash at its end; on a page, one that begins with a slash is that of the same host. */
function address(url) {
  try {
    const { protocol, href } = new URL(url, globalThis.location?.href);
    if (/^https?:$/.test(protocol)) return href.replace(/\/+$/, "");
  } catch {
    // It is none.
  }
  throw new TypeError(`a survey must have an address of http or https, got ${url}`);
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Try again after twice as long each time, at random, so that many devices do not come back at once. */
async function request(url, init, read, { attempts = 8, timeout = 10_000, fetch = globalThis.fetch, sleep = pause } = {}) {
  let reason = "no attempt was made";
  for (let attempt = 0; attempt < attempts; attempt++) {
    let wait = chance() * Math.min(LONGEST_WAIT_MILLISECONDS, FIRST_WAIT_MILLISECONDS * 2 ** attempt);
    try {
      const answer = await fetch(url, { ...init, ...NOTHING_EXTRA, signal: AbortSignal.timeout(timeout) });
      const found = answer.ok ? read(await answer.text()) : undefined;
      if (found !== undefined) return found;
      if (!answer.ok && !RETRIED_STATUSES.includes(answer.status)) throw await rejection(answer);
      reason = answer.ok ? NOT_A_COLLECTOR : `status ${answer.status}`;
      wait = Math.max(wait, askedWait(answer));
    } catch (error) {
      if (error instanceof Rejected) throw error;
      reason = error.message;
    }
    if (attempt + 1 < attempts) await sleep(wait);
  }
  throw new Undelivered(`${url}: not acknowledged after ${attempts} attempts: ${reason}`);
}

/** Nothing that a request does not need: no cookies, no address of the page, and no redirect is followed. */
const NOTHING_EXTRA = { credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store", redirect: "manual" };

const chance = () => globalThis.crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32;

function askedWait({ headers }) {
  const text = headers.get("retry-after") ?? "";
  return /^\d+$/.test(text) ? Math.min(1000 * Number(text), LONGEST_WAIT_MILLISECONDS) : 0;
}

async function rejection(answer) {
  const { code, message } = parsed(await answer.text().catch(() => ""))?.error ?? {};
  const told = typeof code === "string" && typeof message === "string";
  return told
    ? new Rejected(answer.status, code.slice(0, 80), message.slice(0, 400))
    : new Rejected(answer.status, "unknown", NOT_A_COLLECTOR);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
