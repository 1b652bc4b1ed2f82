// Static tables in real files (programs, stripped programs, objects, damaged files), and the output
// of `dwell sites` for them. The tables are assembler text (site_assembly.h), so every answer is
// known from it.
#include "summarize/symbols/site_tables.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "report/command/sites.h"
#include "summarize/formats/write_sites.h"
#include "tests/unit/support/example_program.h"

namespace dwell {
namespace {

const StaticSite* find(const SiteTable& table, SiteKind kind, const std::string& name, int line) {
    for (const StaticSite& site : table.sites) {
        if (site.kind == kind && site.name == name && site.line == static_cast<uint32_t>(line)) {
            return &site;
        }
    }
    return nullptr;
}

void expect_example(const ExampleProgram& example, const SiteTable& table) {
    ASSERT_EQ(table.state, SiteTableState::kRead);
    EXPECT_EQ(table.unread_units, 0u);
    ASSERT_EQ(table.units.size(), 1u);
    EXPECT_EQ(table.units[0].compiler, "gcc 12.2.0");
    EXPECT_EQ(table.units[0].file, ExampleProgram::source());
    EXPECT_EQ(table.units[0].directory, "/build");
    EXPECT_EQ(table.units[0].loops_seen, 3u);
    EXPECT_EQ(table.units[0].procedures_seen, 7u);
    ASSERT_EQ(table.sites.size(), 15u);
    const StaticSite* p3 = find(table, SiteKind::kProcedure, "p3", example.line("p3"));
    const StaticSite* loop1 = find(table, SiteKind::kLoop, "loop", example.line("loop1"));
    const StaticSite* loop2 = find(table, SiteKind::kLoop, "loop", example.line("loop2"));
    const StaticSite* e2 = find(table, SiteKind::kCommunication, "MPI_Recv", example.line("e2"));
    const StaticSite* p4 = find(table, SiteKind::kProcedure, "p4", example.line("p4"));
    ASSERT_TRUE(p3 != nullptr && loop1 != nullptr && loop2 != nullptr && e2 != nullptr);
    ASSERT_NE(p4, nullptr);
    EXPECT_EQ(p3->enclosing, kNoSite);
    EXPECT_EQ(p3->end_line, static_cast<uint32_t>(example.line("end p3")));
    EXPECT_EQ(p3->file, ExampleProgram::source());
    EXPECT_TRUE(p3->has_probes);
    EXPECT_EQ(&table.sites[loop1->enclosing], p3);
    EXPECT_EQ(&table.sites[loop2->enclosing], loop1);
    EXPECT_EQ(&table.sites[e2->enclosing], loop1);
    EXPECT_FALSE(e2->has_probes);
    EXPECT_FALSE(p3->left_out());
    EXPECT_TRUE(p4->left_out());
}

TEST(SiteTables, OfAProgram) {
    ExampleProgram example;
    ASSERT_EQ(example.build(), "");
    const SiteTable table = read_site_table(example.file(), build_id_of(example.file()));
    expect_example(example, table);
    for (const char* site : {"main", "loop2", "p4"}) {
        const StaticSite* found = table.at(example.row(site));
        ASSERT_NE(found, nullptr) << site;
        EXPECT_EQ(found, &table.sites[static_cast<size_t>(example.number(site))]);
    }
    EXPECT_EQ(table.at(example.row("main") + 1), nullptr);
}

TEST(SiteTables, OfEveryKindOfFile) {
    for (const char* flags :
         {"-O0 -g -static", "-O2 -no-pie", "-static-pie", "-shared -fPIC", "-r -nostdlib"}) {
        SCOPED_TRACE(flags);
        ExampleProgram example;
        ASSERT_EQ(example.build(flags), "");
        expect_example(example, read_site_table(example.file(), ""));
    }
    ExampleProgram stripped;
    ASSERT_EQ(stripped.build(), "");
    ASSERT_EQ(run("strip '" + stripped.file() + "'"), "");
    expect_example(stripped, read_site_table(stripped.file(), ""));
    ASSERT_EQ(run("gcc -c -o '" + stripped.in_folder("table.o") + "' '" +
                  stripped.in_folder("table.s") + "'"),
              "");
    expect_example(stripped, read_site_table(stripped.in_folder("table.o"), ""));
}

TEST(SiteTables, FilesWithoutATable) {
    ScratchFolder folder;
    ASSERT_EQ(
        run("gcc -shared -o '" + (folder / "plain.so") + "' '" + fixture("mpi_names.c") + "'"), "");
    EXPECT_EQ(read_site_table(folder / "plain.so", "").state, SiteTableState::kNone);
    EXPECT_EQ(read_site_table(folder / "missing", "").state, SiteTableState::kMissing);
    EXPECT_EQ(read_site_table(fixture("mpi_names.c"), "").state, SiteTableState::kMissing);
    ExampleProgram example;
    ASSERT_EQ(example.build(), "");
    std::string other = build_id_of(example.file());
    other[0] = static_cast<char>(other[0] ^ 1);
    EXPECT_EQ(read_site_table(example.file(), other).state, SiteTableState::kChanged);
}

TEST(SiteTables, AnotherVersionIsLeftOut) {
    ScratchFolder folder;
    SiteAssembly known("known", "a.cpp", "/src");
    known.add({SiteKind::kProcedure, "_ZN2ns4stepEi.constprop.0", 7});
    known.write(folder / "known.s");
    SiteAssembly newer("newer", "b.cpp", "/src");
    newer.add({SiteKind::kProcedure, "later", 8});
    newer.write(folder / "newer.s", kSiteTableVersion + 1);
    ASSERT_EQ(run("cd '" + (folder / "") + "' && gcc -shared -o both.so newer.s known.s"), "");
    const SiteTable table = read_site_table(folder / "both.so", "");
    EXPECT_EQ(table.unread_units, 1u);
    ASSERT_EQ(table.sites.size(), 1u);
    EXPECT_EQ(table.sites[0].name, "ns::step(int)");
    EXPECT_EQ(table.sites[0].file, "/src/a.cpp");
}

TEST(SiteTables, NamesOfFortran) {
    ScratchFolder folder;
    SiteAssembly unit("unit", "heat.F90", "/src");
    unit.add({SiteKind::kProcedure, "__heat_MOD_step", 1});
    unit.add({SiteKind::kProcedure, "work_", 2});
    unit.add({SiteKind::kProcedure, "inner.3", 3});
    unit.add({SiteKind::kProcedure, "step_._omp_fn.1", 4});
    unit.add({SiteKind::kCommunication, "mpi_send_", 5, 1});
    unit.add({SiteKind::kCommunication, "mpi_allreduce_f08_", 6, 1});
    unit.add({SiteKind::kCommunication, "mpi_comm_rank_f08_", 6, 1});
    unit.add({SiteKind::kCommunication, "PMPI_Win_fence", 6, 1});
    unit.add({SiteKind::kCall, "", 7, 1});
    unit.write(folder / "unit.s");
    ASSERT_EQ(run("cd '" + (folder / "") + "' && gcc -c unit.s"), "");
    std::vector<std::string> names;
    for (const StaticSite& site : read_site_table(folder / "unit.o", "").sites) {
        names.push_back(site.name);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"heat::step", "work", "inner", "step_._omp_fn.1",
                                               "MPI_Send", "MPI_Allreduce", "MPI_Comm_rank",
                                               "MPI_Win_fence", "(pointer)"}));
}

