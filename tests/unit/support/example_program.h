// fixtures/example.c, compiled, with the static table that a compiler plugin would give it: rows by
// name, lines by the comments that mark them, addresses by nm and objdump.
#ifndef DWELL_TESTS_UNIT_EXAMPLE_PROGRAM_H_
#define DWELL_TESTS_UNIT_EXAMPLE_PROGRAM_H_

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/unit/support/fixture_binary.h"
#include "tests/unit/support/site_assembly.h"

namespace dwell {

class ExampleProgram {
  public:
    ExampleProgram() : table_("example", source(), "/build") {
        add("main", SiteKind::kProcedure, "main", "main", "", true);
        add("call p1", SiteKind::kCall, "p1", "call p1", "main");
        add("call p2", SiteKind::kCall, "p2", "call p2", "main");
        add("p1", SiteKind::kProcedure, "p1", "p1", "", true);
        add("call p3 in p1", SiteKind::kCall, "p3", "call p3 in p1", "p1");
        add("p2", SiteKind::kProcedure, "p2", "p2", "", true);
        add("call p3 in p2", SiteKind::kCall, "p3", "call p3 in p2", "p2");
        add("p3", SiteKind::kProcedure, "p3", "p3", "", true);
        add("loop1", SiteKind::kLoop, "", "loop1", "p3", true);
        add("loop2", SiteKind::kLoop, "", "loop2", "loop1", true);
        add("e1", SiteKind::kCommunication, "MPI_Send", "e1", "p3");
        add("call p4", SiteKind::kCall, "p4", "call p4", "p3");
        add("e2", SiteKind::kCommunication, "MPI_Recv", "e2", "loop1");
        add("call p4 in loop2", SiteKind::kCall, "p4", "call p4 in loop2", "loop2");
        add("p4", SiteKind::kProcedure, "p4", "p4", "", false, kRowSmall);
    }

    // Empty, or an error.
    std::string build(const std::string& flags = "-O0 -g -Wl,--build-id") {
        table_.write(folder_ / "table.s");
        return run("cd '" + (folder_ / "") + "' && gcc " + flags + " -o example '" + source() +
                   "' '" + fixture("mpi_names.c") + "' table.s");
    }

    static std::string source() { return fixture("example.c"); }
    std::string file() const { return folder_ / "example"; }
    std::string in_folder(const std::string& name) const { return folder_ / name; }
    int line(const std::string& mark) const { return marked_line(source(), mark); }
    int number(const std::string& site) const { return numbers_.at(site); }

    // The offset of a row in the module.
    uint64_t row(const std::string& site) const {
        const std::string symbols = output_of("nm '" + file() + "'");
        const size_t at = symbols.find(" " + table_.label(number(site)) + "\n");
        return at == std::string::npos || at < 18
                   ? 0
                   : strtoull(symbols.substr(at - 18, 16).c_str(), nullptr, 16);
    }
    // Where the n-th call to `callee` in `function` returns to.
    uint64_t after(const std::string& function, const std::string& callee, int n = 0) const {
        const uint64_t address = Disassembly(file(), function).return_from(callee, n);
        EXPECT_NE(address, 0u) << function << " " << callee << " " << n;
        return address;
    }

  private:
    void add(const std::string& site, SiteKind kind, const std::string& name,
             const std::string& mark, const std::string& enclosing, bool probes = false,
             unsigned flags = 0) {
        SiteAssembly::Row row{kind, name, line(mark)};
        if (!enclosing.empty()) row.enclosing = number(enclosing);
        if (kind == SiteKind::kProcedure && line("end " + mark) != 0) {
            row.end_line = line("end " + mark);
        }
        row.probes = probes;
        row.flags = flags;
        numbers_[site] = table_.add(row);
    }

    ScratchFolder folder_;
    SiteAssembly table_;
    std::map<std::string, int> numbers_;
};

}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_EXAMPLE_PROGRAM_H_
