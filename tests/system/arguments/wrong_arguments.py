"""Writes a C program that calls every function of runtime/contract/mpi_calls.table that takes a communicator,
datatype, window, request, file, group or message, with each argument that MPI refuses, and with
arguments that are not significant in that call (a root's elsewhere, MPI_IN_PLACE, MPI_NO_OP, count
0, MPI_PROC_NULL). All ranks make the same calls. programs/wrong_arguments.h has what they share."""

import os
import pathlib
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../runtime/wrappers"))
from mpi_table import read_table  # pylint: disable=wrong-import-position

TABLE = pathlib.Path(__file__).resolve().parents[3] / "runtime" / "contract" / "mpi_calls.table"
HANDLES = ("MPI_Comm", "MPI_Datatype", "MPI_Win", "MPI_Request", "MPI_File", "MPI_Group",
           "MPI_Message")

# Functions whose right call needs more than one statement, other programs or a server: they are
# called with arguments that MPI refuses alone.
ONLY_WRONG = re.compile(
    r"Win_(fence|start|complete|post|wait|lock|lock_all|unlock|unlock_all|flush.*|sync|attach|detach)$|"
    r"Comm_(spawn|spawn_multiple|accept|connect|join)$|File_\w+_(begin|end)$|"
    r"(Grequest_\w+|Cancel|Start|Startall|Init|Init_thread|Finalize|Abort|Pcontrol)$|"
    r"File_(read|write)_shared$|File_(read|write)_ordered$|File_i\w+$")
# Made by hand below, or not MPI's to refuse.
BY_HAND = re.compile(r"(Wait|Test)(all|any|some)?$|Init|Finalize|Abort|Pcontrol|Request_free$|"
                     r"Startall$|Comm_join$")

RANKS = ("dest", "source", "root", "target_rank", "rank", "local_leader", "remote_leader")
TAGS = ("tag", "sendtag", "recvtag")
COUNTS = re.compile(r"^((send|recv|origin_|target_|result_)?cou?n?t|n|nnodes|ndims|indegree|outdegree"
                    r"|maxprocs|incount|blocklength|size|disp_unit)$")
OTHER_INTS = {"color": ["-5"], "split_type": ["kSentinel"], "lock_type": ["99"], "amode": ["0"],
              "whence": ["99"], "r": ["100000"], "p": ["100000"], "order": ["99"]}


# What Open MPI 4.1 does not look at but uses, so that the program dies or waits for ever.
DEADLY = re.compile("|".join((
    r"MPI_Bsend_init\(.*\(MPI_Datatype\)0", r"MPI_Sendrecv_replace\(NULL, .*g_next",
    r"MPI_\w*[Pp]robe\(.*\(MPI_Comm\)0", r"MPI_Im?probe\(.*g_comm, NULL",
    r"MPI_I?[Ss]catter\(g_out, -1, MPI_INT, .*MPI_COMM_SELF",
    r"MPI_(I|N|Ineighbor_a|Neighbor_a|A|Ia)?llgather\(.*(MPI_COMM_NULL|\(MPI_Comm\)0)",
    r"MPI_\w*llgatherv\(.*(NULL|g_minus), g_steps", r"MPI_Fetch_and_op\(.*MPI_OP_NULL",
    r"MPI_Win_start\(\(MPI_Group\)0", r"MPI_Win_flush(_local)?\((-7|kSentinel)",
    r"MPI_File_i\w+_at(_all)?\(g_file, -2", r"MPI_File_open\(.*, NULL\)$",
    r"MPI_Comm_idup\(.*NULL\)$", r"MPI_(Comm_free|Comm_disconnect|Win_free)\(NULL\)",
    r"MPI_Intercomm_create\(g_comm, 0, (MPI_COMM_NULL|\(MPI_Comm\)0)",
    r"MPI_Intercomm_create\(g_comm, 0, g_comm, (kSentinel|-7)", r"MPI_Cart_sub\(.*NULL",
    r"MPI_Graph_create\(.*NULL\)$", r"MPI_Comm_spawn(_multiple)?\(.*(NULL|-1), .*g_comm",
    r"MPI_Comm_(accept|connect)\(NULL", r"MPI_Group_(incl|excl)\(\(MPI_Group\)0",
    r"MPI_Group_range_(in|ex)cl\(g_group, 1, NULL", r"MPI_Type_create_f90_\w+\(.*NULL\)$")))


