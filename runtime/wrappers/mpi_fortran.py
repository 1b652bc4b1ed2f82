"""Entry points of Fortran, for calls that do not reach the wrappers of C; see fortran_entries.h."""


def symbols(function):
    """Symbols that Fortran compilers use for the function, and the one of Open MPI's mpi_f08."""
    lower, upper = function.name.lower(), function.name.upper()
    names = []
    for prefix in ("mpi_", "pmpi_"):
        names += [prefix + lower, f"{prefix}{lower}_", f"{prefix}{lower}__", prefix.upper() + upper]
    return names + [f"ompi_{lower}_f"]


def completions(functions):
    """Functions that complete some of several requests."""
    return [function for function in functions
            if function.get("completes") is not None and not function.get("special")
            and function.parameters[0].text in ("int count", "int incount")]


def givers(functions):
    """Functions that pass procedures of the program to MPI."""
    return [function for function in functions if function.get("fortran") == "own"]


def fortran_symbols(functions):
    return [symbol for function in completions(functions) + givers(functions)
            for symbol in symbols(function)]


def head(symbol, declared):
    return [f'extern "C" DWELL_EXPORT void {symbol}({declared});',
            f'extern "C" void {symbol}({declared}) {{', "    static void* found;",
            f'    const auto next = fortran_next<decltype(&{symbol})>(&found, "{symbol}");']


def entry(function, symbol):
    """All arguments are addresses. A call with requests is a tail call, so that the entry's
    frame has gone when C's wrapper looks at the stack."""
    rest = [parameter.name for parameter in function.parameters[1:]] + ["error"]
    declared = ", ".join(["MPI_Fint* count"] + [f"void* {name}" for name in rest])
    passed = ", ".join(["count"] + rest)
    return [*head(symbol, declared),
            f"    if (*count != 0) [[likely]] return next({passed});",
            f"    complete_nothing(DWELL_FRAME(), MpiCall::k{function.name}, "
            f"[=] {{ next({passed}); }});", "}", ""]


def giving_entry(function, symbol):
    """The program's procedures are replaced by stand-ins, as in C."""
    names = [parameter.name for parameter in function.parameters]
    declared = ", ".join([f"void* {name}" for name in names] + ["MPI_Fint* error"])
    given = function.arguments(**{name: f"of_program({name})"
                                  for name in function.get("user").split(",")})
    return [*head(symbol, declared),
            f"    give_procedures(DWELL_FRAME(), MpiCall::k{function.name}, error,",
            f"                    [=](auto of_program) {{ next({given}, error); }});", "}", ""]


def fortran_entries(functions):
    lines = ["// Made by generate_mpi.py from mpi_calls.table.",
             '#include "runtime/wrappers/fortran_entries.h"', "", "using namespace dwell;", ""]
    for function in completions(functions):
        for symbol in symbols(function):
            lines += entry(function, symbol)
    for function in givers(functions):
        for symbol in symbols(function):
            lines += giving_entry(function, symbol)
    return "\n".join(lines)
