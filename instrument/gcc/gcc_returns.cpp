// Finds the places where a procedure is left. A call that the compiler turns into a jump must be
// the last action, so the probe comes before it. Where that is uncertain the call is kept as a
// call, so that the tree is right in any case.
#include "instrument/gcc/gcc_probes.h"

namespace dwell {

namespace {

// Only scalars in registers: whether stack arguments fit is known much later.
bool passes_in_registers(const gcall* call) {
    unsigned integers = 0;
    unsigned floats = 0;
    for (unsigned i = 0; i < gimple_call_num_args(call); ++i) {
        tree type = TREE_TYPE(gimple_call_arg(call, i));
        if ((INTEGRAL_TYPE_P(type) || POINTER_TYPE_P(type)) &&
            TYPE_PRECISION(type) <= BITS_PER_WORD) {
            ++integers;
        } else if (SCALAR_FLOAT_TYPE_P(type) && TYPE_PRECISION(type) <= 64) {
            ++floats;
        } else {
            return false;
        }
    }
    return integers <= 6 && floats <= 8;
}

bool is_simple(tree type) {
    return VOID_TYPE_P(type) || INTEGRAL_TYPE_P(type) || POINTER_TYPE_P(type) ||
           SCALAR_FLOAT_TYPE_P(type);
}

class TailCalls {
  public:
    explicit TailCalls(function* procedure) : procedure_(procedure) {
        tree decl = procedure->decl;
        possible_ = flag_optimize_sibling_calls && optimize > 0 && !procedure->stdarg &&
                    !procedure->calls_alloca && !procedure->calls_setjmp &&
                    is_simple(TREE_TYPE(DECL_RESULT(decl))) &&
                    !DECL_BY_REFERENCE(DECL_RESULT(decl));
        for (tree parameter = DECL_ARGUMENTS(decl); parameter != NULL_TREE;
             parameter = DECL_CHAIN(parameter)) {
            possible_ = possible_ && !TREE_ADDRESSABLE(parameter);
        }
    }

    ~TailCalls() {
        if (live_known_) {
            destroy_live_vars(live_);
        }
    }
    TailCalls(const TailCalls&) = delete;
    TailCalls& operator=(const TailCalls&) = delete;

    // The call before `at`, without code in between, if it can become a jump that returns `value`
    // (null: nothing).
    gcall* before(gimple_stmt_iterator at, tree value) {
        if (!possible_) {
            return nullptr;
        }
        for (; !gsi_end_p(at); gsi_prev(&at)) {
            gimple* statement = gsi_stmt(at);
            if (is_gimple_debug(statement) || gimple_clobber_p(statement) ||
                gimple_code(statement) == GIMPLE_NOP || gimple_code(statement) == GIMPLE_PREDICT) {
                continue;
            }
            auto* call = dyn_cast<gcall*>(statement);
            return call != nullptr && can_jump(call, value) ? call : nullptr;
        }
        return nullptr;
    }

    bool possible() const { return possible_; }

  private:
    bool can_jump(gcall* call, tree value) {
        if (gimple_call_internal_p(call) || gimple_call_chain(call) != NULL_TREE ||
            (gimple_call_flags(call) & (ECF_NORETURN | ECF_RETURNS_TWICE)) != 0 ||
            stmt_can_throw_internal(procedure_, call) || !passes_in_registers(call) ||
            (value != NULL_TREE && gimple_call_lhs(call) != value)) {
            return false;
        }
        const CallMeaning meaning = meaning_of(call);
        if (meaning == CallMeaning::kNone || meaning == CallMeaning::kInPlace) {
            return false;
        }
        // The result must need no conversion.
        tree result = gimple_call_return_type(call);
        if (!is_simple(result) ||
            (value != NULL_TREE &&
             !useless_type_conversion_p(TREE_TYPE(DECL_RESULT(procedure_->decl)), result))) {
            return false;
        }
        return !sees_locals(call);
    }

    // Whether the callee may read or write live local variables.
    bool sees_locals(gcall* call) {
        tree variable;
        unsigned i;
        bitmap live = nullptr;
        bool sees = false;
        FOR_EACH_LOCAL_DECL(procedure_, i, variable) {
            if (!auto_var_in_fn_p(variable, procedure_->decl) || !may_be_aliased(variable) ||
                !(ref_maybe_used_by_stmt_p(call, variable, false) ||
                  call_may_clobber_ref_p(call, variable, false))) {
                continue;
            }
            if (live == nullptr && VAR_P(variable)) {
                live = live_at(call);
            }
            const unsigned* slot = VAR_P(variable) ? numbers_.get(DECL_UID(variable)) : nullptr;
            if (slot == nullptr || live == nullptr || bitmap_bit_p(live, static_cast<int>(*slot))) {
                sees = true;
                break;
            }
        }
        if (live != nullptr) {
            BITMAP_FREE(live);
        }
        return sees;
    }

