"""Entry points of Fortran, for calls that do not reach the wrappers of C; see fortran_entries.h."""


def symbols(function):
    """The names that Fortran compilers give it, and that by which Open MPI's mpi_f08 calls it."""
    lower, upper = function.name.lower(), function.name.upper()
    names = []
    for prefix in ("mpi_", "pmpi_"):
        names += [prefix + lower, f"{prefix}{lower}_", f"{prefix}{lower}__", prefix.upper() + upper]
    return names + [f"ompi_{lower}_f"]


def completions(functions):
    """Those that complete some of several requests."""
    return [function for function in functions
            if function.get("completes") is not None and not function.get("special")
            and function.parameters[0].text in ("int count", "int incount")]


def fortran_symbols(functions):
    return [symbol for function in completions(functions) for symbol in symbols(function)]


def entry(function, symbol):
    """All arguments are addresses. With requests the call of what stands behind is the last thing
    that the entry does: its frame has gone by the time that C's wrapper looks at the stack."""
    rest = [parameter.name for parameter in function.parameters[1:]] + ["error"]
    declared = ", ".join(["MPI_Fint* count"] + [f"void* {name}" for name in rest])
    passed = ", ".join(["count"] + rest)
    return [f'extern "C" DWELL_EXPORT void {symbol}({declared});',
            f'extern "C" void {symbol}({declared}) {{',
            "    static void* found;",
            f'    const auto next = fortran_next<decltype(&{symbol})>(&found, "{symbol}");',
            f"    if (*count != 0) [[likely]] return next({passed});",
            f"    complete_nothing(DWELL_FRAME(), MpiCall::k{function.name}, "
            f"[=] {{ next({passed}); }});", "}", ""]


def fortran_entries(functions):
    lines = ["// Made by generate_mpi.py from mpi_calls.table.",
             '#include "runtime/fortran_entries.h"', "", "using namespace dwell;", ""]
    for function in completions(functions):
        for symbol in symbols(function):
            lines += entry(function, symbol)
    return "\n".join(lines)
