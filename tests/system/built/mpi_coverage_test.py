"""Every MPI-3.1 function that communicates, waits, tests, probes, synchronises, does RMA or I/O, or
creates and frees MPI objects passes dwell, in C and in the three Fortran forms.

The list below follows the chapters of the MPI-3.1 standard; it shares nothing with dwell's table.
"""

import collections
import re
import shutil
import subprocess

from harness import LIBRARY, case, check, check_equal, execute, main, profiled, scratch, skip_unless

FUNCTIONS = """
Send Bsend Ssend Rsend Isend Ibsend Issend Irsend Send_init Bsend_init Ssend_init Rsend_init
Recv Irecv Recv_init Mrecv Imrecv Sendrecv Sendrecv_replace Probe Iprobe Mprobe Improbe
Start Startall Wait Waitall Waitany Waitsome Test Testall Testany Testsome Request_get_status
Request_free Cancel Buffer_attach Buffer_detach
Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Alltoallw
Reduce Allreduce Reduce_scatter Reduce_scatter_block Scan Exscan
Ibarrier Ibcast Igather Igatherv Iscatter Iscatterv Iallgather Iallgatherv Ialltoall Ialltoallv
Ialltoallw Ireduce Iallreduce Ireduce_scatter Ireduce_scatter_block Iscan Iexscan
Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw
Ineighbor_allgather Ineighbor_allgatherv Ineighbor_alltoall Ineighbor_alltoallv
Ineighbor_alltoallw
Comm_dup Comm_dup_with_info Comm_idup Comm_create Comm_create_group Comm_split Comm_split_type
Comm_free Comm_group Comm_remote_group Intercomm_create Intercomm_merge
Group_union Group_intersection Group_difference Group_incl Group_excl Group_range_incl
Group_range_excl Group_free
Cart_create Cart_sub Graph_create Dist_graph_create Dist_graph_create_adjacent
Comm_spawn Comm_spawn_multiple Open_port Close_port Comm_accept Comm_connect Comm_disconnect
Comm_join Publish_name Unpublish_name Lookup_name
Win_create Win_allocate Win_allocate_shared Win_create_dynamic Win_attach Win_detach Win_free
Win_get_group Put Get Accumulate Get_accumulate Fetch_and_op Compare_and_swap
Rput Rget Raccumulate Rget_accumulate
Win_fence Win_start Win_complete Win_post Win_wait Win_test Win_lock Win_lock_all Win_unlock
Win_unlock_all Win_flush Win_flush_all Win_flush_local Win_flush_local_all Win_sync
File_open File_close File_delete File_set_size File_preallocate File_get_group File_set_view
File_read_at File_read_at_all File_write_at File_write_at_all File_iread_at File_iwrite_at
File_iread_at_all File_iwrite_at_all File_read File_read_all File_write File_write_all File_iread
File_iwrite File_iread_all File_iwrite_all File_seek File_read_shared File_write_shared
File_iread_shared File_iwrite_shared File_read_ordered File_write_ordered File_seek_shared
File_read_at_all_begin File_read_at_all_end File_write_at_all_begin File_write_at_all_end
File_read_all_begin File_read_all_end File_write_all_begin File_write_all_end
File_read_ordered_begin File_read_ordered_end File_write_ordered_begin File_write_ordered_end
File_sync File_set_atomicity
Type_contiguous Type_vector Type_create_hvector Type_indexed Type_create_hindexed
Type_create_indexed_block Type_create_hindexed_block Type_create_struct Type_create_subarray
Type_create_darray Type_create_resized Type_dup Type_commit Type_free
Type_create_f90_integer Type_create_f90_real Type_create_f90_complex
Grequest_start Grequest_complete
Init Init_thread Finalize Abort Pcontrol
""".split()


def symbols(path, option):
    """Names in a library's dynamic symbol table: --defined-only or --undefined-only."""
    text = subprocess.run(["nm", "-D", option, path], capture_output=True, text=True,
                          check=True).stdout
    return {line.split()[-1].split("@")[0] for line in text.splitlines()}


def library(name):
    found = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    match = re.search(re.escape(name) + r" .*=> (\S+)", found)
    skip_unless(match, f"{name} is not installed")
    return match.group(1)


