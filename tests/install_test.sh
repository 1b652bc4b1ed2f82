#!/bin/bash
# Installs into a temporary directory and checks that everything is there and works from there: the
# command finds its library, CMake and pkg-config find the package, the manual is complete.
set -euo pipefail
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT

fail() {
    echo "FAILED: $*"
    exit 1
}

"$CMAKE" --install "$BUILD_DIR" --prefix "$prefix" >/dev/null

for file in "$BINDIR/dwell" "$LIBDIR/libdwell.so" "$LIBDIR/pkgconfig/dwell.pc" \
    "$LIBDIR/cmake/dwell/dwellConfig.cmake" "$LIBDIR/cmake/dwell/dwellConfigVersion.cmake" \
    "$INCLUDEDIR/dwell/record_layout.h" "$INCLUDEDIR/dwell_events.h"; do
    [[ -s $prefix/$file ]] || fail "$file is missing"
done
wrappers="dwell-mpicc dwell-mpicxx dwell-mpifort dwell-gcc dwell-g++ dwell-gfortran dwell-clang dwell-clang++"
for page in dwell dwell-run dwell-report dwell-recover dwell-where dwell-info dwell-sites dwell-cc $wrappers; do
    [[ -s $prefix/$MANDIR/man1/$page.1 ]] || fail "the manual page of $page is missing"
done
[[ -s $prefix/$MANDIR/man5/dwell-enable.5 ]] || fail "the manual page of dwell-enable is missing"

[[ $("$prefix/$BINDIR/dwell" --version) == "dwell $VERSION" ]] || fail "dwell --version"
library=$(readlink -f "$prefix/$LIBDIR/libdwell.so")
"$prefix/$BINDIR/dwell" info | grep -qF "$library" || fail "the installed dwell does not find $library"

for name in $wrappers; do
    [[ -x $prefix/$BINDIR/$name ]] || fail "$name is missing"
done
echo 'int work(int); int twice(int n) { return work(n) + work(n); }' >"$prefix/twice.c"
if [[ -s $prefix/$LIBDIR/dwell/dwell_gcc.so ]]; then
    "$prefix/$BINDIR/dwell-gcc" -c "$prefix/twice.c" -o "$prefix/twice.o" &&
        nm "$prefix/twice.o" | grep -q dwell_link_module || fail "the installed dwell-gcc puts no probes in"
fi
[[ $(PKG_CONFIG_PATH=$prefix/$LIBDIR/pkgconfig pkg-config --variable=compiler_launcher dwell) == \
    "$prefix/$BINDIR/dwell-cc" ]] || fail "pkg-config names no launcher"

# Only libc may be needed by a library that is preloaded into every program.
needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -Ev '^(libc\.so|ld-linux)' || true)
[[ -z $needed ]] || fail "libdwell.so needs $needed"

PKG_CONFIG_PATH=$prefix/$LIBDIR/pkgconfig pkg-config --exact-version="$VERSION" dwell ||
    fail "pkg-config does not know dwell $VERSION"
[[ $(PKG_CONFIG_PATH=$prefix/$LIBDIR/pkgconfig pkg-config --variable=preload dwell) == \
    "$prefix/$LIBDIR/libdwell.so" ]] || fail "pkg-config names another library"

mkdir "$prefix/user"
cat >"$prefix/user/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C CXX)
find_package(dwell REQUIRED)
if(NOT EXISTS "${DWELL_LIBRARY}" OR NOT EXISTS "${DWELL_COMMAND}"
   OR NOT EXISTS "${DWELL_COMPILER_LAUNCHER}")
    message(FATAL_ERROR "paths of the package are wrong")
endif()
file(WRITE ${CMAKE_BINARY_DIR}/user.cpp
     "#include <dwell/record_layout.h>\nint main() { return dwell::kRecordLayoutVersion == 0; }\n")
add_executable(user ${CMAKE_BINARY_DIR}/user.cpp)
target_include_directories(user PRIVATE
    $<TARGET_PROPERTY:dwell::runtime,INTERFACE_INCLUDE_DIRECTORIES>)
file(WRITE ${CMAKE_BINARY_DIR}/named.c
     "#include <dwell.h>\nint main(void) { return dwell_version() != NULL; }\n")
add_executable(named ${CMAKE_BINARY_DIR}/named.c)
target_link_libraries(named PRIVATE dwell::header)
END
"$CMAKE" -S "$prefix/user" -B "$prefix/user/build" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null &&
    "$CMAKE" --build "$prefix/user/build" >/dev/null || fail "find_package(dwell) does not work"
"$prefix/user/build/user" || fail "the installed header gives another program"
"$prefix/user/build/named" || fail "dwell::header links the library"

# Instrumented by hand: C needs the header alone, Fortran the module and its archive.
echo '#include <dwell.h>
int main(void) { DWELL_SCOPE("all"); return dwell_version() != NULL; }' >"$prefix/named.c"
cc -I"$prefix/$INCLUDEDIR" "$prefix/named.c" -o "$prefix/named" && "$prefix/named" ||
    fail "the installed dwell.h does not work"
LD_PRELOAD=$library DWELL_QUIET=1 DWELL_OUT=$prefix/named.out "$prefix/named" &&
    fail "the installed dwell.h does not find the library"
[[ -s $prefix/share/dwell/valgrind.supp ]] || fail "the suppressions for valgrind are missing"
[[ -s $prefix/$MANDIR/man3/dwell.h.3 ]] || fail "the manual page of dwell.h is missing"
if [[ -s $prefix/$LIBDIR/libdwell_fortran.a ]]; then
    printf '%s\n' "use dwell" "call dwell_mark('one')" "if (dwell_version() /= '') error stop" end \
        >"$prefix/named.f90"
    gfortran -I"$prefix/$INCLUDEDIR/dwell" "$prefix/named.f90" -L"$prefix/$LIBDIR" -ldwell_fortran \
        -o "$prefix/named_f" && "$prefix/named_f" || fail "the installed module dwell does not work"
fi

# Linked by hand, with what pkg-config says.
flags=$(PKG_CONFIG_PATH=$prefix/$LIBDIR/pkgconfig pkg-config --cflags --libs dwell)
# shellcheck disable=SC2086
"$CXX" -Wl,--no-as-needed "$prefix/user/build/user.cpp" $flags -o "$prefix/user/by_hand" &&
    LD_LIBRARY_PATH=$prefix/$LIBDIR "$prefix/user/by_hand" || fail "the pkg-config file does not work"

# The installed command observes a program.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun -n 2 --oversubscribe "$prefix/$BINDIR/dwell" run -o "$prefix/out" "$BUILD_DIR/examples/imbalance" \
    >"$prefix/log" 2>&1 || fail "the installed dwell run: $(cat "$prefix/log")"
"$prefix/$BINDIR/dwell" report "$prefix/out" | grep -q "MPI_" || fail "the installed dwell reports no MPI"
echo "installed and complete"
