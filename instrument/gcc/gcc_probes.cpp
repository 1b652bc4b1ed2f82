// Builds the probes' asm statements and inserts them. The statements are volatile, so they stay in
// order and are never removed. But they do not touch memory, so loads, stores and vectorisation may
// pass them.
#include "instrument/gcc/gcc_probes.h"

#include "instrument/gcc/gcc_loop_shape.h"

namespace dwell {

namespace {

tree asm_operand(const char* constraint, tree value) {
    tree text = build_string(static_cast<int>(strlen(constraint)) + 1, constraint);
    return build_tree_list(build_tree_list(NULL_TREE, text), value);
}

class ProbeInserter {
  public:
    ProbeInserter(function* procedure, const ProcedureSites& sites, int group)
        : procedure_(procedure), sites_(sites), group_(group) {}

    void insert() {
        for (gcall* call : sites_.vforks) {
            insert_vforked(call);
        }
        insert_landed();
        const bool probed = sites_.group.rows[0].probes;
        const LeavePlaces places = probed ? find_leave_places(procedure_) : LeavePlaces{};
        // On an edge that leaves several sites, inner loops come before outer ones, and loops
        // before the procedure.
        for (size_t i = sites_.probed_loops.size(); i-- > 0;) {
            insert_loop(sites_.probed_loops[i]);
        }
        if (probed) {
            insert_leaves(places);
            gsi_insert_seq_on_edge(
                single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(procedure_)),
                probe(ProbeKind::kEnter, 0, NULL_TREE, DECL_SOURCE_LOCATION(procedure_->decl)));
        }
        gsi_commit_edge_inserts();
    }

  private:
    // `number` is an input of the probe, or the variable for the address that it returns.
    gimple_seq probe(ProbeKind kind, int row, tree number, location_t location) {
        vec<tree, va_gc>* inputs = nullptr;
        vec<tree, va_gc>* outputs = nullptr;
        // complete_probes puts the frame slot here.
        vec_safe_push(inputs, asm_operand("i", integer_zero_node));
        if (gives_address(kind)) {
            vec_safe_push(outputs, asm_operand("=r", number));
            vec_safe_push(inputs, asm_operand("0", build_zero_cst(uint64_type_node)));
        } else if (number != NULL_TREE) {
            vec_safe_push(inputs, asm_operand("rme", number));
        }
        return statement(probe_template(kind, group_, row), inputs, outputs, probe_clobbers(kind),
                         location);
    }

    static gimple_seq statement(const std::string& text, vec<tree, va_gc>* inputs,
                                vec<tree, va_gc>* outputs,
                                const std::vector<const char*>& clobbered, location_t location) {
        vec<tree, va_gc>* clobbers = nullptr;
        for (const char* name : clobbered) {
            tree clobber = build_string(static_cast<int>(strlen(name)) + 1, name);
            vec_safe_push(clobbers, build_tree_list(NULL_TREE, clobber));
        }
        gasm* made =
            gimple_build_asm_vec(ggc_strdup(text.c_str()), inputs, outputs, clobbers, nullptr);
        for (unsigned i = 0; i < gimple_asm_noutputs(made); ++i) {
            SSA_NAME_DEF_STMT(TREE_VALUE(gimple_asm_output_op(made, i))) = made;
        }
        gimple_asm_set_volatile(made, true);
        gimple_asm_set_inline(made, true);
        gimple_set_location(made, location);
        gimple_seq sequence = nullptr;
        gimple_seq_add_stmt(&sequence, made);
        return sequence;
    }

    void insert_leaves(const LeavePlaces& places) {
        for (gimple* statement : places.before) {
            gimple_stmt_iterator at = gsi_for_stmt(statement);
            gsi_insert_seq_before(
                &at, probe(ProbeKind::kLeave, 0, NULL_TREE, gimple_location(statement)),
                GSI_SAME_STMT);
        }
        for (edge leaving : places.on) {
            gsi_insert_seq_on_edge(
                leaving, probe(ProbeKind::kLeave, 0, NULL_TREE, procedure_->function_end_locus));
        }
    }

    // How often the header was reached, with and without the present time; null: not counted.
    struct Count {
        tree before;
        tree after;
    };

