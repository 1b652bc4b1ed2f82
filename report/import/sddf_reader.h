// Reads Pablo's self-describing data format (SDDF), ASCII and binary, as far as report/export
// writes it: the types char, int and double, arrays of one dimension.
#ifndef DWELL_REPORT_IMPORT_SDDF_READER_H_
#define DWELL_REPORT_IMPORT_SDDF_READER_H_

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace dwell {

struct SddfReadField {
    std::string name;
    int type = 0;  // of the binary form: 0 char, 1 int, 3 double
    bool is_array = false;
};
struct SddfReadType {
    std::string name;
    std::vector<SddfReadField> fields;
};
struct SddfValue {
    std::string text{};             // of characters
    std::vector<double> numbers{};  // one, or the cells of an array
    uint64_t ns = 0;                // of a real number: as seconds
};

class SddfRecord {
  public:
    const std::string& name() const { return type->name; }
    // Null: it has no such field.
    const SddfValue* find(const char* field) const;

    const SddfReadType* type = nullptr;
    std::vector<SddfValue> values{};
};

class SddfReader {
  public:
    explicit SddfReader(const std::string& path);
    ~SddfReader();
    SddfReader(const SddfReader&) = delete;
    SddfReader& operator=(const SddfReader&) = delete;

    // The next data record. False at the end, and at an error.
    bool next(SddfRecord* record);
    // Attributes so far.
    const std::map<std::string, std::string>& attributes() const { return attributes_; }
    const std::string& error() const { return error_; }
    bool fail(const std::string& what);

  private:
    enum class Token : uint8_t { kEnd, kText, kWord, kSign };

    bool read_head();
    bool next_text_record(SddfRecord* record);
    bool next_binary_record(SddfRecord* record);
    bool read_attributes();
    bool read_descriptor();
    bool read_value(const SddfReadField& field, SddfValue* value);
    bool read_number(const SddfReadField& field, SddfValue* value);
    int get();
    Token take();
    bool expect(char sign);
    bool expect_end();

    bool read_packet_attributes();
    bool read_packet_descriptor(int32_t tag);
    bool read_packet_data(int32_t tag, SddfRecord* record);
    template <typename T>
    bool get_number(T* value);
    bool get_string(std::string* text);

    std::string path_;
    std::FILE* file_;
    bool is_binary_ = false;
    bool is_swapped_ = false;
    bool has_head_ = false;
    uint64_t line_ = 1;
    uint64_t begin_line_ = 1;  // of what is being read
    uint64_t offset_ = 0;      // of the packet
    std::string token_{};
    std::string packet_{};
    size_t at_ = 0;
    std::string error_{};
    std::map<std::string, std::string> attributes_{};
    std::map<std::string, SddfReadType> types_{};
    std::map<int32_t, std::string> names_{};  // of types, by tag
};

}  // namespace dwell

#endif  // DWELL_REPORT_IMPORT_SDDF_READER_H_
