// Tests the preparations of `dwell run`: finding programs, and recognising launchers, scripts and
// programs that cannot be observed.
#include "report/launch/launch.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "report/sampling/elf_file.h"

namespace dwell {
namespace {

namespace fs = std::filesystem;

class LaunchTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "dwell-launch-XXXXXX";
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    void TearDown() override { fs::remove_all(folder_); }

    std::string put(const std::string& name, const std::string& bytes, mode_t mode = 0755) {
        const std::string path = (folder_ / name).string();
        std::ofstream(path, std::ios::binary) << bytes;
        chmod(path.c_str(), mode);
        return path;
    }
    // An ELF file of this machine with one loaded segment, and PT_INTERP when `interpreter` is set.
    static std::string elf_bytes(const std::string& interpreter, uint8_t elf_class = ELFCLASS64,
                                 uint16_t machine = 0) {
        Elf64_Ehdr header{};
        memcpy(header.e_ident, ELFMAG, SELFMAG);
        header.e_ident[EI_CLASS] = elf_class;
        header.e_ident[EI_DATA] = ELFDATA2LSB;
        header.e_ident[EI_VERSION] = EV_CURRENT;
        header.e_version = EV_CURRENT;
        header.e_ehsize = sizeof(Elf64_Ehdr);
        header.e_type = ET_DYN;
        header.e_machine = machine;
        if (machine == 0) header.e_machine = uint16_t(read_elf_file("/proc/self/exe")->machine);
        header.e_phoff = sizeof header;
        header.e_phentsize = sizeof(Elf64_Phdr);
        header.e_phnum = 2;
        Elf64_Phdr segments[2] = {};
        segments[0].p_type = PT_LOAD;
        segments[0].p_offset = 0x1000;
        segments[0].p_filesz = 0x200;
        segments[0].p_vaddr = 0x401000;
        segments[1].p_type = interpreter.empty() ? PT_NULL : PT_INTERP;
        segments[1].p_offset = sizeof header + sizeof segments;
        segments[1].p_filesz = interpreter.size() + 1;
        std::string bytes(reinterpret_cast<char*>(&header), sizeof header);
        bytes.append(reinterpret_cast<char*>(segments), sizeof segments);
        bytes.append(interpreter.c_str(), interpreter.size() + 1);
        return bytes;
    }

    fs::path folder_;
};

TEST_F(LaunchTest, ADynamicProgramCanBeObserved) {
    const Target target = inspect_target(put("app", elf_bytes("/lib64/ld-linux-x86-64.so.2")));
    EXPECT_EQ(target.unobservable, "");
    EXPECT_FALSE(target.launcher);
}

TEST_F(LaunchTest, LibrariesOfAProgramAreRead) {
    const auto elf = read_elf_file("/proc/self/exe");
    ASSERT_TRUE(elf);
    EXPECT_EQ(std::count(elf->needed.begin(), elf->needed.end(), "libc.so.6"), 1);
    EXPECT_FALSE(inspect_target("/proc/self/exe").mpi);
    EXPECT_TRUE(read_elf_file(put("app", elf_bytes("")))->needed.empty());
}

TEST_F(LaunchTest, ReasonsAreNamed) {
    const auto reason = [](const std::string& path) { return inspect_target(path).unobservable; };
    EXPECT_NE(reason(put("s", elf_bytes(""))).find("statically linked"), std::string::npos);
    EXPECT_NE(reason(put("m", elf_bytes("/lib/ld-musl-x86_64.so.1"))).find("musl"),
              std::string::npos);
    EXPECT_NE(reason(put("b", elf_bytes("/lib/ld.so", ELFCLASS32))).find("32-bit"),
              std::string::npos);
    EXPECT_NE(reason(put("k", elf_bytes("/lib/ld.so", ELFCLASS64, EM_68K))).find("processor"),
              std::string::npos);
}

TEST_F(LaunchTest, AScriptIsAsObservableAsItsInterpreter) {
    const std::string interpreter = put("interpreter", elf_bytes(""));
    const std::string script = put("script", "#! " + interpreter + " -x\n");
    EXPECT_NE(inspect_target(script).unobservable.find("statically linked"), std::string::npos);
    EXPECT_TRUE(inspect_target(script).mpi) << "it may run a program with MPI";
    EXPECT_NE(inspect_target(script).unobservable.find(interpreter), std::string::npos);
    EXPECT_EQ(inspect_target(put("other", "#!/bin/sh\n")).unobservable, "");
    EXPECT_EQ(inspect_target(put("plain", "echo without first line\n")).unobservable, "");
}

TEST_F(LaunchTest, SetuidOfAnotherUserIsNamed) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
    const std::string path = put("app", elf_bytes("/lib64/ld-linux-x86-64.so.2"));
    ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
    ASSERT_EQ(chmod(path.c_str(), 04755), 0);
    EXPECT_NE(inspect_target(path).unobservable.find("setuid"), std::string::npos);
    EXPECT_FALSE(inspect_target(path).sampled);
}

TEST_F(LaunchTest, ProgramsAreFoundAsTheShellFindsThem) {
    put("tool", "#!/bin/sh\n");
    put("data", "no program", 0644);
    const std::string old_path = getenv("PATH");
    setenv("PATH", ("/nonexistent:" + folder_.string()).c_str(), 1);
    const auto tool = find_program("tool");
    const auto data = find_program("data");
    setenv("PATH", old_path.c_str(), 1);
    ASSERT_TRUE(tool);
    EXPECT_EQ(*tool, (folder_ / "tool").string());
    EXPECT_FALSE(data);
    EXPECT_FALSE(find_program("/nonexistent/tool"));
}

TEST_F(LaunchTest, LaunchersAreKnown) {
    for (const char* name : {"mpirun", "/usr/bin/mpiexec", "mpirun.openmpi", "srun", "prterun"}) {
        EXPECT_TRUE(is_launcher(name)) << name;
    }
    for (const char* name : {"./app", "mpirunner", "python3", "srunx"}) {
        EXPECT_FALSE(is_launcher(name)) << name;
    }
}

TEST_F(LaunchTest, TheLibraryIsPreloadedOnceAndFirst) {
    EXPECT_EQ(preload_value("/l/libdwell.so", ""), "/l/libdwell.so");
    EXPECT_EQ(preload_value("/l/libdwell.so", "/a.so"), "/l/libdwell.so:/a.so");
    EXPECT_EQ(preload_value("/l/libdwell.so", "/a.so:/l/libdwell.so /b.so"),
              "/l/libdwell.so:/a.so:/b.so");
    EXPECT_EQ(preload_value("/l/libdwell.so", "/old/libdwell.so:/a.so"), "/l/libdwell.so:/a.so");
}

TEST_F(LaunchTest, FileOffsetsBecomeAddresses) {
    const auto elf = read_elf_file(put("app", elf_bytes("/lib64/ld-linux-x86-64.so.2")));
    ASSERT_TRUE(elf);
    EXPECT_EQ(elf->interpreter, "/lib64/ld-linux-x86-64.so.2");
    EXPECT_EQ(address_of_file_offset(*elf, 0x1000), 0x401000u);
    EXPECT_EQ(address_of_file_offset(*elf, 0x11ff), 0x4011ffu);
    EXPECT_FALSE(address_of_file_offset(*elf, 0x1200));
    EXPECT_FALSE(address_of_file_offset(*elf, 0xfff));
    EXPECT_FALSE(read_elf_file(put("short",
                                   "\x7f"
                                   "ELF")));
}

}  // namespace
}  // namespace dwell
