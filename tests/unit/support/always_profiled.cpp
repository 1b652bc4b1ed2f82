// Replaces attach.cpp of the whole library: here every process is observed.
#include "runtime/lifecycle/services.h"
#include "runtime/process/hooks.h"

namespace dwell {

namespace {
__attribute__((constructor)) void begin() { list_services(); }
}  // namespace

bool probes_wanted() { return true; }
Thread* attach_for_probe() { return attach_thread(); }

}  // namespace dwell