@case
def c_entry_points():
    """libdwell.so exports MPI_X and PMPI_X for each of them that the MPI library has."""
    skip_unless(shutil.which("nm"), "nm is not installed")
    mpi = symbols(library("libmpi.so.40"), "--defined-only")
    ours = symbols(LIBRARY, "--defined-only")
    known = [name for name in FUNCTIONS if "MPI_" + name in mpi]
    check(len(known) > 210, f"only {len(known)} of the list are in the MPI library")
    missing = [p + n for n in known for p in ("MPI_", "PMPI_") if p + n not in ours]
    check(not missing, f"not exported: {missing}")
    alien = [n for n in ours if n.startswith("MPI_") and n not in mpi and n != n.upper()]
    check(not alien, f"exported, but the MPI library has no such function: {alien}")


@case
def fortran_entry_points():
    """Of the calls that complete several requests, which do not lead to C where there are none, and of
    those that are given functions of Fortran's, libdwell.so exports every name that the Fortran
    library gives them and Fortran programs, or mpi_f08, call, and of no other call any."""
    skip_unless(shutil.which("nm"), "nm is not installed")
    called = re.compile(r"^(p?mpi_\w+|P?MPI_[A-Z_]+|ompi_\w+_f)$")
    own = re.compile(r"_(wait|test)(all|any|some)(_|$)|_(create_keyval|keyval_create|create_errhandler|"
                     r"errhandler_create)(_|$)", re.IGNORECASE)
    theirs = {name for name in symbols(library("libmpi_mpifh.so.40"), "--defined-only")
              if called.match(name) and own.search(name)}
    check_equal(len(theirs), 14 * 9, "names of 14 calls in the Fortran library")
    ours = {name for name in symbols(LIBRARY, "--defined-only") if called.match(name)}
    check_equal(sorted(ours), sorted(theirs), "entry points of Fortran")


@case
def fortran_leads_to_c():
    """The Fortran entry points of mpif.h and `use mpi` call PMPI_X, those of mpi_f08 go to the same
    code, so C entry points see all Fortran."""
    skip_unless(shutil.which("nm"), "nm is not installed")
    fixed = library("libmpi_mpifh.so.40")
    modern = library("libmpi_usempif08.so.40")
    entries, wants = symbols(fixed, "--defined-only"), symbols(fixed, "--undefined-only")
    modern_entries = symbols(modern, "--defined-only")
    modern_wants = symbols(modern, "--undefined-only")
    lost, count = [], 0
    for name in FUNCTIONS:
        entry = f"mpi_{name.lower()}_"
        if entry not in entries:
            continue
        count += 1
        if "PMPI_" + name not in wants:
            lost.append(entry)
        if entry + "f08_" in modern_entries or f"mpi_{name.lower()}_f08_" in modern_entries:
            ways = {f"ompi_{name.lower()}_f", f"pmpi_{name.lower()}_", f"mpi_{name.lower()}_",
                    "PMPI_" + name, f"pompi_{name.lower()}_f"}
            if not ways & modern_wants:
                lost.append(f"mpi_{name.lower()}_f08_")
    check(count > 200, f"only {count} Fortran entry points found")
    check(not lost, f"no way to C: {lost}")


