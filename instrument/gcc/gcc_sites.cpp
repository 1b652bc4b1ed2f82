// Finds sites in GIMPLE, after inlining and before the loop optimisers.
#include "instrument/gcc/gcc_sites.h"

#include "instrument/gcc/gcc_loop_shape.h"
#include "instrument/gcc/gcc_written_loops.h"

namespace dwell {

namespace {

// --- Places in the source ---

struct Place {
    std::string file;
    uint32_t line = 0;
    uint16_t column = 0;
};

Place place_of(location_t location) {
    Place place;
    if (LOCATION_LOCUS(location) <= BUILTINS_LOCATION) {
        return place;
    }
    const expanded_location expanded = expand_location(location);
    if (expanded.file == nullptr || expanded.line <= 0) {
        return place;
    }
    place.file = remap_debug_filename(expanded.file);
    place.line = static_cast<uint32_t>(expanded.line);
    place.column = expanded.column > 0 && expanded.column <= UINT16_MAX
                       ? static_cast<uint16_t>(expanded.column)
                       : 0;
    return place;
}

// The lines of a run of statements, without those of inlined procedures as far as the compiler
// recorded them (it does with -g). The line of an inlined call belongs to its caller.
class Extent {
  public:
    void add(location_t location) {
        const Place place = place_of(location);
        if (place.line == 0) {
            return;
        }
        const std::vector<location_t> calls = calls_around(location);
        const size_t depth = calls.size();
        for (size_t i = 0; i < depth; ++i) {
            const Place call = place_of(calls[i]);
            uint32_t& last = last_calls_[{depth - 1 - i, call.file}];
            last = std::max(last, call.line);
        }
        if (first_.line == 0 || depth < depth_) {
            depth_ = depth;
            first_ = place;
            last_line_ = place.line;
        } else if (depth == depth_ && place.file == first_.file) {
            if (place.line < first_.line) {
                first_ = place;
            }
            last_line_ = std::max(last_line_, place.line);
        }
    }

    void add(basic_block block) {
        for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
            if (!is_gimple_debug(gsi_stmt(at))) {
                add(gimple_location(gsi_stmt(at)));
            }
        }
    }

    const Place& first() const { return first_; }
    uint32_t last_line() const {
        const auto call = last_calls_.find({depth_, first_.file});
        return call == last_calls_.end() ? last_line_ : std::max(last_line_, call->second);
    }
    size_t depth() const { return depth_; }

