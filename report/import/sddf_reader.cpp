// Spelling and bytes of SDDF; see sddf_reader.h.
#include "report/import/sddf_reader.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>

namespace dwell {
namespace {

constexpr int kChar = 0;
constexpr int kInt = 1;
constexpr int kDouble = 3;
constexpr double kMostSeconds = 4e9;
constexpr int32_t kMostPacketBytes = 64 << 20;
constexpr size_t kPacketHead = 3 * sizeof(int32_t);

bool is_word(int c) { return isalnum(c) != 0 || c == '-' || c == '+' || c == '.' || c == '_'; }

// Nanoseconds of a decimal number of seconds, whose digits are not rounded.
uint64_t ns_of_text(const std::string& word, double seconds) {
    if (seconds < 0 || seconds > kMostSeconds) return 0;
    if (word.find_first_not_of("0123456789.") != std::string::npos)
        return static_cast<uint64_t>(std::llround(static_cast<long double>(seconds) * 1e9L));
    const size_t point = std::min(word.find('.'), word.size());
    uint64_t ns = 0;
    for (size_t i = 0; i < point; ++i) ns = ns * 10 + static_cast<uint64_t>(word[i] - '0');
    for (size_t i = 1; i <= 9; ++i)
        ns = ns * 10 + (point + i < word.size() ? static_cast<uint64_t>(word[point + i] - '0') : 0);
    return ns;
}

}  // namespace

const SddfValue* SddfRecord::find(const char* field) const {
    for (size_t i = 0; i < values.size(); ++i) {
        if (type->fields[i].name == field) return &values[i];
    }
    return nullptr;
}

SddfReader::SddfReader(const std::string& path) : path_(path), file_(fopen(path.c_str(), "re")) {
    if (file_ == nullptr) error_ = path + ": " + strerror(errno);
}

SddfReader::~SddfReader() {
    if (file_ != nullptr) fclose(file_);
}

bool SddfReader::fail(const std::string& what) {
    if (!error_.empty()) return false;
    error_ = is_binary_ ? path_ + ": byte " + std::to_string(offset_) + ": " + what
                        : path_ + ":" + std::to_string(begin_line_) + ": " + what;
    return false;
}

bool SddfReader::next(SddfRecord* record) {
    if (!error_.empty()) return false;
    if (!has_head_ && !read_head()) return false;
    return is_binary_ ? next_binary_record(record) : next_text_record(record);
}

bool SddfReader::read_head() {
    has_head_ = true;
    char head[19];
    if (fread(head, 1, 5, file_) != 5) return fail("this is no SDDF");
    if (memcmp(head, "SDDFA", 5) == 0) return true;
    is_binary_ = true;
    if (memcmp(head, "SDDFB", 5) != 0 || fread(head + 5, 1, 14, file_) != 14 || head[5] != 19)
        return fail("this is no SDDF");
    if (head[14] != sizeof(int32_t) || head[17] != sizeof(double) || head[7] != 0 || head[9] != 0)
        return fail("its numbers have sizes that dwell does not read");
    const bool is_little = head[6] != 0;
    is_swapped_ = is_little != (std::endian::native == std::endian::little);
    offset_ = sizeof head;
    return true;
}

int SddfReader::get() {
    const int c = getc(file_);
    if (c == '\n') line_ += 1;
    return c;
}

SddfReader::Token SddfReader::take() {
    for (;;) {
        int c = get();
        while (c != EOF && isspace(c) != 0) c = get();
        token_.clear();
        if (c == EOF) return Token::kEnd;
        if (c == '"') {
            for (c = get(); c != '"' && c != '\n' && c != EOF; c = get())
                token_ += static_cast<char>(c);
            if (c == '"') return Token::kText;
            fail("a text has no end");
            return Token::kEnd;
        }
        token_ = static_cast<char>(c);
        if (is_word(c)) {
            for (c = get(); c != EOF && is_word(c); c = get()) token_ += static_cast<char>(c);
            if (c == '\n') line_ -= 1;
            ungetc(c, file_);
            return Token::kWord;
        }
        if (c != '/') return Token::kSign;
        const int next = get();
        if (next == '*') {
            token_ = "/*";
            return Token::kSign;
        }
        if (next != '/') return Token::kSign;
        while (c != '\n' && c != EOF) c = get();
    }
}

bool SddfReader::expect(char sign) {
    return (take() == Token::kSign && token_[0] == sign) ||
           fail(std::string("'") + sign + "' is missing");
}
bool SddfReader::expect_end() { return expect(';') && expect(';'); }

bool SddfReader::next_text_record(SddfRecord* record) {
    for (;;) {
        const Token token = take();
        begin_line_ = line_;
        if (token == Token::kEnd) {
            if (ferror(file_) != 0) error_ = path_ + ": " + strerror(errno);
            return false;
        }
        if (token == Token::kSign && token_ == "/*") {
            if (!read_attributes()) return false;
        } else if (token == Token::kSign && token_ == "#") {
            if (!read_descriptor()) return false;
        } else if (token == Token::kText) {
            const auto known = types_.find(token_);
            if (known == types_.end()) return fail("nobody describes a record \"" + token_ + "\"");
            record->type = &known->second;
            record->values.assign(known->second.fields.size(), {});
            if (!expect('{')) return false;
            for (size_t i = 0; i < record->values.size(); ++i) {
                if (i != 0 && !expect(',')) return false;
                if (!read_value(known->second.fields[i], &record->values[i])) return false;
            }
            return expect('}') && expect_end();
        } else {
            return fail("a record begins with its name");
        }
    }
}

// Pairs of texts, between which stands anything.
bool SddfReader::read_attributes() {
    std::vector<std::string> texts;
    bool is_text = false;
    int before = 0;
    for (int c = get();; c = get()) {
        if (c == EOF) return fail("attributes have no end");
        if (c == '"') {
            if (!is_text) texts.emplace_back();
            is_text = !is_text;
        } else if (is_text) {
            texts.back() += static_cast<char>(c);
        } else if (before == '*' && c == '/') {
            break;
        }
        before = c;
    }
    for (size_t i = 0; i + 1 < texts.size(); i += 2) attributes_[texts[i]] = texts[i + 1];
    return expect_end();
}

bool SddfReader::read_descriptor() {
    SddfReadType type;
    if (take() != Token::kWord || !expect(':')) return fail("a descriptor has a number");
    if (take() != Token::kText) return fail("a descriptor has a name");
    type.name = token_;
    if (!expect('{')) return false;
    for (;;) {
        const Token token = take();
        begin_line_ = line_;
        if (token == Token::kSign && token_ == "}") break;
        SddfReadField field;
        field.type = token_ == "char" ? kChar : token_ == "int" ? kInt : kDouble;
        if (token != Token::kWord || (field.type == kDouble && token_ != "double"))
            return fail("a field has the type char, int or double");
        if (take() != Token::kText) return fail("a field has a name");
        field.name = token_;
        if (take() == Token::kSign && token_ == "[") {
            field.is_array = true;
            if (!expect(']') || !expect(';')) return false;
        } else if (token_ != ";") {
            return fail("';' is missing");
        }
        type.fields.push_back(field);
    }
    types_[type.name] = type;
    return expect_end();
}

bool SddfReader::read_value(const SddfReadField& field, SddfValue* value) {
    if (!field.is_array) return read_number(field, value);
    if (!expect('[')) return false;
    size_t count = 0;
    if (take() != Token::kWord) return fail("an array has a size");
    const auto [end, error] = std::from_chars(token_.data(), token_.data() + token_.size(), count);
    if (error != std::errc() || end != token_.data() + token_.size())
        return fail("an array has a size");
    if (!expect(']') || !expect('{')) return false;
    if (field.type == kChar) {
        if (take() != Token::kText || token_.size() != count)
            return fail("a text has another length than it says");
        value->text = token_;
        return expect('}');
    }
    for (size_t i = 0; i < count; ++i) {
        if (i != 0 && !expect(',')) return false;
        if (!read_number(field, value)) return false;
    }
    return expect('}');
}

bool SddfReader::read_number(const SddfReadField& field, SddfValue* value) {
    double number = 0;
    const bool is_number = take() == Token::kWord;
    const auto [end, error] = std::from_chars(token_.data(), token_.data() + token_.size(), number);
    if (!is_number || error != std::errc() || end != token_.data() + token_.size() ||
        !std::isfinite(number) || (field.type == kInt && number != std::floor(number))) {
        return fail("the field \"" + field.name + "\" should be a number");
    }
    value->numbers.push_back(number);
    value->ns = ns_of_text(token_, number);
    return true;
}

// A packet: its length, kind and tag, and a body.
bool SddfReader::next_binary_record(SddfRecord* record) {
    for (;;) {
        packet_.resize(kPacketHead);
        const size_t bytes = fread(packet_.data(), 1, kPacketHead, file_);
        if (bytes == 0 && feof(file_) != 0) return false;
        at_ = 0;
        int32_t length = 0;
        int32_t kind = 0;
        int32_t tag = 0;
        if (bytes != kPacketHead || !get_number(&length) || !get_number(&kind) ||
            !get_number(&tag)) {
            return fail("a packet is cut off");
        }
        if (length < static_cast<int32_t>(kPacketHead) || length > kMostPacketBytes)
            return fail("a packet has an impossible length");
        packet_.resize(static_cast<size_t>(length));
        const size_t rest = packet_.size() - kPacketHead;
        if (fread(packet_.data() + kPacketHead, 1, rest, file_) != rest)
            return fail("a packet is cut off");
        if (kind == 1 && !read_packet_attributes()) return fail("attributes are damaged");
        if (kind == 2 && !read_packet_descriptor(tag)) return fail("a descriptor is damaged");
        if (kind == 3 && !read_packet_data(tag, record)) return fail("a record is damaged");
        if (kind < 1 || kind > 4) return fail("a packet has an unknown kind");
        offset_ += packet_.size();
        if (kind == 3) return true;
    }
}

template <typename T>
bool SddfReader::get_number(T* value) {
    if (packet_.size() - at_ < sizeof *value) return false;
    char bytes[sizeof *value];
    memcpy(bytes, packet_.data() + at_, sizeof bytes);
    if (is_swapped_) std::reverse(bytes, bytes + sizeof bytes);
    memcpy(value, bytes, sizeof bytes);
    at_ += sizeof bytes;
    return true;
}

bool SddfReader::get_string(std::string* text) {
    int32_t bytes = 0;
    if (!get_number(&bytes) || bytes < 0 || packet_.size() - at_ < static_cast<size_t>(bytes))
        return false;
    text->assign(packet_, at_, static_cast<size_t>(bytes));
    at_ += static_cast<size_t>(bytes);
    return true;
}

bool SddfReader::read_packet_attributes() {
    int32_t count = 0;
    std::string key;
    std::string value;
    if (!get_number(&count)) return false;
    for (int32_t i = 0; i < count; ++i) {
        if (!get_string(&key) || !get_string(&value)) return false;
        attributes_[key] = value;
    }
    return true;
}

bool SddfReader::read_packet_descriptor(int32_t tag) {
    SddfReadType type;
    int32_t attributes = 0;
    int32_t fields = 0;
    const auto pass_attributes = [&] {
        std::string text;
        if (!get_number(&attributes)) return false;
        for (int32_t i = 0; i < attributes; ++i) {
            if (!get_string(&text) || !get_string(&text)) return false;
        }
        return true;
    };
    if (!get_string(&type.name) || !pass_attributes() || !get_number(&fields)) return false;
    for (int32_t i = 0; i < fields; ++i) {
        SddfReadField field;
        int32_t dimensions = 0;
        if (!get_string(&field.name) || !pass_attributes() || !get_number(&field.type) ||
            !get_number(&dimensions) || dimensions < 0 || dimensions > 1 ||
            (field.type != kChar && field.type != kInt && field.type != kDouble)) {
            return false;
        }
        field.is_array = dimensions == 1;
        type.fields.push_back(field);
    }
    names_[tag] = type.name;
    types_[type.name] = type;
    return true;
}

bool SddfReader::read_packet_data(int32_t tag, SddfRecord* record) {
    const auto name = names_.find(tag);
    if (name == names_.end()) return false;
    record->type = &types_.at(name->second);
    record->values.assign(record->type->fields.size(), {});
    for (size_t i = 0; i < record->values.size(); ++i) {
        const SddfReadField& field = record->type->fields[i];
        SddfValue& value = record->values[i];
        if (field.type == kChar) {
            if (!field.is_array || !get_string(&value.text)) return false;
            continue;
        }
        int32_t count = 1;
        if (field.is_array && !get_number(&count)) return false;
        for (int32_t cell = 0; cell < count; ++cell) {
            int32_t whole = 0;
            double real = 0;
            if (field.type == kInt ? !get_number(&whole) : !get_number(&real)) return false;
            const double number = field.type == kInt ? whole : real;
            if (!std::isfinite(number)) return false;
            value.numbers.push_back(number);
            if (number >= 0 && number <= kMostSeconds)
                value.ns =
                    static_cast<uint64_t>(std::llround(static_cast<long double>(number) * 1e9L));
        }
    }
    return at_ == packet_.size();
}

}  // namespace dwell
