/* Drawn words to reports: one loop for each of the mechanisms whose reports are numbers.

   A loop is given the words of its coins and draws, a column for each, and says whether all of them are fair. */

#include "loops.h"

/* A number below 2^53 is a float without loss. Its quotient by a rounded inverse is off by one at the most. */
INLINE uint64_t remainder_of(uint64_t number, uint64_t divisor, double inverse) {
    int64_t rest = (int64_t)number - (int64_t)((double)(int64_t)number * inverse) * (int64_t)divisor;
    rest += rest < 0 ? (int64_t)divisor : 0;
    rest -= rest >= (int64_t)divisor ? (int64_t)divisor : 0;
    return (uint64_t)rest;
}

/* Words become what their first 53 bits leave when they are divided. If one is beyond the last, none does. */
EXPORT bool remainders(uint64_t *words, int64_t count, uint64_t last, uint64_t divisor) {
    double inverse = 1.0 / (double)divisor;
    uint64_t most = 0;
    for (int64_t i = 0; i < count; i++)
        most = larger(most, words[i]);
    if (most > last)
        return false;
    for (int64_t i = 0; i < count; i++)
        words[i] = remainder_of(words[i] >> UNUSED_BITS, divisor, inverse);
    return true;
}

INLINE bool respond_by(const int64_t *restrict codes, int64_t count, uint64_t heads, uint64_t others, uint64_t last,
                       void *restrict out, const uint64_t *restrict tosses, const uint64_t *restrict drawn,
                       int bytes) {
    double inverse = 1.0 / (double)others;
    uint64_t most = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t code = codes[i];
        most = larger(most, drawn[i]);
        int64_t other = (int64_t)remainder_of(drawn[i] >> UNUSED_BITS, others, inverse);
        other += other >= code;
        set(out, bytes, i, (uint64_t)(tosses[i] < heads ? code : other));
    }
    return most <= last;
}

/* A code where its coin falls heads, otherwise one of so many others, all as likely if no draw is beyond the last. */
EXPORT bool respond(const int64_t *codes, int64_t count, uint64_t heads, uint64_t others, uint64_t last, void *out,
                    int32_t bytes, const uint64_t *tosses, const uint64_t *drawn) {
    BY_BYTES(bytes, respond_by, codes, count, heads, others, last, out, tosses, drawn)
}

INLINE bool hash_and_respond_by(const uint64_t *restrict codes, int64_t count, Field field, uint64_t cohorts,
                                uint64_t last_cohort, uint64_t heads, uint64_t last, void *restrict out,
                                const uint64_t *restrict drawn_cohorts, const uint64_t *restrict tosses,
                                const uint64_t *restrict drawn, int bytes) {
    double inverse = 1.0 / (double)cohorts;
    bool fair = true;
    uint64_t own[PEOPLE_AT_ONCE], buckets[PEOPLE_AT_ONCE], told[PEOPLE_AT_ONCE], most = 0;
    for (int64_t at = 0; at < count; at += PEOPLE_AT_ONCE) {
        int64_t some = count - at < PEOPLE_AT_ONCE ? count - at : PEOPLE_AT_ONCE;
        for (int64_t i = 0; i < some; i++) {
            most = larger(most, drawn_cohorts[at + i]);
            own[i] = remainder_of(drawn_cohorts[at + i] >> UNUSED_BITS, cohorts, inverse);
        }
        inner_products(own, codes + at, some, field, buckets);
        fair &= respond_by((const int64_t *)buckets, some, heads, field.order - 1, last, told, tosses + at, drawn + at,
                           8);
        for (int64_t i = 0; i < some; i++)
            set(out, bytes, at + i, own[i] * field.order + told[i]);
    }
    return fair && most <= last_cohort;
}

