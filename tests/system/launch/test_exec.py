"""Programs that are killed, or go on as other programs (exec): with regions of OpenMP, by whose number
the records of each are known, of clang's and of gcc's, and without MPI where nothing else is said."""

import os
import shutil

from harness import (DWELL, LIBRARY, Profile, case, check, check_equal, execute, kept_records, main,
                     mpirun, scratch)
from test_openmp import compiled, nodes_at


def with_both(check_with):
    """A case for programs of clang's, and one for those of gcc's."""
    for compiler in ("clang", "gcc"):
        def one(compiler=compiler):
            check_with(compiler)
        one.__name__ = f"{check_with.__name__}_{compiler}"
        one.__doc__ = check_with.__doc__
        case(one)


# Its arguments say what it does in turn, each time as a new program. It has as many regions as words
# on its command line, so that each one's records are known.
CUT_SOURCE = """
#include <signal.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char** argv) {
    for (int i = 0; i < argc; i++) {
#pragma omp parallel num_threads(2)
        usleep(1000);
    }
    if (argc > 1 && strcmp(argv[1], "kill") == 0) raise(SIGKILL);
    if (argc > 1 && strcmp(argv[1], "exec") == 0) {
        argv[1] = argv[0];
        execv(argv[0], argv + 1);
    }
    return 6;
}
"""


def cut_short(compiler, *steps, alone=False):
    """Its end, and the directories of record files that it leaves where they are made."""
    user = compiled("cut", CUT_SOURCE, compiler, "-fopenmp")
    records = scratch("records")
    shutil.rmtree(records, ignore_errors=True)
    os.mkdir(records)
    launch = [] if alone else [DWELL, "run", "-q", "-o", scratch("out")]
    env = {"DWELL_RECORD_DIR": records, **({"LD_PRELOAD": LIBRARY} if alone else {})}
    done = execute([*launch, user, *steps], env=env)
    return done, [os.path.join(records, name) for name in os.listdir(records)]


def check_regions(profile, command):
    """It is that of the program with these arguments."""
    words = command.split()
    check_equal(profile.json["ranks"][0]["command"].split()[1:], words, "arguments")
    regions = sum(n["created"] for _, n in nodes_at(profile, "parallel"))
    check_equal(regions, 1 + len(words), f"regions of {command}")


def recovered(directory):
    made = execute([DWELL, "recover", directory, "-o", scratch("made")])
    check_equal(made.code, 0, "exit code of recover" + made.describe())
    return Profile(scratch("made"), made)


@with_both
def exec_of_itself(compiler):
    """The profile is that of the program after exec; the records of the one before are kept, and what
    is made of them does not overwrite it."""
    done, left = cut_short(compiler, "exec", "plain")
    check_equal(left, [], "what is left")
    check_equal(done.code, 6, "exit code" + done.describe())
    check("went on as another program" in done.stderr and "dwell recover" in done.stderr,
          "what is kept" + done.describe())
    check("before its profile was written" not in done.stderr, "wrong advice" + done.describe())
    out = scratch("out")
    after = Profile(out, done)
    check_regions(after, "plain")
    for _ in range(2):
        made = execute([DWELL, "recover", out])
        check_equal(made.code, 0, "exit code of recover" + made.describe())
        check("which stays: this one goes to " + out + ".2\n" in made.stderr,
              "where it is" + made.describe())
        check_equal(Profile(out, made).json, after.json, "the profile after exec")
        check_regions(Profile(out + ".2", made), "exec plain")


@with_both
def exec_twice(compiler):
    """The profile is that of the last program. The first one's records are kept, those of the one in
    between are not, and both is said."""
    done, left = cut_short(compiler, "exec", "exec", "plain")
    check_equal(left, [], "what is left")
    check_equal(done.code, 6, "exit code" + done.describe())
    check_regions(Profile(scratch("out"), done), "plain")
    check_equal(done.stderr.count("the records of the one before are dropped"), 1,
                "what is said of the second" + done.describe())
    check_regions(recovered(kept_records(done)), "exec exec plain")


