// Table of the C library's functions that read or write files (DESIGN 1, nodes of kind io). The
// wrappers are in io_wrappers.cpp and io_streams.cpp.
#ifndef DWELL_RUNTIME_CONTRACT_IO_CALLS_H_
#define DWELL_RUNTIME_CONTRACT_IO_CALLS_H_

#include <stdint.h>

namespace dwell {

// Numbers are part of the record format of one version of dwell (Site::call). Variants such as
// open64 and
// __read_chk have the number of the function named in the source.
enum class IoCall : uint16_t {
    kNone = 0,
    kOpen,
    kOpenat,
    kCreat,
    kClose,
    kRead,
    kPread,
    kReadv,
    kPreadv,
    kPreadv2,
    kWrite,
    kPwrite,
    kWritev,
    kPwritev,
    kPwritev2,
    kFsync,
    kFdatasync,
    kFopen,
    kFdopen,
    kFreopen,
    kFclose,
    kFread,
    kFgets,
    kFwrite,
    kFputs,
    kFprintf,
    kVfprintf,
    kFflush,
    kFseek,
    kFseeko,
    kGetline,
    kGetdelim,
    kPrintf,
    kVprintf,
    kPuts,
    kDprintf,
    kVdprintf,
    kCount,
};
constexpr int kIoCallCount = static_cast<int>(IoCall::kCount);

struct IoCallInfo {
    const char* name;
    int16_t
        event;  // PICL event type (TM-12125, Table 4); -391 on: dwell's own, in the same category
};
extern const IoCallInfo kIoCalls[kIoCallCount];

// Labels of the event types that Table 4 does not have.
struct IoEventName {
    int16_t event;
    const char* name;
};
constexpr IoEventName kIoEventNames[] = {
    {-391, "file data put on storage"}, {-392, "stream flushed"}, {-393, "stream positioned"}};

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_IO_CALLS_H_
