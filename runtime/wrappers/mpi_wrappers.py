"""The MPI_ and PMPI_ entry points in C++, generated from mpi_calls.table: what a wrapper does
before, around and after the call that it passes on. For generate_mpi.py.
"""
import re

from mpi_table import fail

SPLIT = 4  # translation units for the wrappers, compiled in parallel


def bytes_expression(function, text):
    """C++ expression for a byte count of the table, e.g. 'sum(recvcounts)*recvtype'."""
    comm = function.named("MPI_Comm")
    match = re.match(r"^(sum|sum_in|sum_out)\((\w+),(\w+)\)$", text)
    if match:
        return f"sum_w(call->thread, {span(match[1], comm)}, {match[2]}, {match[3]})"
    factors = text.split("*")
    match = re.match(r"^(sum|sum_local|sum_in|sum_out|own)\((\w+)\)$", factors[0])
    if match and match[1] == "own":
        count = f"own_count({comm}, {match[2]})"
    elif match:
        count = f"sum_counts({span(match[1], comm)}, {match[2]})"
    else:
        count = f"as_count({factors[0]})"
    result = f"{count} * type_bytes(call->thread, {factors[1]})"
    for factor in factors[2:]:
        result += " * " + {"size": f"comm_span({comm})", "local": f"comm_size({comm})",
                           "in": f"neighbors_in({comm})", "out": f"neighbors_out({comm})"}[factor]
    return result


def span(kind, comm):
    return {"sum": f"comm_span({comm})", "sum_local": f"comm_size({comm})",
            "sum_in": f"neighbors_in({comm})", "sum_out": f"neighbors_out({comm})"}[kind]


# With MPI_IN_PLACE the send arguments are not significant: the receive side gives the bytes sent.
IN_PLACE = {
    "sendcount*sendtype": {"Gather": "recvcount*recvtype", "Igather": "recvcount*recvtype",
                           "Gatherv": "own(recvcounts)*recvtype",
                           "Igatherv": "own(recvcounts)*recvtype",
                           "Allgather": "recvcount*recvtype", "Iallgather": "recvcount*recvtype",
                           "Allgatherv": "own(recvcounts)*recvtype",
                           "Iallgatherv": "own(recvcounts)*recvtype"},
    "sendcount*sendtype*size": {"Alltoall": "recvcount*recvtype*size",
                                "Ialltoall": "recvcount*recvtype*size"},
    "sum(sendcounts)*sendtype": {"Alltoallv": "sum(recvcounts)*recvtype",
                                 "Ialltoallv": "sum(recvcounts)*recvtype"},
    "sum(sendcounts,sendtypes)": {"Alltoallw": "sum(recvcounts,recvtypes)",
                                  "Ialltoallw": "sum(recvcounts,recvtypes)"},
    "recvcount*recvtype": {"Scatter": "sendcount*sendtype", "Iscatter": "sendcount*sendtype",
                           "Scatterv": "own(sendcounts)*sendtype",
                           "Iscatterv": "own(sendcounts)*sendtype"},
}


def side(function, text, buffer):
    plain = bytes_expression(function, text)
    other = IN_PLACE.get(text, {}).get(function.name.removesuffix("_init"))
    if other and function.has(buffer):
        return f"({buffer} == MPI_IN_PLACE ? {bytes_expression(function, other)} : {plain})"
    return plain


def moved_by(function):
    """Bytes that the caller of a collective sends and receives."""
    sent, received = "0", "0"
    for key, value in function.properties.items():
        base, _, condition = key.partition("@")
        if base not in ("sent", "received"):
            continue
        buffer = "sendbuf" if base == "sent" else "recvbuf"
        expression = side(function, value, buffer)
        if function.get("root"):
            role = {"": "contributes", "root": "is_root", "other": "is_other"}[condition]
            expression = f"({role}(place) ? {expression} : 0)"
        if base == "sent":
            sent = expression
        else:
            received = expression
    return sent, received


def only_contributes(function):
    """Whether a contributor that depends on nobody may wait until its data is consumed."""
    return waits_at_once(function) and function.get("depends").partition(":")[0] in (
        "root", "to_root", "upto")


def place_lines(function):
    """The caller's place among the members, for functions with a root."""
    if not function.get("root"):
        return []
    return [f"const Place place = place_of({function.named('MPI_Comm')}, {function.get('root')});"]