class Program:
    def __init__(self):
        self.lines, self.calls, self.number = [], [], 0

    def add(self, line):
        self.lines.append(line)


def scalar(function, parameter):
    """(what a right call has, what MPI refuses) of an argument that is no pointer."""
    name, kind = parameter.name, parameter.type
    neighbours = "eighbor" in function.name or function.name == "Cart_sub"
    if kind == "MPI_Comm":
        right = "g_cart" if neighbours else "g_comm"
        if function.name in ("Intercomm_merge", "Comm_remote_group"):
            right = "g_inter"
        return right, ["MPI_COMM_NULL", "(MPI_Comm)0", "g_freed_comm"]
    if kind == "MPI_Datatype":
        wrong = ["MPI_DATATYPE_NULL", "g_uncommitted", "g_freed_type"]
        if function.get("class") in ("send", "receive", "send_receive"):
            wrong.append("(MPI_Datatype)0")  # what Fortran's handles that are none become
        return "MPI_INT", wrong
    if kind == "MPI_Win":
        idle = function.get("class") == "manage" or function.name.startswith("Win_")
        return "g_idle_win" if idle else "g_win", ["MPI_WIN_NULL", "(MPI_Win)0"]
    if kind == "MPI_File":
        return "g_file", ["MPI_FILE_NULL", "(MPI_File)0"]
    if kind == "MPI_Group":
        return "g_group", ["MPI_GROUP_NULL", "(MPI_Group)0", "g_freed_group", "MPI_GROUP_EMPTY"]
    if kind == "MPI_Op":
        return "MPI_SUM", ["MPI_OP_NULL", "MPI_NO_OP"]
    if kind == "MPI_Info":
        return "MPI_INFO_NULL", []
    if kind == "MPI_Request":
        return "MPI_REQUEST_NULL", []
    if kind == "int" and name in RANKS:
        wrong = ["kSentinel", "-7"] + (["MPI_ROOT", "MPI_PROC_NULL"] if name == "root" else [])
        right = {"dest": "MPI_PROC_NULL", "source": "MPI_PROC_NULL", "target_rank": "g_next"}
        return right.get(name, "0"), wrong
    if kind == "int" and name in TAGS:
        return "5", ["-7", "MPI_ANY_TAG"]
    if name == "nnodes":
        return "g_size", ["-1"]
    if kind in ("int", "MPI_Aint") and COUNTS.match(name):
        return "4" if name == "disp_unit" else "1", ["-1"]
    if kind in ("MPI_Aint", "MPI_Offset", "int", "const int"):
        wrong = OTHER_INTS.get(name, ["-2"] if kind == "MPI_Offset" else [])
        return {"amode": "MPI_MODE_RDONLY", "lock_type": "MPI_LOCK_SHARED",
                "split_type": "MPI_COMM_TYPE_SHARED", "order": "MPI_ORDER_C", "r": "3", "p": "3",
                "extent": "4", "stride": "1"}.get(name, "0"), wrong
    return None


ARRAYS = {"ranks": "g_steps", "displs": "g_steps", "dims": "g_dims", "periods": "g_ones",
          "index": "g_graph", "edges": "g_edges", "nodes": "&g_rank", "targets": "&g_next",
          "sources": "&g_previous", "destinations": "&g_next", "weights": "g_ones",
          "start_array": "g_noughts", "distrib_array": "g_blocks", "darg_array": "g_dargs",
          "ranges": "g_ranges", "gsize_array": "g_sizes", "psize_array": "g_ones"}


def refuses_null_buffers(function):
    """Where MPI looks; elsewhere the program dies of it."""
    return ["NULL"] if function.get("class") in ("send", "receive", "send_receive") else []


