/** Exact numbers, randomness, SHA-256, and the size of the file that a page loads. */

import assert from "node:assert/strict";
import { createHash, createHmac, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import test from "node:test";
import { gzipSync } from "node:zlib";

import { above, logAbove, total, ulp, units } from "../src/exact.js";
import { hmac } from "../personal-key.js";
import { sha256 } from "../src/sha256.js";
import { error, library, Replay } from "./library.js";

const { mechanism, Source } = library;

function randomDouble() {
  for (;;) {
    const double = randomBytes(8).readDoubleBE();
    if (Number.isFinite(double)) return double;
  }
}

test("doubles are whole numbers of units, and back", () => {
  const corners = [0, -0, 1, 0.1, 5e-324, 2 ** -1022, 2 ** 53, Number.MAX_VALUE];
  for (const x of [...corners, ...Array.from({ length: 2000 }, randomDouble)]) {
    assert.equal(above(units(Math.abs(x))), Math.abs(x));
    assert.equal(units(x), -units(-x));
  }
  assert.equal(units(-0), 0n);
  assert.equal(ulp(1), 2 ** -52);
});

test("sums are exact and rounded up once", () => {
  assert.equal(above(total([0.1, 0.2])), 0.30000000000000004);
  assert.equal(above(total(Array(10).fill(0.1))), 1.0000000000000002);
  assert.equal(above(total([2 ** 53, 1])), 2 ** 53 + 2);
  assert.equal(above(total([1, 1e-300])), 1 + 2 ** -52);
  assert.equal(above(total([])), 0);
});

test("logarithms are rounded up", () => {
  assert.equal(logAbove(3n, 1n), 1.0986122886681098);
  assert.equal(logAbove(7n, 7n), 0);
  assert.equal(logAbove(2n ** 53n + 1n, 2n ** 53n), 2 ** -53);
  for (let n = 2; n < 400; n++) {
    const bound = logAbove(BigInt(n), 1n);
    assert.ok(bound >= Math.log(n) - 1e-15 * bound && bound <= Math.log(n) * (1 + 4e-16));
  }
  assert.throws(() => logAbove(1n, 2n), error("ParameterError"));
});

test("randomness is crypto.getRandomValues or nothing", () => {
  const honest = Object.getOwnPropertyDescriptor(globalThis, "crypto");
  const { random } = Math;
  Math.random = () => assert.fail("Math.random was called");
  const domain = { values: [false, true], missing: "refuse" };
  const coin = mechanism({ mechanism: "rr", domain, p: 0.75, epsilon: 1.0986122886681098 });
  try {
    let drawn = 0;
    const fill = (array) => {
      drawn++;
      return array.fill(0xffffffff);
    };
    Object.defineProperty(globalThis, "crypto", { value: { getRandomValues: fill }, configurable: true });
    assert.equal(new Source().draw(), 2 ** 53 - 1);
    assert.equal(coin.randomize(true), 0);
    assert.equal(drawn, 2);
    for (const nothing of [undefined, {}, { getRandomValues: 1 }]) {
      Object.defineProperty(globalThis, "crypto", { value: nothing, configurable: true });
      assert.throws(() => coin.randomize(true), /there must be crypto.getRandomValues/);
    }
  } finally {
    Math.random = random;
    Object.defineProperty(globalThis, "crypto", honest);
  }
});

test("coins and choices are exact at the ends", () => {
  const half = 2 ** 52;
  assert.deepEqual([half - 1, half].map((draw) => new Replay([draw]).coin(0.5)), [1, 0]);
  assert.deepEqual([0, 2 ** 53 - 1].map((draw) => new Replay([draw]).coin(0)), [0, 0]);
  assert.deepEqual([0, 2 ** 53 - 1].map((draw) => new Replay([draw]).coin(1)), [1, 1]);
  assert.equal(new Replay([]).below(1), 0);
  const source = new Replay([2 ** 53 - 1, 2 ** 53 - 2, 7]); // 2^53 is 2 mod 3: the last two draws are drawn again.
  assert.equal(source.below(3), 1);
  assert.deepEqual(source.left, []);
});

test("SHA-256 and HMAC are those of Node", () => {
  for (const length of [...Array(200).keys(), 1000, 65536]) {
    const data = randomBytes(length);
    assert.deepEqual(Buffer.from(sha256(data)), createHash("sha256").update(data).digest());
    const key = randomBytes(length % 65);
    assert.deepEqual(Buffer.from(hmac(key, data)), createHmac("sha256", key).update(data).digest());
  }
});

test("the file is small, alone, and what the types say", () => {
  const read = (name) => readFileSync(new URL(`../${name}`, import.meta.url), "utf8");
  const built = read("sottovoce.js");
  assert.ok(gzipSync(built, { level: 9 }).length < 12_000);
  assert.ok(!/\bimport\b|Math\.random|https?:/.test(built));
  const typed = [...read("sottovoce.d.ts").matchAll(/^export declare (?:class|function) (\w+)/gm)];
  assert.deepEqual(typed.map(([, name]) => name).sort(), Object.keys(library).sort());
});
