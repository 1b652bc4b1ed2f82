// Checks whether a directory can be created and written, before there is anything to write. Used by
// `dwell run`, which otherwise starts nothing, and by libdwell.so under plain LD_PRELOAD, which
// warns. No dependency beyond libc; creates nothing.
#ifndef DWELL_RUNTIME_PROCESS_OUT_DIRECTORY_H_
#define DWELL_RUNTIME_PROCESS_OUT_DIRECTORY_H_

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace dwell {

// 0 when the directory `path`, or its nearest existing parent, may be written; else an errno value.
// A full device shows only at the end.
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
    // Files cannot be created there, although access(2) allows it for root.
    if (known && (system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC)) return EROFS;
    return faccessat(AT_FDCWD, at, W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

// Likewise for a directory that must exist: that of DWELL_RECORD_DIR.
inline int standing_directory_obstacle(const char* path) {
    struct stat about;
    return stat(path, &about) == 0 ? directory_obstacle(path) : errno;
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROCESS_OUT_DIRECTORY_H_