def pointer(function, parameter):
    """The same of one that is one, with the declaration that it wants."""
    name, kind, array = parameter.name, parameter.type, parameter.array
    if kind == "const void*":
        return "g_out", refuses_null_buffers(function), ""
    if kind == "void*":
        right = {"baseptr": "&base_", "extra_state": "NULL"}.get(name, "g_in")
        return right, refuses_null_buffers(function) if right == "g_in" else [], (
            "void* base_ = NULL;" if name == "baseptr" else "")
    if kind == "const int" and array or kind == "int" and array:
        right = ARRAYS.get(name, "g_ones" if "displ" not in name or "displacement" in name
                           else "g_steps")
        if "alltoallw" in function.name.lower() and "displ" in name:
            right = "g_bytes"
        wrong = ["NULL"]
        if re.search(r"counts|ranks|dims|blocklengths|block_lengths|sources|targets|dest", name):
            wrong.append("g_minus")
        return right, wrong, ""
    if kind == "const MPI_Aint":
        return "g_addresses", ["NULL"], ""
    if kind == "const MPI_Datatype":
        return "g_ints", ["NULL", "g_no_types"], ""
    if kind in ("const char*", "char*") and not array:
        return {"filename": "\"/nowhere/file\"", "datarep": "\"native\""}.get(name, "g_text"), (
            ["NULL"] if name != "filename" else []), ""
    if kind in ("char*", "char**", "const MPI_Info"):
        return "NULL", [], ""
    if kind.endswith("_function*"):
        return "NULL", [], ""
    handles = {"MPI_Comm*": ("MPI_Comm", "MPI_COMM_NULL"), "MPI_Win*": ("MPI_Win", "MPI_WIN_NULL"),
               "MPI_File*": ("MPI_File", "MPI_FILE_NULL"),
               "MPI_Datatype*": ("MPI_Datatype", "MPI_DATATYPE_NULL"),
               "MPI_Group*": ("MPI_Group", "MPI_GROUP_NULL"),
               "MPI_Request*": ("MPI_Request", "MPI_REQUEST_NULL"),
               "MPI_Message*": ("MPI_Message", "MPI_MESSAGE_NULL")}
    if kind in handles:
        handle, null = handles[kind]
        looks = kind != "MPI_Request*" or function.get("class") not in ("collective", "rma")
        return f"&{name}_", ["NULL"] if looks else [], f"{handle} {name}_ = {null};"
    if kind == "int*":
        return f"&{name}_", ["NULL"], f"int {name}_ = kSentinel;"
    if kind == "MPI_Status*":
        return f"&{name}_", ["MPI_STATUS_IGNORE"], (
            f"MPI_Status {name}_; memset(&{name}_, 0x5a, sizeof({name}_));")
    return None


FREES = {"MPI_Comm*": "MPI_Comm_free", "MPI_Win*": "MPI_Win_free", "MPI_File*": "MPI_File_close",
         "MPI_Datatype*": "MPI_Type_free", "MPI_Group*": "MPI_Group_free"}


