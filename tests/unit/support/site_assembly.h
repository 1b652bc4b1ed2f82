// Static tables as assembler text (runtime/contract/site_table.h), for tests that need them in a
// real file without a compiler that makes them. Each row has a global label, so that nm shows its
// address.
#ifndef DWELL_TESTS_UNIT_SITE_ASSEMBLY_H_
#define DWELL_TESTS_UNIT_SITE_ASSEMBLY_H_

#include <fstream>
#include <string>
#include <vector>

#include "runtime/contract/site_table.h"

namespace dwell {

class SiteAssembly {
  public:
    struct Row {
        SiteKind kind;
        std::string name;
        int line = 0;
        int enclosing = -1;  // number of a row; -1: none
        bool probes = false;
        unsigned flags = 0;
        int end_line = 0;
        int column = 0;
    };

    // `unit` distinguishes the labels of several units.
    SiteAssembly(std::string unit, std::string file, std::string directory)
        : unit_(std::move(unit)), file_(std::move(file)), directory_(std::move(directory)) {}

    // Returns the number of the row.
    int add(const Row& row) {
        rows_.push_back(row);
        return static_cast<int>(rows_.size() - 1);
    }
    std::string label(int row) const { return "row_" + unit_ + "_" + std::to_string(row); }

    void write(const std::string& path, int version = kSiteTableVersion) const {
        std::ofstream out(path);
        out << "\t.section .rodata.str1.1,\"aMS\",@progbits,1\n";
        std::string texts;
        const auto text = [&](const std::string& name, const std::string& value) {
            out << name << ":\t.string \"" << value << "\"\n";
        };
        text(".Lcompiler", "gcc 12.2.0");
        text(".Lfile", file_);
        text(".Ldirectory", directory_);
        for (size_t i = 0; i < rows_.size(); ++i) {
            if (!rows_[i].name.empty()) text(".Lname" + std::to_string(i), rows_[i].name);
        }
        out << "\t.section dwell_levels,\"aw\",@progbits\n.Llevels:\n\t.zero " << rows_.size() + 1
            << "\n";
        out << "\t.section dwell_sites,\"a\",@progbits\n\t.balign 32\n";
        out << "\t.long .Lcompiler-.,.Lfile-.,.Ldirectory-.," << rows_.size() << ",0\n";
        out << "\t.byte 1,0\n\t.short " << version << "\n\t.long 3,7\n";
        for (size_t i = 0; i < rows_.size(); ++i) write_row(i, &out);
        // What leads to the library.
        out << "\t.weak gnu_get_libc_release\n\t.data\n\t.quad gnu_get_libc_release\n";
        out << "\t.section .note.GNU-stack,\"\",@progbits\n";
    }

  private:
    void write_row(size_t i, std::ofstream* out) const {
        const Row& row = rows_[i];
        const std::string name = label(static_cast<int>(i));
        *out << "\t.globl " << name << "\n\t.hidden " << name << "\n" << name << ":\n";
        const std::string text = ".Lname" + std::to_string(i) + "-.";
        *out << "\t.long " << (row.name.empty() ? "0" : text) << "\n\t.long .Lfile-.\n";
        *out << "\t.long " << row.line << ","
             << (row.enclosing < 0 ? 0 : row.enclosing - static_cast<int>(i)) << "\n";
        const std::string level = ".Llevels+" + std::to_string(i) + "-.";
        *out << "\t.long " << (row.probes ? level : "0") << "\n";
        *out << "\t.byte " << static_cast<int>(row.kind) << "," << row.flags << "\n\t.short "
             << row.column << "\n\t.long " << row.end_line << ",0\n";
    }

    std::string unit_;
    std::string file_;
    std::string directory_;
    std::vector<Row> rows_;
};

}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_SITE_ASSEMBLY_H_