def collective_lines(function):
    if only_contributes(function):  # done in dependence_lines()
        return ["record_collective(call, sent, received);", *noted_collective(function)]
    sent, received = moved_by(function)
    return [*place_lines(function), f"const uint64_t sent = {sent};",
            f"const uint64_t received = {received};", "record_collective(call, sent, received);",
            *noted_collective(function)]


def noted_collective(function):
    """The event of a collective whose members are known by announce_collective()."""
    if not get_depends(function):
        return []
    return [f"note_collective(call, collective, {function.get('root') or '-1'}, sent, received);"]


def get_depends(function):
    return function.get("depends") and function.get("depends") not in EPOCHS


def success_lines(function):
    """What to record after the call returned MPI_SUCCESS."""
    get, lines = function.get, []
    comm, cls = function.named("MPI_Comm"), function.get("class")
    sent = get("sent")
    lines += dependence_lines(function)
    if cls == "collective" and not get("persistent"):
        lines += collective_lines(function)
    elif cls == "send" and get("peer") and sent:
        blocking = "false" if get("start") else "true"
        lines.append(f"record_send(call, {get('peer')}, tag, comm, {bytes_expression(function, sent)}, "
                     f"{blocking}, sent_stamp);")
    elif cls == "send_receive":
        lines.append(f"record_send_receive(call, {get('peer')}, sendtag, "
                     f"{bytes_expression(function, sent)}, comm, source, used_status, sent_stamp);")
    elif cls == "receive" and get("received"):
        lines.append("record_matched(call, matched, used_status);" if get("message")
                     else f"record_receive(call, {comm}, source, used_status);")
    elif cls == "probe":
        flag = f"*{get('flag')} != 0" if get("flag") else "true"
        lines.append(f"record_probe(call, {comm}, {flag}, used_status, "
                     f"{'true' if get('flag') else 'false'});")
        if function.has("message"):
            lines.append(f"if ({flag}) remember_message(call, *message, {comm}, used_status);")
    elif cls == "rma" and get("target"):
        gives = bytes_expression(function, sent) if sent else "0"
        if function.has("op"):  # MPI_NO_OP only reads: the origin buffer is not significant
            gives = f"op != g_mpi.no_op ? {gives} : 0"
        lines.append(f"record_rma(call, win, {get('target')}, {gives}, "
                     + (bytes_expression(function, get("received")) if get("received") else "0")
                     + ");")
    elif cls == "file" and (get("sent") or get("received")):
        lines.append(f"record_file(call, {'true' if sent else 'false'}, used_status);")
    else:
        lines.append(f"record_plain(call, {function.first_event_slot()});")
    # A persistent collective is identified by its own identifier, so that comes first.
    named = naming_lines(function)
    lines += named + request_lines(function) if get("persistent") else request_lines(function)
    if get("ends"):
        lines.append(FORGETS.get(get("ends")) or {"type": "forget_types();"}[get("ends")])
    lines += [] if get("persistent") else named
    if get("world"):
        lines.append(f"note_world(*{get('world')});")
    if function.name.startswith("Comm_spawn"):
        commands = "array_of_commands" if function.name.endswith("multiple") else "command"
        lines.append(f"note_spawn(*intercomm, comm, root, {commands});")
    return lines


RULES = {"all": "kAll", "everybody": "kEverybody", "some": "kSome", "root": "kRoot",
         "to_root": "kToRoot", "upto": "kUpTo", "sources": "kSources", "may": "kMay"}
EPOCHS = {"post": "kPost", "start": "kStart", "complete": "kComplete", "wait": "kWait"}


def collective_handle(function):
    """The communicator, window or file that the members of a collective have in common."""
    if function.get("ends") in FORGETS:
        return "ended"
    handle = (function.named("MPI_Comm") or function.named("MPI_Win")
              or function.named("MPI_File"))
    return f"reinterpret_cast<uintptr_t>({handle})"


def partners_of(function):
    """The rule of dependence of the call, or of each of its starts."""
    return function.get("depends") or function.get("start_depends")


