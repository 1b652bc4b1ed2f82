// Includes GCC's own headers in an order that works. They poison names that the standard library's
// headers use, so standard headers come first.
#ifndef DWELL_INSTRUMENT_GCC_GCC_HEADERS_H_
#define DWELL_INSTRUMENT_GCC_GCC_HEADERS_H_

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

// clang-format off
#include "gcc-plugin.h"
#include "plugin-version.h"
#include "tree.h"
#include "context.h"
#include "memmodel.h"
#include "rtl.h"
#include "function.h"
#include "gimple.h"
#include "gimple-iterator.h"
#include "tree-pass.h"
#include "basic-block.h"
#include "cfg.h"
#include "cfganal.h"
#include "cfghooks.h"
#include "cfgloop.h"
#include "cfgrtl.h"
#include "ssa.h"
#include "attribs.h"
#include "builtins.h"
#include "cgraph.h"
#include "diagnostic-core.h"
#include "emit-rtl.h"
#include "except.h"
#include "explow.h"
#include "file-prefix-map.h"
#include "fold-const.h"
#include "langhooks.h"
#include "opts.h"
#include "output.h"
#include "stringpool.h"
#include "target.h"
#include "toplev.h"
#include "tree-cfg.h"
#include "tree-dfa.h"
#include "tree-eh.h"
#include "tree-into-ssa.h"
#include "tree-phinodes.h"
#include "tree-ssa-alias.h"
#include "tree-ssanames.h"
// clang-format on

// Of tree-ssa-live.h, which includes a header that is not installed.
// NOLINTNEXTLINE(readability-identifier-naming)
using live_vars_map = hash_map<int_hash<unsigned int, -1U>, unsigned int>;
extern vec<bitmap_head> compute_live_vars(function*, live_vars_map*);
extern bitmap live_vars_at_stmt(vec<bitmap_head>&, live_vars_map*, gimple*);
extern void destroy_live_vars(vec<bitmap_head>&);

#endif  // DWELL_INSTRUMENT_GCC_GCC_HEADERS_H_
