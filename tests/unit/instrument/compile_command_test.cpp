// Tests dwell-cc's reading of compilers' options and answers (GCC's and clang's manuals).
#include "instrument/wrapper/compile_command.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <string>

#include "instrument/wrapper/compiler_check.h"
#include "instrument/wrapper/plugin_compilers.h"

namespace dwell {
namespace {

using Words = std::vector<std::string>;

TEST(CompileCommandTest, SourcesAndOtherInputs) {
    for (const Words& words : std::initializer_list<Words>{{"a.c"},
                                                           {"-c", "a.cpp", "-o", "a.o"},
                                                           {"-S", "dir.d/a.F90"},
                                                           {"-x", "c", "-"},
                                                           {"-xc++", "a.inc"},
                                                           {"--language=f95", "a.inc"},
                                                           {"a.o", "b.f"},
                                                           {"-x", "c", "a", "-x", "none", "b.o"}}) {
        const CompileCommand command = read_compile_command(words);
        EXPECT_TRUE(command.makes_code) << words.back();
        EXPECT_TRUE(command.has_source) << words.back();
    }
    for (const Words& words : std::initializer_list<Words>{{"a.o", "-o", "a"},
                                                           {"a.o", "-o", "a.c"},
                                                           {"-flto", "lib.a", "-L", "x.c"},
                                                           {"a.s"},
                                                           {"-x", "assembler", "-"},
                                                           {"-x", "c", "-x", "none", "b.o"},
                                                           {"a.so", "-Xlinker", "b.c"},
                                                           {"no_ending"}}) {
        const CompileCommand command = read_compile_command(words);
        EXPECT_TRUE(command.makes_code) << words.back();
        EXPECT_FALSE(command.has_source) << words.back();
    }
}

TEST(CompileCommandTest, ProceduresMayBeMarked) {
    for (const Words& words : std::initializer_list<Words>{{"a.c"},
                                                           {"-x", "c", "a.ll"},
                                                           {"-o", "a.bc", "-c", "a.cpp"},
                                                           {"a.c", "-finline-functions"}}) {
        EXPECT_TRUE(read_compile_command(words).may_mark) << words.back();
    }
    for (const Words& words : std::initializer_list<Words>{
             {"a.ll"},
             {"a.c", "b.bc"},
             {"-x", "ir", "a"},
             {"-finstrument-functions", "a.c"},
             {"a.c", "-finstrument-function-entry-bare"},
             {"-Xclang", "-finstrument-functions-after-inlining", "a.c"}}) {
        EXPECT_FALSE(read_compile_command(words).may_mark) << words.back();
    }
}

TEST(CompileCommandTest, QuestionsMakeNoCode) {
    for (const Words& words : std::initializer_list<Words>{{},
                                                           {"-v"},
                                                           {"--version"},
                                                           {"-dumpversion"},
                                                           {"-print-file-name=x.c"},
                                                           {"--print-search-dirs"},
                                                           {"--help=optimizers", "a.c"},
                                                           {"-V"},
                                                           {"-E", "a.c"},
                                                           {"a.c", "-M"},
                                                           {"-MM", "a.c"},
                                                           {"-###", "a.c"},
                                                           {"-fsyntax-only", "a.c"},
                                                           {"--showme", "a.c"},
                                                           {"-showme:link"},
                                                           {"-o", "a.c"}}) {
        EXPECT_FALSE(read_compile_command(words).makes_code) << (words.empty() ? "" : words[0]);
    }
    for (const Words& words : std::initializer_list<Words>{{"-v", "a.c"},
                                                           {"-MD", "a.c"},
                                                           {"-MMD", "-MF", "-E", "-c", "a.c"},
                                                           {"-o", "-E", "a.c"},
                                                           {"-Xlinker", "-E", "a.c"},
                                                           {"-D", "-M", "a.c"},
                                                           {"-dumpbase", "x", "a.c"},
                                                           {"-Wl,-E", "a.c"}}) {
        EXPECT_TRUE(read_compile_command(words).makes_code) << words[0];
    }
}

TEST(CompileCommandTest, OtherMachinesRuleProbesOut) {
    EXPECT_EQ(read_compile_command({"-m32", "a.c"}).unfit, "-m32");
    EXPECT_EQ(read_compile_command({"-mcmodel=large", "a.c"}).unfit, "-mcmodel=large");
    EXPECT_EQ(read_compile_command({"-target", "arm-linux", "a.c"}).unfit, "--target=arm-linux");
    EXPECT_EQ(read_compile_command({"--target=x86_64-linux-gnux32", "a.c"}).unfit,
              "--target=x86_64-linux-gnux32");
    EXPECT_EQ(read_compile_command({"--target=x86_64-pc-linux-gnu", "a.c"}).unfit, "");
    EXPECT_EQ(read_compile_command({"-m64", "-mcmodel=medium", "-march=native", "a.c"}).unfit, "");
    EXPECT_EQ(read_compile_command({"-o", "-m32", "a.c"}).unfit, "");
}

TEST(CompileCommandTest, LastDebugOptionCounts) {
    const auto lines = [](const Words& words) { return read_compile_command(words).has_lines; };
    EXPECT_FALSE(lines({"a.c"}));
    for (const char* option : {"-g", "-g1", "-g3", "-ggdb", "-ggdb3", "-gdwarf", "-gdwarf-4",
                               "-gline-tables-only", "-gmlt"}) {
        EXPECT_TRUE(lines({option, "a.c"})) << option;
        EXPECT_FALSE(lines({option, "-g0", "a.c"})) << option;
        EXPECT_TRUE(lines({"-g0", option, "a.c"})) << option;
    }
    for (const char* option : {"-gz", "-gsplit-dwarf", "-gcc-toolchain", "-grecord-gcc-switches",
                               "-gno-column-info", "-ggdb0"}) {
        EXPECT_FALSE(lines({option, "a.c"})) << option;
    }
}

TEST(CompileCommandTest, ResponseFiles) {
    char folder[] = "/tmp/dwell-response-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    const std::string outer = std::string(folder) + "/outer";
    const std::string inner = std::string(folder) + "/inner";
    std::ofstream(outer) << "-c\t'a file.c' \n\"@" << inner << "\"\n -D'X=\"-E\"'";
    std::ofstream(inner) << "-o -E -m3\"2\"";
    CompileCommand command = read_compile_command({"@" + outer});
    EXPECT_TRUE(command.makes_code);
    EXPECT_TRUE(command.has_source);
    EXPECT_EQ(command.unfit, "-m32");

    std::ofstream(inner) << "@" << inner;  // includes itself
    command = read_compile_command({"@" + inner, "a.c"});
    EXPECT_TRUE(command.has_source);
    EXPECT_FALSE(read_compile_command({"@/no/such/file"}).has_source);
    unlink(outer.c_str());
    unlink(inner.c_str());
    rmdir(folder);
}

std::string gcc_answer(const std::string& version, const std::string& configured) {
    return "Using built-in specs.\nCOLLECT_GCC=gcc\nTarget: x86_64-linux-gnu\n" + configured +
           "\nThread model: posix\n" + version + " \n";
}

TEST(CompilerCheckTest, Gcc) {
    if (kGccVersion[0] == '\0') GTEST_SKIP() << "built without gcc";
    EXPECT_EQ(check_compiler_answer("cc", gcc_answer(kGccVersion, kGccConfigured)).family,
              Family::kGcc);
    const CompilerCheck other =
        check_compiler_answer("cc", gcc_answer("gcc version 5.1.0 (Other)", kGccConfigured));
    EXPECT_EQ(other.family, Family::kNone);
    EXPECT_EQ(other.reason, std::string("gcc version 5.1.0 (Other) is not the ") + kGccVersion +
                                " that dwell's plugin was built for");
    EXPECT_EQ(check_compiler_answer(
                  "cc", gcc_answer(kGccVersion, std::string(kGccConfigured) + " --more"))
                  .family,
              Family::kNone);
}

TEST(CompilerCheckTest, Clang) {
    if (kClangVersion[0] == '\0') GTEST_SKIP() << "built without clang";
    const std::string answer = std::string(kClangVersion) + "\nTarget: x86_64-pc-linux-gnu\n";
    EXPECT_EQ(check_compiler_answer("clang", answer).family, Family::kClang);
    EXPECT_EQ(check_compiler_answer("clang", "note\n" + answer).family, Family::kClang);
    EXPECT_EQ(check_compiler_answer("clang", "Vendor " + answer).family, Family::kNone);
    EXPECT_EQ(check_compiler_answer("clang", "clang version 99.0.0\nTarget: x\n").reason,
              std::string("clang version 99.0.0 is not the ") + kClangVersion +
                  " that dwell's plugin was built for");
}

TEST(CompilerCheckTest, AnythingElse) {
    EXPECT_EQ(check_compiler_answer("tcc", "tcc version 0.9.27").reason,
              "tcc is neither GCC nor clang");
    EXPECT_EQ(check_compiler_answer("tcc", "").family, Family::kNone);
}

TEST(CompilerCheckTest, OutputsOfCommands) {
    EXPECT_EQ(output_of({"sh", "-c", "echo out; echo err >&2; echo $LC_ALL"}), "out\nerr\nC\n");
    EXPECT_EQ(output_of({"sh", "-c", "exit 1"}), std::nullopt);
    EXPECT_EQ(output_of({"/no/such/program"}), std::nullopt);
    const auto much = output_of({"head", "-c", "1000000", "/dev/zero"});
    ASSERT_TRUE(much.has_value());
    EXPECT_EQ(much->size(), 1000000u);
}

}  // namespace
}  // namespace dwell
