// Writes text where the C library's functions do not serve: names of programs and files with
// escapes for control characters, for lines on stderr; and numbers. No dependency beyond libc; no
// allocation.
#ifndef DWELL_RUNTIME_CONTRACT_VISIBLE_TEXT_H_
#define DWELL_RUNTIME_CONTRACT_VISIBLE_TEXT_H_

#include <stddef.h>
#include <stdint.h>

namespace dwell {

constexpr size_t kVisibleBytes = 4;  // longest escape of one byte

// Copies `from` up to its zero; control characters, including U+0080 to U+009F, become "\n", "\t"
// or "\x1b". Text that does not fit is dropped; `out` ends with a zero.
inline void copy_visible(char* out, size_t size, const char* from) {
    constexpr char kDigits[] = "0123456789abcdef";
    size_t used = 0;
    const auto* at = reinterpret_cast<const unsigned char*>(from);
    for (bool after_c2 = false; *at != 0 && used + kVisibleBytes < size; ++at) {
        const unsigned char c = *at;
        const bool begins_c2 = c == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0;
        if (c >= 0x20 && c != 0x7f && !begins_c2 && !after_c2) {
            out[used++] = static_cast<char>(c);
        } else {
            out[used++] = '\\';
            if (c == '\n' || c == '\t') {
                out[used++] = c == '\n' ? 'n' : 't';
            } else {
                out[used++] = 'x';
                out[used++] = kDigits[c >> 4];
                out[used++] = kDigits[c & 15];
            }
        }
        after_c2 = begins_c2;
    }
    out[used] = '\0';
}

// Appends the number and a zero; returns the new end. Async-signal-safe.
inline char* put_number(char* end, uint32_t number) {
    char digits[10];
    int count = 0;
    do {
        digits[count++] = static_cast<char>('0' + number % 10);
        number /= 10;
    } while (number != 0);
    while (count > 0) *end++ = digits[--count];
    *end = '\0';
    return end;
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_VISIBLE_TEXT_H_
