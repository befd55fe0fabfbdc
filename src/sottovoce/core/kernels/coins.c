/* Coins, 64 to a word: each bit says whether a number of 53 random bits is below a bound. */

#include "loops.h"

#define USUAL_STEPS 6

/* One bit of 64 coins beside the last of the bound: a coin that differs from it is decided. */
INLINE void compare(uint64_t word, uint64_t bound, uint64_t *below, uint64_t *open) {
    uint64_t ones = 0 - (bound & 1);
    *below |= *open & ~word & ones;
    *open &= ~(word ^ ones);
}

/* A word stays in registers for all of its steps, and several words go side by side. */
INLINE void first_bits(const uint64_t *restrict words, uint64_t bound, int64_t steps, int64_t count,
                       uint64_t *restrict coins, uint64_t *restrict still) {
    for (int64_t i = 0; i < count; i++) {
        uint64_t below = 0, open = ~(uint64_t)0;
        for (int64_t step = 0; step < steps; step++)
            compare(words[step * count + i], bound >> (steps - 1 - step), &below, &open);
        coins[i] = below;
        still[i] = open;
    }
}

/* The first bits of every coin. The words with an open coin are written down: how many are they? */
EXPORT int64_t head(const uint64_t *restrict words, uint64_t bound, int64_t steps, int64_t count,
                    uint64_t *restrict coins, int64_t *restrict where, uint64_t *restrict still) {
    if (steps == USUAL_STEPS) /* The compiler makes more of a number that it knows. */
        first_bits(words, bound, USUAL_STEPS, count, coins, still);
    else
        first_bits(words, bound, steps, count, coins, still);
    int64_t left = 0;
    for (int64_t i = 0; i < count; i++) {
        where[left] = i; /* Overwritten unless it is open. */
        still[left] = still[i];
        left += still[left] != 0;
    }
    return left;
}

/* More bits of the open words, as long as the words that were drawn last. How many are open after which step? */
EXPORT int64_t narrow(const uint64_t *restrict words, int64_t drawn, uint64_t bound, int64_t *step, int64_t needed,
                      uint64_t *restrict coins, int64_t *restrict where, uint64_t *restrict still, int64_t left) {
    while (0 < left && left <= drawn && *step < needed) {
        int64_t last = left;
        left = 0;
        for (int64_t i = 0; i < last; i++) {
            int64_t place = where[i];
            uint64_t open = still[i];
            compare(words[i], bound >> (52 - *step), &coins[place], &open);
            where[left] = place; /* Overwritten unless it is open. */
            still[left] = open;
            left += open != 0;
        }
        words += last;
        drawn -= last;
        ++*step;
    }
    return left;
}