# Fortran statements that one rank can make alone, with the C function that they must be counted as.
STATEMENTS = [
    ("Comm_dup", "call MPI_Comm_dup(MPI_COMM_SELF, comm, ierr)"),
    ("Comm_split", "call MPI_Comm_split(MPI_COMM_SELF, 0, 0, other, ierr)"),
    ("Comm_free", "call MPI_Comm_free(other, ierr)"),
    ("Comm_split_type",
     "call MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, other, ierr)"),
    ("Comm_group", "call MPI_Comm_group(comm, group, ierr)"),
    ("Group_free", "call MPI_Group_free(group, ierr)"),
    ("Cart_create", "call MPI_Cart_create(comm, 1, dims, periods, .false., ring, ierr)"),
    ("Send", "call MPI_Send(a, 1, MPI_INTEGER, MPI_PROC_NULL, 0, comm, ierr)"),
    ("Ssend", "call MPI_Ssend(a, 1, MPI_INTEGER, MPI_PROC_NULL, 0, comm, ierr)"),
    ("Rsend", "call MPI_Rsend(a, 1, MPI_INTEGER, MPI_PROC_NULL, 0, comm, ierr)"),
    ("Recv", "call MPI_Recv(a, 1, MPI_INTEGER, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE, ierr)"),
    ("Isend", "call MPI_Isend(a, 1, MPI_INTEGER, 0, 1, comm, r(1), ierr)"),
    ("Irecv", "call MPI_Irecv(b, 1, MPI_INTEGER, 0, 1, comm, r(2), ierr)"),
    ("Waitall", "call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, ierr)"),
    ("Iprobe", "call MPI_Iprobe(MPI_ANY_SOURCE, 9, comm, flag, MPI_STATUS_IGNORE, ierr)"),
    ("Improbe", "call MPI_Improbe(MPI_PROC_NULL, 9, comm, flag, message, status, ierr)"),
    ("Mrecv", "call MPI_Mrecv(b, 1, MPI_INTEGER, message, MPI_STATUS_IGNORE, ierr)"),
    ("Sendrecv", "call MPI_Sendrecv(a, 1, MPI_INTEGER, 0, 2, b, 1, MPI_INTEGER, 0, 2, comm, status, ierr)"),
    ("Sendrecv_replace", "call MPI_Sendrecv_replace(a, 1, MPI_INTEGER, 0, 3, 0, 3, comm, status, ierr)"),
    ("Send_init", "call MPI_Send_init(a, 1, MPI_INTEGER, MPI_PROC_NULL, 0, comm, r(1), ierr)"),
    ("Recv_init", "call MPI_Recv_init(b, 1, MPI_INTEGER, MPI_PROC_NULL, 0, comm, r(2), ierr)"),
    ("Start", "call MPI_Start(r(1), ierr)"),
    ("Wait", "call MPI_Wait(r(1), status, ierr)"),
    ("Startall", "call MPI_Startall(2, r, ierr)"),
    ("Testall", "call MPI_Testall(2, r, flag, MPI_STATUSES_IGNORE, ierr)"),
    ("Waitany", "call MPI_Waitany(2, r, i, status, ierr)"),
    ("Waitsome", "call MPI_Waitsome(2, r, i, places, statuses, ierr)"),
    ("Testany", "call MPI_Testany(2, r, i, flag, status, ierr)"),
    ("Testsome", "call MPI_Testsome(2, r, i, places, statuses, ierr)"),
    ("Test", "call MPI_Test(r(1), flag, status, ierr)"),
    ("Request_free", "call MPI_Request_free(r(1), ierr)"),
    ("Barrier", "call MPI_Barrier(comm, ierr)"),
    ("Bcast", "call MPI_Bcast(a, 1, MPI_INTEGER, 0, comm, ierr)"),
    ("Reduce", "call MPI_Reduce(a, b, 1, MPI_INTEGER, MPI_SUM, 0, comm, ierr)"),
    ("Allreduce", "call MPI_Allreduce(MPI_IN_PLACE, b, 1, MPI_INTEGER, MPI_SUM, comm, ierr)"),
    ("Gather", "call MPI_Gather(a, 1, MPI_INTEGER, b, 1, MPI_INTEGER, 0, comm, ierr)"),
    ("Allgather", "call MPI_Allgather(a, 1, MPI_INTEGER, b, 1, MPI_INTEGER, comm, ierr)"),
    ("Alltoall", "call MPI_Alltoall(a, 1, MPI_INTEGER, b, 1, MPI_INTEGER, comm, ierr)"),
    ("Alltoallv", "call MPI_Alltoallv(a, ones, noughts, MPI_INTEGER, b, ones, noughts, MPI_INTEGER, comm, ierr)"),
    ("Reduce_scatter", "call MPI_Reduce_scatter(a, b, ones, MPI_INTEGER, MPI_SUM, comm, ierr)"),
    ("Scan", "call MPI_Scan(a, b, 1, MPI_INTEGER, MPI_SUM, comm, ierr)"),
    ("Neighbor_allgather", "call MPI_Neighbor_allgather(a, 1, MPI_INTEGER, b, 1, MPI_INTEGER, ring, ierr)"),
    ("Ibarrier", "call MPI_Ibarrier(comm, r(1), ierr)"),
    ("Wait", "call MPI_Wait(r(1), MPI_STATUS_IGNORE, ierr)"),
    ("Ibcast", "call MPI_Ibcast(a, 1, MPI_INTEGER, 0, comm, r(1), ierr)"),
    ("Wait", "call MPI_Wait(r(1), MPI_STATUS_IGNORE, ierr)"),
    ("Type_contiguous", "call MPI_Type_contiguous(3, MPI_INTEGER, kind_of, ierr)"),
    ("Type_commit", "call MPI_Type_commit(kind_of, ierr)"),
    ("Type_free", "call MPI_Type_free(kind_of, ierr)"),
    ("Win_allocate", "call MPI_Win_allocate(16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, comm, base, win, ierr)"),
    ("Win_fence", "call MPI_Win_fence(0, win, ierr)"),
    ("Put", "call MPI_Put(b, 1, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, ierr)"),
    ("Win_fence", "call MPI_Win_fence(0, win, ierr)"),
    ("Win_free", "call MPI_Win_free(win, ierr)"),
    ("File_open", "call MPI_File_open(comm, path, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierr)"),
    ("File_write", "call MPI_File_write(file, a, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)"),
    ("File_read_at", "call MPI_File_read_at(file, 0_MPI_OFFSET_KIND, b, 1, MPI_INTEGER, status, ierr)"),
    ("File_close", "call MPI_File_close(file, ierr)"),
    ("Pcontrol", "call MPI_Pcontrol(1)"),
]