    // Only the leave probes use the numbers, so a loop with a trip count that is known at entry has
    // no cost. One number in a register is enough: if some exit needs the number before the
    // increment, the increment moves behind the body, except for a latch that must stay empty or
    // has many predecessors.
    Count count_iterations(class loop* loop, class loop* last_part, bool before_too) {
        tree before = NULL_TREE;
        tree after = make_ssa_name(uint64_type_node);
        for (class loop* part = loop;; part = part_of_same(part)) {
            const tree outside = before != NULL_TREE ? before : build_int_cst(uint64_type_node, 0);
            before = make_ssa_name(uint64_type_node);
            gphi* phi = create_phi_node(before, part->header);
            add_phi_arg(phi, outside, loop_preheader_edge(part), UNKNOWN_LOCATION);
            add_phi_arg(phi, after, loop_latch_edge(part), UNKNOWN_LOCATION);
            if (part == last_part) break;
        }
        gassign* add = plus_one(after, before);
        basic_block last = loop->latch;
        if (empty_block_p(last)) {
            last = single_pred_p(last) ? single_pred(last) : nullptr;
        }
        if (!before_too || loop != last_part || last == nullptr || last == loop->header ||
            last->loop_father != loop) {
            gimple_stmt_iterator at = gsi_after_labels(last_part->header);
            gsi_insert_before(&at, add, GSI_SAME_STMT);
            return {before, after};
        }
        gimple_stmt_iterator at = gsi_after_labels(last);
        gsi_insert_before(&at, add, GSI_SAME_STMT);
        return {before, NULL_TREE};
    }

    // Counts in memory at the beginning of the body.
    void count_at(tree address, class loop* part, const std::unordered_set<basic_block>& tests,
                  location_t location) {
        const auto count = [&] {
            vec<tree, va_gc>* inputs = nullptr;
            vec_safe_push(inputs, asm_operand("r", address));
            return statement(kCountTemplate, inputs, nullptr, {"cc"}, location);
        };
        if (tests.empty()) {
            gimple_stmt_iterator at = gsi_after_labels(part->header);
            gsi_insert_seq_before(&at, count(), GSI_SAME_STMT);
        }
        for (basic_block block : tests) {
            for (const edge on : block->succs) {
                const bool goes_on = tests.count(on->dest) != 0 && on->dest != part->header;
                if (goes_on || (on->flags & EDGE_COMPLEX) != 0) continue;
                if (!flow_bb_inside_loop_p(part, on->dest)) continue;
                gsi_insert_seq_on_edge(on, count());
            }
        }
    }

    static gassign* plus_one(tree sum, tree number) {
        return gimple_build_assign(sum, PLUS_EXPR, number, build_int_cst(uint64_type_node, 1));
    }

    void insert_loop(const LoopSite& site) {
        class loop* const part = innermost_part(site.loop);
        const std::unordered_set<basic_block> tests = test_blocks(part);
        gimple* last = last_stmt(part->header);
        const location_t location = last != nullptr ? gimple_location(last) : UNKNOWN_LOCATION;
        const edge entering = loop_preheader_edge(site.loop);
        tree address = NULL_TREE;
        if (site.calls) {
            address = make_ssa_name(uint64_type_node);
            gsi_insert_seq_on_edge(
                entering, probe(ProbeKind::kLoopEnterCounting, site.row, address, location));
        } else {
            gsi_insert_seq_on_edge(entering,
                                   probe(ProbeKind::kLoopEnter, site.row, NULL_TREE, location));
        }
        std::vector<std::pair<edge, bool>> ways;  // exits, and whether the test before the body is
                                                  // the exit
        bool before_too = false;
        auto_vec<edge> exits = get_loop_exit_edges(site.loop);
        for (edge leaving : exits) {
            if ((leaving->flags & EDGE_COMPLEX) != 0) {
                continue;  // exception or computed jump: the library detects it
            }
            ways.emplace_back(leaving, tests.count(leaving->src) != 0);
            before_too = before_too || ways.back().second;
        }
        if (address != NULL_TREE) {
            count_at(address, part, tests, location);
            for (const auto& [leaving, tested] : ways) {
                tree nothing = build_zero_cst(uint64_type_node);
                gsi_insert_seq_on_edge(leaving,
                                       probe(ProbeKind::kLoopLeave, site.row, nothing, location));
            }
            return;
        }
        if (ways.empty()) {
            return;
        }
        const Count count = count_iterations(site.loop, part, before_too);
        for (const auto& [leaving, tested] : ways) {
            gimple_seq sequence = nullptr;
            tree iterations = tested ? count.before : count.after;
            if (iterations == NULL_TREE) {
                iterations = make_ssa_name(uint64_type_node);
                gimple_seq_add_stmt(&sequence, plus_one(iterations, count.before));
            }
            gimple_seq_add_seq(&sequence,
                               probe(ProbeKind::kLoopLeave, site.row, iterations, location));
            gsi_insert_seq_on_edge(leaving, sequence);
        }
    }