class Form:
    """A function's parameters: what a right call has, what MPI refuses, and how its results show."""

    def __init__(self, function):
        self.function, self.right, self.wrong = function, {}, {}
        self.before, self.after = [], []
        for parameter in function.parameters:
            found = None if parameter.array else scalar(function, parameter)
            declaration = ""
            if found is None:
                right, wrong, declaration = pointer(function, parameter)
            else:
                right, wrong = found
            self.right[parameter.name], self.wrong[parameter.name] = right, list(wrong)
            if declaration:
                self.before.append(declaration)
                self.after += self.shown(parameter)

    def shown(self, parameter):
        name, kind = parameter.name, parameter.type
        if kind == "int*":
            return [f'show_int("{name}", {name}_);']
        if kind == "MPI_Status*":
            return [f'show_status("{name}", &{name}_);']
        if kind == "MPI_Request*":
            return [f'show_handle("{name}", 0, {name}_ == MPI_REQUEST_NULL);',
                    f"if ({name}_ != MPI_REQUEST_NULL) {self.ended(name)}"]
        if kind in FREES and self.function.get("ends") is None:
            null = f"MPI_{'COMM' if kind == 'MPI_Comm*' else kind[4:-1].upper()}_NULL"
            lines = [f'show_handle("{name}", 0, {name}_ == {null});']
            if "f90" not in self.function.name and self.function.name != "Type_commit":
                lines.append(f"if ({name}_ != {null}) {FREES[kind]}(&{name}_);")
            if self.function.name == "Comm_idup":
                lines.reverse()  # after its request
            return lines
        return []

    def ended(self, name):
        if self.function.get("persistent"):
            return f"MPI_Request_free(&{name}_);"
        if self.function.get("start") == "receive":
            return f"{{ MPI_Cancel(&{name}_); MPI_Wait(&{name}_, MPI_STATUS_IGNORE); }}"
        if self.function.get("start") == "general":
            return f"{{ MPI_Grequest_complete({name}_); MPI_Wait(&{name}_, MPI_STATUS_IGNORE); }}"
        return f"MPI_Wait(&{name}_, MPI_STATUS_IGNORE);"

    def macro(self):
        names = [p.name for p in self.function.parameters]
        parameters = "".join(f", {n}" for n in names)
        after = list(self.after)
        if self.function.name == "Comm_idup":
            after = [line for line in self.after if "request" in line] + [
                line for line in self.after if "request" not in line]
        if self.function.get("class") == "rma" and not self.function.name.startswith("Win_"):
            after.append("MPI_Win_flush_all(g_win);")
        body = " ".join([*self.before, "fill();", "begin();",
                         f"const int result_ = MPI_{self.function.name}({', '.join(names)});",
                         "end(result_, text_);", *after, "finish();"])
        return (f"#define CALL_{self.function.name}(number_, text_{parameters}) "
                f"if (wanted(number_)) {{ {body} }}")


def refused(form, base, spoilt=None):
    """(values of all arguments, with one that MPI refuses) from what a call has otherwise."""
    for name, values in form.wrong.items():
        if spoilt is not None and name not in spoilt:
            continue
        for value in values:
            if value != base.get(name):
                yield {**base, name: value}


# Whether MPI notices these depends on the call, or is not sure: never where a partner would wait.
NOT_SURE = ("g_freed_comm", "g_freed_type", "g_freed_group", "MPI_STATUS_IGNORE", "MPI_ANY_TAG", "MPI_GROUP_EMPTY",
            "MPI_NO_OP")


def only_sure(calls):
    return [call for call in calls if not any(value in NOT_SURE for value in call.values())]


def with_partner(form, **partners):
    """Calls that name a partner, which MPI refuses before they reach it."""
    base = {**form.right, **partners}
    sure = [call for call in refused(form, base) if all(
        name not in partners or call[name] != form.right[name] for name in partners)]
    return only_sure(sure)


