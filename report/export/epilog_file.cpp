// Writes EPILOG's records that have continuations, and the number of events; see epilog_file.h.
#include "report/export/epilog_file.h"

#include <fmt/format.h>

#include <algorithm>

namespace dwell {

EpilogFile::EpilogFile(const std::string& path, bool is_big_endian, uint64_t events)
    : out_(path),
      path_(path),
      swaps_(is_big_endian != (std::endian::native == std::endian::big)),
      events_(events) {
    constexpr char kMajor = 1;
    constexpr char kMinor = 2;
    const char byte_order = is_big_endian ? 2 : 1;
    buffer_.append("EPILOG", sizeof "EPILOG");
    buffer_.append({kMajor, kMinor, byte_order});
}

// The zero byte comes once, at the end (section 4.1).
uint32_t EpilogFile::string(const std::string& text) {
    constexpr size_t kFirst = 250;
    constexpr size_t kMostRests = 255;
    constexpr size_t kLongest = kFirst + kMostRests * kLongestBody - 1;
    const auto [known, is_new] = strings_.emplace(text, static_cast<uint32_t>(strings_.size()));
    if (!is_new) return known->second;
    std::string whole = ascii_text(text);  // section 2
    if (whole.size() > kLongest) {
        strings_cut_ += 1;
        whole.resize(kLongest);
    }
    whole.push_back('\0');
    const size_t first = std::min(whole.size(), kFirst);
    const size_t rests = (whole.size() - first + kLongestBody - 1) / kLongestBody;
    begin(EpilogRecord::kString);
    ui4(known->second);
    ui1(static_cast<uint8_t>(rests));
    bytes(whole.data(), first);
    end();
    for (size_t at = first; at < whole.size(); at += kLongestBody) {
        begin(EpilogRecord::kStringRest);
        bytes(whole.data() + at, std::min(whole.size() - at, kLongestBody));
        end();
    }
    return known->second;
}

void EpilogFile::comm(uint32_t id, const std::vector<uint8_t>& group) {
    constexpr size_t kFirst = kLongestBody - 2 * sizeof(uint32_t);
    const auto* const bits = reinterpret_cast<const char*>(group.data());
    begin(EpilogRecord::kComm);
    ui4(id);
    ui4(static_cast<uint32_t>(group.size()));
    const size_t first = std::min(group.size(), kFirst);
    bytes(bits, first);
    end();
    for (size_t at = first; at < group.size(); at += kLongestBody) {
        begin(EpilogRecord::kCommRest);
        bytes(bits + at, std::min(group.size() - at, kLongestBody));
        end();
    }
}

void EpilogFile::end_definitions() {
    begin(EpilogRecord::kEventCount);
    ui4(0);
    end();
    count_at_ = out_.bytes() + buffer_.size() - sizeof(uint32_t);
    begin(EpilogRecord::kLastDefinition);
    end();
}

void EpilogFile::flush() {
    out_.write(buffer_);
    buffer_.clear();
}

Outcome EpilogFile::close() {
    flush();
    if (events_ > UINT32_MAX) {
        return out_.refuse(fmt::format("{}: EPILOG cannot count {} events (at most {})", path_,
                                       events_, UINT32_MAX));
    }
    begin(EpilogRecord::kEventCount);
    ui4(static_cast<uint32_t>(events_));
    out_.write_at(count_at_, std::string(record_ + 2, sizeof(uint32_t)));
    return out_.close();
}

}  // namespace dwell
