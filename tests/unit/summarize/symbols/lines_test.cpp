// Tests that addresses in freshly compiled fixtures resolve to the lines marked in their sources.
#include "summarize/symbols/lines.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>

#include "summarize/code/symbol_names.h"
#include "tests/unit/support/fixture_binary.h"

namespace dwell {
namespace {

struct Build {
    const char* compiler;
    const char* flags;
};

class Lines : public testing::Test {
  protected:
    // Compiles a shared object from one fixture; false (and the test skipped or failed) if that is
    // impossible.
    bool compile(const std::string& compiler, const std::string& source, const std::string& flags,
                 const std::string& name = "fixture.so") {
        file_ = folder_ / name;
        source_ = fixture(source);
        // In the folder, because compilers write .dwo and .mod files to the working directory.
        const std::string problem =
            run("cd '" + (folder_ / "") + "' && " + compiler + " -Wl,--build-id " + flags +
                " -shared -fPIC -o '" + file_ + "' '" + source_ + "'");
        EXPECT_EQ(problem, "");
        return problem.empty();
    }
    int line(const std::string& mark) {
        const int number = marked_line(source_, mark);
        EXPECT_NE(number, 0) << mark;
        return number;
    }
    uint64_t return_from(const std::string& function, const std::string& callee, int n = 0) {
        const uint64_t address = Disassembly(file_, function).return_from(callee, n);
        EXPECT_NE(address, 0u) << function << " " << callee;
        return address;
    }

