// dwell_gcc.so: finds the sites of a program while GCC compiles it, inserts probes and writes the
// static table. One plugin for C, C++ and Fortran, because all become GIMPLE. With -flto it works
// in the link step, so that command line needs it, too.
//
// Arguments (-fplugin-arg-dwell_gcc-KEY[=VALUE]): all: probes at every procedure and loop; verbose:
// report what was done; enable=FILE: the enabling profile.
#include "instrument/gcc/gcc_probes.h"
#include "instrument/selection/profile_wishes.h"

// GCC looks up these two names.
__attribute__((visibility("default"))) int plugin_is_GPL_compatible;

namespace dwell {

namespace {

// State of one compiler process. It contains no trees, because GCC's collector does not scan it.
struct Unit {
    UnitFacts facts;
    SelectionOptions options;
    SiteTable table;
    bool verbose = false;
    std::unordered_map<unsigned, int> group_of;       // DECL_UID of a procedure
    std::vector<std::pair<int, unsigned>> contained;  // group, DECL_UID of the host
    unsigned small = 0;
    unsigned loop_probes = 0;
};
Unit unit;

// Without a red zone: the memory below the stack pointer belongs to the probes.
void give_up_red_zone(tree decl) {
    if ((target_flags & MASK_NO_RED_ZONE) == 0) {
        target_flags |= MASK_NO_RED_ZONE;
        DECL_FUNCTION_SPECIFIC_TARGET(decl) =
            build_target_option_node(&global_options, &global_options_set);
    }
}

void instrument(function* procedure) {
    const Treatment treatment = treatment_of(procedure);
    if (treatment == Treatment::kLeaveAlone) {
        return;
    }
    loop_optimizer_init(LOOPS_NORMAL);
    ProcedureSites sites = find_sites(procedure, unit.facts, unit.options, treatment);
    ++unit.table.procedures_seen;
    unit.table.loops_seen += sites.loops_seen;
    unit.small += (sites.group.rows[0].flags & kRowSmall) != 0 ? 1 : 0;
    unit.loop_probes += static_cast<unsigned>(sites.probed_loops.size());

    const int group = unit.table.add(sites.group);
    unit.group_of[DECL_UID(procedure->decl)] = group;
    if (tree host = decl_function_context(procedure->decl)) {
        unit.contained.emplace_back(group, DECL_UID(host));
    }
    if (sites.group.rows[0].probes || !sites.probed_loops.empty() || !sites.vforks.empty()) {
        give_up_red_zone(procedure->decl);
        insert_probes(procedure, sites, group);
    }
    loop_optimizer_finalize();
}

// Separates Fortran's main program from the compiler's own main, which has no row.
void note_procedure(function* procedure) {
    if (linkage_name(procedure->decl) == "MAIN__") {
        DECL_UNINLINABLE(procedure->decl) = 1;
    }
    note_loops(procedure);
}

const pass_data kNoteData = {
    GIMPLE_PASS, "dwell_loops", OPTGROUP_NONE, TV_NONE, PROP_cfg, 0, 0, 0, 0};
class NotePass : public gimple_opt_pass {
  public:
    NotePass(gcc::context* context, void (*work)(function*))
        : gimple_opt_pass(kNoteData, context), work_(work) {}
    unsigned execute(function* procedure) override {
        work_(procedure);
        return 0;
    }