def collective_forms(form):
    """Of a collective: values that are right although some are not significant."""
    function, right = form.function, form.right
    found = []
    name = function.name.removeprefix("I").lower() if function.name[1:2].islower() and \
        function.name.startswith("I") else function.name.lower()
    sends = [p.name for p in function.parameters if p.name.startswith("send")]
    receives = [p.name for p in function.parameters if p.name.startswith("recv")]
    nothing = {"sendbuf": "NULL", "sendcount": "-1", "sendcounts": "NULL", "displs": "NULL",
               "sdispls": "NULL", "sendtype": "MPI_DATATYPE_NULL", "sendtypes": "NULL",
               "recvbuf": "NULL", "recvcount": "-1", "recvcounts": "NULL",
               "recvtype": "MPI_DATATYPE_NULL"}

    def without(call, names, where):
        return {**call, **{n: f"({where} ? {call[n]} : {nothing[n]})" for n in names}}

    rooted = "root" in right
    if rooted:
        significant = {"gather": receives, "gatherv": [*receives, "displs"], "scatter": sends,
                       "scatterv": [*sends, "displs"], "reduce": ["recvbuf"]}.get(name, [])
        for root in ("0", "g_size - 1"):
            found.append(without({**right, "root": root}, significant, f"g_rank == {root}"))
        if name in ("gather", "gatherv", "reduce"):
            base = without(right, significant, "g_rank == 0")
            base["sendbuf"] = "(g_rank == 0 ? MPI_IN_PLACE : g_out)"
            found.append(without(base, [n for n in sends if n != "sendbuf"], "g_rank != 0"))
        if name in ("scatter", "scatterv"):
            base = without(right, significant, "g_rank == 0")
            base["recvbuf"] = "(g_rank == 0 ? MPI_IN_PLACE : g_in)"
            found.append(without(base, [n for n in receives if n != "recvbuf"], "g_rank != 0"))
    elif "sendbuf" in right and "eighbor" not in name and name not in ("scan", "exscan"):
        base = {**right, "sendbuf": "MPI_IN_PLACE"}
        if receives and sends:
            gone = [n for n in [*sends, "sdispls"] if n in right and n not in ("sendbuf",)]
            found.append({**base, **{n: nothing[n] for n in gone}})
        else:
            found.append(base)
    if name == "scan":
        found.append({**right, "sendbuf": "MPI_IN_PLACE"})
    if "comm" in right and "eighbor" not in name and name not in ("scan", "exscan"):
        base = {**right, "comm": "g_inter"}
        if rooted:
            base["root"] = "g_is_root"
            here, there = "g_is_root == MPI_ROOT", "g_is_root >= 0"
            if name in ("gather", "gatherv", "reduce"):
                base = without(base, [n for n in (*receives, "displs") if n in right], here)
                base = without(base, [n for n in sends if n in right], there)
            elif name in ("scatter", "scatterv"):
                base = without(base, [n for n in (*sends, "displs") if n in right], here)
                base = without(base, receives, there)
        if name not in ("reduce_scatter", "reduce_scatter_block"):
            found.append(base)
    counts = [n for n in right if COUNTS.match(n)]
    if counts and not any(n.endswith("counts") for n in right):
        found.append({**right, **{n: "0" for n in counts}})
        found.append({**right, **{n: "0" for n in counts},
                      **{n: "NULL" for n in right if n in ("sendbuf", "recvbuf", "buffer")}})
        found.append({**right, **{n: "0" for n in counts},
                      **{p.name: "MPI_DATATYPE_NULL" for p in form.function.parameters
                         if p.type == "MPI_Datatype"}})
    many = [n for n in right if n.endswith("counts")]
    if many:
        none = {**{n: "0" for n in counts}, **{n: "g_noughts" for n in many}}
        found.append({**right, **none})
        types = {p.name: "g_no_types" for p in form.function.parameters
                 if p.type == "const MPI_Datatype"}
        if types:
            found.append({**right, **none, **types})
    return found


# With illegal values of these arguments of a root alone the others would wait for it.
def refused_at_all(form, base):
    name = form.function.name.lower().removeprefix("i")
    ours = {"gather": "recv", "gatherv": "recv", "scatter": "send", "scatterv": "send"}.get(name)
    spoilt = [n for n in form.wrong if not (ours and (n.startswith(ours) or n == "displs"))
              and not (name == "reduce" and n == "recvbuf")]
    return refused(form, base, spoilt)


def rma_forms(form):
    right, found = form.right, []
    found.append({**right, "target_rank": "MPI_PROC_NULL"})
    counts = [n for n in right if COUNTS.match(n)]
    if counts:
        found.append({**right, **{n: "0" for n in counts}})
        found.append({**right, **{n: "0" for n in counts}, "origin_addr": "NULL"})
    if "op" in right and "result_addr" in right:
        found.append({**right, "op": "MPI_NO_OP"})
        gone = {"origin_addr": "NULL", "origin_count": "0", "origin_datatype": "MPI_DATATYPE_NULL"}
        for part in (gone, {**gone, "origin_count": "kSentinel"}, {"origin_addr": "NULL"}):
            found.append({**right, "op": "MPI_NO_OP",
                          **{n: v for n, v in part.items() if n in right}})
            found.append({**found[-1], "target_rank": "MPI_PROC_NULL"})
    return found