  private:
    Place first_;
    uint32_t last_line_ = 0;
    size_t depth_ = 0;
    std::map<std::pair<size_t, std::string>, uint32_t> last_calls_;  // line, by depth and file
};

bool inlined_code_is_known() { return debug_info_level >= DINFO_LEVEL_NORMAL || optimize == 0; }

void set_place(TableRow& row, const Place& place) {
    row.file = place.file;
    row.line = place.line;
    row.column = place.column;
}

// Whether the loop consists of its header; the optimisers give such a loop an empty latch.
bool ends_at_once(class loop* loop) {
    return loop->header == loop->latch ||
           (loop->num_nodes == 2 && last_stmt(loop->latch) == nullptr);
}

// A loop begins at its condition if that comes first (for, while, do of Fortran), else at its first
// statement (do ... while).
void set_loop_place(TableRow& row, basic_block header, const std::vector<basic_block>& blocks,
                    bool tests_first) {
    Extent head;
    if (tests_first) {
        head.add(gimple_location(last_stmt(header)));
    }
    if (head.first().line == 0) {
        head.add(header);
    }
    Extent whole;
    for (basic_block block : blocks) {
        whole.add(block);
    }
    const bool head_is_inlined = head.first().line == 0 || whole.depth() < head.depth();
    set_place(row, head_is_inlined || (!tests_first && inlined_code_is_known()) ? whole.first()
                                                                                : head.first());
    if (inlined_code_is_known() && whole.first().file == row.file) {
        row.end_line = std::max(whole.last_line(), row.line);
    }
}

void set_loop_place(TableRow& row, class loop* loop) {
    basic_block header = innermost_part(loop)->header;
    gimple* last = last_stmt(header);
    const bool tests_first = last != nullptr && gimple_code(last) == GIMPLE_COND &&
                             !ends_at_once(loop) && loop_exits_from_bb_p(loop, header);
    basic_block* blocks = get_loop_body(loop);
    set_loop_place(row, header, {blocks, blocks + loop->num_nodes}, tests_first);
    free(blocks);
}

// The same for a loop that GCC does not know as written.
void set_loop_place(TableRow& row, const WrittenLoop& loop) {
    gimple* last = last_stmt(loop.header);
    const bool tests_first = last != nullptr && gimple_code(last) == GIMPLE_COND &&
                             (loop.blocks.count(EDGE_SUCC(loop.header, 0)->dest) == 0 ||
                              loop.blocks.count(EDGE_SUCC(loop.header, 1)->dest) == 0);
    set_loop_place(row, loop.header, {loop.blocks.begin(), loop.blocks.end()}, tests_first);
}

// --- Procedures ---

bool has_attribute(tree decl, const char* name) {
    return lookup_attribute(name, DECL_ATTRIBUTES(decl)) != NULL_TREE;
}

// Whether no programmer wrote it. Bodies of lambdas, coroutines and OpenMP constructs are written.
bool is_artificial(tree decl, const std::string& name) {
    const size_t lambda = name.find("Ul");
    const bool written =
        (lambda != std::string::npos && name.find("_cl", lambda) != std::string::npos) ||
        name.ends_with(".actor") || name.find("._omp_fn.") != std::string::npos;
    return DECL_ARTIFICIAL(decl) && !written;
}

bool is_ifunc_resolver(tree decl) {
    if (DECL_ARTIFICIAL(decl) && has_attribute(decl, "target_clones")) {
        return true;
    }
    ipa_ref* reference = nullptr;
    cgraph_node* node = cgraph_node::get(decl);
    if (node == nullptr) {
        return false;
    }
    for (unsigned i = 0; node->iterate_direct_aliases(i, reference); ++i) {
        auto* alias = dyn_cast<cgraph_node*>(reference->referring);
        if (alias != nullptr && alias->ifunc_resolver) {
            return true;
        }
    }
    return node->ifunc_resolver || node->dispatcher_function;
}

// The compiler's own call of the program in Fortran, and calls of its static initialisers.
bool is_glue(function* procedure) {
    tree decl = procedure->decl;
    const std::string name = linkage_name(decl);
    if ((name == "main" && strstr(lang_hooks.name, "Fortran") != nullptr) ||
        name.starts_with("_sub_I_") || name.starts_with("_sub_D_")) {
        return true;  // the latter two: code of sanitizers and coverage
    }
    if (!is_static_initialiser(decl) ||
        !(DECL_STATIC_CONSTRUCTOR(decl) || DECL_STATIC_DESTRUCTOR(decl))) {
        return false;
    }
    basic_block block;
    FOR_EACH_BB_FN(block, procedure) {
        for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
            const gimple* statement = gsi_stmt(at);
            if (LOCATION_LOCUS(gimple_location(statement)) <= BUILTINS_LOCATION ||
                is_gimple_debug(statement) || gimple_code(statement) == GIMPLE_RETURN) {
                continue;
            }
            tree callee = is_gimple_call(statement) ? gimple_call_fndecl(statement) : NULL_TREE;
            if (callee == NULL_TREE ||
                !(is_static_initialiser(callee) || DECL_ARTIFICIAL(callee))) {
                return false;
            }
        }
    }
    return true;
}

class Finder {
  public:
    Finder(function* procedure, const UnitFacts& facts, const SelectionOptions& options,
           Treatment treatment)
        : procedure_(procedure), facts_(facts), options_(options), treatment_(treatment) {}

    ProcedureSites find() {
        add_procedure();
        add_loops();
        add_calls();
        choose_loops();
        return std::move(sites_);
    }