  private:
    void (*work_)(function*);
};

const pass_data kInstrumentData = {
    GIMPLE_PASS, "dwell", OPTGROUP_NONE, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, 0};
class InstrumentPass : public gimple_opt_pass {
  public:
    explicit InstrumentPass(gcc::context* context) : gimple_opt_pass(kInstrumentData, context) {}
    unsigned execute(function* procedure) override {
        instrument(procedure);
        return 0;
    }
};

const pass_data kCompleteData = {RTL_PASS, "dwell_frames", OPTGROUP_NONE, TV_NONE, 0, 0, 0, 0, 0};
class CompletePass : public rtl_opt_pass {
  public:
    explicit CompletePass(gcc::context* context) : rtl_opt_pass(kCompleteData, context) {}
    unsigned execute(function*) override {
        complete_probes();
        return 0;
    }
};

const pass_data kLayoutData = {RTL_PASS, "dwell_layout", OPTGROUP_NONE, TV_NONE, 0, 0, 0, 0, 0};
class LayoutPass : public rtl_opt_pass {
  public:
    explicit LayoutPass(gcc::context* context) : rtl_opt_pass(kLayoutData, context) {}
    bool gate(function*) override { return optimize > 0 && flag_reorder_blocks; }
    unsigned execute(function*) override {
        move_bodies_away();
        return 0;
    }
};

void gather_facts(void*, void*) {
    if (!flag_wpa) {
        unit.facts.gather();
    }
}

void finish_unit(void*, void*) {
    if (asm_out_file == nullptr || unit.table.empty() || seen_error()) {
        return;
    }
    for (const auto& [group, host] : unit.contained) {
        const auto found = unit.group_of.find(host);
        if (found != unit.group_of.end()) {
            unit.table.group(group).host = found->second;
        }
    }
    unit.table.compiler = std::string("gcc ") + gcc_version.basever;
    if (!in_lto_p && main_input_filename != nullptr) {
        unit.table.file = remap_debug_filename(main_input_filename);
    }
    const char* directory = get_src_pwd();
    unit.table.directory = directory != nullptr ? remap_debug_filename(directory) : "";
    const bool intel = ix86_asm_dialect == ASM_INTEL;
    if (intel) {
        fputs("\t.att_syntax prefix\n", asm_out_file);
    }
    unit.table.write(asm_out_file);
    if (intel) {
        fputs("\t.intel_syntax noprefix\n", asm_out_file);
    }
    if (unit.verbose) {
        fprintf(stderr,
                "dwell: %s: %u procedures, %u of them too small; %u loops, %u with probes\n",
                in_lto_p ? "link" : main_input_filename, unit.table.procedures_seen, unit.small,
                unit.table.loops_seen, unit.loop_probes);
    }
}

// Probes reach the table by an address relative to the code.
bool is_target_supported() {
    return TARGET_64BIT && !TARGET_X32 && ix86_cmodel != CM_LARGE && ix86_cmodel != CM_LARGE_PIC &&
           ix86_cmodel != CM_KERNEL;
}

bool read_profile(const char* path) {
    static ProfileWishes wishes;  // until the compiler ends
    unit.options.wishes = &wishes;
    if (!wishes.read(path)) {
        error("%s", wishes.error());
        return false;
    }
    return true;
}

bool take_arguments(const plugin_name_args* arguments) {
    for (int i = 0; i < arguments->argc; ++i) {
        const std::string_view key = arguments->argv[i].key;
        if (key == "all") {
            unit.options.all = true;
        } else if (key == "verbose") {
            unit.verbose = true;
        } else if (key == "enable" && arguments->argv[i].value != nullptr) {
            if (!read_profile(arguments->argv[i].value)) {
                return false;
            }
        } else {
            error("dwell: unknown plugin argument %qs", arguments->argv[i].key);
            return false;
        }
    }
    return true;
}

}  // namespace

}  // namespace dwell

__attribute__((visibility("default"))) int plugin_init(plugin_name_args* arguments,
                                                       plugin_gcc_version* version) {
    using namespace dwell;
    if (!plugin_default_version_check(version, &gcc_version)) {
        inform(UNKNOWN_LOCATION, "dwell: this compiler is not gcc %s: no probes",
               gcc_version.basever);
        return 0;
    }
    if (!take_arguments(arguments)) {
        return 1;
    }
    if (!is_target_supported()) {
        inform(UNKNOWN_LOCATION, "dwell: no probes for this target or code model");
        return 0;
    }
    register_pass_info note_pass = {new NotePass(g, note_procedure), "tailr", 1,
                                    PASS_POS_INSERT_BEFORE};
    register_pass_info mark_pass = {new NotePass(g, mark_new_loops), "tailr", 1,
                                    PASS_POS_INSERT_AFTER};
    register_pass_info instrument_pass = {new InstrumentPass(g), "adjust_alignment", 1,
                                          PASS_POS_INSERT_AFTER};
    register_pass_info complete_pass = {new CompletePass(g), "expand", 1, PASS_POS_INSERT_AFTER};
    register_pass_info layout_pass = {new LayoutPass(g), "bbro", 1, PASS_POS_INSERT_BEFORE};
    const char* name = arguments->base_name;
    register_callback(name, PLUGIN_PASS_MANAGER_SETUP, nullptr, &note_pass);
    register_callback(name, PLUGIN_PASS_MANAGER_SETUP, nullptr, &mark_pass);
    register_callback(name, PLUGIN_PASS_MANAGER_SETUP, nullptr, &instrument_pass);
    register_callback(name, PLUGIN_PASS_MANAGER_SETUP, nullptr, &complete_pass);
    register_callback(name, PLUGIN_PASS_MANAGER_SETUP, nullptr, &layout_pass);
    register_callback(name, PLUGIN_ALL_IPA_PASSES_END, gather_facts, nullptr);
    register_callback(name, PLUGIN_FINISH_UNIT, finish_unit, nullptr);
    return 0;
}
