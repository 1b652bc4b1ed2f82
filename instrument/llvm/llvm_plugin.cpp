// The pass plugin for clang: builds the static table of each module and inserts probes
// (runtime/contract/site_table.h). When it runs:
//
//   -O1 and up        before vectorisation, after inlining (extension point "vectorizer start")
//   -O0               last ("optimizer last"): OpenMP bodies and coroutines are separate then
//   -flto=thin        last before the link, which is before vectorisation
//   -flto             as without -flto; no plugin runs in the link step
//
// With -flto and -flto=thin, procedures with probes are marked so that the link does not inline
// them.
#include <memory>

#include "instrument/llvm/llvm_options.h"
#include "instrument/llvm/llvm_probes.h"
#include "llvm/ADT/Triple.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Support/raw_ostream.h"

using llvm::Function;
using llvm::FunctionAnalysisManager;
using llvm::Module;
using llvm::ModuleAnalysisManager;
using llvm::PreservedAnalyses;

namespace dwell {
namespace {

// Named metadata of a module whose sites were found; it persists until the module's link step.
constexpr const char* kDone = "dwell.sites";

bool is_set(const char* variable) {
    const char* value = getenv(variable);
    return value != nullptr && *value != '\0' && strcmp(value, "0") != 0;
}

std::unique_ptr<LlvmOptions> read_options() {
    auto options = std::make_unique<LlvmOptions>();
    options->all = is_set("DWELL_CC_ALL");
    options->verbose = is_set("DWELL_CC_VERBOSE");
    options->strip_debug = is_set("DWELL_CC_STRIP_DEBUG");
    options->marked = is_set("DWELL_CC_MARKED");
    const char* profile = getenv("DWELL_CC_ENABLE");
    if (profile != nullptr && *profile != '\0' && !options->profile.read(profile)) {
        llvm::errs() << "dwell: " << options->profile.error() << "\n";
        exit(2);
    }
    return options;
}

// Probes exist for one machine type; for others the program is compiled without.
bool is_suitable(const Module& module) {
    const llvm::Triple triple(module.getTargetTriple());
    const auto code_model = module.getCodeModel();
    const bool suitable = triple.getArch() == llvm::Triple::x86_64 && triple.isOSLinux() &&
                          !triple.isX32() && (!code_model || *code_model != llvm::CodeModel::Large);
    if (!suitable) {
        llvm::errs() << "dwell: no probes: not x86-64 Linux with the small or medium code model\n";
    }
    return suitable;
}

bool is_linked_later(const Module& module) {
    return module.getModuleFlag("EnableSplitLTOUnit") != nullptr ||
           module.getModuleFlag("ThinLTO") != nullptr;
}

// Whether the debug information is at most what the plugin requested; more of it comes from the
// user.
bool has_lines_only(const Module& module) {
    return llvm::all_of(module.debug_compile_units(), [](const llvm::DICompileUnit* unit) {
        return unit->getEmissionKind() == llvm::DICompileUnit::LineTablesOnly;
    });
}

// One instance for each pipeline of clang, which means one for each module.
class Instrumenter {
  public:
    Instrumenter() : options_(read_options()) {}

    void look_ahead(Module& module) { written_.remember(module, options_->marked); }

    // On its first call: finds the module's sites and writes its table.
    void begin(Module& module) {
        if (module.getNamedMetadata(kDone) != nullptr) return;
        module.getOrInsertNamedMetadata(kDone);
        if (!is_suitable(module)) return;
        unit_ = find_sites(module, *options_, written_);
        if (unit_.rows.empty()) return;
        tables_ = emit_tables(module, unit_);
        active_ = true;
        if (options_->verbose) report(module);
    }

    bool instrument(Function& function, FunctionAnalysisManager& analyses) {
        if (!active_) return false;
        bool changed = false;
        if (is_linked_later(*function.getParent()) && !function.isDeclaration()) {
            changed = prepare_for_link(function);
        }
        return insert_probes(function, unit_, tables_, analyses) || changed;
    }