// The same template in two units, one of which has no probes for it.
TEST(SiteTables, DuplicatesOnce) {
    ScratchFolder folder;
    for (const char* name : {"one", "two"}) {
        SiteAssembly unit(name, "grid.h", "/src");
        const int sum = unit.add({SiteKind::kProcedure, "_Z3sumIiEiT_", 3});
        unit.add({SiteKind::kLoop, "", 4, sum, name == std::string("two")});
        unit.add({SiteKind::kLoop, "", 4, sum, false, 0, 0, 9});  // a second loop on that line
        unit.write(folder / (name + std::string(".s")));
    }
    ASSERT_EQ(run("cd '" + (folder / "") + "' && gcc -shared -o both.so one.s two.s"), "");
    const SiteTable all = read_site_table(folder / "both.so", "");
    EXPECT_EQ(all.sites.size(), 6u);
    const SiteTable table = without_duplicates(all);
    ASSERT_EQ(table.sites.size(), 3u);
    EXPECT_EQ(table.sites[1].enclosing, 0u);
    EXPECT_TRUE(table.sites[1].has_probes);
    EXPECT_EQ(table.sites[2].column, 9u);
    EXPECT_EQ(table.at(all.sites[4].offset), &table.sites[1]);
}

TEST(SiteTables, DamageNeverHarms) {
    ExampleProgram example;
    ASSERT_EQ(example.build("-shared -fPIC"), "");
    std::ifstream in(example.file(), std::ios::binary);
    const std::string good((std::istreambuf_iterator<char>(in)), {});
    const auto try_bytes = [&](const std::string& bytes) {
        std::ofstream(example.in_folder("damaged"), std::ios::binary) << bytes;
        const SiteTable table =
            without_duplicates(read_site_table(example.in_folder("damaged"), ""));
        for (uint32_t i = 0; i < table.sites.size(); ++i) {
            EXPECT_TRUE(table.sites[i].enclosing == kNoSite || table.sites[i].enclosing < i);
        }
        sites_text({"damaged", table}, true, false);
    };
    std::mt19937 random(1);
    const uint64_t first = example.row("main") - sizeof(UnitRow);
    for (int round = 0; round < 300; ++round) {
        std::string bytes = good;
        // Changes the table, whose file offset is its address here, or the file's headers.
        const bool in_table = round % 2 == 0;
        const size_t start = in_table ? first : 0;
        const size_t length = in_table ? 16 * sizeof(SiteRow) : 64;
        ASSERT_LE(start + length, bytes.size());
        for (int i = 0; i < 4; ++i) bytes[start + random() % length] = static_cast<char>(random());
        try_bytes(bytes);
    }
    for (size_t size = 0; size < good.size(); size += 97) try_bytes(good.substr(0, size));
}

