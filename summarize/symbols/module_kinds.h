// What a module is, by its path: the program's own code, or that of MPI, OpenMP, the C library, the
// system or dwell.
#ifndef DWELL_SUMMARIZE_SYMBOLS_MODULE_KINDS_H_
#define DWELL_SUMMARIZE_SYMBOLS_MODULE_KINDS_H_

#include <cstdint>
#include <string_view>

namespace dwell {

// kOpenMp: LLVM's runtime, which tells of its regions itself.
enum class ModuleKind : uint8_t { kUser, kMpi, kOpenMp, kGomp, kLibc, kDwell };
ModuleKind module_kind(std::string_view path);

// A library of the system or of a compiler, or inside of MPI (kLabelSystem).
bool is_system_library(std::string_view path);
// A header of the system or of a compiler: code in it, such as templates, is as that of a library.
bool is_system_header(std::string_view path);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_SYMBOLS_MODULE_KINDS_H_
