// The end of the records: starts the `dwell` command on the merged ones, or moves this process's
// own to where they survive a restart of the machine.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <dlfcn.h>

#include <new>

#include "runtime/events/event_flush.h"
#include "runtime/lifecycle/lifecycle.h"
#include "runtime/mpi/profiled_ranks.h"
#include "runtime/probes/blocks.h"
#include "runtime/process/file_limit.h"

namespace dwell {

namespace {

constexpr size_t kStackBytes = 64 * 1024;

char g_start_directory[PATH_MAX];

// Results of the launch; lower codes are the command's own exit codes.
constexpr int kTimeIsUp = 124;
constexpr int kNotStarted = 126;
constexpr int kNotExecuted = 127;

struct Launch {
    char* arguments[8];
    char** environment;
    char* stack;  // of the child until exec
    uint64_t until_ns;
    volatile int code;
};

// Does not call _exit(), in which valgrind (memcheck's --run-libc-freeres), whose children are
// copies of the program, would write out the program's buffers.
[[noreturn]] void end_child(Launch* launch, int code) {
    launch->code = code;
    for (;;) kill(getpid(), SIGKILL);
}

int execute_command(void* data) {
    auto* launch = static_cast<Launch*>(data);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    if (!is_standard_error()) close(STDERR_FILENO);  // replaced by a file of the program
    // The command does not get the program's descriptors, as it may need as many itself.
    syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0);
    if (*g_start_directory != '\0' && chdir(g_start_directory) != 0)
        errno = 0;  // directory was removed
    execve(launch->arguments[0], launch->arguments, launch->environment);
    end_child(launch, kNotExecuted);
}

// Whether the child has ended by then. SIGCHLD must be blocked and not ignored.
bool await_child(pid_t child, uint64_t until_ns, int* status) {
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    for (;;) {
        const pid_t found = waitpid(child, status, __WALL | WNOHANG);
        if (found == child || (found < 0 && errno != EINTR)) return true;
        const uint64_t now = monotonic_ns();
        if (now >= until_ns) return false;
        const uint64_t left = until_ns - now;
        const timespec wait = {static_cast<time_t>(left / 1'000'000'000),
                               static_cast<long>(left % 1'000'000'000)};
        sigtimedwait(&ended, nullptr, &wait);
    }
}

// Runs in a child that shares memory with the waiting caller. It starts the command in another
// process and waits for it, so that the program sees neither a SIGCHLD nor an unknown child: this
// child has no exit signal, because it does not exec. Not vfork(): AddressSanitizer's would take
// the memory up to the thread's own stack for stack, and this child, which runs on another one,
// would die after the command has ended.
int launch_and_wait(void* data) {
    auto* launch = static_cast<Launch*>(data);
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &standard, nullptr);
    const pid_t pid = clone(execute_command, launch->stack + kStackBytes,
                            CLONE_VM | CLONE_VFORK | SIGCHLD, launch);
    if (pid < 0) end_child(launch, kNotStarted);
    int status = 0;
    if (!await_child(pid, launch->until_ns, &status)) {
        kill(pid, SIGKILL);  // not waited for: it may hang in the kernel, as on a dead file server
        end_child(launch, kTimeIsUp);
    }
    end_child(launch, WIFEXITED(status) ? WEXITSTATUS(status) : launch->code);
}

bool is_program(const char* path) { return access(path, X_OK) == 0; }

// The `dwell` command: the one named by `dwell run`, else beside the library: ../bin of an
// installation, ../report of a build tree.
bool find_command(char* path, size_t size) {
    const char* named = getenv("DWELL_COMMAND");
    if (named != nullptr && is_program(named)) {
        snprintf(path, size, "%s", named);
        return true;
    }
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(&find_command), &info) == 0) return false;
    char library[PATH_MAX];
    if (realpath(info.dli_fname, library) == nullptr) return false;
    for (int up = 0; up < 3; ++up) {
        char* slash = strrchr(library, '/');
        if (slash == nullptr) return false;
        *slash = '\0';
        for (const char* folder : {"bin", "report"}) {
            const int length = snprintf(path, size, "%s/%s/dwell", library, folder);
            if (length > 0 && static_cast<size_t>(length) < size && is_program(path)) return true;
        }
    }
    return false;
}

// The environment without the preload, because the command is not observed.
char** environment_of_command() {
    size_t count = 0;
    while (environ != nullptr && environ[count] != nullptr) ++count;  // null after clearenv()
    auto** copy = static_cast<char**>(malloc((count + 1) * sizeof(char*)));
    if (copy == nullptr) return nullptr;
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i) {
        if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0) copy[kept++] = environ[i];
    }
    copy[kept] = nullptr;
    return copy;
}

bool copy_file(const char* from, const char* to) {
    const NoSizeSignal held;
    const int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (in < 0) return false;
    const int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool good = out >= 0;
    char buffer[16384];
    while (good) {
        const ssize_t bytes = read(in, buffer, sizeof(buffer));
        if (bytes == 0) break;
        good = bytes > 0 && write(out, buffer, static_cast<size_t>(bytes)) == bytes;
    }
    close(in);
    if (out >= 0 && close(out) != 0) good = false;
    if (!good && out >= 0) unlink(to);
    return good;
}

}  // namespace

