// Recognises kinds of modules by the names of their files; see module_kinds.h.
#include "summarize/symbols/module_kinds.h"

#include <algorithm>
#include <initializer_list>

#include "summarize/code/vdso.h"
#include "summarize/model/source_paths.h"

namespace dwell {
namespace {

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> beginnings) {
    return std::any_of(beginnings.begin(), beginnings.end(),
                       [name](std::string_view beginning) { return name.starts_with(beginning); });
}

// The MPI library and its language bindings.
bool is_mpi_library(std::string_view name) {
    return name.find(".so") != name.npos &&
           starts_with_any(name, {"libmpi.so", "libmpi_", "libmpich", "libmpicxx", "libmpifort",
                                  "libpmpi.so", "libopen-pal", "libopen-rte", "mca_"});
}

bool is_libc_library(std::string_view name) {
    return starts_with_any(name, {"libc.so", "libc-2", "libpthread", "ld-linux", "ld-2"});
}

// Whether it belongs to the C library or a compiler, wherever it is installed.
bool is_language_library(std::string_view name) {
    return is_libc_library(name) ||
           starts_with_any(name, {"libm.so", "libm-2", "libmvec", "libstdc++", "libc++", "libgcc_s",
                                  "libgfortran", "libquadmath", "libgomp", "libimf", "libsvml",
                                  "libirc", "libifcore"});
}

// Whether it is in /lib, /usr/lib64 or a similar folder.
bool is_in_system_folder(std::string_view path) {
    if (path.starts_with("/usr/")) path.remove_prefix(4);
    if (!path.starts_with("/lib")) return false;
    const std::string_view rest = path.substr(4, path.find('/', 1) - 4);
    return rest.empty() || rest == "32" || rest == "64" || rest == "x32";
}

bool holds(std::string_view path, std::string_view part) {
    return path.find(part) != std::string_view::npos;
}

}  // namespace

ModuleKind module_kind(std::string_view path) {
    const std::string_view name = base_name(path);
    if (name.starts_with("libdwell.")) return ModuleKind::kDwell;
    if (is_mpi_library(name)) return ModuleKind::kMpi;
    if (starts_with_any(name, {"libomp.so", "libomp-", "libiomp5.so"})) return ModuleKind::kOpenMp;
    if (name.starts_with("libgomp.so")) return ModuleKind::kGomp;
    return is_libc_library(name) ? ModuleKind::kLibc : ModuleKind::kUser;
}

bool is_system_library(std::string_view path) {
    const std::string_view name = base_name(path);
    if (is_vdso(path) || is_language_library(name) || is_mpi_library(name)) return true;
    return name.find(".so") != name.npos && is_in_system_folder(path);
}

bool is_system_header(std::string_view path) {
    if (path.starts_with("/usr/include/") || holds(path, "/include/c++/")) return true;
    const bool of_compiler = holds(path, "/lib/gcc/") || holds(path, "/lib/clang/");
    return (of_compiler || is_in_system_folder(path)) && holds(path, "/include/");
}

}  // namespace dwell