@with_both
def killed_after_exec(compiler):
    """Both the records of the program that was killed and of the one before are kept, apart, and named.
    Without `dwell run` those of the killed one are what `dwell recover` reads."""
    for steps in (("exec", "kill"), ("exec", "exec", "kill")):
        shutil.rmtree(scratch("out"), ignore_errors=True)
        shutil.rmtree(scratch("out-before"), ignore_errors=True)
        done, left = cut_short(compiler, *steps)
        check_equal(left, [], "what is left" + done.describe())
        lines = [line for line in done.stderr.splitlines() if "dwell recover" in line]
        check_equal(len(lines), 2, "lines that say so" + done.describe())
        check("signal 9" in lines[0] and lines[0].endswith(scratch("out")),
              "the killed one" + done.describe())
        check("went on as another program" in lines[1] and lines[1].endswith(scratch("out-before")),
              "the one before" + done.describe())
        check_regions(recovered(scratch("out")), "kill")
        check_regions(recovered(scratch("out-before")), " ".join(steps))
    _, left = cut_short(compiler, "exec", "kill", alone=True)
    check_equal([len(os.listdir(name)) for name in left], [2], f"records in {left}")
    check_regions(recovered(left[0]), "kill")


RANKS_CUT_SOURCE = """
#include <mpi.h>
#include <omp.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char** argv) {
    if (argc < 2) {
        if (getenv("RANKS_CUT_EARLY") != NULL)
            omp_get_max_threads();
        else
#pragma omp parallel num_threads(2)
            usleep(1000);
        execl(argv[0], argv[0], "again", (char*)0);
        abort();
    }
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    return 0;
}
"""


@case
def ranks_exec_before_init():
    """Ranks that go on as another program before MPI_Init do not know how many they are: the records
    of all can be read, one region of each. Of those that counted nothing nobody hears."""
    user = compiled("ranks_cut", RANKS_CUT_SOURCE, "env", "OMPI_CC=clang", "mpicc", "-fopenmp")
    out = scratch("out")
    done = execute(mpirun(2, DWELL, "run", "-q", "-o", out, user), ranks=2)
    check_equal(done.code, 0, "exit code" + done.describe())
    made = execute([DWELL, "recover", out])
    check_equal(made.code, 0, "exit code of recover" + made.describe())
    check("left out" not in made.stderr, "records" + made.describe())
    before = Profile(out + ".2", made)
    check_equal(before.json["world_size"], 2, "size of the world")
    check_equal([r["rank"] for r in before.json["ranks"]], [0, 1], "ranks")
    check_equal(sum(n["created"] for _, n in nodes_at(before, "parallel")), 2, "regions")
    out = scratch("nothing")
    done = execute(mpirun(2, DWELL, "run", "-q", "-o", out, user), ranks=2,
                   env={"RANKS_CUT_EARLY": "1"})
    check_equal((done.code, done.stderr), (0, ""), "of nothing" + done.describe())
    check_equal([name for name in os.listdir(out) if name.startswith("rank.")], [], "records")
    check_equal(len(Profile(out, done).json["ranks"]), 2, "ranks after exec")


@case
def one_rank_execs():
    """A rank that goes on as another program, without MPI, and ends after one of another program has
    spoken: its records are with those, and recover tells where the ones of its first program are. No
    note says that it was killed."""
    user = compiled("one_rank", """
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char** argv) {
#pragma omp parallel num_threads(2)
    usleep(1000);
    if (atoi(getenv("OMPI_COMM_WORLD_RANK")) == 0) {
        if (argc == 1) execl(argv[0], argv[0], "again", (char*)0);
        usleep(500000);
    }
    return 0;
}
""", "clang", "-fopenmp")
    other = shutil.copy(user, scratch("other"))
    for options, name in ((["-o", "out"], "out"), ([], None)):
        run = [DWELL, "run", "-q", *options]
        done = execute([*mpirun(1, *run, user), ":", "-n", "1", *run, other], ranks=2, cwd=scratch())
        check_equal(done.code, 0, "exit code" + done.describe())
        directory = kept_records(done)
        check_equal(directory.endswith(name or ".records"), True, directory)
        check_equal(sorted(os.listdir(directory)), ["rank.0", "rank.1"], "records")
        made = execute([DWELL, "recover", directory + "/", "-o", scratch("made")], cwd=scratch())
        check_equal(made.code, 0, "exit code of recover" + made.describe())
        before = kept_records(made)
        check("before" in os.path.basename(before), before)
        check_equal(os.listdir(before), ["rank.0"], "records before")
        made = execute([DWELL, "recover", before, "-o", scratch("made-before")])
        check("replaced by exec" in open(scratch("made-before/report.txt")).read(), "the note")


@with_both
def killed(compiler):
    """What is recovered of a program without MPI speaks of none, and knows no intrusion."""
    done, _ = cut_short(compiler, "kill")
    made = execute([DWELL, "recover", scratch("out")])
    check_equal(made.code, 0, "exit code of recover" + done.describe() + made.describe())
    text = made.stderr + execute([DWELL, "report", scratch("out")]).stdout
    check("MPI" not in text, "of MPI" + text)
    check("intrusion not known" in text and "did not reach its end" in text, text)


if __name__ == "__main__":
    main()