def rule_of(function):
    rule = partners_of(function).partition(":")[0]
    if rule not in RULES:
        fail(f"{function.where}: {function.symbol()} has an unknown rule of dependence: {rule}")
    return f"Dependence::{RULES[rule]}"


def depends(function):
    counts = partners_of(function).partition(":")[2]
    return f"{{{rule_of(function)}, {function.get('root') or '0'}, {counts or 'nullptr'}}}"


def epoch_arguments(function):
    group = "group" if function.has("group") else "MPI_Group{}"
    return f"Epoch::{EPOCHS[function.get('depends')]}, win, {group}"


def waits_at_once(function):
    dependence = function.get("depends")
    return dependence and dependence not in EPOCHS and not function.get("start")


def dependence_lines(function):
    """Classifies the waiting time of a completed collective."""
    dependence = function.get("depends")
    if dependence in EPOCHS:
        return [f"classify_epoch(call, epoch, {epoch_arguments(function)});"]
    if function.get("locks"):
        target = "rank" if function.has("rank") else "kAnyRank"
        noted = {"lock": [f"hold_window(call, win, {target});"],
                 "unlock": [f"leave_window(call, win, {target});"]}
        return ["classify_lock(call, lock);", *noted.get(function.get("locks"), [])]
    if waits_at_once(function):
        if not only_contributes(function):
            return [f"classify_collective(call, collective, {depends(function)});"]
        sent, received = moved_by(function)
        given = "for_each_member(collective, sent)" if function.name.startswith("Scatter") else "sent"
        return [*place_lines(function), f"const uint64_t sent = {sent};",
                f"const uint64_t received = {received};",
                f"classify_collective(call, collective, {depends(function)}, later({given}, received));"]
    return []


def naming_lines(function):
    made, comm = function.get("makes"), function.named("MPI_Comm")
    if not made:
        return []
    if function.get("made_by") == "members":
        return [f"define_made_by_members({comm}, {made}, tag);"]
    if function.get("made_by") == "copy":
        return [f"define_copied({comm}, {made});"]
    return [f"define_made({comm}, {made});"]


def request_lines(function):
    get, lines = function.get, []
    if get("start"):
        kind = {"send": "kSendRequest", "receive": "kReceiveRequest",
                "collective": "kCollectiveRequest", "rma": "kRmaRequest",
                "file_read": "kFileReadRequest", "file_write": "kFileWriteRequest",
                "file_all_read": "kFileReadRequest",
                "file_all_write": "kFileWriteRequest",
                "general": "kGeneralRequest"}[get("start")]
        if get("start") == "send":
            lines.append(f"follow_send(call, *request, comm, {get('peer')}, tag, sent_stamp);")
        elif get("start") == "receive":
            lines.append("follow_message(call, *request, matched);" if get("message") else
                         f"follow_receive(call, *request, comm, {get('peer')}, tag);")
        elif get("depends"):
            lines.append(f"follow_collective(call, *request, comm, collective, {depends(function)});")
        else:
            rule = "kUnknown" if get("start").startswith("file_all") else "kNobody"
            lines.append(f"follow_request(call, *request, {kind}, Dependence::{rule});")
    if get("persistent") == "collective":
        sent, received = moved_by(function)
        lines += place_lines(function)
        lines.append(f"follow_persistent(call, *request, MpiCall::k{function.name}, comm, "
                     f"{depends(function)}, {sent}, {received});")
    elif get("persistent"):
        kind = {"send": "kSendRequest", "receive": "kReceiveRequest"}[get("persistent")]
        carries = bytes_expression(function, get("carries")) if get("carries") else "0"
        lines.append(f"follow_persistent(call, *request, {kind}, comm, {get('peer')}, tag, "
                     f"{carries}, {send_mode(function)});")
        if get("persistent") == "receive":
            lines.append("if (g_process.preserve_order && source == MPI_ANY_SOURCE) [[unlikely]]")
            lines.append("    remember_wildcard(call, *request, buf, count, datatype, tag, comm);")
    if get("starts") == "one":
        lines.append("record_start(call, 1, request);")
    if get("starts") == "all":
        lines.append("record_start(call, count, array_of_requests);")
    return lines


def send_mode(function):
    if re.match(r"I?ssend|Ssend_init", function.name, re.IGNORECASE):
        return "kSynchronousSend"
    return "kBufferedSend" if re.match(r"I?bsend|Bsend_init", function.name,
                                       re.IGNORECASE) else "kStandardSend"


