// Marks and finds observed ranks by PMIx.
#include "runtime/lifecycle/launcher.h"

#include <dlfcn.h>
#include <pmix.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/contract/job_name.h"
#include "runtime/process/find_symbol.h"
#include "runtime/process/state.h"

namespace dwell {

namespace {

constexpr char kObservedKey[] = "dwell.observed";

// The PMIx client library that Open MPI itself uses; opened, not linked.
struct Pmix {
    decltype(&PMIx_Init) init;
    decltype(&PMIx_Put) put;
    decltype(&PMIx_Commit) commit;
    decltype(&PMIx_Get) get;
    decltype(&PMIx_Finalize) finalize;
    pmix_proc_t self;
    bool usable;
};
Pmix g_pmix;

bool open_pmix() {
    void* library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    g_pmix.usable = find_symbol(library, "PMIx_Init", &g_pmix.init) &&
                    find_symbol(library, "PMIx_Put", &g_pmix.put) &&
                    find_symbol(library, "PMIx_Commit", &g_pmix.commit) &&
                    find_symbol(library, "PMIx_Get", &g_pmix.get) &&
                    find_symbol(library, "PMIx_Finalize", &g_pmix.finalize);
    return g_pmix.usable;
}

}  // namespace

void mark_observed() {
    if (getenv("PMIX_NAMESPACE") == nullptr) return;
    if (!launcher_spans_hosts()) return;
    if (!open_pmix()) return;
    // Matched by PMIx_Finalize in ranks_marked_observed().
    if (g_pmix.init(&g_pmix.self, nullptr, 0) != PMIX_SUCCESS) {
        g_pmix.usable = false;
        return;
    }
    pmix_value_t value;
    memset(&value, 0, sizeof(value));
    value.type = PMIX_INT;
    value.data.integer = 1;
    g_pmix.put(PMIX_GLOBAL, kObservedKey, &value);
    g_pmix.commit();
}

int ranks_marked_observed(int* ranks, int world_size) {
    const int self = launcher_rank();
    if (!g_pmix.usable) {
        ranks[0] = self < 0 ? 0 : self;
        return 1;
    }
    int count = 0;
    pmix_proc_t peer = g_pmix.self;
    pmix_info_t optional;
    memset(&optional, 0, sizeof(optional));
    strcpy(optional.key, PMIX_OPTIONAL);
    optional.value.type = PMIX_BOOL;
    optional.value.data.flag = true;
    for (int rank = 0; rank < world_size; ++rank) {
        peer.rank = static_cast<pmix_rank_t>(rank);
        pmix_value_t* value = nullptr;
        if (rank != self && g_pmix.get(&peer, kObservedKey, &optional, 1, &value) != PMIX_SUCCESS) {
            continue;
        }
        free(value);
        ranks[count++] = rank;
    }
    g_pmix.finalize(nullptr, 0);
    return count;
}

}  // namespace dwell
