// Readable names for the linker names of functions, and recognition of MPI's and OpenMP's
// functions.
#ifndef DWELL_SUMMARIZE_CODE_SYMBOL_NAMES_H_
#define DWELL_SUMMARIZE_CODE_SYMBOL_NAMES_H_

#include <string>
#include <string_view>

namespace dwell {

// The name in the source: C++ demangled, a Fortran module procedure as module::procedure, anything
// else unchanged.
std::string display_name(std::string_view symbol);

// Whether the display name differs from the function's own name in the debug information.
bool is_encoded_name(std::string_view symbol);

// Whether it is any spelling of an entry point of MPI: MPI_Send, PMPI_Send, mpi_send_,
// mpi_send_f08_, members of the C++ namespace MPI.
bool is_mpi_entry(std::string_view symbol);

// The C name of an entry point of MPI: MPI_Comm_rank for PMPI_Comm_rank, mpi_comm_rank_,
// mpi_comm_rank_f08_. Members of the C++ namespace MPI keep their names.
std::string mpi_c_name(std::string_view symbol);

// Whether `symbol` is a spelling of the MPI function with the C name `c_name`.
bool is_mpi_function(std::string_view symbol, std::string_view c_name);

// `function` without what gcc appends to the name of a clone, or of the code of an OpenMP region:
// the procedure in the source.
std::string_view without_outlining(std::string_view function);
// Whether it is a name that clang or gcc gives to the code of an OpenMP region or task.
bool is_outlined_name(std::string_view symbol);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_CODE_SYMBOL_NAMES_H_