# By the value of starts=: number of requests, and their array.
STARTED = {"one": "1, request", "all": "count, array_of_requests"}


def stamp_lines(function):
    """Stamps for partners on this host before the call, and their withdrawal if it fails."""
    get = function.get
    requests = STARTED.get(get("starts"))
    if requests:
        return [f"if (waits_are_open()) stamp_start(call, {requests});"], [
            f"if (waits_are_open()) withdraw_start(call, {requests});"]
    before, after = [], []
    if get("depends") in EPOCHS:
        return [f"CollectiveTable* const epoch = announce_epoch(call, Epoch::{EPOCHS[get('depends')]}, win);"], []
    if get("locks"):
        target = "rank" if function.has("rank") else "kAllTargets"
        exclusive = "lock_type == MPI_LOCK_EXCLUSIVE" if function.has("lock_type") else "false"
        before.append(f"const LockCall lock = announce_lock(call, Locking::k{get('locks').title()}, "
                      f"win, {target}, {exclusive});")
    if get("depends"):
        before.append(f"const EnteredCollective collective = announce_collective(call, MpiCall::k{function.name}, "
                      f"{collective_handle(function)}, {rule_of(function)}, "
                      f"{function.get('root') or '0'});")
        after.append("withdraw_collective(collective, result);")
    # A blocking receive makes progress on pending sends; calls that only start a receive or a send
    # do not.
    if get("start") == "send":
        before.append("leave_progress(call);")
    if get("sent") and get("peer") and get("class") in ("send", "send_receive"):
        count, datatype = get("sent").split("*")
        tag = "sendtag" if function.has("sendtag") else "tag"
        before.append(f"const SendStamp sent_stamp = stamp_send(call, {get('peer')}, {tag}, comm, {datatype}, "
                      f"{count}, {send_mode(function)});")
        if get("class") == "send":
            after.append("withdraw_stamp(sent_stamp);")
    waits = "false" if get("start") else "true"
    if function.name in ("Recv", "Irecv", "Sendrecv", "Sendrecv_replace"):
        tag = "recvtag" if function.has("recvtag") else "tag"
        before.append(f"announce_receive_entry(call, source, {tag}, comm, {waits});")
    if function.name in ("Probe", "Mprobe"):
        before.append("log_progress(call);")
    if get("message") and get("class") == "receive":
        before.append(f"announce_matched_entry(call, matched, {waits});")
        if not get("received"):
            after.append("give_up_matched(matched);")
    return before, after


def expected_lines(function):
    """Whom a call that may wait for other ranks waits for, for readers of a running process."""
    get, comm = function.get, function.named("MPI_Comm")
    handle = f"reinterpret_cast<uintptr_t>({comm or function.named('MPI_Win')})"
    if get("start") or get("starts") or get("persistent"):
        return []
    if get("completes") is not None and function.name in WAITS:
        if function.name == "Wait":
            return ["expect_request(call, reinterpret_cast<uintptr_t>(*request));"]
        count = next(p.name for p in function.parameters if p.type == "int" and not p.array)
        return [f"expect_requests(call, {count});"]
    if get("class") == "send_receive":
        tag = "recvtag" if function.has("recvtag") else "tag"
        return [f"expect_ranks(call, {handle}, source, {tag}, dest);"]
    if function.has("source") and get("class") in ("receive", "probe") and not get("flag"):
        return [f"expect_rank(call, {handle}, source, tag);"]
    if get("class") == "send" and get("peer"):
        return [f"expect_rank(call, {handle}, {get('peer')}, tag);"]
    if get("locks") or get("depends") in EPOCHS:
        return [f"expect_rank(call, {handle}, {'rank' if function.has('rank') else 'kAnyRank'});"]
    if get("depends"):
        shared = handle if get("depends") == "members" else collective_handle(function)
        return [f"expect_rank(call, {shared}, {get('root') or 'kAnyRank'});"]
    return ["expect_rank(call, 0, kAnyRank);"] if get("waits") else []


# Handles whose end is noticed even when the call is not recorded, like collectives and the handles
# they make.
FORGETS = {"comm": "end_comm(ended);", "request": "end_request(ended);",
           "win": "end_window(ended);", "file": "forget_definition(ended);"}


