// Builds control-flow graphs of machine code; see control_flow.h. The graph contains every possible
// path and some impossible ones: calls that do not return continue, and jumps through unknown
// tables lead anywhere in the procedure. So a path that the graph lacks does not exist.
#include "summarize/code/control_flow.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "runtime/contract/clone_names.h"
#include "summarize/code/code_ranges.h"
#include "summarize/code/machine_code.h"

namespace dwell {
namespace {

constexpr int kDeepestCallee = 8;
constexpr size_t kMostRanges = 16;  // of one procedure

std::unordered_set<uint64_t> returns(const std::vector<uint64_t>& addresses) {
    return {addresses.begin(), addresses.end()};
}

}  // namespace

// One procedure: the ranges that jumps connect.
struct ControlFlow::Code {
    std::vector<CodeRange> ranges;
    std::vector<MachineInstruction> instructions;  // range by range
    std::unordered_map<uint64_t, uint32_t> at;     // instructions by address
    std::vector<Landing> landings;
    std::unordered_map<uint32_t, std::vector<uint32_t>> tables;  // targets of indirect jumps
    std::unordered_map<uint64_t, std::vector<uint64_t>> calls;   // by callee: return addresses
    uint64_t entry = 0;
    bool understood = true;

    bool holds(uint64_t address) const {
        return std::any_of(ranges.begin(), ranges.end(), [address](const CodeRange& range) {
            return range.start <= address && address < range.end;
        });
    }
    // The instructions after the calls with these return addresses; false if one is not in this
    // code.
    bool find_returns(const std::vector<uint64_t>& addresses, std::vector<uint32_t>* found) const {
        for (const uint64_t address : addresses) {
            const auto next = at.find(address);
            if (next != at.end()) {
                found->push_back(next->second);
            } else if (!holds(address - 1)) {
                return false;
            }  // a call at the end of a range never returns
        }
        return true;
    }
};

// Follows all paths from some instructions on.
struct ControlFlow::Search {
    // `targets`: return addresses of calls that end a path. `blocks`: calls that no path passes.
    Search(const Code& code, std::unordered_set<uint64_t> targets,
           std::function<bool(uint32_t)> blocks,
           std::function<bool(const MachineInstruction&)> marks = nullptr)
        : code_(code),
          targets_(std::move(targets)),
          blocks_(std::move(blocks)),
          marks_(std::move(marks)) {}

    bool reached = false;         // a target, on an unmarked path
    bool reached_marked = false;  // a target, on a marked path
    bool left = false;            // the procedure
    std::vector<uint64_t> calls;  // callees on the paths
    bool calls_unknown = false;

    void run(const std::vector<uint32_t>& starts) {
        seen_.assign(2 * code_.instructions.size(), false);
        for (const uint32_t start : starts) add(start, false);
        while (!open_.empty()) {
            const auto [index, marked] = open_.back();
            open_.pop_back();
            follow(index, marked);
        }
    }

  private:
    void add(uint32_t index, bool marked) {
        const size_t place = 2 * size_t{index} + (marked ? 1 : 0);
        if (seen_[place]) return;
        seen_[place] = true;
        open_.emplace_back(index, marked);
    }
    void add_at(uint64_t address, bool marked) {
        const auto found = code_.at.find(address);
        if (found != code_.at.end()) {
            add(found->second, marked);
        } else {
            left = true;
        }
    }
    // A call at the end of a range does not return, so no path continues there.
    void add_next(uint32_t index, bool marked) {
        const auto next = code_.at.find(code_.instructions[index].end());
        if (next != code_.at.end()) add(next->second, marked);
    }

    void follow(uint32_t index, bool marked) {
        const MachineInstruction& instruction = code_.instructions[index];
        using Kind = MachineInstruction::Kind;
        const bool is_target = instruction.is_call() && targets_.count(instruction.end()) != 0;
        if (is_target) {
            (marked ? reached_marked : reached) = true;
            return;
        }
        if (instruction.is_call() && blocks_(index)) return;
        if (instruction.kind == Kind::kCall) calls.push_back(instruction.target);
        if (instruction.kind == Kind::kCallUnknown) calls_unknown = true;
        const bool back = instruction.is_direct_jump() && instruction.target <= instruction.address;
        if (marks_ && (instruction.is_call() || back) && marks_(instruction)) marked = true;
        switch (instruction.kind) {
            case Kind::kOther:
                add_next(index, marked);
                break;
            case Kind::kCall:
            case Kind::kCallOut:
            case Kind::kCallUnknown:
                add_next(index, marked);
                for (const Landing& landing : code_.landings) {
                    const bool lands =
                        landing.start <= instruction.address && instruction.address < landing.end;
                    if (lands) add_at(landing.landing, marked);
                }
                break;
            case Kind::kJump:
                add_at(instruction.target, marked);
                break;
            case Kind::kBranch:
                add_next(index, marked);
                add_at(instruction.target, marked);
                break;
            case Kind::kIndirectJump:
                follow_table(index, marked);
                break;
            case Kind::kReturn:
            case Kind::kJumpOut:
                left = true;
                break;
            case Kind::kStop:
                break;
        }
    }
    void follow_table(uint32_t index, bool marked) {
        const auto table = code_.tables.find(index);
        if (table != code_.tables.end()) {
            for (const uint32_t next : table->second) add(next, marked);
            return;
        }
        left = true;
        for (uint32_t any = 0; any < code_.instructions.size(); ++any) {
            add(any, marked);
            add(any, marks_ != nullptr);
        }
    }