HEADS = {
    "mpifh": ("", "include 'mpif.h'", "integer", "integer :: status(MPI_STATUS_SIZE)",
              "integer :: statuses(MPI_STATUS_SIZE, 2)"),
    "mpi": ("use mpi", "", "integer", "integer :: status(MPI_STATUS_SIZE)",
            "integer :: statuses(MPI_STATUS_SIZE, 2)"),
    "f08": ("use mpi_f08\nuse, intrinsic :: iso_c_binding, only : c_ptr", "", "type(MPI_%s)", "type(MPI_Status) :: status",
            "type(MPI_Status) :: statuses(2)"),
}


def fortran_source(form):
    use, include, handle, status, statuses = HEADS[form]
    lines = ["program coverage", use, "implicit none", include]
    for kind, names in (("Comm", "comm, other, ring"), ("Group", "group"), ("Request", "r(2)"),
                        ("Message", "message"), ("Datatype", "kind_of"), ("Win", "win"),
                        ("File", "file")):
        lines.append(f"{handle % kind if '%' in handle else handle} :: {names}")
    lines.append("type(c_ptr) :: base" if form == "f08" else "integer(MPI_ADDRESS_KIND) :: base")
    lines += [status, statuses, "integer, asynchronous :: a(4), b(4)",
              "integer :: ierr, i, places(2), ones(1), noughts(1), dims(1), bad",
              "logical :: flag, periods(1)", "character(len=200) :: path",
              "ones = 1; noughts = 0; dims = 1; periods = .true.; a = 5; b = 0; bad = 0; ierr = 0",
              "call get_command_argument(1, path)", "call MPI_Init(ierr)"]
    for _, statement in STATEMENTS:
        lines += [statement, "if (ierr /= 0) bad = bad + 1"]
    lines += ["print *, bad, b(1), a(1), flag", "call MPI_Finalize(ierr)", "end program coverage", ""]
    return "\n".join(lines)


def call_lines(binary, path):
    """Where the line table has the calls: {name: {line: calls}}. It is asked because gfortran puts
    some calls without a choice buffer on another line than their statement's."""
    text = subprocess.run(["objdump", "-dl", "--no-show-raw-insn", binary], capture_output=True,
                          text=True, check=True).stdout
    names = {name.lower(): name for name, _ in STATEMENTS}
    found, line = {}, 0
    for row in text.splitlines():
        place = re.match(re.escape(path) + r":(\d+)", row)
        call = re.search(r"call.*<mpi_(\w+?)_(?:f08_)?(?:@plt)?>", row)
        if place:
            line = int(place.group(1))
        elif call and call.group(1) in names:
            found.setdefault(names[call.group(1)], collections.Counter())[line] += 1
    missing = {name for name, _ in STATEMENTS} - set(found)
    check(not missing, f"no call of {missing} in {binary}")
    return found


@case
def fortran_calls_are_counted():
    """A statement of each kind, in each Fortran form, is one call at its line, with the C name."""
    compiler = shutil.which("mpifort.openmpi") or shutil.which("mpifort")
    skip_unless(compiler, "mpifort is not installed")
    skip_unless(shutil.which("objdump"), "objdump is not installed")
    errors = []
    for form in HEADS:
        path, binary = scratch(f"coverage_{form}.f90"), scratch(f"coverage_{form}")
        with open(path, "w") as stream:
            stream.write(fortran_source(form))
        built = execute([compiler, "-g", "-O0", "-w", "-fallow-argument-mismatch",
                         "-ffree-line-length-none", path, "-o", binary], cwd=scratch())
        check_equal(built.code, 0, f"compiling for {form}" + built.describe())
        profile = profiled([binary, scratch("file")], 1, name="out_" + form)
        for name, want in call_lines(binary, path).items():
            got = collections.Counter()
            for node in profile.comm("MPI_" + name, path):
                got[node.line] += node.count
            if got != want:
                errors.append(f"{form} MPI_{name}: lines {dict(got)}, want {dict(want)}")
    check(not errors, f"{len(errors)} wrong: " + "; ".join(errors[:12]))


if __name__ == "__main__":
    main()
