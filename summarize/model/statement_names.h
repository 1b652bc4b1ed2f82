// The name of the function that a communication or I/O statement calls.
#ifndef DWELL_SUMMARIZE_MODEL_STATEMENT_NAMES_H_
#define DWELL_SUMMARIZE_MODEL_STATEMENT_NAMES_H_

#include <cstdint>

#include "runtime/contract/io_calls.h"
#include "runtime/contract/mpi_calls.h"
#include "runtime/contract/record_layout.h"

namespace dwell {

// The C name; empty for an unknown number.
inline const char* statement_name(SiteKind kind, uint16_t call) {
    const char* name = nullptr;
    if (kind == SiteKind::kIo) {
        if (call < kIoCallCount) name = kIoCalls[call].name;
    } else if (call < kMpiCallCount) {
        name = kMpiCalls[call].name;
    }
    return name != nullptr ? name : "";
}

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MODEL_STATEMENT_NAMES_H_