    const Code& code_;
    const std::unordered_set<uint64_t> targets_;
    const std::function<bool(uint32_t)> blocks_;
    const std::function<bool(const MachineInstruction&)> marks_;
    std::vector<bool> seen_;
    std::vector<std::pair<uint32_t, bool>> open_;
};

ControlFlow::ControlFlow(DebugFile* file) : file_(file) {}
ControlFlow::~ControlFlow() = default;

namespace {

// The name of a symbol that starts there, without the suffix of the compiler; empty when there is
// none.
std::string_view name_at(DebugFile* file, uint64_t address) {
    const FunctionSymbol* const symbol = file->symbol_at(address);
    return symbol != nullptr && symbol->start == address ? symbol->name : std::string_view();
}

bool is_cold_name(std::string_view name) { return name.find(".cold") != std::string_view::npos; }

// A jump to the beginning of other code is a tail call, except into the cold part that the compiler
// moved away.
bool is_part(DebugFile* file, const CodeRange& range, uint64_t target) {
    if (range.start != target) return true;
    const std::string_view name = name_at(file, target);
    // Without a symbol both are possible.
    return name.empty() || is_cold_name(name);
}

}  // namespace

std::unique_ptr<ControlFlow::Code> ControlFlow::read_code(uint64_t address) {
    auto code = std::make_unique<Code>();
    const auto add_range = [&](uint64_t at) {
        const std::optional<CodeRange> range = code_range(file_, at);
        if (!range || code->ranges.size() == kMostRanges) return false;
        code->ranges.push_back(*range);
        return true;
    };
    code->understood = add_range(address);
    if (!code->understood) return code;
    // The cold part does not show where the procedure begins.
    const std::string_view name = name_at(file_, code->ranges[0].start);
    code->entry = code->ranges[0].start;
    if (is_cold_name(name)) {
        code->entry = file_->address_of(std::string(name.substr(0, name.find(".cold"))));
        code->understood = code->entry != 0 && add_range(code->entry);
    }
    for (size_t i = 0; code->understood && i < code->ranges.size(); ++i) {
        const CodeRange range = code->ranges[i];
        const size_t first = code->instructions.size();
        code->understood = read_instructions(file_, range.start, range.end, &code->instructions) &&
                           read_landings(file_, range, &code->landings);
        for (size_t k = first; k < code->instructions.size(); ++k) {
            code->at.emplace(code->instructions[k].address, static_cast<uint32_t>(k));
        }
        const auto follow = [&](uint64_t target) {
            if (code->holds(target) || file_->bytes_at(target).linkage) return;
            const std::optional<CodeRange> other = code_range(file_, target);
            if (other && is_part(file_, *other, target)) add_range(target);
        };
        for (size_t k = first; k < code->instructions.size(); ++k) {
            const MachineInstruction& instruction = code->instructions[k];
            if (instruction.is_direct_jump()) follow(instruction.target);
            if (instruction.kind == MachineInstruction::Kind::kCall) {
                code->calls[instruction.target].push_back(instruction.end());
            }
        }
        for (const Landing& landing : code->landings) follow(landing.landing);
    }
    const bool whole = code->ranges.size() < kMostRanges && code->at.count(code->entry) != 0;
    code->understood = code->understood && whole;
    for (uint32_t i = 0; code->understood && i < code->instructions.size(); ++i) {
        if (code->instructions[i].kind != MachineInstruction::Kind::kIndirectJump) continue;
        const std::vector<uint64_t> targets = jump_table(file_, code->instructions, i, code->at);
        if (targets.empty()) continue;
        for (const uint64_t target : targets) code->tables[i].push_back(code->at.at(target));
    }
    return code;
}

ControlFlow::Code* ControlFlow::code_around(uint64_t address) {
    const std::optional<CodeRange> range = code_range(file_, address);
    if (!range) return nullptr;
    const auto known = code_by_range_.find(range->start);
    if (known != code_by_range_.end()) return known->second;
    codes_.push_back(read_code(address));
    Code* const code = codes_.back().get();
    code_by_range_.emplace(range->start, code);
    for (const CodeRange& part : code->ranges) code_by_range_.emplace(part.start, code);
    return code;
}

// Whether no path from this call returns without communication.
bool ControlFlow::ends_at(const Code& code, uint32_t call) {
    const MachineInstruction& instruction = code.instructions[call];
    if (instruction.kind == MachineInstruction::Kind::kCallOut) {
        return ends_.count(instruction.end()) != 0;
    }
    return instruction.kind == MachineInstruction::Kind::kCall &&
           always_communicates(instruction.target);
}

// Returns false unless all these calls are in one procedure whose code was decoded.
bool ControlFlow::find(const Between& between, const Code** code, std::vector<uint32_t>* starts) {
    if (between.left.empty() || between.reached.empty()) return false;
    *code = code_around(between.left[0] - 1);
    std::vector<uint32_t> ends;
    return *code != nullptr && (*code)->understood && (*code)->find_returns(between.left, starts) &&
           (*code)->find_returns(between.reached, &ends);
}

bool ControlFlow::always_communicates(uint64_t entry) {
    const auto [known, is_new] = communicates_.try_emplace(entry, false);  // while it is being
                                                                           // computed
    if (!is_new) return known->second;
    if (depth_ == kDeepestCallee) {
        communicates_.erase(known);
        return false;
    }
    ++depth_;
    const Code* const code = code_around(entry);
    bool always = false;
    if (code != nullptr && code->understood && code->entry == entry) {
        const bool communicates = std::any_of(
            code->instructions.begin(), code->instructions.end(), [this](const auto& instruction) {
                return instruction.is_call() &&
                       (ends_.count(instruction.end()) != 0 ||
                        instruction.kind == MachineInstruction::Kind::kCall);
            });
        if (communicates) {
            Search search(*code, {}, [&](uint32_t call) { return ends_at(*code, call); });
            search.run({code->at.at(entry)});
            always = !search.left;
        }
    }
    --depth_;
    return communicates_[entry] = always;
}

Ways ControlFlow::ways(const Between& between) {
    Ways found;
    const Code* code = nullptr;
    std::vector<uint32_t> starts;
    if (!find(between, &code, &starts)) return found;
    const auto blocks = [&](uint32_t call) { return ends_at(*code, call); };
    Search inside(*code, returns(between.reached), blocks);
    inside.run(starts);
    Search out(*code, {}, blocks);
    out.run(starts);
    Search in(*code, returns(between.reached), blocks);
    in.run({code->at.at(code->entry)});
    found.calls = std::move(inside.calls);
    found.all_calls = !inside.calls_unknown;
    for (const MachineInstruction& at : code->instructions) {
        // The call that has just returned, and the callee, are part of the path.
        const auto ends = [&at](uint64_t call) { return call == at.end(); };
        const bool first = std::any_of(between.left.begin(), between.left.end(), ends);
        const bool last = std::any_of(between.reached.begin(), between.reached.end(), ends);
        if ((first || last) && at.is_call()) found.calls.push_back(at.target);
    }
    found.known = true;
    found.inside = inside.reached;
    found.leaves = out.left;
    found.reenters = in.reached;
    return found;
}

ControlFlow::WaysOfPart ControlFlow::ways_of_part(
    const Between& between, const std::function<bool(uint64_t address)>& is_outside) {
    const Code* code = nullptr;
    std::vector<uint32_t> starts;
    if (!find(between, &code, &starts)) return {true, true};
    Search search(
        *code, returns(between.reached), [&](uint32_t call) { return ends_at(*code, call); },
        [&](const MachineInstruction& at) { return is_outside(at.address); });
    search.run(starts);
    return {search.reached, search.reached_marked};
}

const std::vector<uint64_t>& ControlFlow::calls_in(uint64_t address, uint64_t callee) {
    static const std::vector<uint64_t> kNone;
    const Code* const code = code_around(address);
    if (code == nullptr || !code->understood) return kNone;
    const auto found = code->calls.find(callee);
    return found != code->calls.end() ? found->second : kNone;
}

uint64_t ControlFlow::start_of(uint64_t address) const {
    const std::optional<CodeRange> range = code_range(file_, address);
    return range ? range->start : 0;
}

}  // namespace dwell