    const LlvmOptions& options() const { return *options_; }

  private:
    // After inlining elsewhere, the probes of a procedure would name the wrong frame, and probes of
    // its loops need a frame without red zone.
    bool prepare_for_link(Function& function) {
        function.addFnAttr(llvm::Attribute::NoRedZone);
        if (unit_.procedures.count(&function) != 0) {
            function.removeFnAttr(llvm::Attribute::AlwaysInline);
            function.addFnAttr(llvm::Attribute::NoInline);
        }
        return true;
    }

    void report(const Module& module) const {
        llvm::errs() << "dwell: " << module.getSourceFileName() << ": " << unit_.rows.size()
                     << " sites, " << unit_.procedures.size() << " of " << unit_.procedures_seen
                     << " procedures and " << unit_.loops.size() << " of " << unit_.loops_seen
                     << " loops with probes\n";
    }

    std::unique_ptr<LlvmOptions> options_;
    AsWritten written_;
    LlvmUnit unit_;
    LlvmTables tables_{};
    bool active_ = false;
};

template <class Pass>
struct SharedPass : llvm::PassInfoMixin<Pass> {
    explicit SharedPass(std::shared_ptr<Instrumenter> shared) : instrumenter(std::move(shared)) {}

    // Runs also at -O0 and in procedures that must not be optimised.
    static bool isRequired() { return true; }  // NOLINT(readability-identifier-naming)

    std::shared_ptr<Instrumenter> instrumenter;
};

struct EarlyPass : SharedPass<EarlyPass> {
    using SharedPass::SharedPass;

    PreservedAnalyses run(Module& module, ModuleAnalysisManager&) {
        instrumenter->look_ahead(module);
        return PreservedAnalyses::all();
    }
};

struct ProcedurePass : SharedPass<ProcedurePass> {
    using SharedPass::SharedPass;

    PreservedAnalyses run(Function& function, FunctionAnalysisManager& analyses) {
        instrumenter->begin(*function.getParent());
        return instrumenter->instrument(function, analyses) ? PreservedAnalyses::none()
                                                            : PreservedAnalyses::all();
    }
};

struct ModulePass : SharedPass<ModulePass> {
    ModulePass(std::shared_ptr<Instrumenter> shared, bool optimised)
        : SharedPass<ModulePass>(std::move(shared)), optimised_(optimised) {}

    PreservedAnalyses run(Module& module, ModuleAnalysisManager& analyses) {
        if (module.getNamedMetadata(kDone) == nullptr) {
            auto& functions =
                analyses.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module).getManager();
            instrumenter->begin(module);
            for (Function& function : module) instrumenter->instrument(function, functions);
        }
        if (optimised_) move_bodies_away(module);
        bring_slots_home(module);
        if (instrumenter->options().strip_debug && has_lines_only(module)) {
            llvm::StripDebugInfo(module);
        }
        return PreservedAnalyses::none();
    }

  private:
    bool optimised_;
};

void add_passes(llvm::PassBuilder& builder) {
    auto instrumenter = std::make_shared<Instrumenter>();
    builder.registerPipelineStartEPCallback(
        [instrumenter](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
            passes.addPass(EarlyPass(instrumenter));
        });
    builder.registerVectorizerStartEPCallback(
        [instrumenter](llvm::FunctionPassManager& passes, llvm::OptimizationLevel level) {
            if (level != llvm::OptimizationLevel::O0) passes.addPass(ProcedurePass(instrumenter));
        });
    builder.registerOptimizerLastEPCallback(
        [instrumenter](llvm::ModulePassManager& passes, llvm::OptimizationLevel level) {
            passes.addPass(ModulePass(instrumenter, level != llvm::OptimizationLevel::O0));
        });
}

}  // namespace
}  // namespace dwell

extern "C" LLVM_EXTERNAL_VISIBILITY LLVM_ATTRIBUTE_WEAK llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {
    return {LLVM_PLUGIN_API_VERSION, "dwell", "1", dwell::add_passes};
}
