/* What the files of hot loops share. Each loop gives the same integers as its twin for NumPy. */

#include <stdbool.h>
#include <stdint.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#define INLINE static inline __attribute__((always_inline))

#define UNUSED_BITS 11 /* The low bits of a word that a draw of 53 bits leaves out. */
#define PEOPLE_AT_ONCE 1024 /* People whose reports are drawn together, in the first cache. */

/* Eight words side by side, wherever they begin. */
typedef uint64_t Eight __attribute__((vector_size(64), aligned(8), may_alias));

INLINE uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }
INLINE uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }
INLINE uint64_t parity(uint64_t word) { return (uint64_t)__builtin_popcountll(word) & 1; }

/* Entry i of a column whose numbers have so many bytes. The compiler knows how many wherever this is called. */
INLINE uint64_t get(const void *column, int bytes, int64_t i) {
    switch (bytes) {
    case 1: return ((const uint8_t *)column)[i];
    case 2: return ((const uint16_t *)column)[i];
    case 4: return ((const uint32_t *)column)[i];
    default: return ((const uint64_t *)column)[i];
    }
}

INLINE void set(void *column, int bytes, int64_t i, uint64_t value) {
    switch (bytes) {
    case 1: ((uint8_t *)column)[i] = (uint8_t)value; break;
    case 2: ((uint16_t *)column)[i] = (uint16_t)value; break;
    case 4: ((uint32_t *)column)[i] = (uint32_t)value; break;
    default: ((uint64_t *)column)[i] = value;
    }
}

/* Return what a loop gives that takes the number of bytes as its last argument, with that number known. */
#define BY_BYTES(bytes, loop, ...) \
    switch (bytes) { \
    case 1: return loop(__VA_ARGS__, 1); \
    case 2: return loop(__VA_ARGS__, 2); \
    case 4: return loop(__VA_ARGS__, 4); \
    default: return loop(__VA_ARGS__, 8); \
    }

/* A finite field. Of 2^degree elements it adds by exclusive or, and multiplies polynomials modulo `modulus`; one of
   prime order has the degree 0. */
typedef struct {
    uint64_t order, degree, modulus;
} Field;

/* A space over it: powers of the order, numbers of the first lines with so many digits behind their leading 1, and the
   inverses of the field's elements. A vector is a number in base `order`. */
typedef struct {
    const uint64_t *powers, *starts, *inverses;
    int64_t digits;
    Field field;
} Space;

void inner_products(const uint64_t *a, const uint64_t *b, int64_t count, Field field, uint64_t *out);
void planes(const uint64_t *codes, const bool *through, const uint64_t *lines, int64_t count, Space space,
            uint64_t *vectors);
