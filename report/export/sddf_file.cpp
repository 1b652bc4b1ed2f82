// Spelling and bytes of SDDF; see sddf_file.h.
#include "report/export/sddf_file.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

namespace dwell {
namespace {

constexpr size_t kSddfBuffer = 1 << 16;
constexpr uint64_t kLargestExact = uint64_t{1} << 53;  // of whole numbers as double
constexpr uint64_t kNsPerSecond = 1'000'000'000;

const char* type_name(SddfType type) {
    switch (type) {
        case SddfType::kChar:
            return "char";
        case SddfType::kInt:
            return "int";
        default:
            return "double";
    }
}

class AsciiFile : public SddfFile {
  public:
    using SddfFile::SddfFile;

    void put_head(const SddfAttributes& attributes) override {
        text_ += "SDDFA\n/*\n";
        for (const auto& [key, value] : attributes)
            text_ += fmt::format(" * \"{}\" \"{}\"\n", sddf_text(key), sddf_text(value));
        text_ += " */ ;;\n\n";
    }
    void put_descriptor(const SddfDescriptor& descriptor) override {
        text_ += fmt::format("#{}:\n\"{}\" {{\n", descriptor.tag, descriptor.name);
        for (const SddfField& field : descriptor.fields) {
            text_ += fmt::format("\t{}\t\"{}\"{};\n", type_name(field.type), field.name,
                                 field.is_array ? "[]" : "");
        }
        text_ += "};;\n\n";
    }

    void begin(const SddfDescriptor& descriptor) override {
        text_ += '"';
        text_ += descriptor.name;
        text_ += "\" {";
        is_first_ = true;
    }
    void put_int(int32_t value) override {
        separate();
        append(value);
    }
    void put_number(uint64_t value) override {
        if (value > kLargestExact) rounded_ += 1;
        separate();
        append(value);
        text_ += ".0";
    }
    void put_seconds(uint64_t ns) override {
        separate();
        append(ns / kNsPerSecond);
        text_ += ".000000000";
        uint64_t fraction = ns % kNsPerSecond;
        for (size_t at = text_.size() - 1; fraction != 0; --at, fraction /= 10)
            text_[at] = static_cast<char>('0' + fraction % 10);
    }
    void put_text(std::string_view text) override {
        const std::string plain = text.empty() ? "-" : sddf_text(text);
        separate();
        text_ += fmt::format("[{}] {{ \"{}\" }}", plain.size(), plain);
    }
    void put_ints(const std::vector<int32_t>& values) override {
        separate();
        text_ += fmt::format("[{}] {{ {} }}", values.size(), fmt::join(values, ", "));
    }
    void end() override {
        text_ += " };;\n";
        flush_if_full();
    }

  private:
    void separate() {
        text_ += is_first_ ? " " : ", ";
        is_first_ = false;
    }
    template <typename Number>
    void append(Number number) {
        const fmt::format_int digits(number);
        text_.append(digits.data(), digits.size());
    }
    bool is_first_ = true;
};

// In the byte order of this machine, which the head names.
class BinaryFile : public SddfFile {
  public:
    using SddfFile::SddfFile;

    void put_head(const SddfAttributes& attributes) override {
        constexpr char kLittle = std::endian::native == std::endian::little ? 1 : 0;
        constexpr char kHead[] = {'S',
                                  'D',
                                  'D',
                                  'F',
                                  'B',
                                  19,
                                  kLittle,
                                  0,
                                  0,
                                  0,  // integers, single and double precision
                                  0,
                                  0,  // extra; characters are ASCII
                                  sizeof(char),
                                  sizeof(short),
                                  sizeof(int),
                                  sizeof(long),
                                  sizeof(float),
                                  sizeof(double),
                                  sizeof(long double)};
        static_assert(sizeof kHead == 19);
        text_.append(kHead, sizeof kHead);
        begin_packet(kAttributes, 0);
        append_int(attributes.size());
        for (const auto& [key, value] : attributes) {
            append_string(sddf_text(key));
            append_string(sddf_text(value));
        }
        end();
    }
    void put_descriptor(const SddfDescriptor& descriptor) override {
        begin_packet(kDescriptor, descriptor.tag);
        append_string(descriptor.name);
        append_int(0);  // attributes
        append_int(descriptor.fields.size());
        for (const SddfField& field : descriptor.fields) {
            append_string(field.name);
            append_int(0);  // attributes
            append_int(static_cast<size_t>(field.type));
            append_int(field.is_array ? 1 : 0);  // dimensions
        }
        end();
    }

    void begin(const SddfDescriptor& descriptor) override { begin_packet(kData, descriptor.tag); }
    void put_int(int32_t value) override { append(value); }
    void put_number(uint64_t value) override {
        if (value > kLargestExact) rounded_ += 1;
        append(static_cast<double>(value));
    }
    void put_seconds(uint64_t ns) override {
        append(static_cast<double>(ns) / static_cast<double>(kNsPerSecond));
    }
    void put_text(std::string_view text) override {
        append_string(text.empty() ? "-" : sddf_text(text));
    }
    void put_ints(const std::vector<int32_t>& values) override {
        append_int(values.size());
        for (const int32_t value : values) append(value);
    }
    // The length of a packet includes its own.
    void end() override {
        const auto length = static_cast<int32_t>(text_.size() - packet_);
        memcpy(text_.data() + packet_, &length, sizeof length);
        flush_if_full();
    }

  private:
    enum Kind : int32_t { kAttributes = 1, kDescriptor = 2, kData = 3 };

    void begin_packet(Kind kind, int32_t tag) {
        packet_ = text_.size();
        append(int32_t{0});
        append(static_cast<int32_t>(kind));
        append(tag);
    }
    template <typename T>
    void append(T value) {
        char bytes[sizeof value];
        memcpy(bytes, &value, sizeof value);
        text_.append(bytes, sizeof bytes);
    }
    void append_int(size_t value) { append(static_cast<int32_t>(value)); }
    // A string, and an array of characters, alike: their number, then they themselves.
    void append_string(std::string_view text) {
        append_int(text.size());
        text_ += text;
    }
    size_t packet_ = 0;
};

}  // namespace

Outcome SddfFile::close() {
    out_.write(text_);
    return out_.close();
}

void SddfFile::flush_if_full() {
    if (text_.size() < kSddfBuffer) return;
    out_.write(text_);
    text_.clear();
}

std::unique_ptr<SddfFile> sddf_ascii(const std::string& path) {
    return std::make_unique<AsciiFile>(path);
}
std::unique_ptr<SddfFile> sddf_binary(const std::string& path) {
    return std::make_unique<BinaryFile>(path);
}

std::string sddf_text(std::string_view text) {
    std::string plain;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x80 && byte < 0xc0) continue;  // later bytes of a UTF-8 character
        plain += byte < 0x20 || byte >= 0x7f ? '?' : c;
        if (c == '"' || c == '\\') plain.back() = '\'';
    }
    return plain;
}

}  // namespace dwell