def forms_of(form):
    """All calls of a function."""
    function, right = form.function, form.right
    cls, found = function.get("class"), []
    if ONLY_WRONG.match(function.name):
        return only_sure(refused(form, right))
    found.append(right)
    if cls in ("send", "receive", "probe", "send_receive"):
        found += refused(form, right)
        sends, receives = "dest" in right, "source" in right
        if sends and receives:
            found += with_partner(form, dest="g_next", source="g_previous")
            found += with_partner(form, dest="g_next", source="MPI_ANY_SOURCE")
            found.append({**right, "dest": "g_next", "source": "g_previous"})
        elif sends:
            found += with_partner(form, dest="g_next")
        elif receives:
            found += with_partner(form, source="g_previous")
            found += with_partner(form, source="MPI_ANY_SOURCE")
            found += only_sure({**call, "tag": "MPI_ANY_TAG"} for call in
                               with_partner(form, source="MPI_ANY_SOURCE") if call["tag"] == "5")
        if "count" in right:
            found.append({**right, "count": "0", "datatype" if "datatype" in right else "type":
                          "MPI_DATATYPE_NULL"})
    elif cls == "collective":
        found += collective_forms(form)
        found += refused_at_all(form, right)
        if "root" in right:  # a root alone, which every argument is significant for
            found += refused(form, {**right, "comm": "MPI_COMM_SELF"})
        if "eighbor" not in function.name and "root" not in right:
            found += only_sure(refused(form, {**right, "comm": "g_inter"}))
    elif cls == "rma":
        found += rma_forms(form)
        found += refused(form, right)
        found += refused(form, {**right, "target_rank": "MPI_PROC_NULL"})
    else:
        found += refused(form, right)
        if cls == "file" and "count" in right:
            found.append({**right, "count": "0", "buf": "NULL"})
            found.append({**right, "count": "0", "datatype": "MPI_DATATYPE_NULL"})
    return found