constexpr const char* kExampleTree =
    R"(example: 4 of 5 procedures with probes, 1 too small; 2 of 2 loops with probes; 6 call and 2 communication statements
main  example.c:10-14
|- call p1  example.c:11
`- call p2  example.c:12
p1  example.c:16-18
`- call p3  example.c:17
p2  example.c:20-22
`- call p3  example.c:21
p3  example.c:24-33
|- MPI_Send  example.c:25
|- call p4  example.c:26
`- loop  example.c:27
   |- MPI_Recv  example.c:28
   `- loop  example.c:29
      `- call p4  example.c:30
p4  example.c:35  (no probes: too small)
)";

// The tables of the paper's figure 13, in its order: PL, PCom, PC, LL, LCom, LC.
constexpr const char* kExampleRelations = R"(example
procedure-loop
  p3  example.c:24-33  ->  loop  example.c:27
procedure-communication
  p3  example.c:24-33  ->  MPI_Send  example.c:25
procedure-call
  main  example.c:10-14  ->  call p1  example.c:11  ->  example.c:16-18
  main  example.c:10-14  ->  call p2  example.c:12  ->  example.c:20-22
  p1  example.c:16-18  ->  call p3  example.c:17  ->  example.c:24-33
  p2  example.c:20-22  ->  call p3  example.c:21  ->  example.c:24-33
  p3  example.c:24-33  ->  call p4  example.c:26  ->  example.c:35
loop-loop
  loop  example.c:27  ->  loop  example.c:29
loop-communication
  loop  example.c:27  ->  MPI_Recv  example.c:28
loop-call
  loop  example.c:29  ->  call p4  example.c:30  ->  example.c:35
)";

TEST(Sites, TextAndRelations) {
    ExampleProgram example;
    ASSERT_EQ(example.build(), "");
    const SitesFile file = {"example", without_duplicates(read_site_table(example.file(), ""))};
    EXPECT_EQ(sites_text(file, false, false), kExampleTree);
    EXPECT_EQ(relations_text(file, false), kExampleRelations);
    const std::string left_out = sites_text(file, false, true);
    EXPECT_EQ(left_out.substr(left_out.find('\n') + 1),
              "p4  example.c:35  (no probes: too small)\n");
}

TEST(Sites, CsvAndJson) {
    ExampleProgram example;
    ASSERT_EQ(example.build(), "");
    const std::vector<SitesFile> files = {
        {"a,b", without_duplicates(read_site_table(example.file(), ""))}};
    const std::string csv = write_sites_csv(files);
    EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 15);
    EXPECT_NE(csv.find("\"a,b\",9,loop,loop,," + ExampleProgram::source() + ",29,0,0,8,1,\r\n"),
              std::string::npos)
        << csv;
    EXPECT_NE(csv.find(",p4,p4," + ExampleProgram::source() + ",35,0,0,,0,small\r\n"),
              std::string::npos);
    const std::string relations = write_relations_csv(files);
    EXPECT_EQ(std::count(relations.begin(), relations.end(), '\n'), 1 + 10);
    EXPECT_NE(
        relations.find("\"a,b\",loop-call,loop," + ExampleProgram::source() + ",29,p4," +
                       ExampleProgram::source() + ",30," + ExampleProgram::source() + ",35\r\n"),
        std::string::npos);
    const auto json = nlohmann::json::parse(write_sites_json(files));
    EXPECT_EQ(json["dwell_sites"], 1);
    const auto& module = json["modules"][0];
    EXPECT_EQ(module["units"][0]["procedures_seen"], 7);
    ASSERT_EQ(module["sites"].size(), 15u);
    EXPECT_EQ(module["sites"][9]["kind"], "loop");
    EXPECT_EQ(module["sites"][9]["enclosing"], 8);
    EXPECT_TRUE(module["sites"][0]["enclosing"].is_null());
    EXPECT_EQ(module["sites"][14]["flags"], nlohmann::json({"small"}));
    EXPECT_EQ(module["sites"][14]["probes"], false);
}

}  // namespace
}  // namespace dwell