def user_code(function, how="in_user_code"):
    """Arguments that replace functions that MPI will call back."""
    functions = function.get("user").split(",") if function.get("user") else []
    return {name: f"{how}({name})" for name in functions}


def passed_lines(function, ended):
    """Code for a call that is not recorded."""
    arguments = function.arguments(**user_code(function, "in_passed_code"))
    call = f"passed_on(call, next)({arguments})"
    noticed = [FORGETS[function.get("ends")]] if ended else []
    if function.get("depends") and function.get("depends") not in EPOCHS:
        noticed.insert(0, f"skip_collective({collective_handle(function)});")
    noticed += naming_lines(function)
    requests = STARTED.get(function.get("starts"))
    if requests:
        noticed.append(f"pass_start({requests});")
    if function.get("completes") is not None:
        noticed += failure_lines(function.name, "passed")
        noticed += retiring_lines(function.name, "passed")
    if not noticed:
        return [f"        return {call};"]
    return [f"        int passed = {call};", "        if (passed == MPI_SUCCESS) {",
            *("            " + line for line in noticed), "        }", "        return passed;"]


# Calls that may have several senders to choose from (order.h).
ORDERED = ("Recv", "Probe", "Mprobe", "Iprobe", "Improbe")

# Calls whose receives may be deferred (deferred_receives.h), and the functions that do so.
DEFERRING = {"Irecv": "post_receive", "Start": "start_request"}

# For each wait: the array of requests, indices of the completed ones (array or null) and their
# number.
WAITS = {
    "Wait": ("request", "nullptr", "1"),
    "Waitall": ("array_of_requests", "nullptr", "count"),
    "Waitany": ("array_of_requests", "index", "*index != MPI_UNDEFINED ? 1 : 0"),
    "Waitsome": ("array_of_requests", "array_of_indices",
                 "*outcount != MPI_UNDEFINED ? *outcount : 0"),
}

# For each test: number of requests and their array, flag of success, indices of the completed ones
# (array or null) and their number, and the statuses.
TESTS = {
    "Test": ("1", "request", "flag", "nullptr", "1", "status"),
    "Testall": ("count", "array_of_requests", "flag", "nullptr", "count", "array_of_statuses"),
    "Testany": ("count", "array_of_requests", "flag", "index",
                "done && *index != MPI_UNDEFINED ? 1 : 0", "status"),
    "Testsome": ("incount", "array_of_requests", "outcount", "array_of_indices",
                 "done && *outcount != MPI_UNDEFINED ? *outcount : 0", "array_of_statuses"),
}


def refused_lines(function):
    """For a call that completes requests: leaves invalid arguments to MPI, before dwell reads any
    of them."""
    places = [p.name for p in function.parameters
              if p.name not in ("status", "array_of_statuses") and (p.type != "int" or p.array)]
    count = next((p.name for p in function.parameters if p.type == "int" and not p.array), None)
    outputs = [n for n in places if n not in ("request", "array_of_requests")]
    missing = [f"{name} == nullptr" for name in outputs]
    requests = ("request == nullptr" if count is None
                else f"is_no_list({count}, array_of_requests)")
    return [f"    if ({' || '.join([requests, *missing])}) [[unlikely]]",
            f"        return refuse(call, [&] {{ return next({function.arguments()}); }});"]


def retiring_lines(name, result):
    """Retires the handles of deferred receives after a call that completes requests."""
    if name in WAITS:
        requests, indices, completed = WAITS[name]
        done = f" && {result} == MPI_SUCCESS"
    else:
        _, requests, flag, indices, completed, _ = TESTS[name]
        done = f" && {result} == MPI_SUCCESS && *{flag} != 0"
        completed = completed.removeprefix("done && ")
    return [f"if (g_process.preserve_order{done}) [[unlikely]]",
            f"    retire_deferred({requests}, {indices}, {completed});"]


# Calls in which Open MPI does not return the error of a persistent receive, with their statuses.
FAILURES = {"Waitall": "array_of_statuses", "Waitany": "status",
            "Testall": "array_of_statuses", "Testany": "status"}