void note_start_directory() {
    if (getcwd(g_start_directory, sizeof(g_start_directory)) == nullptr) *g_start_directory = '\0';
}

void write_start_directory(Thread* thread) {
    if (*g_start_directory == '\0') return;
    g_process.header->start_directory =
        write_text(thread, g_start_directory, strlen(g_start_directory));
}

void run_finish() {
    const int saved_errno = errno;
    char command[PATH_MAX];
    if (!find_command(command, sizeof(command))) {
        warn("no report, the dwell command was not found; the records are kept: dwell recover %s",
             g_process.record_dir);
        return;
    }
    // Shared memory, because valgrind's children get copies of everything else.
    void* const memory =
        mmap(nullptr, sizeof(Launch), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        warn("no report, no memory for it; the records are kept: dwell recover %s",
             g_process.record_dir);
        errno = saved_errno;
        return;
    }
    auto& launch = *new (memory) Launch{};
    launch.code = kNotStarted;
    int count = 0;
    char finish[] = "finish";
    char out[] = "-o";
    char quiet[] = "--quiet";
    launch.arguments[count++] = command;
    launch.arguments[count++] = finish;
    launch.arguments[count++] = g_process.record_dir;
    char folder[PATH_MAX + 80];
    if (g_process.options.out[0] != '\0') {
        // A spawned world inherits its parent's directory: it gets its own beside it.
        const bool spawned = (g_process.header->flags & kFileSpawned) != 0;
        snprintf(folder, sizeof(folder), "%s%s%s", g_process.options.out, spawned ? "-" : "",
                 spawned ? g_process.header->job : "");
        launch.arguments[count++] = out;
        launch.arguments[count++] = folder;
    }
    if (g_process.options.quiet) launch.arguments[count++] = quiet;
    launch.until_ns = end_deadline();
    launch.environment = environment_of_command();
    char* stack = static_cast<char*>(malloc(2 * kStackBytes));
    if (launch.environment != nullptr && stack != nullptr) {
        launch.stack = stack;
        sigset_t all;
        sigset_t before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        const pid_t pid =
            clone(launch_and_wait, stack + 2 * kStackBytes, CLONE_VM | CLONE_VFORK, &launch);
        while (pid > 0 && waitpid(pid, nullptr, __WCLONE) < 0 && errno == EINTR) {
        }
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
    const int code = launch.code;
    if (code == kTimeIsUp) {
        warn(
            "no report within %u s (--end-timeout, DWELL_END_TIMEOUT); the records are kept: dwell "
            "recover %s",
            g_process.options.end_timeout_s, g_process.record_dir);
    } else if (code >= kNotStarted) {
        warn("no report, %s could not be run; the records are kept: dwell recover %s", command,
             g_process.record_dir);
    }
    free(stack);
    free(launch.environment);
    munmap(memory, sizeof(Launch));
    errno = saved_errno;
}

void keep_record_file() {
    char name_of_run[PATH_MAX];
    char directory[2 * PATH_MAX];
    const char* program = strrchr(g_process.header->program, '/');
    program = program != nullptr ? program + 1 : g_process.header->program;
    if (g_process.options.out[0] != '\0') {
        snprintf(name_of_run, sizeof(name_of_run), "%s", g_process.options.out);
    } else {
        snprintf(name_of_run, sizeof(name_of_run), "dwell-%.100s-%s.records", program,
                 g_process.header->job);
    }
    // Relative to the program's start directory, wherever it is now.
    const bool absolute = *name_of_run == '/' || *g_start_directory == '\0';
    snprintf(directory, sizeof(directory), "%s%s%s", absolute ? "" : g_start_directory,
             absolute ? "" : "/", name_of_run);
    const char* name = strrchr(g_process.record_path, '/');
    char path[sizeof(directory) + 64];
    snprintf(path, sizeof(path), "%s%s", directory, name);
    const bool made = mkdir(directory, 0700) == 0 || errno == EEXIST;
    // What threads have flushed comes first: without it the ring is not the whole.
    char spill[sizeof(directory) + 64];
    snprintf(spill, sizeof(spill), "%s/%s%s", directory, kSpillPrefix, name + 1);
    const bool has_spill = g_process.options.events && access(g_spill_path, F_OK) == 0;
    if (made && (!has_spill || copy_file(g_spill_path, spill)) &&
        copy_file(g_process.record_path, path)) {
        if (has_spill) unlink(g_spill_path);
        unlink(g_process.record_path);
        rmdir(g_process.record_dir);
    } else {
        snprintf(directory, sizeof(directory), "%s", g_process.record_dir);
    }
    if (g_process.header->rank == 0 || g_process.header->world_size == 1) {
        warn("the program ended without MPI_Finalize; its records are kept: dwell recover %s",
             directory);
    }
}

}  // namespace dwell
