/** Sending: retries, back-off, refusals. The other side is a real server that does what a list says. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import test from "node:test";
import { gzipSync } from "node:zlib";

import { fetchSurvey, Rejected, send, Undelivered } from "../send.js";

const taken = { status: 200, body: '{"accepted":1,"duplicates":0}' };
const refused = (status) => ({ status, body: '{"error":{"code":"malformed","message":"no"}}' });

/** A server with a script; null breaks the connection, "late" never answers. */
async function other(script, run) {
  const seen = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => (body += part));
    request.on("end", () => {
      seen.push({ body, method: request.method, url: request.url, headers: request.headers });
      const next = script.shift();
      if (next === null) return request.socket.destroy();
      if (next === "late") return undefined;
      return response.writeHead(next.status, next.headers).end(next.body ?? "");
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const waits = [];
  const options = { sleep: async (milliseconds) => void waits.push(milliseconds) };
  try {
    await run(`http://127.0.0.1:${server.address().port}/v1/surveys/s`, options, seen, waits);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test("it is sent until it is acknowledged, the same text each time", () =>
  other(
    [null, { status: 503 }, { status: 429, headers: { "retry-after": "7" } }, { status: 500, body: "x" }, taken],
    async (url, options, seen, waits) => {
      assert.deepEqual(await send(`${url}/`, '{"id":1}', options), { accepted: 1, duplicates: 0 });
      assert.deepEqual(seen.map(({ body }) => body), Array(5).fill('{"id":1}'));
      assert.ok(seen.every(({ method, url: path }) => method === "POST" && path === "/v1/surveys/s/reports"));
      assert.ok(seen.every(({ headers }) => headers["content-type"] === "application/json" && !headers.cookie));
      assert.equal(waits[2], 7000);
      waits.forEach((wait, at) => assert.ok(at === 2 || (wait >= 0 && wait <= 250 * 2 ** at)));
      assert.equal(waits.length, 4);
    },
  ));

test("waits grow, are drawn at random and end", () =>
  other(Array(10).fill({ status: 503 }), async (url, options, seen, waits) => {
    const failed = send(url, "x", { ...options, attempts: 10 });
    await assert.rejects(failed, { name: "Undelivered", message: /not acknowledged after 10 attempts: status 503$/ });
    assert.deepEqual([seen.length, new Set(waits).size], [10, 9]);
    assert.ok(Math.max(...waits) <= 30_000);
  }));

test("an invitation goes with it", () =>
  other([taken], async (url, options, seen) => {
    await send(url, "x", { ...options, invitation: "once" });
    assert.equal(seen[0].headers["sottovoce-invitation"], "once");
  }));

for (const status of [400, 403, 404, 409, 410, 413, 415]) {
  test(`a refusal is final: ${status}`, () =>
    other([refused(status)], async (url, options, seen, waits) => {
      const failed = await send(url, "x", options).catch((error) => error);
      assert.ok(failed instanceof Rejected);
      assert.deepEqual([failed.message, failed.status, failed.code], [`refused (${status} malformed): no`, status, "malformed"]);
      assert.deepEqual([seen.length, waits.length], [1, 0]);
    }));
}

for (const answer of [{ status: 302, headers: { location: "http://127.0.0.1:1/" } }, { status: 400, body: "<html>" }]) {
  test(`what is no collector is a refusal: ${answer.status}`, () =>
    other([answer], async (url, options, seen) => {
      await assert.rejects(send(url, "x", options), { name: "Rejected", message: /not that of a collector/ });
      assert.equal(seen.length, 1);
    }));
}

for (const body of ["", "{}", "[]", "null", '{"accepted":"x","duplicates":0}']) {
  test(`an answer that says nothing is no acknowledgement: ${body}`, () =>
    other([{ status: 200, body }, taken, { status: 200, body }], async (url, options) => {
      assert.equal((await send(url, "x", options)).accepted, 1);
      const failed = send(url, "x", { ...options, attempts: 1 });
      await assert.rejects(failed, { name: "Undelivered", message: /not that of a collector/ });
    }));
}

test("an envelope is sent as bytes", () =>
  other([taken], async (url, options, seen) => {
    await send(`${url}/mixer`, Uint8Array.of(1, 2, 255), options);
    assert.equal(seen[0].headers["content-type"], "application/octet-stream");
    assert.equal(seen[0].headers["content-length"], "3");
    assert.equal(seen[0].url, "/v1/surveys/s/mixer/reports");
  }));

test("who never answers is given up", () =>
  other(["late", taken], async (url, options, seen) => {
    assert.equal((await send(url, "x", { ...options, timeout: 50 })).accepted, 1);
    assert.equal(seen.length, 2);
  }));

test("nobody there, and other addresses", async () => {
  const options = { attempts: 2, sleep: async () => {} };
  await assert.rejects(send("http://127.0.0.1:1/v1/surveys/s", "x", options), Undelivered);
  for (const url of ["file:///etc/passwd", "ftp://x", "", "/v1/surveys/s", null, 3]) {
    await assert.rejects(send(url, "x"), { name: "TypeError", message: /an address of http or https/ });
  }
});

test("a survey is fetched", () =>
  other([null, { status: 200, body: '{"sottovoce":1}' }, refused(404)], async (url, options, seen) => {
    assert.equal(await fetchSurvey(url, options), '{"sottovoce":1}');
    await assert.rejects(fetchSurvey(url, options), Rejected);
    assert.ok(seen.every(({ method, url: path }) => method === "GET" && path === "/v1/surveys/s"));
  }));

test("a body that a closing page may go on sending", async () => {
  const kept = [];
  const fetch = async (_, { keepalive }) => {
    kept.push(keepalive);
    return new Response(taken.body);
  };
  await send("http://host/s", "x".repeat(100), { fetch });
  await send("http://host/s", "é".repeat(40_000), { fetch });
  assert.deepEqual(kept, [true, false]);
});

test("the file is small and needs no other", () => {
  const source = readFileSync(new URL("../send.js", import.meta.url), "utf8");
  assert.ok(gzipSync(source, { level: 9 }).length < 2_500);
  assert.ok(!/^import/m.test(source));
  const types = readFileSync(new URL("../send.d.ts", import.meta.url), "utf8");
  const exported = [...source.matchAll(/^export (?:async )?(?:class|const|function) (\w+)/gm)].map(([, name]) => name);
  for (const name of exported) assert.match(types, new RegExp(`export declare (class|function) ${name}\\b`));
});
