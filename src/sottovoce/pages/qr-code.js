/**
 * QR codes, for a link that must not be sent to any server: bytes, error correction L, versions 1 to 6 (134 bytes), by
 * ISO/IEC 18004. The mask is always the first one: every reader knows them all.
 */

/** For each version: data codewords of a block, codewords that correct errors in it, and blocks. */
const BLOCKS = [[19, 7, 1], [34, 10, 1], [55, 15, 1], [80, 20, 1], [108, 26, 1], [68, 18, 2]]; // prettier-ignore
const FORMAT_L_MASK_0 = 0b111011111000100;
const FINDER_SIZE = 7;

/** Powers of 2 in the field of 256 elements by x^8 + x^4 + x^3 + x^2 + 1, and their logarithms. */
const POWERS = [1];
while (POWERS.length < 255) POWERS.push((POWERS.at(-1) << 1) ^ (POWERS.at(-1) & 128 ? 0x11d : 0));
const LOGS = Object.fromEntries(POWERS.map((power, at) => [power, at]));
const times = (a, b) => (a && b ? POWERS[(LOGS[a] + LOGS[b]) % 255] : 0);

/** The codewords that correct errors: the remainder of the data by a Reed-Solomon generator. */
function correction(data, size) {
  let generator = [1];
  for (let at = 0; at < size; at++) {
    const shifted = [...generator, 0];
    generator = shifted.map((term, place) => term ^ (place ? times(generator[place - 1], POWERS[at]) : 0));
  }
  const rest = [...data, ...Array(size).fill(0)];
  for (let at = 0; at < data.length; at++) {
    const lead = rest[at];
    generator.forEach((term, place) => (rest[at + place] ^= times(term, lead)));
  }
  return rest.slice(data.length);
}

/** Mode, length, bytes and padding as codewords. */
function dataWords(bytes, room) {
  const bits = [4, bytes.length >> 4, bytes.length & 15, ...[...bytes].flatMap((byte) => [byte >> 4, byte & 15]), 0];
  const words = Array.from({ length: bits.length / 2 }, (_, at) => 16 * bits[2 * at] + bits[2 * at + 1]);
  for (let at = 0; words.length < room; at++) words.push(at % 2 ? 0x11 : 0xec);
  return words;
}

/** Blocks of data, each with its correction, one codeword of each in turn. */
function interleaved(bytes, data, extra, blocks) {
  const words = dataWords(bytes, data * blocks);
  const parts = Array.from({ length: blocks }, (_, at) => words.slice(at * data, (at + 1) * data));
  const turns = (lists) => lists[0].flatMap((_, at) => lists.map((list) => list[at]));
  return [...turns(parts), ...turns(parts.map((part) => correction(part, extra)))];
}

/** A square with the patterns that every code has; what is left for data is undefined. */
function frame(version) {
  const size = 17 + 4 * version;
  const rows = Array.from({ length: size }, () => Array(size).fill(undefined));
  const put = (row, column, dark) => {
    if (rows[row] && column >= 0 && column < size) rows[row][column] = dark;
  };
  const square = (row, column, reach, light) => {
    for (let down = -reach; down <= reach; down++) {
      for (let right = -reach; right <= reach; right++) {
        put(row + down, column + right, !light.includes(Math.max(Math.abs(down), Math.abs(right))));
      }
    }
  };
  for (let at = 0; at < size; at++) {
    put(6, at, at % 2 === 0);
    put(at, 6, at % 2 === 0);
  }
  for (const [row, column] of [[3, 3], [3, size - 4], [size - 4, 3]]) square(row, column, 4, [2, 4]); // prettier-ignore
  if (version > 1) square(size - FINDER_SIZE, size - FINDER_SIZE, 2, [1]);
  for (let at = 0; at < 15; at++) {
    const dark = (FORMAT_L_MASK_0 >> at) % 2 === 1;
    put(at < 6 ? at : at < 8 ? at + 1 : size - 15 + at, 8, dark);
    put(8, at < 8 ? size - 1 - at : at < 9 ? 7 : 14 - at, dark);
  }
  put(size - 8, 8, true);
  return rows;
}

/** The code of a text as rows of truth values, dark or light; null if the text is too long. */
export function qrCode(text) {
  const bytes = new TextEncoder().encode(text);
  const at = BLOCKS.findIndex(([size, , count]) => bytes.length + 2 <= size * count);
  if (at < 0) return null;
  const [data, extra, blocks] = BLOCKS[at];
  const words = interleaved(bytes, data, extra, blocks);
  const rows = frame(at + 1);
  const size = rows.length;
  let bit = 0;
  for (let pair = 0, right = size - 1; right > 0; pair++, right -= right === 8 ? 3 : 2) {
    for (let step = 0; step < size; step++) {
      const row = pair % 2 ? step : size - 1 - step;
      for (const column of [right, right - 1]) {
        if (rows[row][column] !== undefined) continue;
        const dark = ((words[bit >> 3] ?? 0) >> (7 - (bit & 7))) % 2 === 1;
        rows[row][column] = dark !== ((row + column) % 2 === 0);
        bit++;
      }
    }
  }
  return rows;
}
