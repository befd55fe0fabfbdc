/* Rows of bits, a report each: set one, bring a row to its size. */

#include "loops.h"

/* In each row of bits, set the one of a value to what is given.

   Codes can be the answers themselves, which somebody may change meanwhile: nothing is written beside a row. */
EXPORT void put(uint8_t *restrict rows, int64_t width, const int64_t *restrict codes, const bool *restrict bits,
                int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        int64_t code = codes[i];
        uint8_t *byte = rows + i * width + smaller((uint64_t)(code >> 3), (uint64_t)width - 1);
        *byte = (uint8_t)((*byte & ~(1 << (code & 7))) | bits[i] << (code & 7));
    }
}

/* A few draws for every row that is to be resized, without a branch: nobody can foresee which are of use.

   Rows that need more are moved to the front of `each`: how many? */
EXPORT int64_t toggle(const uint32_t *restrict drawn, int64_t draws, uint64_t limit, uint32_t others,
                      int64_t *restrict each, int64_t count, uint8_t *restrict rows, int64_t width,
                      const int64_t *restrict codes, int64_t *restrict excess) {
    int64_t left = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t number = each[i], code = codes[number];
        uint8_t *row = rows + number * width;
        uint8_t ones = excess[number] > 0;
        int64_t rest = ones ? excess[number] : -excess[number];
        for (int64_t at = 0; at < draws; at++) {
            uint32_t draw = drawn[i * draws + at];
            int64_t other = draw % others;
            other += other >= code;
            uint8_t byte = row[other >> 3], place = other & 7;
            uint8_t use = (draw < limit) & ((byte >> place & 1) == ones) & (rest != 0);
            row[other >> 3] = (uint8_t)(byte ^ use << place);
            rest -= use;
        }
        excess[number] = ones ? rest : -rest;
        each[left] = number;
        left += rest != 0;
    }
    return left;
}