# Those that complete requests, and what takes a handle by its place: (what comes before, the call,
# the outputs that show, what comes after).
def request_calls():
    found = []

    def add(name, before, arguments, shows="", after=""):
        found.append((before, f"MPI_{name}({arguments})", shows, after))

    pending = ("MPI_Request r[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL}; "
               "MPI_Irecv(g_in, 1, MPI_INT, %s, 9, g_comm, &r[0]); "
               "MPI_Irecv(g_in + 8, 1, MPI_INT, %s, 9, g_comm, &r[2]);")
    none = "MPI_Request r[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};"
    idle = (none + " MPI_Recv_init(g_in, 1, MPI_INT, %s, 9, g_comm, &r[0]); "
            "MPI_Recv_init(g_in, 1, MPI_INT, MPI_PROC_NULL, 9, g_comm, &r[2]);")
    locals_ = (" int flag = kSentinel, index = kSentinel, which[3] = {7, 7, 7}; MPI_Status s[3]; "
               "memset(s, 0x5a, sizeof(s)); (void)flag; (void)index; (void)which;")
    shows = ('show_int("flag", flag); show_int("index", index); show_int("which", which[0]); '
             'show_status("s", &s[0]); show_status("s", &s[2]); '
             'show_handle("r", 0, r[0] == MPI_REQUEST_NULL);')
    cancel = ("for (int i = 0; i < 3; ++i) if (r[i] != MPI_REQUEST_NULL) { MPI_Cancel(&r[i]); "
              "MPI_Wait(&r[i], MPI_STATUS_IGNORE); }")
    free = "for (int i = 0; i < 3; ++i) if (r[i] != MPI_REQUEST_NULL) MPI_Request_free(&r[i]);"
    sets = [(none, "", True), (idle % "MPI_PROC_NULL", free, True), (idle % "g_rank", free, True),
            (idle % "MPI_ANY_SOURCE", free, True), (pending % (("g_rank",) * 2), cancel, False),
            (pending % (("MPI_ANY_SOURCE",) * 2), cancel, False)]
    for before, after, at_once in sets:
        whole = before + locals_
        tests = ["Test", "Testall", "Testany", "Testsome"]
        names = tests + (["Wait", "Waitall", "Waitany", "Waitsome"] if at_once else [])
        for name in ("Wait", "Waitall", "Waitany", "Waitsome", *tests):
            several = name not in ("Wait", "Test")
            flags = {"Test": ["&flag"], "Testall": ["&flag"], "Testany": ["&index", "&flag"],
                     "Testsome": ["&index", "which"], "Waitany": ["&index"],
                     "Waitsome": ["&index", "which"]}.get(name, [])
            statuses = "s" if several and not name.endswith("any") else "&s[0]"
            right = (["3", "r"] if several else ["r"]) + flags + [statuses]
            calls = [right, right[:-1] + ["MPI_STATUS_IGNORE"]] if name in names else []
            for place, value in enumerate(right[:-1]):
                spoilt = list(right)
                spoilt[place] = "-1" if value == "3" else "NULL"
                calls.append(spoilt)
                calls.append(spoilt[:-1] + ["MPI_STATUS_IGNORE"])
            if several:
                calls.append(["0"] + right[1:])
                calls.append(["0", "NULL"] + right[2:])
            for call in calls:
                add(name, whole, ", ".join(call), shows, after)
        for name in ("Request_get_status",):
            add(name, whole, "r[0], &flag, &s[0]", shows, after)
            add(name, whole, "r[0], NULL, &s[0]", shows, after)
            add(name, whole, "r[1], &flag, MPI_STATUS_IGNORE", shows, after)
        add("Cancel", whole, "NULL", shows, after)
        for count, array in (("-1", "r"), ("1", "NULL"), ("0", "r"), ("0", "NULL")):
            add("Startall", whole, f"{count}, {array}", shows, after)
        add("Startall", whole, "1, r + 1", shows, after)
        add("Start", whole, "r + 1", shows, after)
        add("Request_free", whole, "r + 1", shows, after)
    add("Request_free", none + locals_, "NULL", shows)
    # A matched message that is received wrongly, and then rightly.
    message = (none + locals_ + " MPI_Message m; MPI_Isend(g_out, 1, MPI_INT, %s, 9, g_comm, &r[0]); "
               "MPI_Mprobe(%s, 9, g_comm, &m, MPI_STATUS_IGNORE);")
    rest = ("if (m != MPI_MESSAGE_NULL) MPI_Mrecv(g_in, 1, MPI_INT, &m, MPI_STATUS_IGNORE); "
            "MPI_Wait(&r[0], MPI_STATUS_IGNORE);")
    for places in (("g_rank", "g_rank"), ("g_next", "g_previous"), ("g_next", "MPI_ANY_SOURCE")):
        for arguments in ("g_in, 1, MPI_DATATYPE_NULL, &m", "g_in, -1, MPI_INT, &m",
                          "g_in, 1, g_uncommitted, &m", "NULL, 1, MPI_INT, &m",
                          "g_in, 1, MPI_INT, NULL", "g_in, 1, MPI_INT, &m",
                          "g_in, 0, MPI_INT, &m"):
            add("Mrecv", message % places, arguments + ", &s[0]", shows, rest)
            add("Imrecv", message % places, arguments + ", &r[1]", shows, "if (r[1] != "
                "MPI_REQUEST_NULL) MPI_Wait(&r[1], MPI_STATUS_IGNORE); " + rest)
    # Messages that are too long for their receives.
    post = (none + locals_ + " MPI_Irecv(g_in, %s, MPI_INT, %s, 9, g_comm, &r[0]); "
            "MPI_Send(g_out, 2, MPI_INT, g_next, 9, g_comm);")
    for count in ("1", "2"):
        for source in ("g_previous", "MPI_ANY_SOURCE"):
            add("Waitall", post % (count, source), "3, r, s", shows, cancel)
            add("Waitany", post % (count, source), "3, r, &index, s", shows, cancel)
            add("Recv", none + locals_ + " MPI_Isend(g_out, 2, MPI_INT, g_next, 9, g_comm, &r[0]);",
                f"g_in, {count}, MPI_INT, {source}, 9, g_comm, &s[0]", shows,
                "MPI_Wait(&r[0], MPI_STATUS_IGNORE);")
            add("Sendrecv", none + locals_, f"g_out, 2, MPI_INT, g_next, 9, g_in, {count}, MPI_INT, "
                f"{source}, 9, g_comm, &s[0]", shows)
    # Handles by their places.
    for name, kind, values in (
            ("Comm_free", "MPI_Comm", ("MPI_COMM_NULL", "MPI_COMM_WORLD", "MPI_COMM_SELF")),
            ("Comm_disconnect", "MPI_Comm", ("MPI_COMM_NULL", "MPI_COMM_WORLD")),
            ("Win_free", "MPI_Win", ("MPI_WIN_NULL",)),
            ("File_close", "MPI_File", ("MPI_FILE_NULL",)),
            ("Type_free", "MPI_Datatype", ("MPI_DATATYPE_NULL", "MPI_INT")),
            ("Type_commit", "MPI_Datatype", ("MPI_DATATYPE_NULL", "MPI_INT")),
            ("Group_free", "MPI_Group", ("MPI_GROUP_NULL",)),
            ("Mrecv", "MPI_Message", ("MPI_MESSAGE_NULL", "MPI_MESSAGE_NO_PROC")),
            ("Imrecv", "MPI_Message", ("MPI_MESSAGE_NULL", "MPI_MESSAGE_NO_PROC"))):
        for value in values:
            text = f"{kind} h = {value}; MPI_Request r = MPI_REQUEST_NULL; (void)r;"
            call = {"Mrecv": "g_in, 1, MPI_INT, &h, MPI_STATUS_IGNORE",
                    "Imrecv": "g_in, 1, MPI_INT, &h, &r"}.get(name, "&h")
            add(name, text, call, "", "if (r != MPI_REQUEST_NULL) MPI_Wait(&r, MPI_STATUS_IGNORE);")
    return found


