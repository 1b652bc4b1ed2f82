// Builds the probes' asm statements and inserts them. They are volatile, so they stay in order
// and are never dropped, but touch no memory, so that loads, stores and vectorisation pass by.
#include "instrument/gcc_probes.h"

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
        const bool probed = sites_.group.rows[0].probes;
        const LeavePlaces places = probed ? find_leave_places(procedure_) : LeavePlaces{};
        // Where one edge leaves several, inner loops come before outer ones and those before the
        // procedure.
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
    gimple_seq probe(ProbeKind kind, int row, tree number, location_t location) {
        vec<tree, va_gc>* inputs = nullptr;
        vec<tree, va_gc>* clobbers = nullptr;
        // complete_probes puts the frame's slot here.
        vec_safe_push(inputs, asm_operand("i", integer_zero_node));
        if (number != NULL_TREE) {
            vec_safe_push(inputs, asm_operand("rme", number));
        }
        for (const char* name : probe_clobbers(kind)) {
            tree text = build_string(static_cast<int>(strlen(name)) + 1, name);
            vec_safe_push(clobbers, build_tree_list(NULL_TREE, text));
        }
        const std::string text = probe_template(kind, group_, row);
        gasm* statement =
            gimple_build_asm_vec(ggc_strdup(text.c_str()), inputs, nullptr, clobbers, nullptr);
        gimple_asm_set_volatile(statement, true);
        gimple_asm_set_inline(statement, true);
        gimple_set_location(statement, location);
        gimple_seq sequence = nullptr;
        gimple_seq_add_stmt(&sequence, statement);
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

    // How often the header was reached, without and with the present time.
    struct Count {
        tree before;
        tree after;
    };

    // Only the leave probes use the numbers, so a loop whose trips are known when it is entered
    // pays nothing for them.
    Count count_iterations(class loop* loop) {
        tree before = make_ssa_name(uint64_type_node);
        tree after = make_ssa_name(uint64_type_node);
        gphi* phi = create_phi_node(before, loop->header);
        add_phi_arg(phi, build_int_cst(uint64_type_node, 0), loop_preheader_edge(loop),
                    UNKNOWN_LOCATION);
        add_phi_arg(phi, after, loop_latch_edge(loop), UNKNOWN_LOCATION);
        gassign* add =
            gimple_build_assign(after, PLUS_EXPR, before, build_int_cst(uint64_type_node, 1));
        gimple_stmt_iterator at = gsi_after_labels(loop->header);
        gsi_insert_before(&at, add, GSI_SAME_STMT);
        return {before, after};
    }

    // True when the header is nothing but the test before the body, as in a while statement: left
    // from there, the last time that it was reached began no iteration. What a test does beside
    // stands on its line.
    bool tests_first(class loop* loop, edge leaving) {
        if (leaving->src != loop->header || EDGE_COUNT(loop->header->succs) != 2) return false;
        const edge staying = EDGE_SUCC(loop->header, EDGE_SUCC(loop->header, 0) == leaving ? 1 : 0);
        if (staying->dest == loop->header) return false;
        if (staying->dest == loop->latch && empty_block_p(loop->latch)) return false;
        const int line = gimple_lineno(last_stmt(loop->header));
        for (gimple_stmt_iterator at = gsi_start_bb(loop->header); !gsi_end_p(at); gsi_next(&at)) {
            gimple* statement = gsi_stmt(at);
            if (is_gimple_debug(statement) || gimple_lineno(statement) == line) continue;
            if (gimple_has_side_effects(statement) || gimple_store_p(statement)) return false;
        }
        return true;
    }

    void insert_loop(const LoopSite& site) {
        gimple* last = last_stmt(site.loop->header);
        const location_t location = last != nullptr ? gimple_location(last) : UNKNOWN_LOCATION;
        gsi_insert_seq_on_edge(loop_preheader_edge(site.loop),
                               probe(ProbeKind::kLoopEnter, site.row, NULL_TREE, location));
        Count count = {NULL_TREE, NULL_TREE};
        auto_vec<edge> exits = get_loop_exit_edges(site.loop);
        for (edge leaving : exits) {
            if ((leaving->flags & EDGE_COMPLEX) != 0) {
                continue;  // by exception or computed jump: the library notices
            }
            if (count.after == NULL_TREE) {
                count = count_iterations(site.loop);
            }
            const tree iterations = tests_first(site.loop, leaving) ? count.before : count.after;
            gsi_insert_seq_on_edge(leaving,
                                   probe(ProbeKind::kLoopLeave, site.row, iterations, location));
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
        if (!stmt_ends_bb_p(call)) {
            gimple_stmt_iterator at = gsi_for_stmt(call);
            gsi_insert_seq_after(&at, sequence, GSI_SAME_STMT);
        } else if (edge next = find_fallthru_edge(gimple_bb(call)->succs)) {
            gsi_insert_seq_on_edge(next, sequence);
        }
    }

    function* procedure_;
    const ProcedureSites& sites_;
    const int group_;
};

// The one asm of an instruction without outputs, if it is a probe.
rtx probe_in(rtx_insn* instruction) {
    if (!NONJUMP_INSN_P(instruction)) {
        return nullptr;
    }
    rtx pattern = PATTERN(instruction);
    if (GET_CODE(pattern) == PARALLEL) {
        pattern = XVECEXP(pattern, 0, 0);
    }
    if (GET_CODE(pattern) != ASM_OPERANDS || ASM_OPERANDS_INPUT_LENGTH(pattern) == 0 ||
        strstr(ASM_OPERANDS_TEMPLATE(pattern), kProbeMark) == nullptr) {
        return nullptr;
    }
    return pattern;
}

}  // namespace

void insert_probes(function* procedure, const ProcedureSites& sites, int group) {
    ProbeInserter(procedure, sites, group).insert();
}

void complete_probes() {
    for (rtx_insn* instruction = get_insns(); instruction != nullptr;
         instruction = NEXT_INSN(instruction)) {
        if (rtx operands = probe_in(instruction)) {
            rtx slot = gen_rtx_MEM(DImode, plus_constant(Pmode, virtual_cfa_rtx, -8));
            ASM_OPERANDS_INPUT(operands, 0) = slot;
            ASM_OPERANDS_INPUT_CONSTRAINT_EXP(operands, 0) =
                gen_rtx_ASM_INPUT(DImode, ggc_strdup("m"));
        }
    }
}

}  // namespace dwell
