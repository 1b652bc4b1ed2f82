// How dwell shows the names that compilers give to functions, and how it recognises
// MPI's and OpenMP's.
#ifndef DWELL_SUMMARIZE_CODE_SYMBOL_NAMES_H_
#define DWELL_SUMMARIZE_CODE_SYMBOL_NAMES_H_

#include <string>
#include <string_view>

namespace dwell {

// The name a person wrote: C++ demangled, a Fortran module procedure as module::procedure, anything
// else unchanged.
std::string display_name(std::string_view symbol);

// True for symbols whose display name differs from what debug information calls the function alone.
bool is_encoded_name(std::string_view symbol);

// True for every spelling of an entry point of MPI: MPI_Send, PMPI_Send, mpi_send_, mpi_send_f08_,
// members of the C++ namespace MPI.
bool is_mpi_entry(std::string_view symbol);

// The C name of an entry point of MPI: MPI_Comm_rank for PMPI_Comm_rank, mpi_comm_rank_,
// mpi_comm_rank_f08_. Members of the C++ namespace MPI keep theirs.
std::string mpi_c_name(std::string_view symbol);

// True when `symbol` is a spelling of the MPI function with the C name `c_name`.
bool is_mpi_function(std::string_view symbol, std::string_view c_name);

// True for what clang and gcc call the code of OpenMP's regions and tasks.
bool is_outlined_name(std::string_view symbol);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_CODE_SYMBOL_NAMES_H_
