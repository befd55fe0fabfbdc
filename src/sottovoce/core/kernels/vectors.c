/* Vectors over a finite field, a column at a time: `geometry` has the same for NumPy. */

#include "loops.h"

typedef struct {
    uint64_t high, low;
} Parts;

/* All digits but the last, and the last. */
INLINE Parts split(uint64_t vector, Field f) {
    if (f.degree)
        return (Parts){vector >> f.degree, vector & (f.order - 1)};
    return (Parts){vector / f.order, vector % f.order};
}

/* All digits but the last k, and those. */
INLINE Parts cut(uint64_t vector, int64_t k, Space s) {
    if (s.field.degree)
        return (Parts){vector >> s.field.degree * (uint64_t)k, vector & (s.powers[k] - 1)};
    return (Parts){vector / s.powers[k], vector % s.powers[k]};
}

/* A product of two elements, yet to be reduced. */
INLINE uint64_t product_of(uint64_t a, uint64_t b, Field f) {
    if (!f.degree)
        return a * b;
    uint64_t product = 0;
    for (uint64_t i = 0; i < f.degree; i++)
        product ^= (a << i) * (b >> i & 1);
    return product;
}

INLINE uint64_t reduced(uint64_t total, Field f) {
    if (!f.degree)
        return total % f.order;
#pragma GCC unroll 16
    for (uint64_t i = 1; i < f.degree; i++) {
        uint64_t above = f.degree - 1 - i;
        total ^= (f.modulus << above) * (total >> (f.degree + above) & 1);
    }
    return total;
}

/* The sum is reduced once, at the end: it stays far below 2^53. */
INLINE uint64_t inner_product(uint64_t a, uint64_t b, Field f) {
    uint64_t total = 0;
    while (b) {
        Parts of_a = split(a, f), of_b = split(b, f);
        uint64_t product = product_of(of_a.low, of_b.low, f);
        total = f.degree ? total ^ product : total + product;
        a = of_a.high;
        b = of_b.high;
    }
    return reduced(total, f);
}

/* The same, all digits at once: in each lane of bits, those of one vector meet those of the other.

   Of the lanes where both are set, only the parity is of interest. The compiler must know the degree. */
INLINE void inner_products_of_bits(const uint64_t *restrict a, const uint64_t *restrict b, int64_t count,
                                   uint64_t modulus, uint64_t *restrict out, int degree) {
    const uint64_t lanes = (((uint64_t)1 << 60 / degree * degree) - 1) / (((uint64_t)1 << degree) - 1);
    const Field f = {(uint64_t)1 << degree, (uint64_t)degree, modulus};
    for (int64_t i = 0; i < count; i++) {
        uint64_t total = 0;
#pragma GCC unroll 32
        for (int k = 0; k < 2 * degree - 1; k++) {
            uint64_t both = 0;
#pragma GCC unroll 16
            for (int j = k < degree ? 0 : k - degree + 1; j <= k && j < degree; j++)
                both ^= (a[i] >> j) & (b[i] >> (k - j));
            total |= parity(both & lanes) << k;
        }
        out[i] = reduced(total, f);
    }
}

void inner_products(const uint64_t *restrict a, const uint64_t *restrict b, int64_t count, Field f,
                    uint64_t *restrict out) {
#define OF_BITS(degree) \
    case degree: inner_products_of_bits(a, b, count, f.modulus, out, degree); break;
    switch (f.order == 2 ? 1 : f.degree) { /* The field of two elements may be called prime. */
        OF_BITS(1) OF_BITS(2) OF_BITS(3) OF_BITS(4) OF_BITS(5) OF_BITS(6)
        OF_BITS(7) OF_BITS(8) OF_BITS(9) OF_BITS(10) OF_BITS(11) OF_BITS(12)
    default:
        for (int64_t i = 0; i < count; i++)
            out[i] = inner_product(a[i], b[i], f);
    }
}

/* The inner products of two columns of vectors. */
EXPORT void inner(const uint64_t *a, const uint64_t *b, int64_t count, uint64_t order, uint64_t degree,
                  uint64_t modulus, uint64_t *out) {
    inner_products(a, b, count, (Field){order, degree, modulus}, out);
}

