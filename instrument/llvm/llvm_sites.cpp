// Finds the sites of a module and chooses those with probes; see llvm_sites.h.
#include "instrument/llvm/llvm_sites.h"

#include <algorithm>

#include "instrument/llvm/llvm_loop_shape.h"
#include "instrument/llvm/llvm_options.h"
#include "instrument/selection/selection.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/GlobalIFunc.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using llvm::BasicBlock;
using llvm::CallBase;
using llvm::DILocation;
using llvm::DISubprogram;
using llvm::Function;
using llvm::Instruction;
using llvm::Loop;
using llvm::Module;
using llvm::StringRef;

namespace dwell {
namespace {

bool is_call_statement(const Instruction& instruction) {
    const auto* call = llvm::dyn_cast<CallBase>(&instruction);
    return call != nullptr && !llvm::isa<llvm::IntrinsicInst>(call) && !call->isInlineAsm();
}

const Function* called_procedure(const CallBase& call) {
    const llvm::Value* callee = call.getCalledOperand()->stripPointerCastsAndAliases();
    return llvm::dyn_cast<Function>(callee);
}

// Calls of the language's run-time library that nobody wrote.
bool is_support(StringRef name) {
    return name.startswith("__cxa_") || name.startswith("_Unwind_") || name.startswith("__clang_");
}

// Blocks from which the procedure can return; all blocks if it never does.
llvm::SmallPtrSet<const BasicBlock*, 32> returning_blocks(const Function& function) {
    llvm::SmallPtrSet<const BasicBlock*, 32> reached;
    std::vector<const BasicBlock*> pending;
    for (const BasicBlock& block : function) {
        if (llvm::isa<llvm::ReturnInst>(block.getTerminator())) {
            reached.insert(&block);
            pending.push_back(&block);
        }
    }
    if (pending.empty()) {
        for (const BasicBlock& block : function) reached.insert(&block);
    }
    while (!pending.empty()) {
        const BasicBlock* block = pending.back();
        pending.pop_back();
        for (const BasicBlock* before : llvm::predecessors(block)) {
            if (reached.insert(before).second) pending.push_back(before);
        }
    }
    return reached;
}

// Whether it counts as a statement: not if it only moves values between names, as in unoptimised
// code.
bool is_statement(const Instruction& instruction) {
    if (instruction.isDebugOrPseudoInst() || instruction.isLifetimeStartOrEnd() ||
        llvm::isa<llvm::AllocaInst, llvm::PHINode, llvm::CastInst, llvm::GetElementPtrInst>(
            instruction)) {
        return false;
    }
    if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(&instruction)) {
        return branch->isConditional();
    }
    const llvm::Value* address = llvm::getLoadStorePointerOperand(&instruction);
    return address == nullptr || !llvm::isa<llvm::AllocaInst>(address);
}

constexpr Choice kRefused{false, kRowUnselected};

class Finder {
  public:
    Finder(Module& module, const LlvmOptions& options, const AsWritten& written)
        : module_(module),
          options_(options),
          written_(written),
          libraries_(llvm::Triple(module.getTargetTriple())),
          library_(libraries_) {}

    LlvmUnit find() {
        find_unit();
        for (const llvm::GlobalIFunc& ifunc : module_.ifuncs()) {
            resolvers_.insert(ifunc.getResolverFunction());
        }
        for (Function& function : module_) {
            if (is_site(function)) {
                numbers_[&function] = procedures_.size();
                procedures_.push_back(&function);
            }
        }
        const std::vector<bool> small = find_small();
        for (size_t i = 0; i < procedures_.size(); ++i) place(i, small);
        return std::move(unit_);
    }

  private:
    void find_unit() {
        unit_.file = module_.getSourceFileName();
        for (const llvm::DICompileUnit* unit : module_.debug_compile_units()) {
            unit_.file = unit->getFilename().str();
            unit_.directory = unit->getDirectory().str();
            has_lines_ = true;
            break;
        }
        llvm::SmallString<256> directory;
        if (unit_.directory.empty() && !llvm::sys::fs::current_path(directory)) {
            unit_.directory = directory.str().str();
        }
    }

