// Collects facts for selection from GCC's call graph and the bodies of its procedures; see
// gcc_facts.h.
#include "instrument/gcc/gcc_facts.h"

namespace dwell {

namespace {

// memcpy and similar functions are expanded in place up to about this size.
constexpr unsigned kInPlaceBytes = 256;

// Loops are numbered in the order of their discovery.
unsigned loops_before_recursion = 0;

// An attribute that no source can contain.
constexpr const char* kLoopless = "dwell loopless";

bool is_in_place_builtin(const gcall* call, tree decl) {
    if ((gimple_call_flags(call) & (ECF_CONST | ECF_PURE)) != 0) {
        return true;
    }
    switch (DECL_FUNCTION_CODE(decl)) {
        case BUILT_IN_MEMCPY:
        case BUILT_IN_MEMPCPY:
        case BUILT_IN_MEMMOVE:
        case BUILT_IN_MEMSET:
        case BUILT_IN_MEMCMP:
            return gimple_call_num_args(call) == 3 && tree_fits_uhwi_p(gimple_call_arg(call, 2)) &&
                   tree_to_uhwi(gimple_call_arg(call, 2)) <= kInPlaceBytes;
        default:
            break;
    }
    // Mathematical functions are not const because they may set errno.
    if (!SCALAR_FLOAT_TYPE_P(TREE_TYPE(TREE_TYPE(decl)))) {
        return false;
    }
    for (unsigned i = 0; i < gimple_call_num_args(call); ++i) {
        if (POINTER_TYPE_P(TREE_TYPE(gimple_call_arg(call, i)))) {
            return false;
        }
    }
    return true;
}

bool is_counted(const gimple* statement) {
    switch (gimple_code(statement)) {
        case GIMPLE_DEBUG:
        case GIMPLE_LABEL:
        case GIMPLE_NOP:
        case GIMPLE_PREDICT:
            return false;
        default:
            return !gimple_clobber_p(statement);
    }
}

// Blocks from which the function can return.
class ReturningBlocks {
  public:
    explicit ReturningBlocks(function* body) : reached_(last_basic_block_for_fn(body), false) {
        std::vector<basic_block> pending;
        edge entering;
        edge_iterator iterator;
        FOR_EACH_EDGE(entering, iterator, EXIT_BLOCK_PTR_FOR_FN(body)->preds) {
            gimple* last = last_stmt(entering->src);
            if (last != nullptr && gimple_code(last) == GIMPLE_RETURN) {
                reach(entering->src, pending);
            }
        }
        while (!pending.empty()) {
            basic_block block = pending.back();
            pending.pop_back();
            FOR_EACH_EDGE(entering, iterator, block->preds) { reach(entering->src, pending); }
        }
        returns_ = reached_[single_succ(ENTRY_BLOCK_PTR_FOR_FN(body))->index];
    }

    // Whether calls in the block count: not on paths to abort or throw in a function that can
    // return.
    bool counts(basic_block block) const { return !returns_ || reached_[block->index]; }

  private:
    void reach(basic_block block, std::vector<basic_block>& pending) {
        if (block->index >= NUM_FIXED_BLOCKS && !reached_[block->index]) {
            reached_[block->index] = true;
            pending.push_back(block);
        }
    }

    std::vector<bool> reached_;
    bool returns_ = false;
};

bool has_loop(function* body) {
    mark_dfs_back_edges(body);
    basic_block block;
    FOR_EACH_BB_FN(block, body) {
        edge leaving;
        edge_iterator iterator;
        FOR_EACH_EDGE(leaving, iterator, block->succs) {
            if ((leaving->flags & EDGE_DFS_BACK) != 0) {
                return true;
            }
        }
    }
    return false;
}

// The body from which `node` is compiled: clones that are not materialised yet have none.
function* body_of(cgraph_node* node) {
    while (node->clone_of != nullptr) {
        node = node->clone_of;
    }
    if (!node->has_gimple_body_p()) {
        return nullptr;
    }
    node->get_untransformed_body();  // link-time optimisation reads bodies on demand
    function* body = DECL_STRUCT_FUNCTION(node->decl);
    return body != nullptr && body->cfg != nullptr ? body : nullptr;
}

tree original(cgraph_node* node) {
    while (node->clone_of != nullptr) {
        node = node->clone_of;
    }
    return node->decl;
}

class Gatherer {
  public:
    Gatherer() {
        cgraph_node* node;
        FOR_EACH_FUNCTION_WITH_GIMPLE_BODY(node) {
            if (node->inlined_to == nullptr) {
                numbers_.emplace(node, nodes_.size());
                nodes_.push_back(node);
            }
        }
        facts_.resize(nodes_.size());
        for (size_t i = 0; i < nodes_.size(); ++i) {
            add_body(nodes_[i], facts_[i], is_static_initialiser(nodes_[i]->decl), {});
        }
    }

    const std::vector<ProcedureFacts>& facts() const { return facts_; }
    cgraph_node* node(size_t i) const { return nodes_[i]; }