    // The row of the innermost probed loop around the block, else of the procedure.
    int row_around(basic_block block) const {
        for (class loop* loop = block->loop_father; loop != nullptr; loop = loop_outer(loop)) {
            for (const LoopSite& site : sites_.probed_loops) {
                if (site.loop == loop) return site.row;
            }
        }
        return 0;
    }

    // Inserts probes where an exception is caught, and after calls that may return twice.
    // Destructors during unwinding get none: procedures that they enter detect the unwinding, and
    // empty destructors must stay free of cost.
    void insert_landed() {
        eh_landing_pad pad;
        for (unsigned i = 0; vec_safe_iterate(procedure_->eh->lp_array, i, &pad); ++i) {
            if (pad == nullptr || pad->region->type != ERT_TRY ||
                pad->post_landing_pad == NULL_TREE) {
                continue;
            }
            basic_block block = label_to_block(procedure_, pad->post_landing_pad);
            if (block == nullptr) continue;
            gimple_stmt_iterator at = gsi_after_labels(block);
            gsi_insert_seq_before(&at, landed(block, UNKNOWN_LOCATION), GSI_SAME_STMT);
        }
        basic_block block;
        FOR_EACH_BB_FN(block, procedure_) {
            for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
                auto* call = dyn_cast<gcall*>(gsi_stmt(at));
                if (call != nullptr && returns_where_others_are_gone(call)) {
                    insert_after(call, landed(block, gimple_location(call)));
                }
            }
        }
    }

    gimple_seq landed(basic_block block, location_t location) {
        return probe(ProbeKind::kLanded, row_around(block), NULL_TREE, location);
    }

    bool returns_where_others_are_gone(gcall* call) const {
        return (gimple_call_builtin_p(call, BUILT_IN_SETJMP_RECEIVER) ||
                (gimple_call_flags(call) & ECF_RETURNS_TWICE) != 0) &&
               std::find(sites_.vforks.begin(), sites_.vforks.end(), call) == sites_.vforks.end();
    }

    static void insert_after(gcall* call, gimple_seq sequence) {
        if (!stmt_ends_bb_p(call)) {
            gimple_stmt_iterator at = gsi_for_stmt(call);
            gsi_insert_seq_after(&at, sequence, GSI_SAME_STMT);
        } else if (edge next = find_fallthru_edge(gimple_bb(call)->succs)) {
            gsi_insert_seq_on_edge(next, sequence);
        }
    }

    void insert_vforked(gcall* call) {
        tree result = gimple_call_lhs(call);
        if (result == NULL_TREE) {
            result = make_ssa_name(integer_type_node, call);
            gimple_call_set_lhs(call, result);
            update_stmt(call);
        }
        tree wide = make_ssa_name(long_integer_type_node);
        gassign* widen = gimple_build_assign(wide, NOP_EXPR, result);
        gimple_seq sequence = nullptr;
        gimple_seq_add_stmt(&sequence, widen);
        gimple_seq_add_seq(&sequence, probe(ProbeKind::kVforked, 0, wide, gimple_location(call)));
        insert_after(call, sequence);
    }

    function* procedure_;
    const ProcedureSites& sites_;
    const int group_;
};

}  // namespace

void insert_probes(function* procedure, const ProcedureSites& sites, int group) {
    ProbeInserter(procedure, sites, group).insert();
}

}  // namespace dwell
