/* Counting: how often each number occurs, and how many rows have each bit set. */

#include "loops.h"
#include <string.h>

#define LOOKED_AT 32768 /* Numbers that are looked at before they are counted. */

INLINE bool add_occurrences_by(const void *numbers, int64_t count, int64_t *restrict total, int64_t cells,
                               uint32_t *restrict tables, int64_t width, int bytes) {
    uint64_t mask = (uint64_t)width - 1;
    for (int64_t start = 0; start < count; start += LOOKED_AT) {
        int64_t end = count - start < LOOKED_AT ? count : start + LOOKED_AT;
        uint64_t most = 0;
        for (int64_t i = start; i < end; i++)
            most = larger(most, get(numbers, bytes, i));
        if (most >= (uint64_t)cells)
            return false;
        int64_t i = start;
        for (; width && i + 4 <= end; i += 4)
            for (int table = 0; table < 4; table++)
                tables[table * width + (int64_t)(get(numbers, bytes, i + table) & mask)]++;
        for (; i < end; i++)
            total[smaller(get(numbers, bytes, i), (uint64_t)cells - 1)]++;
    }
    for (int64_t j = 0; width && j < cells; j++)
        total[j] += (int64_t)tables[j] + tables[width + j] + tables[2 * width + j] + tables[3 * width + j];
    return true;
}

/* Add to `total` how often each number occurs, fewer than 2^32 of them; or say that one of them is too large.

   They are looked at before they are counted, a block at a time, which also brings them near. Neighbours go to tables of
   their own, of which there are four of `width` zeros each: they are often alike. A width of zero does without, any
   other is a power of two. Somebody may change the numbers meanwhile: nothing is written beside a table. */
EXPORT bool add_occurrences(const void *numbers, int32_t bytes, int64_t count, int64_t *total, int64_t cells,
                            uint32_t *tables, int64_t width) {
    BY_BYTES(bytes, add_occurrences_by, numbers, count, total, cells, tables, width)
}

/* How many bits each row of words has set. */
EXPORT void row_sums(const uint64_t *restrict rows, int64_t count, int64_t width, int64_t *restrict sums) {
    for (int64_t i = 0; i < count; i++) {
        int64_t total = 0;
        for (int64_t j = 0; j < width; j++)
            total += __builtin_popcountll(rows[i * width + j]);
        sums[i] = total;
    }
}

/* Bits of many rows added up by full adders. */

#define ROUND_ROWS 16 /* Rows that one round of full adders takes in. */
#define MAX_ROUNDS 255 /* Rounds until the counters of a byte are full. */
#define EACH_BYTE UINT64_C(0x0101010101010101)

enum { ONES, TWOS, FOURS, EIGHTS, LEVELS };

/* For eight words side by side: what is left of ones to eights; and counters of sixteens, a byte each. Byte k of lane b is
   for bit 8 k + b of a word. */
typedef struct {
    Eight left[LEVELS], lanes[8];
} Desk;

/* Three bits added: the sums take the first one's place, and the carries are the result. */
INLINE Eight add(Eight *a, Eight b, Eight c) {
    Eight either = *a ^ b, carry = (*a & b) | (either & c);
    *a = either ^ c;
    return carry;
}

/* Four rows added to what is left: one word of fours comes out. The rows are so many words apart. */
INLINE Eight four(Desk *desk, const uint64_t *words, int64_t width) {
#define ROW(number) (*(const Eight *)(words + number * width))
    Eight a = add(&desk->left[ONES], ROW(0), ROW(1)), b = add(&desk->left[ONES], ROW(2), ROW(3));
    return add(&desk->left[TWOS], a, b);
}

INLINE Eight eight(Desk *desk, const uint64_t *words, int64_t width) {
    Eight a = four(desk, words, width), b = four(desk, words + 4 * width, width);
    return add(&desk->left[FOURS], a, b);
}

INLINE Eight sixteen(Desk *desk, const uint64_t *words, int64_t width) {
    Eight a = eight(desk, words, width), b = eight(desk, words + 8 * width, width);
    return add(&desk->left[EIGHTS], a, b);
}

static void unload(Desk *desk, int64_t eights, int64_t *total) {
    for (int64_t number = 0; number < eights; number++, desk++) {
        for (int lane = 0; lane < 8; lane++)
            for (int word = 0; word < 8; word++)
                for (int byte = 0; byte < 8; byte++)
                    total[64 * (8 * number + word) + 8 * byte + lane] +=
                        16 * (int64_t)(desk->lanes[lane][word] >> 8 * byte & 255);
        memset(desk->lanes, 0, sizeof desk->lanes);
    }
}

INLINE void count_bits(uint64_t word, int64_t worth, int64_t *total) {
    for (int bit = 0; bit < 64; bit++)
        total[bit] += worth * (int64_t)(word >> bit & 1);
}

/* Add to `total` how many rows have each bit set. Rows have a multiple of eight words, which go side by side.

   Sixteen rows at a time go through fifteen full adders, which keep what is left of ones, twos, fours and eights for the
   next sixteen. The sixteens that come out are counted in bytes, eight to a word, before the bytes overflow. For each
   eight words there is a desk of zeros, where all of that is beside one another. */
EXPORT void column_sums(const uint64_t *restrict rows, int64_t count, int64_t width, int64_t *restrict total,
                        void *restrict desks) {
    int64_t full = count - count % ROUND_ROWS, rounds = 0;
    for (int64_t at = 0; at < full; at += ROUND_ROWS) {
        for (int64_t number = 0; number < width / 8; number++) {
            Desk desk = ((Desk *)desks)[number];
            Eight sixteens = sixteen(&desk, rows + at * width + 8 * number, width);
            for (int bit = 0; bit < 8; bit++)
                desk.lanes[bit] += sixteens >> bit & EACH_BYTE;
            ((Desk *)desks)[number] = desk;
        }
        if (++rounds == MAX_ROUNDS) {
            unload(desks, width / 8, total);
            rounds = 0;
        }
    }
    unload(desks, width / 8, total);
    for (int64_t word = 0; word < width; word++) {
        for (int level = ONES; level < LEVELS; level++)
            count_bits(((Desk *)desks)[word / 8].left[level][word % 8], 1 << level, total + 64 * word);
        for (int64_t at = full; at < count; at++)
            count_bits(rows[at * width + word], 1, total + 64 * word);
    }
}
