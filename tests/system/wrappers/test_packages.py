"""Packages as people build them, from Debian's sources, with the compiler wrappers: through make,
CMake and autotools; then the packages' own tests. Skipped when the sources cannot be had."""

import glob
import os
import re
import shutil

from harness import Skip, case, check, check_equal, execute, main, scratch, skip_unless

WRAPPERS = os.environ.get("SYSTEST_WRAPPERS", ".")
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
LONG_S = 600


def release():
    with open("/etc/os-release", encoding="utf-8") as stream:
        found = re.search(r"^VERSION_CODENAME=(\w+)$", stream.read(), re.M)
    skip_unless(found and os.path.exists(KEYS), "this is no Debian system")
    return found.group(1)


def fetch(name):
    """The unpacked source of a Debian package; the machine's own lists of packages stay as they are."""
    for tool in ("apt-get", "dpkg-source"):
        skip_unless(shutil.which(tool), f"{tool} is not installed")
    for folder in ("lists/partial", "cache/archives/partial"):
        os.makedirs(scratch(folder))
    with open(scratch("sources.list"), "w", encoding="utf-8") as stream:
        stream.write(f"deb-src [signed-by={KEYS}] http://deb.debian.org/debian {release()} main\n")
    apt = ["apt-get", "-q", "-o", "APT::Sandbox::User=root", "-o", "Dir::Etc::sourceparts=/dev/null"]
    for option, place in (("Dir::Etc::sourcelist", "sources.list"), ("Dir::State::lists", "lists"),
                          ("Dir::Cache", "cache")):
        apt += ["-o", f"{option}={scratch(place)}"]
    for words in (["update"], ["source", name]):
        run = execute(apt + words, cwd=scratch(), timeout_s=LONG_S)
        if run.code != 0:
            raise Skip(f"apt-get {' '.join(words)}: {(run.stderr or run.stdout)[-300:]}")
    found = [path for path in glob.glob(scratch("*/")) if os.path.exists(path + "debian")]
    check_equal(len(found), 1, "unpacked sources")
    return found[0]


def step(words, folder):
    env = {"PATH": WRAPPERS + ":" + os.environ["PATH"]}
    run = execute(words, cwd=folder, env=env, timeout_s=LONG_S)
    check(run.code == 0, "failed" + run.describe())
    check("without probes" not in run.stderr + run.stdout, "without probes" + run.describe())
    return run


def check_probes(path):
    """More bytes of levels than one, which each unit has without any probe."""
    run = execute(["readelf", "-SW", path])
    found = re.search(r"\sdwell_levels\s+PROGBITS\s+\S+\s+\S+\s+([0-9a-f]+)", run.stdout)
    check(found and int(found.group(1), 16) > 1, f"{path} has no probes" + run.describe())


@case
def bzip2_by_make():
    """make CC=dwell-gcc; bzip2's test compares what it packs and unpacks with known files."""
    skip_unless(shutil.which("make"), "make is not installed")
    folder = fetch("bzip2")
    run = step(["make", "CC=dwell-gcc", "bzip2", "bzip2recover", "test"], folder)
    check_equal(run.stdout.count("cmp sample"), 6, "comparisons")
    check_probes(os.path.join(folder, "bzip2"))


@case
def jsoncpp_by_cmake():
    """cmake -DCMAKE_CXX_COMPILER=dwell-mpicxx; ctest runs jsoncpp's 119 unit tests and its readers."""
    skip_unless(shutil.which("cmake") and shutil.which("mpicxx"), "cmake and mpicxx are needed")
    folder = fetch("libjsoncpp")
    step(["cmake", "-S", ".", "-B", "build", "-DCMAKE_CXX_COMPILER=dwell-mpicxx",
          "-DCMAKE_BUILD_TYPE=Release", "-DJSONCPP_WITH_POST_BUILD_UNITTEST=OFF",
          "-DBUILD_STATIC_LIBS=OFF", "-DBUILD_OBJECT_LIBS=OFF"], folder)
    step(["cmake", "--build", "build", "-j2"], folder)
    run = step(["ctest", "--test-dir", "build", "--output-on-failure"], folder)
    check("100% tests passed" in run.stdout, "tests" + run.describe())
    check_probes(os.path.join(folder, "build/bin/jsoncpp_test"))


def configure(folder, header):
    """./configure CC=dwell-gcc finds the same as with gcc."""
    found = []
    for compiler in ("gcc", "dwell-gcc"):
        step(["sh", "configure", f"CC={compiler}"], folder)
        with open(os.path.join(folder, header), encoding="utf-8") as stream:
            found.append(stream.read())
    check("#define HAVE_STRING_H 1" in found[0] and found[0] == found[1],
          "configure finds something else")


@case
def libogg_by_autotools():
    """A library, through libtool; make check says "ok" to 20 tests of bits and 16 of frames."""
    skip_unless(shutil.which("make"), "make is not installed")
    folder = fetch("libogg")
    configure(folder, "config.h")
    step(["make", "-j2"], folder)
    run = step(["make", "check"], folder)
    check_equal(len(re.findall(r"\bok\.", run.stdout + run.stderr)), 36, "tests" + run.describe())
    check_probes(os.path.join(folder, "src/.libs/libogg.so"))


@case
def gzip_by_autotools():
    """make check runs gzip's 26 tests."""
    skip_unless(shutil.which("make"), "make is not installed")
    folder = fetch("gzip")
    configure(folder, "lib/config.h")
    step(["make", "-j2", "MAKEINFO=true"], folder)
    run = step(["make", "check", "MAKEINFO=true"], folder)
    check(re.search(r"^# PASS: +26$", run.stdout, re.M), "tests" + run.describe())
    check_probes(os.path.join(folder, "gzip"))


if __name__ == "__main__":
    main()
