// Tries everything that a profile depends on, in the same way as the runtime (dlopen, no link-time
// dependency). Prints one line for each, with the remedy where it failed.
#include "report/command/info.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "report/console/output.h"
#include "report/launch/launch.h"
#include "report/launch/serial.h"
#include "runtime/contract/kernel_events.h"
#include "runtime/contract/papi.h"
#include "runtime/contract/version.h"

namespace dwell {
namespace {

// One line of the output. `remedy` is empty when no action is needed.
struct Finding {
    std::string subject;
    bool good;
    std::string text;
    std::string remedy;
};

std::string first_line_of_command(const char* command) {
    FILE* pipe = popen(command, "r");
    if (pipe == nullptr) return {};
    std::array<char, 256> line{};
    const char* got = fgets(line.data(), int(line.size()), pipe);
    pclose(pipe);
    if (got == nullptr) return {};
    std::string text(line.data());
    return text.substr(0, text.find('\n'));
}

Finding find_library_itself() {
    const auto library = find_library();
    if (library) return {"libdwell.so", true, *library, ""};
    return {"libdwell.so", false, "not found beside " + own_path(), "install dwell again"};
}

Finding find_mpi() {
    std::string text;
    if (void* mpi = dlopen("libmpi.so.40", RTLD_LAZY | RTLD_LOCAL)) {
        using VersionCall = int (*)(char*, int*);
        if (auto version = reinterpret_cast<VersionCall>(dlsym(mpi, "MPI_Get_library_version"))) {
            std::array<char, 8192> name{};
            int length = 0;
            version(name.data(), &length);
            text = name.data();
            text = text.substr(0, text.find_first_of(",\n"));
        }
    }
    const std::string launcher = first_line_of_command("mpirun --version 2>/dev/null");
    if (!text.empty()) {
        return {"MPI", true, text + (launcher.empty() ? "; no mpirun in PATH" : "; " + launcher),
                ""};
    }
    return {
        "MPI", false,
        launcher.empty() ? "libmpi.so.40 not found" : "libmpi.so.40 not found, though " + launcher,
        "install Open MPI 4 (Debian: openmpi-bin); other MPI libraries are not observed"};
}

Finding find_unwinder() {
    if (dlopen("libunwind.so.8", RTLD_LAZY | RTLD_LOCAL) != nullptr) {
        return {"libunwind", true, "libunwind.so.8, whole call paths", ""};
    }
    return {"libunwind", false, "libunwind.so.8 not found: call paths have one level",
            "install libunwind8"};
}

Finding find_papi(Papi* papi) {
    void* library = Papi::open(RTLD_LAZY | RTLD_LOCAL);
    const char* const advice = "install libpapi7.0";
    if (library == nullptr || !papi->load(library)) {
        return {"PAPI", false, "libpapi not found: no hardware metrics (dwell run --metrics)",
                advice};
    }
    if (!papi->init()) return {"PAPI", false, "libpapi does not start", advice};
    return {"PAPI", true, fmt::format("{}.{}", papi->version >> 24, papi->version >> 16 & 0xff),
            ""};
}

// Events inside the kernel are available to fewer users than events of user code.
std::string advice_for(const char* event) {
    constexpr const char* kSetting = "/proc/sys/kernel/perf_event_paranoid";
    const int highest = happens_in_kernel(event) == InKernel::kOnly ? 1 : 2;
    int level = 0;
    if (std::ifstream(kSetting) >> level && level > highest) {
        return fmt::format("lower {} to {}, or have CAP_PERFMON", kSetting, highest);
    }
    return "perf_event_open is refused: in a container allow it (CAP_PERFMON, or a seccomp "
           "profile)";
}

// Through PAPI or, for events of the kernel, without it.
std::vector<Finding> find_metrics() {
    Papi papi{};
    std::vector<Finding> findings = {find_papi(&papi)};
    for (const char* event : {"perf::TASK-CLOCK", "perf::PAGE-FAULTS", "perf::CONTEXT-SWITCHES"}) {
        bool in_kernel = false;
        const bool works = (findings[0].good && papi.try_event(event) == Papi::kOk) ||
                           try_kernel_event(*find_kernel_event(event), &in_kernel);
        findings.push_back({std::string("  ") + event, works, works ? "works" : "cannot be counted",
                            works ? "" : advice_for(event)});
    }
    if (!findings[0].good) return findings;
    for (const char* event : {"PAPI_TOT_CYC", "PAPI_TOT_INS", "PAPI_FP_OPS"}) {
        const bool works = papi.try_event(event) == Papi::kOk;
        findings.push_back({std::string("  ") + event, works, works ? "works" : "cannot be counted",
                            works ? ""
                                  : "needs a processor, or virtual machine, with counters, that "
                                    "this PAPI knows"});
    }
    return findings;
}

Finding find_clock() {
#if defined(__x86_64__)
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    const bool invariant = __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & 1U << 8) != 0;
    // The best of many short chunks: the cost of reads without interruption.
    constexpr int kPairs = 1000;
    double best_ns = 1e9;
    for (int chunk = 0; chunk < 200; ++chunk) {
        timespec start{};
        timespec end{};
        clock_gettime(CLOCK_MONOTONIC, &start);
        for (int i = 0; i < kPairs; ++i) {
            static_cast<void>(__rdtsc());
            static_cast<void>(__rdtsc());
        }
        clock_gettime(CLOCK_MONOTONIC, &end);
        const double ns =
            double(end.tv_sec - start.tv_sec) * 1e9 + double(end.tv_nsec - start.tv_nsec);
        best_ns = std::min(best_ns, ns / kPairs);
    }
    return {"clock", invariant,
            fmt::format("{}; a pair of timestamps takes {:.1f} ns",
                        invariant ? "invariant time stamp counter"
                                  : "time stamp counter not invariant, CLOCK_MONOTONIC instead",
                        best_ns),
            invariant ? "" : "expect about 50 ns more for each MPI call"};
#else
    return {"clock", true, "CLOCK_MONOTONIC", ""};
#endif
}

Finding find_sampling() {
    const std::string obstacle = sampling_obstacle();
    if (obstacle.empty()) {
        std::ifstream setting("/proc/sys/kernel/perf_event_paranoid");
        std::string level;
        setting >> level;
        return {"sampling", true, "cpu-clock works (perf_event_paranoid is " + level + ")", ""};
    }
    return {"sampling", false, "cpu-clock cannot be opened: " + obstacle,
            "sysctl kernel.perf_event_paranoid=2; in a container allow perf_event_open"};
}

Finding find_shared_memory() {
    struct statvfs room {};
    if (statvfs("/dev/shm", &room) != 0) {
        return {"/dev/shm", false, "missing: nothing can be recorded", "mount a tmpfs on /dev/shm"};
    }
    const uint64_t free_mib = room.f_bavail * room.f_frsize >> 20;
    const bool enough = free_mib >= 64;
    return {"/dev/shm", enough, fmt::format("{} MiB free", free_mib),
            enough ? "" : "a rank takes 1 to 64 MiB: make room or lower --memory"};
}

Finding find_line_reading() {
    if (dlopen("libdw.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr) {
        return {"lines", true, "libdw reads debug information; compile with -g to have lines", ""};
    }
    return {"lines", false, "libdw.so.1 not found", "install libdw1"};
}

}  // namespace

int info_command() {
    std::vector<Finding> findings = {find_library_itself(), find_mpi(), find_unwinder()};
    for (Finding& finding : find_metrics()) findings.push_back(std::move(finding));
    findings.push_back(find_clock());
    findings.push_back(find_sampling());
    findings.push_back(find_shared_memory());
    findings.push_back(find_line_reading());
    std::string text = "dwell " DWELL_VERSION "\n";
    for (const Finding& finding : findings) {
        text += fmt::format("{:<4}{:<20} {}", finding.good ? "ok" : "no", finding.subject,
                            finding.text);
        if (!finding.remedy.empty()) text += ": " + finding.remedy;
        text += "\n";
    }
    const Outcome written = write_all(STDOUT_FILENO, text, "standard output");
    if (!written) say(written.error());
    return 0;
}

}  // namespace dwell