def write(path, statements=250):
    """Writes the program; returns {number: what is called} of its calls."""
    program, texts = Program(), {}
    program.add('#include "wrong_arguments.h"')
    program.add("static int g_dims[4], g_graph[64], g_edges[128], g_blocks[4], g_dargs[4], "
                "g_sizes[4], g_bytes[64];")
    program.add('static char g_text[MPI_MAX_PORT_NAME + 1] = "nothing";')
    calls = []
    for function in read_table(TABLE):
        handles = any(p.type.removeprefix("const ").rstrip("*") in HANDLES
                      for p in function.parameters)
        if not handles or BY_HAND.match(function.name) or function.prefix != "MPI":
            continue
        form = Form(function)
        program.add(form.macro())
        seen = set()
        for values in forms_of(form):
            arguments = ", ".join(values[p.name] for p in function.parameters)
            if arguments in seen:
                continue
            seen.add(arguments)
            calls.append((f"MPI_{function.name}({arguments})",
                          f"CALL_{function.name}(%d, %s, {arguments})"))
    for before, call, shows, after in request_calls():
        calls.append((call, f"if (wanted(%d)) {{ fill(); {before} begin(); const int result_ = {call}; "
                      f"end(result_, %s); {shows} {after} finish(); }}"))
    calls = [call for call in calls if not DEADLY.match(call[0])]
    parts = [calls[at:at + statements] for at in range(0, len(calls), statements)]
    number = 0
    for index, part in enumerate(parts):
        program.add(f"static void calls_{index}(void) {{")
        for text, statement in part:
            number += 1
            texts[number] = text
            quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
            program.add("    " + statement % (number, quoted))
        program.add("}")
    program.add("""int main(int argc, char** argv) {
    if (argc < 2) return 2;
    set_up(argc, argv);
    g_dims[0] = g_size;
    g_sizes[0] = 4 * g_size;
    g_blocks[0] = MPI_DISTRIBUTE_BLOCK;
    g_dargs[0] = MPI_DISTRIBUTE_DFLT_DARG;
    for (int i = 0; i < 64; ++i) g_bytes[i] = 4 * i;
    for (int i = 0; i < g_size && i < 64; ++i) {
        g_graph[i] = i + 1;
        g_edges[i] = (i + 1) % g_size;
    }
    for (int mode = kReturned; mode <= kPaused; ++mode) {
        handle_errors(mode);""")
    program.lines += [f"        calls_{index}();" for index in range(len(parts))]
    program.add("    }\n    tear_down();\n    return 0;\n}")
    pathlib.Path(path).write_text("\n".join(program.lines) + "\n")
    return texts


if __name__ == "__main__":
    print(len(write(sys.argv[1])), "calls")