/* The k digits of a vector times a factor; all at once if a digit is bits, the lowest of which are the lanes. */
INLINE uint64_t times(uint64_t vector, uint64_t factor, int64_t k, uint64_t lanes, Space s) {
    Field f = s.field;
    uint64_t product = 0;
    if (!f.degree) {
        for (int64_t i = 0; i < k; i++) {
            Parts parts = split(vector, f);
            product += s.powers[i] * reduced(factor * parts.low, f);
            vector = parts.high;
        }
        return product;
    }
    uint64_t top = f.degree - 1;
    for (uint64_t i = 0; i < f.degree; i++) {
        product ^= vector * (factor >> i & 1);
        uint64_t over = vector >> top & lanes;
        vector = ((vector ^ over << top) << 1) ^ over * (f.modulus ^ f.order);
    }
    return product;
}

/* The last of the bounds that is not above a number: mostly, one of the last. */
INLINE int64_t place_of(uint64_t number, const uint64_t *bounds, int64_t count) {
    int64_t k = count - 1;
    while (k && number < bounds[k])
        k--;
    return k;
}

/* The factor that makes a vector's leading digit 1, and the number of its line; of zero, 0 and -1. */
INLINE uint64_t line_of(uint64_t vector, Space s, uint64_t *number) {
    int64_t k = place_of(vector, s.powers, s.digits);
    Parts parts = cut(vector, k, s);
    uint64_t factor = s.inverses[parts.high], rest = parts.low;
    if (factor > 1) {
        uint64_t lanes = s.starts[s.digits - 1] + s.powers[s.digits - 1]; /* All powers of the order, added up. */
        rest = times(rest, factor, k, lanes, s);
    }
    *number = factor ? s.starts[k] + rest : ~(uint64_t)0;
    return factor;
}

EXPORT void normalise(const uint64_t *restrict vectors, int64_t count, const uint64_t *restrict powers,
                      const uint64_t *restrict starts, const uint64_t *restrict inverses, int64_t digits,
                      uint64_t order, uint64_t degree, uint64_t modulus, uint64_t *restrict factors,
                      uint64_t *restrict numbers) {
    Space space = {powers, starts, inverses, digits, {order, degree, modulus}};
    for (int64_t i = 0; i < count; i++)
        factors[i] = line_of(vectors[i], space, &numbers[i]);
}

/* For each value, a hyperplane through its point or not, from the digits that are free. `vectors` becomes it. There are
   at most PEOPLE_AT_ONCE values.

   First the free digits, with a zero where the point has its leading 1; then all inner products; then the digit that
   makes them what they should be. Somebody may change the codes meanwhile: nothing is read beside a table. */
void planes(const uint64_t *restrict codes, const bool *restrict through, const uint64_t *restrict lines,
            int64_t count, Space s, uint64_t *restrict vectors) {
    int64_t leads[PEOPLE_AT_ONCE];
    uint64_t points[PEOPLE_AT_ONCE], products[PEOPLE_AT_ONCE], order = s.field.order;
    const uint64_t last = s.starts[s.digits - 1] + s.powers[s.digits - 1] - 1;
    for (int64_t i = 0; i < count; i++) {
        uint64_t code = smaller(codes[i], last);
        int64_t lead = leads[i] = place_of(code, s.starts, s.digits);
        points[i] = s.powers[lead] + code - s.starts[lead];
        uint64_t free_digits = vectors[i];
        if (through[i]) {
            int64_t k = place_of(lines[i], s.starts, s.digits);
            free_digits = s.powers[k] + lines[i] - s.starts[k];
        }
        Parts parts = cut(free_digits, lead, s);
        vectors[i] = parts.high * s.powers[lead] * order + parts.low;
    }
    inner_products(vectors, points, count, s.field, products);
    for (int64_t i = 0; i < count; i++) {
        uint64_t wanted = !through[i];
        uint64_t digit = s.field.degree ? wanted ^ products[i] : (wanted + order - products[i]) % order;
        line_of(vectors[i] + s.powers[leads[i]] * digit, s, &vectors[i]);
    }
}
