// Whether a directory can be made and written, asked before there is anything to write. Both
// `dwell run`, which then starts nothing, and libdwell.so under plain LD_PRELOAD, which warns, ask
// the same question. No dependency beyond libc; nothing is made.
#ifndef DWELL_RUNTIME_CONTRACT_OUT_DIRECTORY_H_
#define DWELL_RUNTIME_CONTRACT_OUT_DIRECTORY_H_

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace dwell {

// 0 when the directory `path`, or the nearest one above it that is there, may be written; else the
// error that stands against it. A full device and the like show only in the end.
inline int directory_obstacle(const char* path) {
    char at[PATH_MAX];
    size_t length = strlen(path);
    if (length >= sizeof(at)) return ENAMETOOLONG;
    memcpy(at, path, length + 1);
    struct stat about;
    while (stat(at, &about) != 0) {
        if (errno != ENOENT) return errno;
        while (length > 0 && at[length - 1] == '/') --length;
        while (length > 0 && at[length - 1] != '/') --length;
        if (length == 0) at[length++] = '.';
        at[length] = '\0';
    }
    if (!S_ISDIR(about.st_mode)) return ENOTDIR;
    struct statfs system;
    const bool known = statfs(at, &system) == 0;
    // Nobody makes files there, though access(2) tells root otherwise.
    if (known && (system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC)) return EROFS;
    return faccessat(AT_FDCWD, at, W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

// The same of a directory that nobody makes: that of DWELL_RECORD_DIR.
inline int standing_directory_obstacle(const char* path) {
    struct stat about;
    return stat(path, &about) == 0 ? directory_obstacle(path) : errno;
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_OUT_DIRECTORY_H_
