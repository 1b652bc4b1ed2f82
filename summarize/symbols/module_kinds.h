// Classifies a module by its path: the program's own code, or part of MPI, OpenMP, the C library,
// the system or dwell.
#ifndef DWELL_SUMMARIZE_SYMBOLS_MODULE_KINDS_H_
#define DWELL_SUMMARIZE_SYMBOLS_MODULE_KINDS_H_

#include <cstdint>
#include <string_view>

namespace dwell {

// kOpenMp: LLVM's runtime, which reports its regions through OMPT callbacks.
enum class ModuleKind : uint8_t { kUser, kMpi, kOpenMp, kGomp, kLibc, kDwell };
ModuleKind module_kind(std::string_view path);

// Whether it is a library of the system or of a compiler, or belongs to MPI (kLabelSystem).
bool is_system_library(std::string_view path);
// Whether it is a header of the system or of a compiler: its code, such as templates, counts as
// library code.
bool is_system_header(std::string_view path);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_SYMBOLS_MODULE_KINDS_H_
