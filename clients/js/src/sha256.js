/**
 * SHA-256. Browsers have their own only on pages that come by HTTPS, and only asynchronously, for which a transaction
 * of IndexedDB does not wait.
 */

const PRIMES = [];
for (let n = 2; PRIMES.length < 64; n++) if (PRIMES.every((prime) => n % prime)) PRIMES.push(n);

/** The first 32 binary places of the k-th roots of the primes. */
const places = (k) =>
  PRIMES.map((prime) => {
    let root = 0n;
    for (let bit = 1n << 37n; bit; bit >>= 1n) if ((root + bit) ** k <= BigInt(prime) << (32n * k)) root += bit;
    return Number(BigInt.asIntN(32, root));
  });

const START = places(2n).slice(0, 8);
const ROUNDS = places(3n);

/** The sum of a word turned to the right by two numbers of bits, and turned or shifted by a third. */
const mix = (x, i, j, k, shift) => turn(x, i) ^ turn(x, j) ^ (shift ? x >>> k : turn(x, k));
const turn = (x, n) => (x >>> n) | (x << (32 - n));

/** The 32 bytes of the digest of some bytes. */
export function sha256(data) {
  const padded = new DataView(new ArrayBuffer((data.length + 72) & ~63));
  new Uint8Array(padded.buffer).set(data);
  padded.setUint8(data.length, 0x80);
  padded.setUint32(padded.byteLength - 4, 8 * data.length);
  let state = START;
  for (let at = 0; at < padded.byteLength; at += 64) {
    const words = [];
    let next = state;
    for (let t = 0; t < 64; t++) {
      const [a, b, c, d, e, f, g, h] = next;
      const mixed = mix(words[t - 15], 7, 18, 3, true) + mix(words[t - 2], 17, 19, 10, true);
      words[t] = t < 16 ? padded.getInt32(at + 4 * t) : (words[t - 16] + words[t - 7] + mixed) | 0;
      const first = h + mix(e, 6, 11, 25) + ((e & f) ^ (~e & g)) + ROUNDS[t] + words[t];
      next = [(first + mix(a, 2, 13, 22) + ((a & b) ^ (a & c) ^ (b & c))) | 0, a, b, c, (d + first) | 0, e, f, g];
    }
    state = state.map((word, place) => (word + next[place]) | 0);
  }
  return Uint8Array.from({ length: 32 }, (_, at) => state[at >> 2] >> (24 - 8 * (at & 3)));
}