    // Defined in this module, and not made by the compiler.
    bool is_site(const Function& function) const {
        if (function.isDeclarationForLinker() || function.hasFnAttribute(llvm::Attribute::Naked)) {
            return false;
        }
        const DISubprogram* subprogram = function.getSubprogram();
        if (subprogram == nullptr) return !has_lines_;
        const llvm::DIFile* file = subprogram->getFile();
        if (file != nullptr && is_of_dwell_header(function.getName(), file->getFilename())) {
            return false;
        }
        return (subprogram->getFlags() & llvm::DINode::FlagThunk) == 0 &&
               (subprogram->getLine() != 0 || first_location(function) != nullptr);
    }

    // In the other procedures library code must not run.
    bool may_have_probes(const Function& function) const {
        return function.getCallingConv() != llvm::CallingConv::X86_INTR &&
               resolvers_.count(&function) == 0 && !AsWritten::wants_no_probes(function);
    }

    static const DILocation* first_location(const Function& function) {
        for (const Instruction& instruction : llvm::instructions(function)) {
            const DILocation* location = instruction.getDebugLoc();
            if (location != nullptr && location->getLine() != 0) return location;
        }
        return nullptr;
    }

    // The file name as given to the compiler.
    std::string file_name(const llvm::DIFile* file) const {
        if (file == nullptr) return "";
        const StringRef name = file->getFilename();
        const StringRef directory = file->getDirectory();
        if (llvm::sys::path::is_absolute(name) || directory.empty() ||
            directory == unit_.directory) {
            return name.str();
        }
        return (directory + "/" + name).str();
    }

    std::vector<bool> find_small() {
        std::vector<ProcedureFacts> facts;
        for (Function* function : procedures_) facts.push_back(facts_of(*function));
        return too_small(facts);
    }

    ProcedureFacts facts_of(Function& function) {
        ProcedureFacts facts;
        llvm::DominatorTree dominators(function);
        facts.has_loop = has_written_loop(llvm::LoopInfo(dominators));
        const auto returning = returning_blocks(function);
        for (const Instruction& instruction : llvm::instructions(function)) {
            facts.statements += is_statement(instruction);
            if (!is_call_statement(instruction)) continue;
            const auto& call = llvm::cast<CallBase>(instruction);
            const Function* callee = called_procedure(call);
            const auto number = callee == nullptr ? numbers_.end() : numbers_.find(callee);
            if (is_communication(called_name(call))) {
                facts.has_communication = true;
            } else if (number != numbers_.end()) {
                facts.callees.push_back(number->second);
            } else if (returning.count(instruction.getParent()) != 0 && takes_time(call) &&
                       !is_support(called_name(call))) {
                facts.calls_out_of_sight = true;
            }
        }
        return facts;
    }

    bool has_written_loop(const llvm::LoopInfo& loops) const {
        return llvm::any_of(loops.getLoopsInPreorder(),
                            [&](const Loop* loop) { return written_.is_loop(*loop); });
    }

    // False for library functions that the compiler expands in place or knows to have no effect.
    bool takes_time(const CallBase& call) const {
        const Function* callee = called_procedure(call);
        llvm::LibFunc known;
        return callee == nullptr || call.isNoBuiltin() || !library_.getLibFunc(*callee, known) ||
               !(library_.hasOptimizedCodeGen(known) || callee->onlyReadsMemory());
    }

    Wish wish(const LlvmRow& row, const std::string& procedure) const {
        return options_.profile.of(row.kind, row.flags, procedure, row.file, row.line);
    }

    int add(LlvmRow row, Choice choice) {
        row.flags |= choice.flags;
        if (choice.probes) row.level = unit_.levels++;
        unit_.rows.push_back(std::move(row));
        return static_cast<int>(unit_.rows.size()) - 1;
    }

    // An enclosing row comes before the rows inside it.
    void place(size_t number, const std::vector<bool>& small) {
        if (placed_.size() != procedures_.size()) placed_.resize(procedures_.size());
        if (placed_[number]) return;
        placed_[number] = true;
        const Function* host = host_of(*procedures_[number]);
        const auto found = host == nullptr ? numbers_.end() : numbers_.find(host);
        if (found != numbers_.end()) place(found->second, small);
        add_procedure(*procedures_[number], small[number], host);
    }

