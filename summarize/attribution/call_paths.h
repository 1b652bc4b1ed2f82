// Turns the chain of addresses and probed sites that leads to a node into procedures, loops and
// statements of the source: inlined calls become calls, and frames above main and inside MPI are
// left out.
#ifndef DWELL_SUMMARIZE_ATTRIBUTION_CALL_PATHS_H_
#define DWELL_SUMMARIZE_ATTRIBUTION_CALL_PATHS_H_

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "summarize/merge/merged.h"
#include "summarize/model/profile.h"
#include "summarize/symbols/lines.h"
#include "summarize/symbols/module_kinds.h"
#include "summarize/symbols/probe_sites.h"

namespace dwell {

// Procedures and statements are numbered, equal ones with equal numbers, so that paths can be
// compared by number.
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

// A loop, block, marker or construct of OpenMP.
struct Region {
    SiteKind kind = SiteKind::kNone;
    std::string name;
    std::string file;
    int line = 0;
    std::string module;
    uint32_t labels = 0;
    uint16_t call = 0;  // OmpConstruct
};

// One element of a path: a procedure or region that is entered, or a statement executed in the step
// before. Two procedures in sequence mean that the calling statement is unknown.
struct Step {
    SiteKind kind = SiteKind::kProcedure;  // statements: call or communication
    uint32_t number = 0;                   // of the procedure, statement or region
    // Depth of the merged node of this step; the program has 0. A procedure without probes has the
    // depth of its statement's node.
    uint32_t depth = 0;
    bool inlined = false;  // the procedure is inlined into the step before
    bool probed = false;
};

// Whether the frame is code of an OpenMP region or task that the compiler moved to a function of
// its own.
bool is_outlined(const SourceFrame& frame);

// How much of a sample's call path is known.
enum class SampledCallers : uint8_t { kNone, kInner, kAll };

class CallPaths {
  public:
    // `merged` must live as long as this object. `lines` may know the first modules already.
    CallPaths(const Merged& merged, LineResolver* lines);

    // Steps to a communication node, to a node made by a probe, or to a sample with a known path,
    // outermost first. Empty when no part of the path is user code.
    std::vector<Step> path_to(uint32_t node);

    SampledCallers callers_of(uint32_t sample) const;

    ProbeSites* probe_sites() { return &probe_sites_; }

    // The line that a sample node stands for.
    SampledLine sampled_line(uint32_t node);

    // Whether a sample is no computation: dwell's own code at the edge of a call, or the OpenMP
    // runtime inside a region, where waiting is measured.
    bool is_apart(uint32_t sample);

    // The procedure called last at the sample, then the procedures inlined at that place. Empty
    // when the sample is in no known module.
    std::vector<uint32_t> sampled_procedures(uint32_t node);

    uint32_t depth(uint32_t node) const { return depths_[node]; }
    const Procedure& procedure(uint32_t number) const { return procedures_[number]; }
    const Statement& statement(uint32_t number) const { return statements_[number]; }
    const Region& region(uint32_t number) const { return regions_[number]; }

    // Modules with a frame of some path: only their missing debug information is reported.
    const std::set<uint32_t>& modules_used() const { return modules_used_; }

  private:
    struct Frame {
        const SourceFrame* source;
        const ResolvedAddress* address;  // null: node made by a probe
        uint32_t module;
        uint32_t node;  // of the merged tree
        uint32_t labels;
        bool is_entry;          // called by the C library's start code: main, whatever its symbol
        const ProbeSite* site;  // null: a frame of the stack
    };
    // The current position while the steps of a path are made.
    struct Position {
        const ProbeSite* procedure = nullptr;  // the probed procedure, while nothing was called
                                               // from it
        const ProbeSite* innermost = nullptr;  // this procedure, or the innermost probed loop in it
        const std::vector<SourceFrame>* inlined = nullptr;  // inlined calls entered since, around
                                                            // `innermost`
        bool outlined = false;  // inside an OpenMP construct, whose code is a separate function
        const SourceFrame* construct = nullptr;  // the place of that construct, if known
    };

