// From the chain of addresses and probed sites that leads to a node to procedures, loops and
// statements as a person knows them: inlined calls unfolded, frames above main and inside MPI left
// out.
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

// One element of a path: a procedure, or a region, that is entered, or a statement
// of the one before it that is executed. A procedure may follow another one directly: then the
// statement is not known.
struct Step {
    SiteKind kind = SiteKind::kProcedure;  // statements: call or communication
    uint32_t number = 0;                   // of the procedure, statement or region
    // Of the merged node that this step comes from; the program has 0. For a procedure without
    // probes: of the node of its statement.
    uint32_t depth = 0;
    bool inlined = false;  // the procedure was put into the one of the step before
    bool probed = false;
};

// The code of a region or task of OpenMP, which compilers put elsewhere.
bool is_outlined(const SourceFrame& frame);

// How much of a sample's call path is known.
enum class SampledCallers : uint8_t { kNone, kInner, kAll };

class CallPaths {
  public:
    // `merged` must live as long as this object.
    CallPaths(const Merged& merged, LineResolver* lines);

    // Steps to a communication node, or one made by a probe, or to a sample whose path is known,
    // outermost first. Empty when nothing of the path is the user's.
    std::vector<Step> path_to(uint32_t node);

    SampledCallers callers_of(uint32_t sample) const;

    ProbeSites* probe_sites() { return &probe_sites_; }

    // The line that a sample node stands for.
    SampledLine sampled_line(uint32_t node);

    // No computation: dwell's own code, sampled on the way into a call or out of it, and the OpenMP
    // runtime's in a region, where waiting is measured.
    bool is_apart(uint32_t sample);

    // Whose code a sample node lies in: the procedure that was entered by a call, then those that
    // were put into it. Empty when the sample lies in no known module.
    std::vector<uint32_t> sampled_procedures(uint32_t node);

    uint32_t depth(uint32_t node) const { return depths_[node]; }
    const Procedure& procedure(uint32_t number) const { return procedures_[number]; }
    const Statement& statement(uint32_t number) const { return statements_[number]; }
    const Region& region(uint32_t number) const { return regions_[number]; }

    // Modules that hold a frame of some path: those whose missing debug information matters.
    const std::set<uint32_t>& modules_used() const { return modules_used_; }

  private:
    struct Frame {
        const SourceFrame* source;
        const ResolvedAddress* address;  // null: made by a probe
        uint32_t module;
        uint32_t node;  // of the merged tree
        uint32_t labels;
        bool is_entry;  // entered from the C library's start code: main, whatever its symbol says
        const ProbeSite* site;  // null: a frame of the stack
    };
    // Where a path stands while its steps are made.
    struct Position {
        const ProbeSite* procedure = nullptr;  // probed, and nothing was called from it since
        const ProbeSite* innermost = nullptr;  // it, or the innermost probed loop in it
        const std::vector<SourceFrame>* inlined = nullptr;  // entered since, around `innermost`
        bool outlined = false;  // in a construct of OpenMP, whose code compilers put elsewhere
        const SourceFrame* construct = nullptr;  // and where that stands, if it is known
    };

    uint32_t above(uint32_t node) const;
    std::vector<uint32_t> chain_to(uint32_t node);
    std::vector<uint32_t> enter_regions(const std::vector<uint32_t>& sampled);
    uint32_t region_of(uint32_t parent, uint32_t sampled);
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
    std::map<uint32_t, std::vector<uint32_t>> regions_below_;  // of OpenMP, by merged parent
    std::map<std::array<uint64_t, 3>, uint32_t> calls_;        // merged parent, module, offset
    std::vector<ModuleKind> module_kinds_;
    std::vector<bool> system_;  // by module: see kLabelSystem
    std::map<uint64_t, ResolvedAddress> foreign_;
    std::map<uint64_t, ResolvedAddress> python_;  // by the place of their texts
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