    // The procedure that contains `function` in the source, if its name or use shows it: lambdas,
    // members of local classes, bodies of OpenMP constructs.
    const Function* host_of(const Function& function) const {
        const StringRef name = function.getName();
        if (name.startswith(".omp_outlined.") || name.startswith(".omp_task_entry.")) {
            for (const llvm::User* user : function.users()) {
                const auto* call = caller_through(user);
                if (call != nullptr) return call->getFunction();
            }
        }
        if (!name.startswith("_ZZ")) return nullptr;
        for (size_t end = name.find('E', 3); end != StringRef::npos;
             end = name.find('E', end + 1)) {
            StringRef outer = name.slice(3, end);
            if (const Function* host = module_.getFunction(("_Z" + outer).str())) return host;
            unsigned length = 0;  // of a name without parameters, such as main
            if (!outer.consumeInteger(10, length) && length == outer.size()) {
                if (const Function* host = module_.getFunction(outer)) return host;
            }
        }
        return nullptr;
    }

    // The call with the argument `user`, through casts.
    static const CallBase* caller_through(const llvm::User* user) {
        while (!llvm::isa<llvm::Instruction>(user) && user->hasOneUse()) user = *user->user_begin();
        return llvm::dyn_cast<CallBase>(user);
    }

    // Parts of a coroutine that the compiler makes, besides its start and its body (.resume).
    static bool is_end_of_coroutine(StringRef name) {
        return name.endswith(".destroy") || name.endswith(".cleanup");
    }

    LlvmRow procedure_row(const Function& function, const Function* host) const {
        LlvmRow row;
        row.kind = SiteKind::kProcedure;
        row.name = llvm::GlobalValue::dropLLVMManglingEscape(function.getName()).str();
        const auto around =
            host == nullptr ? unit_.procedure_rows.end() : unit_.procedure_rows.find(host);
        if (around != unit_.procedure_rows.end()) row.enclosing = around->second;
        const DISubprogram* subprogram = function.getSubprogram();
        if (subprogram == nullptr) return row;
        row.file = file_name(subprogram->getFile());
        row.line = subprogram->getLine();
        if (subprogram->isArtificial() || is_end_of_coroutine(row.name)) {
            row.flags |= kRowArtificial;
        }
        if (row.line == 0) {  // code around static initialisers that are inlined into it
            const DILocation* first = first_location(function);
            row.file = file_name(first->getFile());
            row.line = first->getLine();
            row.flags |= kRowArtificial;
        }
        row.end_line = last_line(function, *subprogram);
        return row;
    }

    void add_procedure(Function& function, bool small, const Function* host) {
        ++unit_.procedures_seen;
        LlvmRow row = procedure_row(function, host);
        const std::string name = row.name;
        const uint8_t flags = row.flags;
        if (small) row.flags |= kRowSmall;  // the enabling profile may request it
        const Wish said = wish(row, name);
        row.flags = flags;
        const bool allowed = may_have_probes(function);
        const Choice choice = allowed ? choose_procedure(small, said, options_.all) : kRefused;
        const int number = add(std::move(row), choice);
        unit_.procedure_rows[&function] = number;
        if (choice.probes) unit_.procedures[&function] = number;
        add_inside(function, number, name, allowed);
    }

    void add_inside(Function& function, int procedure, const std::string& name, bool allowed) {
        llvm::DominatorTree dominators(function);
        llvm::LoopInfo loops(dominators);
        llvm::DenseMap<const Loop*, int> loop_rows;
        const auto row_around = [&](const Loop* loop) {
            const auto found = loop_rows.find(loop);
            return found == loop_rows.end() ? procedure : found->second;
        };
        for (Loop* loop : loops.getLoopsInPreorder()) {
            const Loop* outer = loop->getParentLoop();
            const int enclosing = row_around(outer);
            if (outer != nullptr && part_of_same(*outer) == loop) {
                loop_rows[loop] = enclosing;
                continue;
            }
            loop_rows[loop] =
                written_.is_loop(*loop) ? add_loop(*loop, enclosing, name, allowed) : enclosing;
        }
        for (const Instruction& instruction : llvm::instructions(function)) {
            if (!is_call_statement(instruction)) continue;
            add_call(llvm::cast<CallBase>(instruction),
                     row_around(loops.getLoopFor(instruction.getParent())));
        }
    }

