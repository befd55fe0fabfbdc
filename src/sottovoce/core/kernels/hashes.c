/* What a table says of many values that were hashed. */

#include "loops.h"

#define VALUES_AT_ONCE 2048 /* Values that are looked up in one cohort before the next. */
#define PRIME ((UINT64_C(1) << 31) - 1)

/* The buckets of values for one function. A remainder by 2^31 - 1 is the sum of digits of 31 bits, taken twice. */
INLINE void buckets_of(const int64_t *restrict codes, int64_t count, const uint64_t *restrict words, int32_t size,
                       int32_t *restrict buckets) {
    double inverse = 1.0 / (double)size;
    for (int64_t i = 0; i < count; i++) {
        uint64_t code = (uint64_t)codes[i];
        uint64_t total = words[0] * (code >> 31) + words[1] * (code & PRIME) + words[2];
        total = (total & PRIME) + (total >> 31);
        total = (total & PRIME) + (total >> 31);
        int32_t number = (int32_t)(total >= PRIME ? total - PRIME : total);
        int32_t rest = number - (int32_t)((double)number * inverse) * size;
        rest = rest < 0 ? rest + size : rest;
        buckets[i] = rest >= size ? rest - size : rest;
    }
}

INLINE void look_up(const int64_t *codes, int64_t count, const uint64_t *words, int64_t cohorts, int64_t functions,
                    const void *table, int32_t size, double *restrict sums, bool whole) {
    int32_t buckets[VALUES_AT_ONCE];
    for (int64_t at = 0; at < count; at += VALUES_AT_ONCE) {
        int64_t some = count - at < VALUES_AT_ONCE ? count - at : VALUES_AT_ONCE;
        double *restrict own = sums + at;
        for (int64_t cohort = 0; cohort < cohorts; cohort++)
            for (int64_t function = 0; function < functions; function++) {
                buckets_of(codes + at, some, words + 3 * (cohort * functions + function), size, buckets);
                const int64_t *numbers = (const int64_t *)table + cohort * size;
                const double *floats = (const double *)table + cohort * size;
                for (int64_t i = 0; i < some; i++)
                    own[i] += whole ? (double)numbers[buckets[i]] : floats[buckets[i]];
            }
    }
}

/* Add what the table has in the buckets of each value: a row for each cohort, and the words of its functions. The buckets
   come first, several values at once, in numbers of 32 bits. */
EXPORT void look_up_numbers(const int64_t *codes, int64_t count, const uint64_t *words, int64_t cohorts,
                            int64_t functions, const int64_t *table, int32_t size, double *sums) {
    look_up(codes, count, words, cohorts, functions, table, size, sums, true);
}

EXPORT void look_up_floats(const int64_t *codes, int64_t count, const uint64_t *words, int64_t cohorts,
                           int64_t functions, const double *table, int32_t size, double *sums) {
    look_up(codes, count, words, cohorts, functions, table, size, sums, false);
}
