// From the chain of addresses that leads to a communication node to procedures and statements as a
// person knows them: inlined calls unfolded, frames above main and inside MPI left out.
#ifndef DWELL_SUMMARIZE_CALL_PATHS_H_
#define DWELL_SUMMARIZE_CALL_PATHS_H_

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "summarize/lines.h"
#include "summarize/merged.h"
#include "summarize/profile.h"

namespace dwell {

// Procedures and statements are numbered, equal ones alike, so that paths compare as numbers.
struct Procedure {
    std::string name;
    std::string file;
    int line = 0;
    std::string module;   // only without debug information
    uint32_t labels = 0;  // ProfileLabel
};
struct Statement {
    std::string file;  // symbol+0xoffset or module+0xoffset when no line is known
    int line = 0;
    std::string module;  // only without a line
    uint32_t labels = 0;
};

struct Step {
    uint32_t procedure = 0;
    uint32_t statement = 0;
    uint32_t depth = 0;    // of the merged node that this step comes from; the program has 0
    bool inlined = false;  // the procedure was put into the one of the step before
};

class CallPaths {
  public:
    // `merged` must live as long as this object.
    CallPaths(const Merged& merged, LineResolver* lines);

    // Steps to the communication node `node`, outermost first. Empty when nothing of the path is
    // the user's.
    std::vector<Step> path_to(uint32_t node);

    // The line that a sample node stands for.
    SampledLine sampled_line(uint32_t node);

    // Dwell's own code, sampled on the way into a call or out of it.
    bool is_own_code(uint32_t node) const;

    // Whose code a sample node lies in: the procedure that was entered by a call, then those that
    // were put into it. Empty when the sample lies in no known module.
    std::vector<uint32_t> sampled_procedures(uint32_t node);

    uint32_t depth(uint32_t node) const { return depths_[node]; }
    const Procedure& procedure(uint32_t number) const { return procedures_[number]; }
    const Statement& statement(uint32_t number) const { return statements_[number]; }

    // Modules that hold a frame of some path: those whose missing debug information matters.
    const std::set<uint32_t>& modules_used() const { return modules_used_; }

  private:
    enum class ModuleKind : uint8_t { kUser, kMpi, kLibc, kDwell };
    struct Frame {
        const SourceFrame* source;
        const ResolvedAddress* address;
        uint32_t module;
        uint32_t depth;
        uint32_t labels;
        bool is_entry;  // entered from the C library's start code: main, whatever its symbol says
    };

    void add_frames(uint32_t node, std::vector<Frame>* frames);
    const ResolvedAddress& address_of(const MergedNode& node);
    bool has_main(const MergedNode& node);
    void drop_frames_above_main(std::vector<Frame>* frames) const;
    bool is_libc(const Frame& frame) const;
    Step number_step(const Frame& frame);

    const Merged& merged_;
    LineResolver* lines_;
    std::vector<uint32_t> depths_;
    std::vector<ModuleKind> module_kinds_;
    std::map<uint64_t, ResolvedAddress> foreign_;
    ResolvedAddress folded_;
    std::set<uint32_t> modules_used_;
    std::vector<Procedure> procedures_;
    std::vector<Statement> statements_;
    std::map<std::pair<std::array<std::string, 3>, std::array<uint32_t, 2>>, uint32_t>
        procedure_numbers_;
    std::map<std::pair<std::array<std::string, 2>, std::array<uint32_t, 2>>, uint32_t>
        statement_numbers_;
    std::map<std::array<uintptr_t, 3>, std::pair<uint32_t, uint32_t>> numbered_;
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_CALL_PATHS_H_
