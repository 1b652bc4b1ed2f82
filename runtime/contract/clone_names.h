// Endings that compilers append to the names of clones of a function.
#ifndef DWELL_RUNTIME_CONTRACT_CLONE_NAMES_H_
#define DWELL_RUNTIME_CONTRACT_CLONE_NAMES_H_

#include <string_view>

namespace dwell {

// `symbol` without the ending of a clone (.constprop.0, .part.1, .cold ...) or of one of Fortran's
// contained procedures (.3). Outlined OpenMP bodies keep their ending.
inline std::string_view without_clone(std::string_view symbol) {
    while (true) {
        const size_t dot = symbol.rfind('.');
        if (dot == std::string_view::npos || dot == 0) return symbol;
        // substr() throws, and the runtime has no exceptions.
        std::string_view ending = symbol;
        ending.remove_prefix(dot + 1);
        const std::string_view before(symbol.data(), dot);
        const bool number =
            !ending.empty() && ending.find_first_not_of("0123456789") == std::string_view::npos;
        const bool clone = ending == "constprop" || ending == "part" || ending == "isra" ||
                           ending == "cold" || ending == "lto_priv" || ending == "llvm";
        if (!clone && (!number || before.ends_with("omp_fn"))) return symbol;
        symbol = before;
    }
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_CLONE_NAMES_H_