    uint32_t above(uint32_t node) const;
    std::vector<uint32_t> chain_to(uint32_t node);
    std::vector<uint32_t> enter_regions(const std::vector<uint32_t>& sampled);
    uint32_t region_of(uint32_t parent, uint32_t sampled);
    std::vector<uint32_t> enter_loops(const std::vector<uint32_t>& sampled);
    uint32_t probed_loop(uint32_t parent, uint32_t sampled);
    uint32_t probed_procedure(uint32_t parent, uint32_t sampled);
    bool is_glue(uint32_t module) const;
    bool is_of(uint32_t module, ModuleKind kind) const;
    void add_frames(uint32_t node, std::vector<Frame>* frames);
    const ResolvedAddress& address_of(const MergedNode& node);
    const ResolvedAddress& python_at(const MergedNode& node);
    bool has_main(const MergedNode& node);
    void drop_frames_above_main(std::vector<Frame>* frames) const;
    bool is_libc(const Frame& frame) const;
    bool is_users(uint32_t module) const;
    bool is_system(uint32_t module) const;
    SiteKind kind_of(uint32_t node) const;

    void enter_site(const Frame& frame, Position* at, std::vector<Step>* steps);
    void enter_inlined(const Frame& loop, Position* at, std::vector<Step>* steps);
    const Frame* frame_around_loop(const Frame* first, const Frame* end, const Position& at) const;
    void pass_frames(const Frame* first, const Frame* end, const Frame* next, uint32_t target,
                     Position* at, std::vector<Step>* steps);
    static const Frame* behind_outlined(const Frame* first, const Frame* end);
    bool is_outlined_region(const Frame& frame) const;
    void correct_forks(std::vector<Frame>* frames);
    void pass_openmp(const Frame* first, const Frame* end, Position* at, std::vector<Step>* steps);
    bool is_same_procedure(const ProbeSite& site, const SourceFrame& frame) const;
    uint32_t number_procedure(const Frame& frame);
    uint32_t number_statement(const Frame& frame);
    uint32_t number_statement(Statement statement);
    uint32_t number_static_statement(const Frame& frame, const Frame* next, uint32_t target,
                                     const Position& at);
    uint32_t number_region(const Frame& frame);
    uint32_t number_region(Region region, uint32_t column);

    const Merged& merged_;
    LineResolver* lines_;
    std::vector<uint32_t> depths_;
    std::map<uint32_t, std::vector<uint32_t>> regions_below_;  // OpenMP regions, by merged parent
    std::map<uint32_t, std::vector<uint32_t>> probes_below_;   // procedures and loops, likewise
    std::map<std::array<uint64_t, 3>, uint32_t> calls_;        // merged parent, module, offset
    std::vector<ModuleKind> module_kinds_;
    std::vector<bool> system_;  // by module: see kLabelSystem
    std::map<uint64_t, ResolvedAddress> foreign_;
    std::map<uint64_t, ResolvedAddress> python_;         // by offset of their texts
    std::map<const SourceFrame*, SourceFrame> forking_;  // procedures, by the code of their region
    ResolvedAddress folded_;
    std::set<uint32_t> modules_used_;
    ProbeSites probe_sites_;
    std::vector<Procedure> procedures_;
    std::vector<Statement> statements_;
    std::vector<Region> regions_;
    std::map<std::pair<std::array<std::string, 3>, std::array<uint32_t, 2>>, uint32_t>
        procedure_numbers_;
    std::map<std::pair<std::array<std::string, 2>, std::array<uint32_t, 2>>, uint32_t>
        statement_numbers_;
    std::map<std::pair<std::array<std::string, 3>, std::array<uint32_t, 4>>, uint32_t>
        region_numbers_;
    std::map<std::pair<const SourceFrame*, bool>, uint32_t> numbered_procedures_;
    std::map<std::pair<const SourceFrame*, uint32_t>, uint32_t> numbered_statements_;
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_ATTRIBUTION_CALL_PATHS_H_
