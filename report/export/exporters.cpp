// What the exporters share; see exporters.h.
#include "report/export/exporters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "report/filter/ring_records.h"
#include "runtime/contract/mpi_calls.h"

namespace dwell {

void OutFile::fail() { error_ = path_ + ": " + strerror(errno); }

LockNumbers::Acquisition LockNumbers::acquire(uint32_t process, uint32_t thread, uint64_t address) {
    const auto number = static_cast<uint32_t>(locks_.size());
    Lock& of = locks_.try_emplace({process, address}, Lock{number}).first->second;
    return {of.number, of.held[thread] = of.acquisitions++};
}

std::optional<LockNumbers::Acquisition> LockNumbers::release(uint32_t process, uint32_t thread,
                                                             uint64_t address) {
    const auto of = locks_.find({process, address});
    if (of == locks_.end()) return std::nullopt;
    const auto held = of->second.held.find(thread);
    if (held == of->second.held.end()) return std::nullopt;
    const Acquisition found{of->second.number, held->second};
    of->second.held.erase(held);
    return found;
}

namespace {

// Bytes of the UTF-8 character that begins there (RFC 3629); 0: none does.
size_t utf8_length(std::string_view text) {
    const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned char first = byte(0);
    const size_t length = first < 0x80    ? 1
                          : first < 0xc2  ? 0
                          : first < 0xe0  ? 2
                          : first < 0xf0  ? 3
                          : first <= 0xf4 ? 4
                                          : 0;
    if (length == 0 || length > text.size()) return 0;
    for (size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
    }
    const bool is_beyond = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) ||
                           (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f);
    return is_beyond ? 0 : length;
}

std::string plain_text(const std::string& text, bool is_ascii) {
    std::string plain;
    for (size_t at = 0; at < text.size();) {
        const size_t length = utf8_length(std::string_view(text).substr(at));
        const auto byte = static_cast<unsigned char>(text[at]);
        if (length == 0) {
            plain += is_ascii ? "?" : "\xef\xbf\xbd";
        } else if (byte < 0x20 || byte == 0x7f || (is_ascii && length > 1)) {
            plain += '?';
        } else {
            plain.append(text, at, length);
        }
        at += std::max<size_t>(length, 1);
    }
    return plain;
}

}  // namespace

std::string utf8_text(const std::string& text) { return plain_text(text, false); }
std::string ascii_text(const std::string& text) { return plain_text(text, true); }

std::string clock_label(const TimelineProcess& process) {
    if (process.clock_bound_ns <= 1) return "";
    return fmt::format("times right to {:.3f} us",
                       static_cast<double>(process.clock_bound_ns) / 1e3);
}

void UnsaidRecords::count(const Event& event) {
    const bool has_bytes = event.more >= 2 && (event.values[0] | event.values[1]) != 0;
    if (event.kind == EventKind::kOneSided) one_sided += 1;
    if (event.kind == EventKind::kStart || event.kind == EventKind::kComplete) requests += 1;
    if (event.kind == EventKind::kIo && has_bytes) io_sizes += 1;
    if (event.kind == EventKind::kSample) samples += 1;
}

std::string text_of_control(const Event& event) {
    if (is_control(event, EventControl::kGap)) {
        LostRecords lost;
        lost.add(event.values.data(), event.more);
        return fmt::format("{} records lost", lost.all());
    }
    if (is_control(event, EventControl::kOff)) return "events off";
    if (is_control(event, EventControl::kPaused)) return "nothing was recorded up to here";
    if (is_control(event, EventControl::kFlushed) && event.more >= 2)
        return fmt::format("ring flushed: {} bytes", event.values[1]);
    return "";
}

bool is_blocking_collective(const TimelinePlace& place) {
    if (place.kind != SiteKind::kCommunication || place.call >= kMpiCallCount) return false;
    const MpiCallInfo& call = kMpiCalls[place.call];
    const std::string_view name = call.name;
    return call.call_class == CallClass::kCollective && !name.starts_with("MPI_I") &&
           !name.ends_with("_init");
}

// In a filtered log messages have their numbers.
uint64_t MessageNumbers::of(uint32_t own, const Event& event) {
    if (event.more > 2) return event.values[2];
    const ChannelKey key = ChannelKey::of(own, event);
    Counts& counts = event.kind == EventKind::kSend ? sent_ : received_;
    constexpr uint64_t kCounted = uint64_t{1} << 59;  // a log may have numbers for a part alone
    return message_number(key.from, key.to, key.comm_and_tag, kCounted + counts[key]++);
}

}  // namespace dwell
