/* Which of the libraries this processor can run, by the levels of x86-64. Elsewhere there is one library. */

#include "loops.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* Registers that the operating system keeps for a thread: of 256 bits, and of 512. */
#define KEEPS_256 0x06u
#define KEEPS_512 0xe6u

static uint32_t kept_registers(void) {
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

EXPORT int32_t processor_level(void) {
    uint32_t a, b, c, d, extended_c;
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return 1;
    const uint32_t wanted_c = bit_FMA | bit_MOVBE | bit_AVX | bit_F16C | bit_OSXSAVE | bit_POPCNT;
    if ((c & wanted_c) != wanted_c || (kept_registers() & KEEPS_256) != KEEPS_256)
        return 1;
    if (!__get_cpuid(0x80000001, &a, &b, &extended_c, &d) || !(extended_c & 1u << 5)) /* LZCNT */
        return 1;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return 1;
    const uint32_t wanted_b = bit_AVX2 | bit_BMI | bit_BMI2;
    if ((b & wanted_b) != wanted_b)
        return 1;
    const uint32_t wide = bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL;
    return (b & wide) == wide && (kept_registers() & KEEPS_512) == KEEPS_512 ? 4 : 3;
}
#else
EXPORT int32_t processor_level(void) { return 1; }
#endif

/* What this library was compiled of: a digest of the C files. */
EXPORT const char *sources(void) { return SOURCES; }