    ScratchFolder folder_;
    std::string file_;
    std::string source_;
};

const char kStep[] = "_ZN6solver4Grid4stepEi";
const char kDrive[] = "_Z5drivePN6solver4GridE";

#define NEEDS(command) \
    if (!have_command(command)) GTEST_SKIP() << command << " is not installed"

std::vector<Build> builds(const char* gcc, const char* clang) {
    std::vector<Build> all;
    for (const char* flags : {"-O0 -gdwarf-4", "-O0 -gdwarf-5", "-O2 -gdwarf-4", "-O2 -gdwarf-5",
                              "-O2 -g -gsplit-dwarf"}) {
        all.push_back({gcc, flags});
        if (have_command(clang)) all.push_back({clang, flags});
    }
    return all;
}

TEST_F(Lines, CallInMemberFunction) {
    for (const Build& build : builds("g++", "clang++")) {
        SCOPED_TRACE(std::string(build.compiler) + " " + build.flags);
        ASSERT_TRUE(compile(build.compiler, "grid.cpp", build.flags));
        LineResolver lines;
        const uint32_t module = lines.add_module(file_, build_id_of(file_));
        const ResolvedAddress& found = lines.resolve_call(module, return_from(kStep, "MPI_Recv"));
        ASSERT_EQ(found.frames.size(), 1u);
        EXPECT_EQ(lines.state(module), ModuleState::kLines);
        EXPECT_EQ(found.labels, 0u);
        EXPECT_EQ(found.frames[0].function, "solver::Grid::step(int)");
        EXPECT_EQ(found.frames[0].symbol, kStep);
        EXPECT_EQ(found.frames[0].file, source_);
        EXPECT_EQ(found.frames[0].line, line("receive in step"));
        EXPECT_EQ(found.frames[0].function_file, source_);
        EXPECT_EQ(found.frames[0].function_line, line("begin step"));
    }
}

TEST_F(Lines, InlinedFramesFromTheOutermost) {
    for (const Build& build : builds("g++", "clang++")) {
        SCOPED_TRACE(std::string(build.compiler) + " " + build.flags);
        ASSERT_TRUE(compile(build.compiler, "grid.cpp", build.flags));
        LineResolver lines;
        const uint32_t module = lines.add_module(file_, build_id_of(file_));
        const ResolvedAddress& found =
            lines.resolve_communication(module, return_from(kStep, "MPI_Send"), "MPI_Send");
        ASSERT_EQ(found.frames.size(), 3u);
        EXPECT_EQ(found.labels, 0u);
        EXPECT_EQ(found.frames[0].function, "solver::Grid::step(int)");
        EXPECT_EQ(found.frames[0].line, line("call exchange"));
        EXPECT_FALSE(found.frames[0].inlined);
        EXPECT_NE(found.frames[1].function.find("exchange"), std::string::npos);
        EXPECT_EQ(found.frames[1].line, line("call pack"));
        EXPECT_EQ(found.frames[1].function_line, line("begin exchange"));
        EXPECT_TRUE(found.frames[1].inlined);
        EXPECT_NE(found.frames[2].function.find("pack"), std::string::npos);
        EXPECT_EQ(found.frames[2].line, line("send in pack"));
        EXPECT_EQ(found.frames[2].function_line, line("begin pack"));
        EXPECT_EQ(found.frames[2].file, source_);
        EXPECT_TRUE(found.frames[2].inlined);
    }
}

// A part that gcc splits off a function and inlines again is no call of that function.
TEST_F(Lines, APartOfAFunctionIsNoFrame) {
    for (const char* flags : {"-O2 -g", "-O3 -g"}) {
        SCOPED_TRACE(flags);
        ASSERT_TRUE(compile("gcc", "split_part.c", flags));
        LineResolver lines;
        const uint32_t module = lines.add_module(file_, build_id_of(file_));
        const ResolvedAddress& found = lines.resolve_call(module, return_from("residual", "take"));
        ASSERT_EQ(found.frames.size(), 2u);
        EXPECT_EQ(found.frames[0].function, "residual");
        EXPECT_EQ(found.frames[0].line, line("exchange in residual"));
        EXPECT_EQ(found.frames[1].function, "exchange");
        EXPECT_EQ(found.frames[1].line, line("in the part"));
    }
}

// The line of the construct, not of code inlined at its beginning. Also for a task that gcc makes a
// jump to a region with the same code, without a function of its own.
TEST_F(Lines, ConstructsOfGcc) {
    const std::vector<std::string> marks = {"first region", "second region", "third region",
                                            "fourth region", "task like the third region"};
    ASSERT_TRUE(compile("gcc", "constructs.c", "-g -O2 -fopenmp"));
    LineResolver lines;
    const uint32_t module = lines.add_module(file_, build_id_of(file_));
    for (size_t i = 0; i < marks.size(); ++i) {
        SCOPED_TRACE(marks[i]);
        const std::string symbol = "main._omp_fn." + std::to_string(i);
        const Disassembly code(file_, symbol);
        ASSERT_NE(code.start(), 0u);
        const ResolvedAddress& found = lines.resolve_call(module, code.start() + 1);
        ASSERT_EQ(found.frames.size(), 1u);
        EXPECT_EQ(found.labels, 0u);
        EXPECT_EQ(found.frames[0].symbol, symbol);
        EXPECT_EQ(found.frames[0].file, source_);
        EXPECT_EQ(found.frames[0].line, line(marks[i]));
    }
}

TEST_F(Lines, ReturnAddressOnTheNextLineBelongsToTheCall) {
    ASSERT_TRUE(compile("g++", "grid.cpp", "-O0 -g"));
    LineResolver lines;
    const uint32_t module = lines.add_module(file_, "");
    const uint64_t address = return_from(kDrive, kStep);
    EXPECT_EQ(lines.resolve_call(module, address).frames[0].line, line("call step"));
    EXPECT_EQ(lines.resolve(module, Disassembly(file_, kDrive).start()).frames[0].line,
              line("begin drive"));
}

TEST_F(Lines, LineTablesAlone) {
    for (const char* compiler : {"g++", "clang++"}) {
        if (!have_command(compiler)) continue;
        SCOPED_TRACE(compiler);
        ASSERT_TRUE(compile(compiler, "grid.cpp", "-O2 -g1"));
        LineResolver lines;
        const uint32_t module = lines.add_module(file_, "");
        const ResolvedAddress& found = lines.resolve_call(module, return_from(kStep, "MPI_Recv"));
        ASSERT_EQ(found.frames.size(), 1u);
        EXPECT_EQ(found.frames[0].function, "solver::Grid::step(int)");
        EXPECT_EQ(found.frames[0].line, line("receive in step"));
        EXPECT_EQ(found.frames[0].function_line, line("begin step"));
    }
}

// No function entry contains `drive`: clang writes one only where something was inlined, and with
// split DWARF these went with the .dwo. A row covers the addresses after its own.
TEST_F(Lines, RowsWithoutFunctions) {
    const std::vector<Build> all = {
        {"clang++", "-gline-tables-only"}, {"clang++", "-gmlt -gdwarf-4"}, {"clang++", "-g1"},
        {"clang++", "-g -gsplit-dwarf"},   {"g++", "-g -gsplit-dwarf"},    {"g++", "-g1"},
        {"g++", "-gdwarf-4 -gsplit-dwarf"}};
    for (const Build& build : all) {
        if (!have_command(build.compiler)) continue;
        SCOPED_TRACE(std::string(build.compiler) + " " + build.flags);
        ASSERT_TRUE(compile(build.compiler, "grid.cpp", std::string("-O0 ") + build.flags));
        ASSERT_EQ(run("rm -f '" + (folder_ / "") + "'*.dwo"), "");
        LineResolver lines;
        const uint32_t module = lines.add_module(file_, build_id_of(file_));
        const uint64_t back = return_from(kDrive, kStep);
        for (const ResolvedAddress* found :
             {&lines.resolve_call(module, back), &lines.resolve(module, back - 1),
              &lines.resolve_communication(module, back, "MPI_Send")}) {
            ASSERT_EQ(found->frames.size(), 1u);
            EXPECT_EQ(found->labels, 0u);
            EXPECT_EQ(found->frames[0].function, "drive(solver::Grid*)");
            EXPECT_EQ(found->frames[0].file, source_);
            EXPECT_EQ(found->frames[0].line, line("call step"));
            EXPECT_EQ(found->frames[0].function_file, source_);
            EXPECT_EQ(found->frames[0].function_line, line("begin drive"));
        }
        const auto& step = lines.resolve_call(module, return_from(kStep, "MPI_Recv"));
        EXPECT_EQ(step.frames.back().line, line("receive in step"));
        EXPECT_EQ(step.frames.front().function_line, line("begin step"));
    }
}

TEST_F(Lines, Fortran) {
    NEEDS("gfortran");
    for (const char* flags : {"-O0 -g", "-O2 -g -fno-inline"}) {
        SCOPED_TRACE(flags);
        ASSERT_TRUE(compile("gfortran", "heat.f90", flags));
        LineResolver lines;
        const uint32_t module = lines.add_module(file_, "");
        const auto& step = lines.resolve_communication(
            module, return_from("__heat_MOD_step", "mpi_send_"), "MPI_Send");
        EXPECT_EQ(step.labels, 0u);
        EXPECT_EQ(step.frames.back().function, "heat::step");
        EXPECT_EQ(step.frames.back().line, line("send in step"));
        EXPECT_EQ(step.frames.back().function_line, line("begin step"));
        const auto& smooth =
            lines.resolve_communication(module, return_from("smooth_", "mpi_recv_"), "MPI_Recv");
        EXPECT_EQ(smooth.frames.back().function, "smooth");
        EXPECT_EQ(smooth.frames.back().line, line("receive in smooth"));
        const auto& rod = lines.resolve_call(module, return_from("MAIN__", "smooth_"));
        EXPECT_EQ(rod.frames.back().function, "rod");
        EXPECT_TRUE(rod.frames.back().main_program);
        EXPECT_EQ(rod.frames.back().line, line("call smooth"));
        EXPECT_EQ(rod.frames.back().function_line, line("begin rod"));
    }
}

TEST_F(Lines, FortranContainedProcedure) {
    NEEDS("gfortran");
    ASSERT_TRUE(compile("gfortran", "heat.f90", "-O0 -g"));
    LineResolver lines;
    const auto& inner =
        lines.resolve_call(lines.add_module(file_, ""), return_from("inner.0", "mpi_wait_"));
    EXPECT_EQ(inner.frames.back().function, "inner");
    EXPECT_EQ(inner.frames.back().line, line("wait in inner"));
    EXPECT_EQ(inner.frames.back().function_line, line("begin inner"));
}

TEST_F(Lines, StrippedWithDebugLink) {
    ASSERT_TRUE(compile("g++", "grid.cpp", "-O2 -g"));
    const uint64_t address = return_from(kStep, "MPI_Recv");
    const int expected = line("receive in step");
    const std::string debug = folder_ / "fixture.so.debug";
    ASSERT_EQ(run("objcopy --only-keep-debug " + file_ + " " + debug + " && objcopy --strip-all " +
                  "--add-gnu-debuglink=" + debug + " " + file_),
              "");
    {
        LineResolver lines;
        const uint32_t module = lines.add_module(file_, "");
        EXPECT_EQ(lines.resolve_call(module, address).frames[0].line, expected);
        EXPECT_EQ(lines.state(module), ModuleState::kLines);
    }
    std::filesystem::create_directory(folder_ / ".debug");
    std::filesystem::rename(debug, folder_ / ".debug/fixture.so.debug");
    LineResolver lines;
    EXPECT_EQ(lines.resolve_call(lines.add_module(file_, ""), address).frames[0].line, expected);
}

TEST_F(Lines, DebugLinkToAnotherFileIsNotBelieved) {
    ASSERT_TRUE(compile("g++", "grid.cpp", "-O2 -g -Wl,--build-id=none"));
    const uint64_t address = return_from(kStep, "MPI_Recv");
    const int expected = line("receive in step");
    const std::string debug = folder_ / "fixture.so.debug";
    ASSERT_EQ(run("objcopy --only-keep-debug " + file_ + " " + debug + " && objcopy --strip-all " +
                  "--add-gnu-debuglink=" + debug + " " + file_),
              "");
    {
        LineResolver lines;
        EXPECT_EQ(lines.resolve_call(lines.add_module(file_, ""), address).frames[0].line,
                  expected);
    }
    std::ofstream(debug, std::ios::app) << "x";  // now the checksum differs
    LineResolver lines;
    const uint32_t module = lines.add_module(file_, "");
    EXPECT_EQ(lines.resolve_call(module, address).frames[0].line, 0);
    EXPECT_EQ(lines.state(module), ModuleState::kSymbols);
}

TEST_F(Lines, StrippedWithDebugFileByBuildId) {
    ASSERT_TRUE(compile("g++", "grid.cpp", "-O2 -g"));
    const uint64_t address = return_from(kStep, "MPI_Recv");
    std::string id;
    for (const char byte : build_id_of(file_)) {
        char text[4];
        snprintf(text, sizeof text, "%02x", static_cast<unsigned char>(byte));
        id += text;
    }
    ASSERT_EQ(id.size(), 40u);
    const std::string root = folder_ / "root";
    const std::string place = root + "/.build-id/" + id.substr(0, 2);
    std::filesystem::create_directories(place);
    ASSERT_EQ(run("objcopy --only-keep-debug " + file_ + " " + place + "/" + id.substr(2) +
                  ".debug && objcopy --strip-all " + file_),
              "");
    LineResolver lines(root);
    const uint32_t module = lines.add_module(file_, build_id_of(file_));
    EXPECT_EQ(lines.resolve_call(module, address).frames[0].line, line("receive in step"));
    LineResolver without;
    EXPECT_EQ(without.resolve_call(without.add_module(file_, ""), address).frames[0].line, 0);
}

TEST_F(Lines, StrippedGivesExportedSymbolAndOffset) {
    ASSERT_TRUE(compile("g++", "grid.cpp", "-O2 -g"));
    const uint64_t address = return_from(kStep, "MPI_Recv");
    const uint64_t offset = address - Disassembly(file_, kStep).start();
    ASSERT_EQ(run("strip " + file_), "");
    LineResolver lines;
    const uint32_t module = lines.add_module(file_, "");
    const ResolvedAddress& found = lines.resolve_call(module, address);
    EXPECT_EQ(lines.state(module), ModuleState::kSymbols);
    ASSERT_EQ(found.frames.size(), 1u);
    EXPECT_EQ(found.labels, kLabelNoLine);
    EXPECT_EQ(found.frames[0].function, "solver::Grid::step(int)");
    EXPECT_EQ(found.place, "solver::Grid::step(int)+" + hex(offset));
}

TEST_F(Lines, StrippedLocalFunctionIsNamedByItsStart) {
    ASSERT_TRUE(compile("gcc", "tail.c", "-O0 -g"));
    const Disassembly local(file_, "send_all");
    ASSERT_NE(local.start(), 0u);
    const uint64_t address = local.return_from("MPI_Send");
    ASSERT_EQ(run("strip " + file_), "");
    LineResolver lines;
    const ResolvedAddress& found = lines.resolve_call(lines.add_module(file_, ""), address);
    ASSERT_EQ(found.frames.size(), 1u);
    EXPECT_EQ(found.frames[0].function, "fixture.so+" + hex(local.start()));
    EXPECT_EQ(found.place, "fixture.so+" + hex(address));
}

TEST_F(Lines, StrippedCodeBehindAFunctionIsNotThatFunction) {
    ASSERT_TRUE(compile("gcc", "bare.c", "-O0 -g -fno-toplevel-reorder"));
    const Disassembly counted(file_, "counted");
    const uint64_t inside = counted.return_from("take");
    const uint64_t behind = return_from("bare", "take");
    ASSERT_LT(counted.start(), behind);
    ASSERT_EQ(run("strip " + file_), "");
    LineResolver lines;
    const uint32_t module = lines.add_module(file_, "");
    EXPECT_EQ(lines.resolve_call(module, inside).frames[0].function,
              "fixture.so+" + hex(counted.start()));
    EXPECT_EQ(lines.resolve_call(module, behind).frames[0].function, "fixture.so+" + hex(behind));
}

TEST_F(Lines, AnotherBuildIsNotBelieved) {
    ASSERT_TRUE(compile("g++", "grid.cpp", "-O2 -g"));
    const uint64_t address = return_from(kStep, "MPI_Recv");
    std::string id = build_id_of(file_);
    ASSERT_EQ(id.size(), 20u);
    id[7] = static_cast<char>(id[7] ^ 1);
    LineResolver lines;
    const uint32_t module = lines.add_module(file_, id);
    const ResolvedAddress& found = lines.resolve_call(module, address);
    EXPECT_EQ(lines.state(module), ModuleState::kChanged);
    ASSERT_EQ(found.frames.size(), 1u);
    EXPECT_EQ(found.frames[0].line, 0);
    EXPECT_EQ(found.place, "fixture.so+" + hex(address));
}

// Without build-id, inode and time show that the file differs.
TEST_F(Lines, AnotherFileIsUncertain) {
    ASSERT_TRUE(compile("g++", "grid.cpp", "-O2 -g -Wl,--build-id=none"));
    const FileStamp stamp = stamp_of(file_);
    EXPECT_NE(stamp.inode, 0u);
    FileStamp mixed = stamp;
    mixed.mixed = true;
    {
        LineResolver lines;
        EXPECT_FALSE(lines.is_uncertain(lines.add_module(file_, "", stamp)));
        EXPECT_FALSE(lines.is_uncertain(lines.add_module(file_, "")));
        EXPECT_TRUE(lines.is_uncertain(lines.add_module(file_, "", mixed)));
        EXPECT_FALSE(lines.is_uncertain(lines.add_module(folder_ / "gone.so", "", stamp)));
    }
    std::filesystem::copy(file_, folder_ / "copy");
    std::filesystem::rename(folder_ / "copy", file_);
    LineResolver lines;
    const uint32_t module = lines.add_module(file_, "", stamp);
    EXPECT_TRUE(lines.is_uncertain(module));
    EXPECT_EQ(lines.resolve_call(module, return_from(kStep, "MPI_Recv")).frames[0].line,
              line("receive in step"));
}

TEST_F(Lines, MissingAndMalformedFiles) {
    const std::string text = folder_ / "notes.txt";
    std::ofstream(text) << "no ELF file";
    LineResolver lines;
    const uint32_t gone = lines.add_module(folder_ / "gone.so", "");
    const uint32_t note = lines.add_module(text, "");
    const uint32_t folder = lines.add_module(folder_ / "", "");
    EXPECT_EQ(lines.resolve_call(gone, 0x40).place, "gone.so+0x40");
    EXPECT_EQ(lines.resolve_call(gone, 0x40).labels, kLabelNoLine);
    EXPECT_EQ(lines.resolve_call(note, 0x80).place, "notes.txt+0x80");
    EXPECT_EQ(lines.resolve_call(folder, 0x80).labels, kLabelNoLine);
    for (const uint32_t module : {gone, note, folder}) {
        EXPECT_EQ(lines.state(module), ModuleState::kMissing);
    }
}

// The dynamic linker supplies the address of clock_gettime; the first bytes are the ELF header.
TEST_F(Lines, CodeThatTheKernelPutsIntoEveryProcess) {
    void* const vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (vdso == nullptr) GTEST_SKIP() << "no vdso here";
    const auto clock_gettime = reinterpret_cast<uint64_t>(dlsym(vdso, "__vdso_clock_gettime"));
    ASSERT_NE(clock_gettime, 0u);
    const uint64_t offset = clock_gettime - getauxval(AT_SYSINFO_EHDR);
    dlclose(vdso);
    LineResolver lines;
    for (const char* name : {"linux-vdso.so.1", "[vdso]"}) {
        const uint32_t module = lines.add_module(name, "");
        const ResolvedAddress& found = lines.resolve(module, offset + 4);
        ASSERT_EQ(found.frames.size(), 1u);
        EXPECT_EQ(found.frames[0].function, "clock_gettime [vdso]");
        EXPECT_EQ(found.labels, kLabelNoLine);
        EXPECT_EQ(lines.resolve(module, 4).frames[0].function, "[vdso]");
        EXPECT_EQ(lines.state(module), ModuleState::kSymbols);
    }
    // A vdso of another kernel.
    const uint32_t other = lines.add_module("linux-vdso.so.1", "12345678901234567890");
    EXPECT_EQ(lines.resolve(other, offset + 4).frames[0].function, "[vdso]");
    EXPECT_EQ(lines.state(other), ModuleState::kChanged);
}

// gcc gives them no linker name.
TEST_F(Lines, LocalFunctionsAreNamedByTheirProcedure) {
    for (const char* const compiler : {"g++", "clang++"}) {
        if (!have_command(compiler)) continue;
        SCOPED_TRACE(compiler);
        ASSERT_TRUE(compile(compiler, "lambdas.cpp", "-O2 -g -fno-unroll-loops"));
        LineResolver lines;
        const uint32_t module = lines.add_module(file_, "");
        const bool gcc = compiler[0] == 'g';
        const std::string solve = "chem::solve(double, int)::";
        const std::string inner[] = {
            solve + (gcc ? "{lambda}::operator()" : "$_0::operator()(int) const"),
            solve + (gcc ? "Sink::put" : "Sink::put(double)")};
        for (int n = 0; n < 2; ++n) {
            const uint64_t address = return_from("_ZN4chem5solveEdi", "take", n);
            const ResolvedAddress& found = lines.resolve_call(module, address);
            EXPECT_EQ(found.frames.front().function, "chem::solve(double, int)");
            EXPECT_EQ(found.frames.back().function, inner[n]);
        }
    }
}

// _init has no size, and .plt follows its section.
TEST_F(Lines, LinkageTableIsNoFunctionBeforeIt) {
    ASSERT_TRUE(compile("g++", "grid.cpp", "-O2 -g -fcf-protection=none"));
    ASSERT_NE(output_of("nm '" + file_ + "'").find(" _init\n"), std::string::npos);
    const uint64_t address = Disassembly(file_, "MPI_Recv@plt").start();
    ASSERT_NE(address, 0u);
    LineResolver lines;
    const uint32_t module = lines.add_module(file_, "");
    EXPECT_EQ(lines.resolve(module, address).place, "fixture.so+" + hex(address));
    const std::string name = lines.resolve(module, address).frames[0].function;
    EXPECT_TRUE(name.starts_with("fixture.so+")) << name;
    const uint64_t init = Disassembly(file_, "_init").start();
    EXPECT_EQ(lines.resolve(module, init + 4).frames[0].function, "_init");
}

TEST_F(Lines, AddressOutsideEveryFunction) {
    ASSERT_TRUE(compile("g++", "grid.cpp", "-O2 -g"));
    LineResolver lines;
    const uint32_t module = lines.add_module(file_, "");
    EXPECT_EQ(lines.resolve(module, 0x10).place, "fixture.so+0x10");
    EXPECT_EQ(lines.resolve(module, UINT64_MAX).labels, kLabelNoLine);
    EXPECT_EQ(lines.resolve_call(module, 0).labels, kLabelNoLine);
}

// At -O2 the statements of tail.c that are marked "jump" leave no return address.
class TailCalls : public Lines {
  protected:
    std::vector<Build> jumping_builds() {
        std::vector<Build> all = {{"gcc", "-O2 -g -flto"}};
        for (const char* flags : {"-O2 -gdwarf-4", "-O2 -gdwarf-5"}) {
            all.push_back({"gcc", flags});
            if (have_command("clang")) all.push_back({"clang", flags});
        }
        return all;
    }
    static constexpr const char* kOwnSymbols = " -Wl,-Bsymbolic";
    // Builds tail.c in each way, with more flags, and calls `use(lines, module)`.
    template <typename Use>
    void for_each_build(const std::string& flags, Use use) {
        for (const Build& build : jumping_builds()) {
            SCOPED_TRACE(std::string(build.compiler) + " " + build.flags);
            ASSERT_TRUE(compile(build.compiler, "tail.c", build.flags + flags));
            LineResolver lines;
            use(lines, lines.add_module(file_, ""));
        }
    }
};

TEST_F(TailCalls, UniqueJump) {
    for_each_build("", [&](LineResolver& lines, uint32_t module) {
        const auto& found =
            lines.resolve_communication(module, return_from("one_level", "send_all"), "MPI_Send");
        EXPECT_EQ(found.labels, kLabelTailCall);
        ASSERT_EQ(found.frames.size(), 2u);
        EXPECT_EQ(found.frames[0].function, "one_level");
        EXPECT_EQ(found.frames[0].line, line("call send_all"));
        EXPECT_EQ(found.frames[1].function, "send_all");
        EXPECT_EQ(found.frames[1].line, line("jump in send_all"));
        EXPECT_EQ(found.frames[1].function_line, line("begin send_all"));
    });
}

TEST_F(TailCalls, JumpAfterJump) {
    for_each_build(kOwnSymbols, [&](LineResolver& lines, uint32_t module) {
        const auto& found =
            lines.resolve_communication(module, return_from("two_levels", "send_more"), "MPI_Send");
        EXPECT_EQ(found.labels, kLabelTailCall);
        ASSERT_EQ(found.frames.size(), 3u);
        EXPECT_EQ(found.frames[0].line, line("call send_more"));
        EXPECT_EQ(found.frames[1].function, "send_more");
        EXPECT_EQ(found.frames[1].line, line("jump in send_more"));
        EXPECT_EQ(found.frames[2].function, "send_all");
        EXPECT_EQ(found.frames[2].line, line("jump in send_all"));
    });
}

TEST_F(TailCalls, SeveralWaysOrNone) {
    for_each_build(kOwnSymbols, [&](LineResolver& lines, uint32_t module) {
        const auto& ambiguous =
            lines.resolve_communication(module, return_from("ambiguous", "either"), "MPI_Send");
        EXPECT_EQ(ambiguous.labels, kLabelLineUnknown);
        ASSERT_EQ(ambiguous.frames.size(), 1u);
        EXPECT_EQ(ambiguous.frames[0].line, line("call either"));
        // other_call jumps to MPI_Recv only.
        const auto& other =
            lines.resolve_communication(module, return_from("receives", "other_call"), "MPI_Send");
        EXPECT_EQ(other.labels, kLabelLineUnknown);
        EXPECT_EQ(other.frames.back().line, line("call other_call"));
        const auto& right =
            lines.resolve_communication(module, return_from("receives", "other_call"), "MPI_Recv");
        EXPECT_EQ(right.labels, kLabelTailCall);
    });
}

TEST_F(TailCalls, DirectAndIndirectCallsStay) {
    for_each_build("", [&](LineResolver& lines, uint32_t module) {
        const auto& direct =
            lines.resolve_communication(module, return_from("direct", "MPI_Send"), "MPI_Send");
        EXPECT_EQ(direct.labels, 0u);
        EXPECT_EQ(direct.frames.back().line, line("direct"));
        const auto& indirect =
            lines.resolve_communication(module, return_from("indirect", "*"), "MPI_Send");
        EXPECT_EQ(indirect.labels, 0u);
        EXPECT_EQ(indirect.frames.back().line, line("indirect"));
    });
}

// The second byte of a function stands for a function that ended with the statement.
TEST_F(TailCalls, InPlaceOfTheWholeFunction) {
    for_each_build(kOwnSymbols, [&](LineResolver& lines, uint32_t module) {
        const auto in = [this](const char* function) {
            return Disassembly(file_, function).start() + 1;
        };
        const auto& found = lines.resolve_communication(module, in("send_more"), "MPI_Send");
        EXPECT_EQ(found.labels, kLabelTailCall);
        ASSERT_EQ(found.frames.size(), 2u);
        EXPECT_EQ(found.frames[0].function, "send_more");
        EXPECT_EQ(found.frames[0].line, line("jump in send_more"));
        EXPECT_EQ(found.frames[1].line, line("jump in send_all"));
        const auto& ambiguous = lines.resolve_communication(module, in("either"), "MPI_Send");
        EXPECT_EQ(ambiguous.labels, kLabelLineUnknown);
        ASSERT_EQ(ambiguous.frames.size(), 1u);
        EXPECT_EQ(ambiguous.frames[0].function, "either");
    });
}

TEST(SymbolNames, Shown) {
    EXPECT_EQ(display_name("_ZN6solver4Grid4stepEi"), "solver::Grid::step(int)");
    EXPECT_EQ(display_name("__heat_MOD_step"), "heat::step");
    EXPECT_EQ(display_name("main"), "main");
    EXPECT_EQ(display_name("_Znonsense"), "_Znonsense");
    EXPECT_EQ(display_name("__MOD_"), "__MOD_");
}

TEST(SymbolNames, OfMpi) {
    for (const char* name : {"MPI_Send", "PMPI_Send", "mpi_send_", "MPI_SEND", "mpi_send__",
                             "pmpi_send_", "mpi_send_f08_", "mpi_send"}) {
        EXPECT_TRUE(is_mpi_function(name, "MPI_Send")) << name;
        EXPECT_TRUE(is_mpi_entry(name)) << name;
    }
    EXPECT_FALSE(is_mpi_function("MPI_Sendrecv", "MPI_Send"));
    EXPECT_FALSE(is_mpi_entry("my_mpi_send"));
    EXPECT_TRUE(is_mpi_entry("_ZNK3MPI4Comm4SendEPKviRKNS_8DatatypeEii"));
}

}  // namespace
}  // namespace dwell
