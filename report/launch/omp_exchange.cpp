// Checks whether libomp can replace libgomp in a program. The loader relocates the program without
// starting it and lists every binding (ld.so(8): LD_TRACE_LOADED_OBJECTS, LD_WARN,
// LD_DEBUG=bindings): with libomp in front, no OpenMP symbol may be bound to libgomp.
#include "report/launch/omp_exchange.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "report/launch/launch.h"
#include "report/results/crash_recovery.h"
#include "runtime/contract/ompt_setting.h"

namespace dwell {
namespace {

constexpr std::string_view kLibomp = "libomp.so.5";
constexpr std::string_view kLibgomp = "libgomp.so.1";
constexpr std::string_view kLibdwell = "libdwell.so";

struct PipeCloser {
    void operator()(FILE* pipe) const { pclose(pipe); }
};

bool is_file_named(std::string_view path, std::string_view name) {
    return path.substr(path.rfind('/') + 1) == name;
}

// The part of `line` between the two texts; empty without them.
std::string_view between(std::string_view line, std::string_view before, std::string_view after) {
    const size_t start = line.find(before);
    if (start == std::string_view::npos) return {};
    const std::string_view rest = line.substr(start + before.size());
    const size_t end = rest.find(after);
    return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

// Parses the loader's output, line by line.
class Bindings {
  public:
    // "\tlibm.so.6 => /lib/libm.so.6 (0x7f...)", or
    // "  123:\tbinding file ./app [0] to /lib/libgomp.so.1 [0]: normal symbol `GOMP_task'
    // [GOMP_2.0]"
    void take(std::string_view line) {
        const std::string_view found = between(line, " => ", " (0x");
        if (is_file_named(found, kLibomp)) libomp_ = found;
        if (is_file_named(found, kLibgomp)) has_libgomp_ = true;
        const std::string_view from = between(line, "binding file ", " [");
        const std::string_view to = between(line, "] to ", " [");
        const std::string_view name = between(line, "symbol `", "'");
        if (name == "ompt_start_tool" && is_file_named(from, kLibomp)) start_tool_ = to;
        if (name.substr(0, 5) != "GOMP_" && name.substr(0, 4) != "omp_") return;
        if (is_file_named(to, kLibomp)) taken_over_ = true;
        if (!is_file_named(to, kLibgomp) || is_file_named(from, kLibgomp) || !left_.empty()) return;
        const std::string_view version = between(line, "' [", "]");
        left_ = std::string(name) + (version.empty() ? "" : "@" + std::string(version)) +
                ", which " + std::string(from) + " needs";
    }

    OmpExchange plan(const std::string& program) const {
        if (!has_libgomp_) return {"", program + " is not linked with " + std::string(kLibgomp)};
        if (libomp_.empty()) return {"", std::string(kLibomp) + " is not installed"};
        if (!left_.empty()) return {"", libomp_ + " does not define " + left_};
        if (!start_tool_.empty() && !is_file_named(start_tool_, kLibomp) &&
            !is_file_named(start_tool_, kLibdwell)) {
            return {"", "libomp would tell another tool of its constructs, that of " + start_tool_};
        }
        if (!taken_over_) return {"", program + " calls nothing of OpenMP"};
        return {libomp_, ""};
    }

  private:
    std::string libomp_;  // its path
    bool has_libgomp_ = false;
    bool taken_over_ = false;  // something is bound to libomp
    std::string left_;         // the first symbol that is not bound to libomp
    std::string start_tool_;   // the owner of the ompt_start_tool() that libomp calls, without
                               // dwell
};

}  // namespace

OmpExchange plan_omp_exchange(const std::string& program) {
    if (const char* const off = ompt_switched_off()) {
        return {"",
                "OMP_TOOL=" + std::string(off) + " keeps libomp from telling of its constructs"};
    }
    // An unreadable program might be statically linked, and would run.
    if (access(program.c_str(), R_OK) != 0) return {"", program + " cannot be read"};
    const char* before = getenv("LD_PRELOAD");
    const std::string preload =
        preload_value(std::string(kLibomp), before == nullptr ? "" : before);
    const std::string command = "env -u LD_DEBUG_OUTPUT LD_TRACE_LOADED_OBJECTS=1 LD_WARN=1 " +
                                std::string("LD_BIND_NOW=1 LD_DEBUG=bindings LD_PRELOAD=") +
                                shell_word(preload) + " " + shell_word(program) + " 2>&1";
    const std::unique_ptr<FILE, PipeCloser> pipe(popen(command.c_str(), "r"));
    if (!pipe) return {"", std::string("the loader cannot be asked: ") + strerror(errno)};
    Bindings bindings;
    char* line = nullptr;
    size_t room = 0;
    ssize_t bytes = 0;
    while ((bytes = getline(&line, &room, pipe.get())) > 0) {
        bindings.take({line, static_cast<size_t>(bytes)});
    }
    free(line);
    return bindings.plan(program);
}

}  // namespace dwell
