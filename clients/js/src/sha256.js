/**
 * SHA-256. Browsers have their own only on pages that come by HTTPS, and only asynchronously, for which a transaction
 * of IndexedDB does not wait.
 */

const PRIMES = [];
for (let n = 2; PRIMES.length < 64; n++) if (PRIMES.every((prime) => n % prime)) PRIMES.push(n);

/** The first 32 binary places of the roots of the primes. Doubles do: no root is within 2^-40 of its next value. */
const places = (root) => PRIMES.map((prime) => (root(prime) * 2 ** 32) | 0);

const START = places(Math.sqrt).slice(0, 8);
const ROUNDS = places(Math.cbrt);

/** The sum of a word turned to the right by two numbers of bits, and turned or shifted by a third. */
const mix = (x, i, j, k, shift) => turn(x, i) ^ turn(x, j) ^ (shift ? x >>> k : turn(x, k));
const turn = (x, n) => (x >>> n) | (x << (32 - n));

/**
 * The 32 bytes of the digest of the first `length` of some bytes; those behind must be zeros. It takes as many steps as
 * all bytes would take.
 */
export function sha256(data, length = data.length) {
  const padded = new DataView(new ArrayBuffer((data.length + 72) & ~63));
  const end = (length + 72) & ~63;
  new Uint8Array(padded.buffer).set(data);
  padded.setUint8(length, 0x80);
  padded.setUint32(end - 4, 8 * length);
  const words = new Int32Array(64);
  let state = START;
  let digest = state;
  for (let at = 0; at < padded.byteLength; at += 64) {
    let [a, b, c, d, e, f, g, h] = state;
    for (let t = 0; t < 64; t++) {
      words[t] =
        t < 16
          ? padded.getInt32(at + 4 * t)
          : words[t - 16] + words[t - 7] + mix(words[t - 15], 7, 18, 3, true) + mix(words[t - 2], 17, 19, 10, true);
      const first = h + mix(e, 6, 11, 25) + (g ^ (e & (f ^ g))) + ROUNDS[t] + words[t];
      h = g;
      g = f;
      f = e;
      e = (d + first) | 0;
      d = c;
      c = b;
      b = a;
      a = (first + mix(a, 2, 13, 22) + ((a & c) ^ (d & (a ^ c)))) | 0; // b and c have just become c and d.
    }
    const next = [a, b, c, d, e, f, g, h];
    state = state.map((word, place) => (word + next[place]) | 0);
    digest = [digest, state][+(at + 64 === end)];
  }
  return Uint8Array.from({ length: 32 }, (_, at) => digest[at >> 2] >> (24 - 8 * (at & 3)));
}
