/* The fast Walsh-Hadamard transform: in place, in whole numbers, and twice through memory at the most. */

#include "loops.h"
#include <string.h>

#define BLOCK 8192 /* Numbers that are transformed by themselves, near the processor: by the low bits of their place. */
#define TILE_WIDTH 64 /* Places side by side whose numbers are then transformed together, over the high bits. */

/* Two bits at once. */
INLINE void four(uint64_t *a, uint64_t *b, uint64_t *c, uint64_t *d) {
    uint64_t sum = *a + *b, other_sum = *c + *d, gap = *a - *b, other_gap = *c - *d;
    *a = sum + other_sum;
    *b = gap + other_gap;
    *c = sum - other_sum;
    *d = gap - other_gap;
}

/* One bit of the places of eight numbers: each is added to the one it is swapped with, or taken from it. */
#define BUTTERFLY(v, taken, ...) (((v) ^ (taken)) - (taken) + __builtin_shufflevector(v, v, __VA_ARGS__))

INLINE void eight(Eight *v) {
    const Eight first = {0, -1, 0, -1, 0, -1, 0, -1}, second = {0, 0, -1, -1, 0, 0, -1, -1};
    const Eight third = {0, 0, 0, 0, -1, -1, -1, -1};
    *v = BUTTERFLY(*v, first, 1, 0, 3, 2, 5, 4, 7, 6);
    *v = BUTTERFLY(*v, second, 2, 3, 0, 1, 6, 7, 4, 5);
    *v = BUTTERFLY(*v, third, 4, 5, 6, 7, 0, 1, 2, 3);
}

/* The four lowest bits at once: so few places are not worth a loop. */
INLINE void sixteens(uint64_t *values, int64_t size) {
    for (int64_t at = 0; at < size; at += 16) {
        Eight *some = (Eight *)(values + at);
        eight(&some[0]);
        eight(&some[1]);
        Eight sum = some[0] + some[1], gap = some[0] - some[1];
        some[0] = sum;
        some[1] = gap;
    }
}

INLINE void twos(uint64_t *restrict a, uint64_t *restrict b, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        uint64_t sum = a[i] + b[i], gap = a[i] - b[i];
        a[i] = sum;
        b[i] = gap;
    }
}

INLINE void fours(uint64_t *restrict a, uint64_t *restrict b, uint64_t *restrict c, uint64_t *restrict d,
                  int64_t count) {
    for (int64_t i = 0; i < count; i++)
        four(&a[i], &b[i], &c[i], &d[i]);
}

/* Over all bits of a place from the one that is worth `step` on. */
static void passes(uint64_t *values, int64_t size, int64_t step) {
    if (step == 1 && size >= 16) {
        sixteens(values, size);
        step = 16;
    }
    for (; 2 * step < size; step *= 4)
        for (int64_t at = 0; at < size; at += 4 * step) {
            uint64_t *some = values + at;
            fours(some, some + step, some + 2 * step, some + 3 * step, step);
        }
    if (step < size)
        twos(values, values + step, step);
}

/* Each row of a table, whose length is a power of two, becomes its transform. The desk has room for TILE_WIDTH numbers
   of each block. Numbers are signed; the sums of unsigned ones are the same bits and never undefined. */
EXPORT void walsh_hadamard(uint64_t *table, int64_t rows, int64_t size, uint64_t *restrict desk) {
    int64_t high = size / BLOCK, block = size < BLOCK ? size : BLOCK;
    for (uint64_t *row = table; row < table + rows * size; row += size) {
        for (int64_t at = 0; at < size; at += block)
            passes(row + at, block, 1);
        for (int64_t at = 0; high > 1 && at < BLOCK; at += TILE_WIDTH) {
            for (int64_t k = 0; k < high; k++)
                memcpy(desk + k * TILE_WIDTH, row + k * BLOCK + at, TILE_WIDTH * sizeof *desk);
            passes(desk, high * TILE_WIDTH, TILE_WIDTH);
            for (int64_t k = 0; k < high; k++)
                memcpy(row + k * BLOCK + at, desk + k * TILE_WIDTH, TILE_WIDTH * sizeof *desk);
        }
    }
}
