// Converts linker names to readable names (DESIGN 3); see symbol_names.h.
#include "summarize/code/symbol_names.h"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>

namespace dwell {
namespace {

// gfortran: __module_MOD_procedure, and __module_submodule_SMOD_procedure.
bool split_fortran(std::string_view symbol, std::string* shown) {
    if (!symbol.starts_with("__")) return false;
    for (const std::string_view mark : {std::string_view("_MOD_"), std::string_view("_SMOD_")}) {
        const size_t at = symbol.find(mark);
        if (at == std::string_view::npos || at <= 2 || at + mark.size() == symbol.size()) continue;
        if (shown != nullptr) {
            *shown = std::string(symbol.substr(2, at - 2)) +
                     "::" + std::string(symbol.substr(at + mark.size()));
        }
        return true;
    }
    return false;
}

// mpi_send for MPI_Send, PMPI_Send, mpi_send__, mpi_send_f08_, mpi_send_f08ts_.
std::string plain_mpi_name(std::string_view symbol) {
    std::string plain(symbol);
    for (char& c : plain) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    while (plain.ends_with('_')) plain.pop_back();
    for (const std::string_view ending : {"_f08ts", "_f08", "_f"}) {
        if (plain.size() > ending.size() && plain.ends_with(ending)) {
            plain.resize(plain.size() - ending.size());
            break;
        }
    }
    if (plain.starts_with("pmpi_") || plain.starts_with("pmpix_")) plain.erase(0, 1);
    return plain;
}

bool is_cxx_binding(std::string_view symbol) {
    return symbol.starts_with("_ZN3MPI") || symbol.starts_with("_ZNK3MPI");
}

}  // namespace

bool is_encoded_name(std::string_view symbol) {
    return symbol.starts_with("_Z") || split_fortran(symbol, nullptr);
}

std::string display_name(std::string_view symbol) {
    std::string shown(symbol);
    if (symbol.starts_with("_Z")) {
        int status = 0;
        const std::unique_ptr<char, void (*)(void*)> text(
            abi::__cxa_demangle(shown.c_str(), nullptr, nullptr, &status), std::free);
        if (status == 0 && text) return text.get();
        return shown;
    }
    split_fortran(symbol, &shown);
    return shown;
}

bool is_mpi_entry(std::string_view symbol) {
    const std::string plain = plain_mpi_name(symbol);
    return is_cxx_binding(symbol) || plain.starts_with("mpi_") || plain.starts_with("mpix_");
}

// Names of MPI have one capital letter after MPI_, or MPIX_.
std::string mpi_c_name(std::string_view symbol) {
    if (is_cxx_binding(symbol)) return display_name(symbol);
    if (symbol.starts_with("PMPI_") || symbol.starts_with("PMPIX_")) symbol.remove_prefix(1);
    if (symbol.starts_with("MPI_") || symbol.starts_with("MPIX_")) return std::string(symbol);
    std::string name = plain_mpi_name(symbol);
    const size_t capitals = name.find('_') + 2;
    for (size_t i = 0; i < std::min(capitals, name.size()); ++i) {
        name[i] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[i])));
    }
    return name;
}

bool is_mpi_function(std::string_view symbol, std::string_view c_name) {
    return plain_mpi_name(symbol) == plain_mpi_name(c_name);
}

std::string_view without_outlining(std::string_view function) {
    return function.substr(0, std::min(function.find(" [clone"), function.find("._omp_fn.")));
}

bool is_outlined_name(std::string_view symbol) {
    return symbol.starts_with(".omp") || symbol.find(".omp_outlined") != symbol.npos ||
           symbol.find("._omp_fn.") != symbol.npos;
}

}  // namespace dwell