/* A cohort, and the bucket of the value there or another one, as one number; a few people at a time. */
EXPORT bool hash_and_respond(const uint64_t *codes, int64_t count, uint64_t order, uint64_t degree, uint64_t modulus,
                             uint64_t cohorts, uint64_t last_cohort, uint64_t heads, uint64_t last, void *out,
                             int32_t bytes, const uint64_t *drawn_cohorts, const uint64_t *tosses,
                             const uint64_t *drawn) {
    Field field = {order, degree, modulus};
    BY_BYTES(bytes, hash_and_respond_by, codes, count, field, cohorts, last_cohort, heads, last, out, drawn_cohorts,
             tosses, drawn)
}

INLINE bool draw_planes_by(const uint64_t *restrict codes, int64_t count, uint64_t heads, uint64_t on,
                           uint64_t last_on, uint64_t off, uint64_t last_off, Space space, void *restrict out,
                           const uint64_t *restrict tosses, const uint64_t *restrict drawn_on,
                           const uint64_t *restrict drawn_off, int bytes) {
    double by_on = 1.0 / (double)on, by_off = 1.0 / (double)off;
    bool through[PEOPLE_AT_ONCE];
    uint64_t lines[PEOPLE_AT_ONCE], vectors[PEOPLE_AT_ONCE], most_on = 0, most_off = 0;
    for (int64_t at = 0; at < count; at += PEOPLE_AT_ONCE) {
        int64_t some = count - at < PEOPLE_AT_ONCE ? count - at : PEOPLE_AT_ONCE;
        for (int64_t i = 0; i < some; i++) {
            through[i] = tosses[at + i] < heads;
            most_on = larger(most_on, drawn_on[at + i]);
            most_off = larger(most_off, drawn_off[at + i]);
            lines[i] = remainder_of(drawn_on[at + i] >> UNUSED_BITS, on, by_on);
            vectors[i] = remainder_of(drawn_off[at + i] >> UNUSED_BITS, off, by_off);
        }
        planes(codes + at, through, lines, some, space, vectors);
        for (int64_t i = 0; i < some; i++)
            set(out, bytes, at + i, vectors[i]);
    }
    return most_on <= last_on && most_off <= last_off;
}

/* A hyperplane through the point of each value where its coin falls heads, otherwise one beside it. */
EXPORT bool draw_planes(const uint64_t *codes, int64_t count, uint64_t heads, uint64_t on, uint64_t last_on,
                        uint64_t off, uint64_t last_off, const uint64_t *powers, const uint64_t *starts,
                        const uint64_t *inverses, int64_t digits, uint64_t order, uint64_t degree, uint64_t modulus,
                        void *out, int32_t bytes, const uint64_t *tosses, const uint64_t *drawn_on,
                        const uint64_t *drawn_off) {
    Space space = {powers, starts, inverses, digits, {order, degree, modulus}};
    BY_BYTES(bytes, draw_planes_by, codes, count, heads, on, last_on, off, last_off, space, out, tosses, drawn_on,
             drawn_off)
}

INLINE bool reflect_by(const int64_t *restrict codes, int64_t count, uint64_t heads, uint64_t mask,
                       void *restrict out, const uint64_t *restrict tosses, const uint64_t *restrict drawn,
                       int bytes) {
    for (int64_t i = 0; i < count; i++) {
        uint64_t value = (uint64_t)codes[i] + 1, row = drawn[i] >> UNUSED_BITS & mask;
        uint64_t lowest = value & (~value + 1), wrong = parity(row & value) ^ (tosses[i] >= heads);
        set(out, bytes, i, row ^ (lowest & (0 - wrong)));
    }
    return true;
}

/* Rows that share an even number of bits with a value where its coin falls heads, otherwise an odd number.

   The number of rows is a power of two, of which all remainders are fair. */
EXPORT bool reflect(const int64_t *codes, int64_t count, uint64_t heads, uint64_t mask, void *out, int32_t bytes,
                    const uint64_t *tosses, const uint64_t *drawn) {
    BY_BYTES(bytes, reflect_by, codes, count, heads, mask, out, tosses, drawn)
}