  private:
    Wish wish(const TableRow& row, uint8_t flags) const {
        return options_.wishes == nullptr
                   ? Wish::kUnsaid
                   : options_.wishes->of(
                         row.kind, flags,
                         sites_.group.rows.empty() ? row.name : sites_.group.rows[0].name, row.file,
                         row.line);
    }

    void choose(TableRow& row, Choice choice) const {
        if (treatment_ == Treatment::kRowsOnly) {
            choice = {false, static_cast<uint8_t>(choice.flags | kRowUnselected)};
        }
        row.probes = choice.probes;
        row.flags = static_cast<uint8_t>(row.flags | choice.flags);
    }

    void add_procedure() {
        tree decl = procedure_->decl;
        TableRow row;
        row.kind = SiteKind::kProcedure;
        row.name = linkage_name(decl);
        row.flags = is_artificial(decl, row.name) ? kRowArtificial : 0;
        set_place(row, place_of(DECL_SOURCE_LOCATION(decl)));
        const Place end = place_of(procedure_->function_end_locus);
        // A Fortran procedure with several entries becomes an additional one, placed at the end of
        // its module.
        if (row.line == 0 || is_static_initialiser(decl) || row.name.starts_with("master.")) {
            Extent statements;
            basic_block block;
            FOR_EACH_BB_FN(block, procedure_) { statements.add(block); }
            set_place(row, statements.first());
            row.end_line = statements.last_line();
        } else if (end.file == row.file && end.line >= row.line) {
            row.end_line = end.line;
        }
        const bool small = facts_.too_small(decl);
        choose(row, choose_procedure(small, wish(row, small ? kRowSmall : 0), options_.all));
        sites_.group.rows.push_back(row);
    }

    void add_loops() {
        if (facts_.loopless(procedure_->decl)) {
            return;  // a recursion that became a loop
        }
        std::unique_ptr<WrittenLoops> written;
        if (procedure_->calls_setjmp || procedure_->has_nonlocal_label) {
            written = std::make_unique<WrittenLoops>(procedure_);
        }
        for (class loop* loop : loops_list(procedure_, 0)) {
            if (is_recursion(loop) || (written != nullptr && !written->is_clear(loop))) {
                continue;
            }
            class loop* outer = written_loop(loop_outer(loop));
            if (rows_.count(loop_outer(loop)) != 0 && part_of_same(loop_outer(loop)) == loop) {
                wholes_[loop] = outer;
                rows_[loop] = row_of(outer);
                continue;
            }
            TableRow row;
            row.kind = SiteKind::kLoop;
            set_loop_place(row, loop);
            row.enclosing = row_of(outer);
            rows_[loop] = static_cast<int>(sites_.group.rows.size());
            loop_facts_[loop].outermost = outer == nullptr;
            if (outer != nullptr) {
                loop_facts_[outer].has_loop = true;
            }
            sites_.group.rows.push_back(row);
            loops_.push_back(loop);
            ++sites_.loops_seen;
        }
        if (written != nullptr) {
            add_blurred_loops(*written);
        }
    }

    // No probe can stand at the end of a loop that GCC confuses with others.
    void add_blurred_loops(const WrittenLoops& written) {
        for (const WrittenLoop& loop : written.all()) {
            class loop* around = loop.header->loop_father;
            if (rows_.count(around) != 0 && around->header == loop.header) {
                continue;
            }
            TableRow row;
            row.kind = SiteKind::kLoop;
            row.flags = kRowUnselected;
            set_loop_place(row, loop);
            row.enclosing = row_of(written_loop(around));
            sites_.group.rows.push_back(row);
            ++sites_.loops_seen;
        }
    }

    // The innermost loop with a row, this one or one around it.
    class loop* written_loop(class loop* loop) const {
        while (loop != nullptr && rows_.count(loop) == 0) {
            loop = loop_outer(loop);
        }
        const auto whole = wholes_.find(loop);
        return whole == wholes_.end() ? loop : whole->second;
    }

