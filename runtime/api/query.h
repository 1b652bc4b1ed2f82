// What dwell_query() and dwell_query_partner() of dwell.h answer.
#ifndef DWELL_RUNTIME_API_QUERY_H_
#define DWELL_RUNTIME_API_QUERY_H_

#include <string_view>

#define DWELL_OFF  // declarations only
#include "runtime/api/dwell.h"

namespace dwell {

// False: not known; `figures` is then all zero.
bool query_name(std::string_view name, dwell_figures* figures);
bool query_partner(int rank, dwell_figures* figures);

}  // namespace dwell

#endif  // DWELL_RUNTIME_API_QUERY_H_