    static unsigned last_line(const Function& function, const DISubprogram& subprogram) {
        unsigned last = 0;
        for (const Instruction& instruction : llvm::instructions(function)) {
            const DILocation* location = instruction.getDebugLoc();
            if (location != nullptr && location->getInlinedAt() == nullptr &&
                location->getFile() == subprogram.getFile()) {
                last = std::max(last, location->getLine());
            }
        }
        return last;
    }

    int add_loop(const Loop& loop, int enclosing, const std::string& procedure, bool allowed) {
        ++unit_.loops_seen;
        LlvmRow row;
        row.kind = SiteKind::kLoop;
        row.enclosing = enclosing;
        const Loop::LocRange range = loop.getLocRange();
        if (const DILocation* start = range.getStart()) {
            row.file = file_name(start->getFile());
            row.line = start->getLine();
            row.column = start->getColumn();
            const DILocation* end = range.getEnd();
            if (end != nullptr && end->getFile() == start->getFile()) row.end_line = end->getLine();
        }
        LoopFacts facts;
        facts.outermost = unit_.rows[static_cast<size_t>(enclosing)].kind == SiteKind::kProcedure;
        facts.has_loop = !innermost_part(loop)->isInnermost();
        for (const BasicBlock* block : loop.blocks()) {
            for (const Instruction& instruction : *block) {
                if (!is_call_statement(instruction)) continue;
                const auto& call = llvm::cast<CallBase>(instruction);
                facts.has_communication |= is_communication(called_name(call));
                facts.has_call |= takes_time(call);
            }
        }
        if (is_innermost(facts)) row.flags |= kRowInnermost;
        if (is_test_guessed(*innermost_part(loop))) row.flags |= kRowGuessed;
        const Choice choice =
            allowed ? choose_loop(facts, wish(row, procedure), options_.all) : kRefused;
        const int number = add(std::move(row), choice);
        const BasicBlock* header = innermost_part(loop)->getHeader();
        if (choice.probes) unit_.loops[header] = number;
        if (facts.has_call || facts.has_communication) unit_.calling_loops.insert(header);
        return number;
    }

    void add_call(const CallBase& call, int enclosing) {
        const StringRef name = called_name(call);
        const DILocation* location = call.getDebugLoc();
        if (is_support(name) || (has_lines_ && (location == nullptr || location->getLine() == 0))) {
            return;
        }
        LlvmRow row;
        row.kind = is_communication(name) ? SiteKind::kCommunication : SiteKind::kCall;
        row.name = name.str();
        row.enclosing = enclosing;
        if (location != nullptr) {
            row.file = file_name(location->getFile());
            row.line = location->getLine();
            row.column = location->getColumn();
        }
        add(std::move(row), {false, 0});
    }

    Module& module_;
    const LlvmOptions& options_;
    const AsWritten& written_;
    const llvm::TargetLibraryInfoImpl libraries_;
    const llvm::TargetLibraryInfo library_;
    LlvmUnit unit_;
    bool has_lines_ = false;
    llvm::SmallPtrSet<const Function*, 4> resolvers_;
    std::vector<Function*> procedures_;
    llvm::DenseMap<const Function*, size_t> numbers_;  // in procedures_
    std::vector<bool> placed_;
};

}  // namespace

StringRef called_name(const CallBase& call) {
    const Function* callee = called_procedure(call);
    if (callee == nullptr) return "";
    return llvm::GlobalValue::dropLLVMManglingEscape(callee->getName());
}

LlvmUnit find_sites(Module& module, const LlvmOptions& options, const AsWritten& written) {
    return Finder(module, options, written).find();
}

}  // namespace dwell