def failure_lines(name, result, statuses=None):
    """Before retiring_lines(): returns an error that stands only in the statuses."""
    if name not in FAILURES:
        return []
    every = "true" if name.endswith("all") else "false"
    given = statuses or FAILURES[name]
    known = "" if statuses else f" && {given} != MPI_STATUS_IGNORE"
    requests, indices, completed = WAITS[name] if name in WAITS else (
        TESTS[name][1], *TESTS[name][3:5])
    done = "" if name in WAITS else f" && *{TESTS[name][2]} != 0"
    completed = completed.removeprefix("done && ")
    return [f"if (g_process.preserve_order && {result} == MPI_SUCCESS{done}{known}) [[unlikely]]",
            f"    {result} = failure_of_deferred({requests}, {indices}, {completed}, {given}, {every});"]


def untimed_test(function):
    """Code for a test that repeats an unsuccessful one."""
    count, requests, flag, indices, completed, statuses = TESTS[function.name]
    own = "kPollRequests" if statuses == "array_of_statuses" else "1"
    return [f"    if (begin_poll(call, MpiCall::k{function.name}, frame, {count}, {requests})) {{",
            f"        MPI_Status own[{own}];",
            f"        MPI_Status* const used = {statuses} == MPI_STATUS_IGNORE ? own : {statuses};",
            f"        int result = next({function.arguments(**{statuses: 'used'})});",
            f"        const bool done = result == MPI_SUCCESS ? *{flag} != 0 : "
            "reports_completed(result);",
            "        if (result == MPI_SUCCESS && !done) [[likely]] {",
            "            end_poll(call);", "            return result;", "        }",
            *("        " + line for line in failure_lines(function.name, "result", "used")),
            f"        finish_poll(call, result, done, {requests}, {indices}, {completed}, used);",
            *("        " + line for line in retiring_lines(function.name, "result")),
            "        return result;", "    }"]


def in_order(function, flag=None):
    """A call that may be delayed until it is known whose message comes first."""
    tried = {"source": "MPI_PROC_NULL", "status": "nowhere.status()",
             **{name: f"nowhere.instead_of({name})" for name in ("flag", "message")}}
    made = {"source": "from", "status": "used_status"}
    if flag:
        lines = ["    const int result =",
                 f"        untimed ? next({function.arguments(status='used_status')})",
                 f"                : make_in_order(call, source, tag, comm, {flag},"]
    else:
        lines = ["    const int result =",
                 "        make_in_order(call, source, tag, comm, nullptr,"]
    return [*lines,
            "            [&] {", "                TriedOut nowhere;",
            f"                return g_mpi.{function.name}({function.arguments(**tried)});",
            "            },",
            f"            [&](int from) {{ return next({function.arguments(**made)}); }});"]


def probe_lines(function, arguments):
    """Code for a call with a flag, untimed or not."""
    name, flag = function.name, function.get("flag")
    made = (in_order(function, flag) if name in ORDERED
            else [f"    const int result = next({arguments});"])
    return [f"    const bool untimed = begin_poll(call, MpiCall::k{name}, frame, 0, nullptr);",
            f"    if (!untimed && !enter(call, MpiCall::k{name}, frame, form)) [[unlikely]] {{",
            *passed_lines(function, None), "    }",
            *(status_lines() if function.get("peer") == "status" else []),
            "    if (!untimed) {", "        start(call);", "        log_late_progress(call);",
            "    }",
            *made,
            f"    if (untimed && result == MPI_SUCCESS && *{flag} == 0) [[likely]] {{",
            "        end_poll(call);", "        return result;", "    }",
            "    if (untimed) {",
            "        stop_poll(call);", "        estimate_poll(call, 0);",
            "    } else {", "        stop(call);", "    }"]


def status_lines():
    return ["    MPI_Status own_status;",
            "    MPI_Status* const used_status = "
            "status == MPI_STATUS_IGNORE ? &own_status : status;"]


def failure_line(function):
    """What to record after the call returned an error."""
    get, cls = function.get, function.get("class")
    if cls == "send_receive":
        sent = bytes_expression(function, get("sent"))
        return (f"record_failed_send_receive(call, result, {get('peer')}, "
                f"is_taken(result) ? {sent} : 0, comm, source, used_status, sent_stamp);")
    if cls == "receive" and get("received"):
        if get("message"):
            return "record_failed_matched(call, result, matched, used_status);"
        return (f"record_failed_receive(call, result, {function.named('MPI_Comm')}, source, "
                "used_status);")
    return "record_failed(call);"