  private:
    // `inside` are the procedures around the inlined one.
    void add_body(cgraph_node* node, ProcedureFacts& facts, bool initialiser,
                  std::vector<tree> inside) {
        function* body = body_of(node);
        if (body == nullptr) {
            facts.calls_out_of_sight = true;
            facts.has_loop = true;
            return;
        }
        bool recursive = false;
        for (tree procedure : inside) {
            recursive = recursive || procedure == original(node);
        }
        inside.push_back(original(node));
        facts.has_loop =
            facts.has_loop ||
            (!lookup_attribute(kLoopless, DECL_ATTRIBUTES(original(node))) && has_loop(body));
        const ReturningBlocks returning(body);
        basic_block block;
        FOR_EACH_BB_FN(block, body) {
            for (gimple_stmt_iterator at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
                gimple* statement = gsi_stmt(at);
                facts.statements += !recursive && is_counted(statement) ? 1 : 0;
                if (auto* call = dyn_cast<gcall*>(statement)) {
                    add_call(node, call, facts, initialiser, returning.counts(block), inside);
                }
            }
        }
    }

    void add_call(cgraph_node* caller, gcall* call, ProcedureFacts& facts, bool initialiser,
                  bool counts, const std::vector<tree>& inside) {
        cgraph_edge* edge = caller->get_edge(call);
        if (edge != nullptr && edge->callee != nullptr && edge->callee->inlined_to != nullptr) {
            add_body(edge->callee, facts, initialiser, inside);
            return;
        }
        const CallMeaning meaning = meaning_of(call);
        if (meaning == CallMeaning::kCommunication) {
            facts.has_communication = true;
            return;
        }
        if (meaning != CallMeaning::kCall) {
            return;
        }
        tree decl = gimple_call_fndecl(call);
        cgraph_node* callee = edge != nullptr ? edge->callee : nullptr;
        if (callee == nullptr && decl != nullptr) {
            callee = cgraph_node::get(decl);
        }
        if (callee != nullptr) {
            const auto found = numbers_.find(callee->ultimate_alias_target());
            if (found != numbers_.end()) {
                facts.callees.push_back(found->second);
                return;
            }
        }
        // Objects that system headers register, such as the streams of <iostream>, are not user
        // code.
        const location_t place = gimple_location(call);
        if (initialiser && (place == UNKNOWN_LOCATION || in_system_header_at(place) ||
                            (decl != nullptr && linkage_name(decl) == "__cxa_atexit"))) {
            return;
        }
        facts.calls_out_of_sight = facts.calls_out_of_sight || counts;
    }

    std::unordered_map<cgraph_node*, size_t> numbers_;
    std::vector<cgraph_node*> nodes_;
    std::vector<ProcedureFacts> facts_;
};

}  // namespace

std::string linkage_name(tree decl) {
    const char* name = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(decl));
    return *name == '*' ? name + 1 : name;
}

CallMeaning meaning_of(const gcall* call) {
    if (gimple_call_internal_p(call)) {
        return CallMeaning::kNone;
    }
    tree decl = gimple_call_fndecl(call);
    if (decl == nullptr) {
        return CallMeaning::kCall;
    }
    if (fndecl_built_in_p(decl)) {
        const std::string_view name = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(decl));
        if (!fndecl_built_in_p(decl, BUILT_IN_NORMAL) || name.starts_with("__builtin_")) {
            return CallMeaning::kNone;
        }
        if (name.starts_with("__atomic_") || name.starts_with("__sync_")) {
            return CallMeaning::kInPlace;
        }
        return is_in_place_builtin(call, decl) ? CallMeaning::kInPlace : CallMeaning::kCall;
    }
    return is_communication(linkage_name(decl)) ? CallMeaning::kCommunication : CallMeaning::kCall;
}

bool is_static_initialiser(tree fndecl) {
    if (!DECL_ARTIFICIAL(fndecl)) {
        return false;
    }
    return DECL_STATIC_CONSTRUCTOR(fndecl) || DECL_STATIC_DESTRUCTOR(fndecl) ||
           linkage_name(fndecl).find("__static_initialization_and_destruction") !=
               std::string::npos;
}

void note_loops(function* procedure) {
    loops_before_recursion = number_of_loops(procedure);
    if (!has_loop(procedure)) {
        DECL_ATTRIBUTES(procedure->decl) =
            tree_cons(get_identifier(kLoopless), NULL_TREE, DECL_ATTRIBUTES(procedure->decl));
    }
}

void mark_new_loops(function* procedure) {
    if (loops_state_satisfies_p(procedure, LOOPS_NEED_FIXUP)) {
        fix_loop_structure(nullptr);
    }
    for (class loop* loop : loops_list(procedure, 0)) {
        if (static_cast<unsigned>(loop->num) >= loops_before_recursion) {
            // The flag has only one other effect: it prevents a repeated warning about this loop.
            loop->warned_aggressive_loop_optimizations = true;
        }
    }
}

bool is_recursion(class loop* loop) { return loop->warned_aggressive_loop_optimizations; }

void UnitFacts::gather() {
    const Gatherer gatherer;
    const std::vector<bool> small = dwell::too_small(gatherer.facts());
    for (size_t i = 0; i < small.size(); ++i) {
        const unsigned uid = DECL_UID(gatherer.node(i)->decl);
        if (small[i]) {
            small_.insert(uid);
        }
        if (!gatherer.facts()[i].has_loop) {
            loopless_.insert(uid);
        }
    }
}

}  // namespace dwell
