// Decodes the instructions before a call of MPI_Pcontrol.
#include "runtime/lifecycle/given_name.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

namespace dwell {

namespace {

constexpr int kWindow = 48;  // bytes of code searched before the call

// The system call reads up to a zero byte, or 4096 bytes.
bool is_readable(const void* address) {
    const int saved_errno = errno;
    const bool refused = access(static_cast<const char*>(address), F_OK) != 0 && errno == EFAULT;
    errno = saved_errno;
    return !refused;
}

bool is_name(const char* text) {
    const size_t bytes = strnlen(text, kLongestGivenName + 1);
    if (bytes == 0 || bytes > kLongestGivenName) return false;
    for (size_t i = 0; i < bytes; ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        if (c < 0x20 || c == 0x7f) return false;
    }
    return true;
}

#if defined(__x86_64__)

template <typename T>
T read_as(const uint8_t* code) {
    T value;
    memcpy(&value, code, sizeof(value));
    return value;
}

// Start of the call instruction that returns to `after`; null: not a call.
const uint8_t* call_before(const uint8_t* after) {
    if (after[-5] == 0xe8) return after - 5;                       // call rel32
    if (after[-6] == 0xff && after[-5] == 0x15) return after - 6;  // call *rel32(%rip)
    if (after[-2] == 0xff && (after[-1] & 0xf8) == 0xd0) {         // call *%reg, of r8 on with 0x41
        return after[-3] == 0x41 ? after - 3 : after - 2;
    }
    return nullptr;
}

// Whether the instruction sets %rsi or %esi to `second` or to an unknown value. It may be the
// middle of another instruction; so `second` must also be a name.
bool sets_second(const uint8_t* code, const uint8_t* end, uint64_t second) {
    const auto room = end - code;
    if (room >= 5 && code[0] == 0xbe) return read_as<uint32_t>(code + 1) == second;
    if (room >= 10 && code[0] == 0x48 && code[1] == 0xbe) {
        return read_as<uint64_t>(code + 2) == second;
    }
    if (room < 3 || (code[0] & 0xf8) != 0x48) return false;
    if (room >= 4 && code[1] == 0x0f && (code[2] & 0xf0) == 0x40) {  // cmov
        return ((code[3] >> 3) & 7) == 6 && (code[0] & 4) == 0;
    }
    const uint8_t mode = code[2] >> 6;
    const bool from_or_of = ((code[2] >> 3) & 7) == 6 && (code[0] & 4) == 0;
    if (code[1] == 0x8d && from_or_of && mode == 0 && (code[2] & 7) == 5) {  // lea rel32(%rip)
        return room >= 7 &&
               reinterpret_cast<uint64_t>(code) + 7 + read_as<int32_t>(code + 3) == second;
    }
    if (code[1] == 0x8b || code[1] == 0x8d) return from_or_of;  // mov, lea from memory
    return code[1] == 0x89 && mode == 3 && (code[2] & 7) == 6 && (code[0] & 1) == 0;  // mov
}

bool is_call(const uint8_t* code, const uint8_t* end) {
    const auto room = end - code;
    if (room >= 5 && code[0] == 0xe8) {
        return is_readable(code + 5 + read_as<int32_t>(code + 1));  // else not a call
    }
    return room >= 2 && code[0] == 0xff && (code[1] == 0x15 || (code[1] & 0xf8) == 0xd0);
}

bool passes_second(uint64_t return_address, uint64_t second) {
    const auto* const after = reinterpret_cast<const uint8_t*>(return_address);
    const uint8_t* from = after - kWindow;
    if (!is_readable(from)) from = after - return_address % 4096;
    if (after - from < 6) return false;
    const uint8_t* const call = call_before(after);
    if (call == nullptr) return false;
    for (const uint8_t* code = call - 1; code >= from; --code) {
        if (is_call(code, call)) return false;
        if (sets_second(code, call, second)) return true;
    }
    return false;
}

#else

bool passes_second(uint64_t, uint64_t) { return false; }

#endif

}  // namespace

const char* given_name(uint64_t second, uint64_t return_address) {
    constexpr uint64_t kFirstPage = 4096;
    const auto* const name = reinterpret_cast<const char*>(second);
    if (second < kFirstPage || !passes_second(return_address, second)) return nullptr;
    return is_readable(name) && is_name(name) ? name : nullptr;
}

}  // namespace dwell