    int row_of(class loop* loop) const { return loop == nullptr ? 0 : rows_.at(loop); }

    void add_calls() {
        basic_block block;
        FOR_EACH_BB_FN(block, procedure_) {
            for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
                if (auto* call = dyn_cast<gcall*>(gsi_stmt(at))) {
                    add_call(call, block->loop_father);
                }
            }
        }
    }

    void add_call(gcall* call, class loop* loop) {
        const CallMeaning meaning = meaning_of(call);
        if (meaning == CallMeaning::kNone) {
            return;
        }
        tree decl = gimple_call_fndecl(call);
        TableRow row;
        row.kind =
            meaning == CallMeaning::kCommunication ? SiteKind::kCommunication : SiteKind::kCall;
        row.name = decl != NULL_TREE ? linkage_name(decl) : "";
        row.flags = decl != NULL_TREE && is_artificial(decl, row.name) ? kRowArtificial : 0;
        set_place(row, place_of(gimple_location(call)));
        if (row.line == 0) {
            row.flags |= kRowArtificial;  // such as OpenMP's run-time library
        }
        loop = written_loop(loop);
        row.enclosing = row_of(loop);
        sites_.group.rows.push_back(row);
        if (row.name == "vfork" || row.name == "__vfork") {
            sites_.vforks.push_back(call);
        }
        if (meaning != CallMeaning::kInPlace) {
            for (; loop != nullptr; loop = written_loop(loop_outer(loop))) {
                LoopFacts& facts = loop_facts_[loop];
                facts.has_call = facts.has_call || meaning == CallMeaning::kCall;
                facts.has_communication =
                    facts.has_communication || meaning == CallMeaning::kCommunication;
            }
        }
    }

    void choose_loops() {
        for (class loop* loop : loops_) {
            const int number = row_of(loop);
            TableRow& row = sites_.group.rows[static_cast<size_t>(number)];
            const LoopFacts& facts = loop_facts_[loop];
            row.flags = is_innermost(facts) ? kRowInnermost : 0;
            if (is_test_guessed(innermost_part(loop))) row.flags |= kRowGuessed;
            choose(row, choose_loop(facts, wish(row, row.flags), options_.all));
            if (row.probes) {
                sites_.probed_loops.push_back(
                    {loop, number, facts.has_call || facts.has_communication});
            }
        }
    }

    function* procedure_;
    const UnitFacts& facts_;
    const SelectionOptions& options_;
    const Treatment treatment_;
    ProcedureSites sites_;
    std::vector<class loop*> loops_;
    std::unordered_map<class loop*, int> rows_;
    std::unordered_map<class loop*, class loop*> wholes_;  // whole loops, by loops that are a part
                                                           // of one
    std::unordered_map<class loop*, LoopFacts> loop_facts_;
};

}  // namespace

Treatment treatment_of(function* procedure) {
    tree decl = procedure->decl;
    cgraph_node* node = cgraph_node::get(decl);
    if (has_attribute(decl, "naked") || procedure->is_thunk ||
        (node != nullptr && (node->thunk || node->former_thunk_p()))) {
        return Treatment::kLeaveAlone;
    }
    const char* file = LOCATION_FILE(DECL_SOURCE_LOCATION(decl));
    if (is_glue(procedure) || (file != nullptr && is_of_dwell_header(linkage_name(decl), file))) {
        return Treatment::kLeaveAlone;
    }
    if (has_attribute(decl, "no_instrument_function") || is_ifunc_resolver(decl) ||
        lookup_attribute("interrupt", TYPE_ATTRIBUTES(TREE_TYPE(decl))) != NULL_TREE ||
        has_attribute(decl, "interrupt")) {
        return Treatment::kRowsOnly;
    }
    return Treatment::kProbes;
}

ProcedureSites find_sites(function* procedure, const UnitFacts& facts,
                          const SelectionOptions& options, Treatment treatment) {
    return Finder(procedure, facts, options, treatment).find();
}

}  // namespace dwell