    bitmap live_at(gcall* call) {
        if (!live_known_) {
            unsigned count = 0;
            unsigned i;
            tree variable;
            FOR_EACH_LOCAL_DECL(procedure_, i, variable) {
                if (VAR_P(variable) && auto_var_in_fn_p(variable, procedure_->decl) &&
                    may_be_aliased(variable)) {
                    numbers_.put(DECL_UID(variable), count++);
                }
            }
            live_ = compute_live_vars(procedure_, &numbers_);
            live_known_ = true;
        }
        return live_vars_at_stmt(live_, &numbers_, call);
    }

    function* procedure_;
    bool possible_;
    bool live_known_ = false;
    live_vars_map numbers_;
    vec<bitmap_head> live_ = vNULL;
};

class LeaveFinder {
  public:
    explicit LeaveFinder(function* procedure) : procedure_(procedure), tail_calls_(procedure) {}

    LeavePlaces find() {
        edge leaving;
        edge_iterator iterator;
        FOR_EACH_EDGE(leaving, iterator, EXIT_BLOCK_PTR_FOR_FN(procedure_)->preds) {
            gimple_stmt_iterator last = gsi_last_bb(leaving->src);
            if (gsi_end_p(last) || gimple_code(gsi_stmt(last)) != GIMPLE_RETURN) {
                continue;
            }
            auto* statement = as_a<greturn*>(gsi_stmt(last));
            tree value = gimple_return_retval(statement);
            gsi_prev(&last);
            if (gcall* call = tail_calls_.before(last, value)) {
                places_.before.push_back(call);
            } else if (!tail_calls_.possible() || !divide(leaving->src, last, value, 0)) {
                places_.before.push_back(statement);
            }
        }
        return std::move(places_);
    }

  private:
    static constexpr int kMaxDepth = 8;

    // If `block` does nothing up to `last` and some predecessor ends in a call that can be a jump:
    // handles every edge into it.
    bool divide(basic_block block, gimple_stmt_iterator last, tree value, int depth) {
        if (depth == kMaxDepth || !is_empty_before(last)) {
            return false;
        }
        std::vector<std::pair<edge, gcall*>> ways;
        bool found = false;
        edge entering;
        edge_iterator iterator;
        FOR_EACH_EDGE(entering, iterator, block->preds) {
            if ((entering->flags & EDGE_COMPLEX) != 0 ||
                entering->src == ENTRY_BLOCK_PTR_FOR_FN(procedure_)) {
                return false;
            }
            tree own_value = value_on(entering, value);
            gcall* call = nullptr;
            if (single_succ_p(entering->src)) {
                call = tail_calls_.before(gsi_last_bb(entering->src), own_value);
            }
            found = found || call != nullptr;
            ways.emplace_back(entering, call);
        }
        LeavePlaces saved = places_;
        for (const auto& [edge_in, call] : ways) {
            if (call != nullptr) {
                places_.before.push_back(call);
            } else if (single_succ_p(edge_in->src) &&
                       divide(edge_in->src, gsi_last_bb(edge_in->src), value_on(edge_in, value),
                              depth + 1)) {
                found = true;
            } else {
                places_.on.push_back(edge_in);
            }
        }
        if (!found) {
            places_ = saved;
        }
        return found;
    }

    static bool is_empty_before(gimple_stmt_iterator at) {
        for (; !gsi_end_p(at); gsi_prev(&at)) {
            gimple* statement = gsi_stmt(at);
            if (!is_gimple_debug(statement) && !gimple_clobber_p(statement) &&
                gimple_code(statement) != GIMPLE_LABEL && gimple_code(statement) != GIMPLE_NOP &&
                gimple_code(statement) != GIMPLE_PREDICT) {
                return false;
            }
        }
        return true;
    }

    // The value returned on that edge.
    static tree value_on(edge entering, tree value) {
        if (value != NULL_TREE && TREE_CODE(value) == SSA_NAME) {
            gimple* definition = SSA_NAME_DEF_STMT(value);
            if (gimple_code(definition) == GIMPLE_PHI && gimple_bb(definition) == entering->dest) {
                return PHI_ARG_DEF_FROM_EDGE(definition, entering);
            }
        }
        return value;
    }

    function* procedure_;
    TailCalls tail_calls_;
    LeavePlaces places_;
};

}  // namespace

LeavePlaces find_leave_places(function* procedure) { return LeaveFinder(procedure).find(); }

}  // namespace dwell
