// Lines of PICL's format; see picl_records.h.
#include "summarize/formats/picl_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "runtime/contract/io_calls.h"
#include "runtime/contract/mpi_calls.h"

namespace dwell {
namespace {

// Table 4: these need no label.
constexpr std::array kStandardEvents = {
    -11, -12, -13, -14, -21,  -27,  -28,  -29,  -30,  -31,  -51,  -52,  -53,  -54,  -55,  -56, -57,
    -58, -59, -60, -61, -201, -202, -221, -251, -401, -402, -501, -502, -503, -601, -602, -603};

std::string ascii(std::string_view words) {
    std::string text;
    for (const char c : words) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x80 && byte < 0xc0) continue;  // later bytes of a UTF-8 character
        text += byte >= 0x20 && byte < 0x7f ? c : '?';
    }
    return text;
}

}  // namespace

std::string picl_clock(int64_t ns) {
    const uint64_t size = ns < 0 ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
    return fmt::format("{}{}.{:09}", ns < 0 ? "-" : "", size / 1'000'000'000, size % 1'000'000'000);
}

std::string_view picl_label(int event) {
    if (std::find(kStandardEvents.begin(), kStandardEvents.end(), event) != kStandardEvents.end())
        return {};
    for (int i = 0; i < kEventNameCount; ++i) {
        if (kEventNames[i].event == event) return kEventNames[i].name;
    }
    for (const IoEventName& known : kIoEventNames) {
        if (known.event == event) return known.name;
    }
    return {};
}

std::string picl_mark(PiclRecordType record, int event, const PiclLocation& at) {
    return fmt::format("{} {} {} {} {} 0\n", static_cast<int>(record), event, at.clock,
                       at.processor, at.process);
}

std::string picl_text(PiclRecordType record, int event, const PiclLocation& at,
                      std::string_view words) {
    const std::string text = ascii(words);
    return fmt::format("{} {} {} {} {} {} {} {}\n", static_cast<int>(record), event, at.clock,
                       at.processor, at.process, text.size(), kPiclCharacters, text);
}

}  // namespace dwell
