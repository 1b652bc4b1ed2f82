// Files in Pablo's self-describing data format (SDDF), ASCII and binary: attributes, then
// descriptors of records, then data. They stay inside what every known reader takes: the types
// char, int and double, no exponents, no empty arrays.
#ifndef DWELL_REPORT_EXPORT_SDDF_FILE_H_
#define DWELL_REPORT_EXPORT_SDDF_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/export/exporters.h"

namespace dwell {

enum class SddfType : int32_t { kChar = 0, kInt = 1, kDouble = 3 };  // numbers of the binary form
struct SddfField {
    const char* name;
    SddfType type;
    bool is_array = false;
};
struct SddfDescriptor {
    int32_t tag;
    std::string name;
    std::vector<SddfField> fields;
};
using SddfAttributes = std::vector<std::pair<std::string, std::string>>;

// Fields of a data record are put in the order of its descriptor.
class SddfFile {
  public:
    explicit SddfFile(const std::string& path) : out_(path) {}
    virtual ~SddfFile() = default;
    SddfFile(const SddfFile&) = delete;
    SddfFile& operator=(const SddfFile&) = delete;

    virtual void put_head(const SddfAttributes& attributes) = 0;
    virtual void put_descriptor(const SddfDescriptor& descriptor) = 0;

    virtual void begin(const SddfDescriptor& descriptor) = 0;
    virtual void put_int(int32_t value) = 0;
    // Whole numbers, which may not fit into an int.
    virtual void put_number(uint64_t value) = 0;
    virtual void put_seconds(uint64_t ns) = 0;
    virtual void put_text(std::string_view text) = 0;               // "-" where it is empty
    virtual void put_ints(const std::vector<int32_t>& values) = 0;  // at least one
    virtual void end() = 0;

    Outcome close();
    uint64_t rounded() const { return rounded_; }  // numbers that a double holds only nearly

  protected:
    void flush_if_full();
    std::string text_;  // to be written
    uint64_t rounded_ = 0;

  private:
    OutFile out_;
};

std::unique_ptr<SddfFile> sddf_ascii(const std::string& path);
std::unique_ptr<SddfFile> sddf_binary(const std::string& path);

// What both forms can say of a text: printable ASCII without quotes.
std::string sddf_text(std::string_view text);

}  // namespace dwell

#endif  // DWELL_REPORT_EXPORT_SDDF_FILE_H_
