// Call-site entries: DWARF 5 section 3.4.1 (DW_TAG_call_site), and the GNU form of DWARF 4. As
// found:
//   gcc, DWARF 5        DW_AT_call_return_pc, also for jumps: the address after the instruction
//   gcc, clang, DWARF 4 DW_AT_low_pc: the same
//   clang, DWARF 5      DW_AT_call_return_pc for calls, DW_AT_call_pc for jumps: the jump itself
#include "summarize/symbols/tail_calls.h"

#include <dwarf.h>

#include <algorithm>
#include <optional>

#include "summarize/code/symbol_names.h"

namespace dwell {
namespace {

constexpr size_t kDeepestTailCall = 8;

struct CallSite {
    std::optional<Dwarf_Die> callee;
    uint64_t return_pc = 0;
    uint64_t inside_pc = 0;  // an address inside the instruction
    bool is_jump = false;
};

bool read_address(Dwarf_Die* die, unsigned name, uint64_t* address) {
    Dwarf_Attribute attribute;
    Dwarf_Addr value = 0;
    if (dwarf_attr(die, name, &attribute) == nullptr || dwarf_formaddr(&attribute, &value) != 0) {
        return false;
    }
    *address = value;
    return true;
}

CallSite read_call_site(Dwarf_Die* die) {
    CallSite site;
    Dwarf_Attribute attribute;
    Dwarf_Die callee;
    if ((dwarf_attr(die, DW_AT_call_origin, &attribute) != nullptr ||
         dwarf_attr(die, DW_AT_abstract_origin, &attribute) != nullptr) &&
        dwarf_formref_die(&attribute, &callee) != nullptr) {
        site.callee = callee;
    }
    bool flag = false;
    for (const unsigned name : {DW_AT_call_tail_call, DW_AT_GNU_tail_call}) {
        if (dwarf_attr(die, name, &attribute) != nullptr &&
            dwarf_formflag(&attribute, &flag) == 0 && flag) {
            site.is_jump = true;
        }
    }
    if (read_address(die, DW_AT_call_return_pc, &site.return_pc) ||
        read_address(die, DW_AT_low_pc, &site.return_pc)) {
        site.inside_pc = site.return_pc - 1;
    }
    read_address(die, DW_AT_call_pc, &site.inside_pc);
    return site;
}

// Call sites of inlined functions are children of their inlined_subroutine; those of a contained
// procedure do not belong to this function.
void collect_call_sites(Dwarf_Die* parent, std::vector<CallSite>* sites) {
    Dwarf_Die child;
    if (dwarf_child(parent, &child) != 0) return;
    do {
        switch (dwarf_tag(&child)) {
            case DW_TAG_call_site:
            case DW_TAG_GNU_call_site:
                sites->push_back(read_call_site(&child));
                break;
            case DW_TAG_lexical_block:
            case DW_TAG_inlined_subroutine:
            case DW_TAG_try_block:
            case DW_TAG_catch_block:
                collect_call_sites(&child, sites);
                break;
            default:
                break;
        }
    } while (dwarf_siblingof(&child, &child) == 0);
}

class JumpSearch {
  public:
    JumpSearch(DebugInfo* info, std::string_view c_name) : info_(info), c_name_(c_name) {}

    void follow(Dwarf_Die* function) {
        if (path_.size() >= kDeepestTailCall) return;
        for (Dwarf_Die& copy : info_->compiled_copies(function)) {
            if (std::find(open_.begin(), open_.end(), copy.addr) != open_.end()) continue;
            open_.push_back(copy.addr);
            std::vector<CallSite> sites;
            collect_call_sites(&copy, &sites);
            for (CallSite& site : sites) {
                if (!site.is_jump || !site.callee || ways_ > 1) continue;
                follow_jump(&site);
            }
            open_.pop_back();
        }
    }

    size_t ways() const { return ways_; }
    const std::vector<uint64_t>& found() const { return found_; }

  private:
    void follow_jump(CallSite* site) {
        path_.push_back(site->inside_pc);
        const char* const name = DebugInfo::symbol_of(&*site->callee);
        if (name != nullptr && is_mpi_function(name, c_name_)) {
            ++ways_;
            found_ = path_;
        } else {
            follow(&*site->callee);
        }
        path_.pop_back();
    }

    DebugInfo* info_;
    std::string_view c_name_;
    std::vector<const void*> open_;
    std::vector<uint64_t> path_;
    std::vector<uint64_t> found_;
    size_t ways_ = 0;
};

bool have_lines(DebugInfo* info, const std::vector<uint64_t>& jumps) {
    return std::all_of(jumps.begin(), jumps.end(), [info](uint64_t jump) {
        const std::vector<SourceFrame> frames = info->frames_at(jump);
        return !frames.empty() && frames.back().line != 0;
    });
}

void follow_jumps(DebugInfo* info, Dwarf_Die* function, std::string_view c_name, TailCall* result) {
    JumpSearch search(info, c_name);
    search.follow(function);
    const bool unique = search.ways() == 1 && have_lines(info, search.found());
    result->kind = unique ? TailCall::Kind::kUnique : TailCall::Kind::kUnknown;
    if (unique) result->jumps = search.found();
}

}  // namespace

TailCall find_tail_call(DebugInfo* info, uint64_t return_offset, std::string_view c_name) {
    TailCall result;
    std::optional<Dwarf_Die> caller = info->function_at(return_offset - 1);
    if (!caller) return result;
    Dwarf_Addr entry = 0;
    result.in_place = dwarf_entrypc(&*caller, &entry) == 0 && entry == return_offset - 1;
    if (result.in_place) {
        follow_jumps(info, &*caller, c_name, &result);
        return result;
    }
    std::vector<CallSite> sites;
    collect_call_sites(&*caller, &sites);
    const auto site = std::find_if(sites.begin(), sites.end(), [&](const CallSite& candidate) {
        return !candidate.is_jump && candidate.return_pc == return_offset;
    });
    if (site == sites.end() || !site->callee) return result;
    const char* const name = DebugInfo::symbol_of(&*site->callee);
    if (name == nullptr || is_mpi_entry(name)) return result;
    follow_jumps(info, &*site->callee, c_name, &result);
    return result;
}

}  // namespace dwell