def body(function):
    """The inline body shared by MPI_X and PMPI_X."""
    name, get = function.name, function.get
    uses_status = any(get(k) == "status" for k in ("peer", "sent", "received"))
    replaced = user_code(function)
    if uses_status:
        replaced["status"] = "used_status"
    arguments = function.arguments(**replaced)
    ended = function.parameters[0].name if get("ends") in FORGETS else None
    lines = [f"DWELL_BODY int body_{name}(EntryForm form, const Frame* frame"
             + "".join(f", {p.text}" for p in function.parameters) + ") {",
             f"    const auto next = next_of<{function.type()}>(form, MpiCall::k{name});",
             "    Call state;",
             "    Call* const call = &state;",
             *([f"    const uintptr_t ended = handle_in({ended});"] if ended else [])]
    if get("flag"):
        lines += probe_lines(function, arguments)
    else:
        if name in TESTS:
            lines += untimed_test(function)
        lines += [f"    if (!enter(call, MpiCall::k{name}, frame, form)) [[unlikely]] {{",
                  *passed_lines(function, ended), "    }"]
        if uses_status:
            lines += status_lines()
    if get("message"):
        lines.append("    const Matched matched = take_message(message);")
    if get("completes") is not None:
        lines += refused_lines(function)
    lines += ["    " + line for line in expected_lines(function)]
    if get("completes") is not None:
        lines.append(f"    const int result = complete_{name}(call, next, {function.arguments()});")
        if name != "Testall":  # done inside complete_Testall
            lines += ["    " + line for line in retiring_lines(name, "result")]
        lines += ["    leave(call);", "    return result;", "}"]
        return lines
    before, after = stamp_lines(function)
    if get("ends") == "request":
        before.append("free_request(call, request);")
    if not get("flag"):
        made = f"next({arguments})"
        if name in DEFERRING:
            made = f"g_process.preserve_order ? {DEFERRING[name]}(call, next, {arguments}) : {made}"
        lines += ["    start(call);", *("    " + line for line in before),
                  *(in_order(function) if name in ORDERED else
                    [f"    const int result = {made};"]),
                  *(["    prefetch_slots(collective);"] if waits_at_once(function) else []),
                  "    stop(call);"]
    lines.append("    if (result == MPI_SUCCESS) [[likely]] {")
    lines += ["        " + line for line in success_lines(function)]
    if get("flag"):
        failed = ("kRecvBlocked, true" if get("class") == "probe" else "kSendReady, false")
        lines.append(f"        if (*{get('flag')} == 0) remember_poll(call, {failed}, nullptr, 0);")
    lines += ["    } else {", *("        " + line for line in after),
              "        " + failure_line(function), "    }", "    leave(call);"]
    if get("grid"):
        lines.append(f"    if (result == MPI_SUCCESS) record_cart_grid(*{get('grid')});")
    lines += ["    return result;", "}"]
    return lines


def wrappers(functions, part):
    lines = ['// Made by generate_mpi.py from mpi_calls.table.', '#include "runtime/probes/grids.h"',
             '#include "runtime/wrappers/mpi_semantics.h"', '#include "runtime/order/order.h"',
             '#include "runtime/calls/polls.h"', '#include "runtime/calls/user_code.h"', "",
             "using namespace dwell;", ""]
    for function in functions:
        if function.get("special") or function.number % SPLIT != part:
            continue
        lines += ["namespace {", ""] + body(function) + ["", "}  // namespace", ""]
        for prefix, form in (("", "kMpiForm"), ("P", "kPmpiForm")):
            passed = "".join(f", {p.name}" for p in function.parameters)
            head = f'extern "C" DWELL_EXPORT int {prefix}{function.symbol()}({function.declaration()})'
            if function.get("removed"):
                lines += [f"#undef {prefix}{function.symbol()}", f"{head};"]
            elif function.prefix != "MPI":
                lines.append(f"{head};")
            lines += [f"{head} {{",
                      f"    return body_{function.name}({form}, DWELL_FRAME(){passed});", "}", ""]
    return "\n".join(lines)
