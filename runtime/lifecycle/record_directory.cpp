// Names and creates the record directory.
#include "runtime/lifecycle/record_directory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/contract/job_name.h"

namespace dwell {

namespace {

// Job name of a process that was started alone. Its number may be reused while records of a killed
// process remain; number and start time (proc(5), stat: field 22) are unique, and kept by exec.
void own_job_name(char* out, size_t size) {
    char text[1024];
    size_t bytes = 0;
    if (FILE* file = fopen("/proc/self/stat", "re")) {
        bytes = fread(text, 1, sizeof(text) - 1, file);
        fclose(file);
    }
    text[bytes] = '\0';
    const char* field = strrchr(text, ')');  // the end of field 2, which may hold spaces
    for (int at = 2; field != nullptr && at < 22; ++at) field = strchr(field + 1, ' ');
    char name[48];
    snprintf(name, sizeof(name), "pid%ld-%llu", static_cast<long>(getpid()),
             field == nullptr ? 0 : strtoull(field, nullptr, 10));
    char whole[sizeof(name) + 41];
    in_batch_job(whole, sizeof(whole), name);
    copy_job_name(out, size, whole);
}

}  // namespace

// The directory may exist, made by another rank; it must belong to the user and be private.
bool make_record_directory(char* path, size_t path_size, char* why, size_t why_size) {
    char job[kJobNameBytes];
    if (launcher_rank() < 0) {
        own_job_name(job, sizeof(job));
    } else {
        job_name(job, sizeof(job));
    }
    if (!record_directory(path, path_size, job)) {
        snprintf(why, why_size, "the name of the record directory is too long");
        return false;
    }
    struct stat about;
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        snprintf(why, why_size, "cannot make %.150s: %s", path, strerror(errno));
        return false;
    }
    if (lstat(path, &about) != 0 || !S_ISDIR(about.st_mode) || about.st_uid != geteuid() ||
        (about.st_mode & 077) != 0) {
        snprintf(why, why_size, "%.150s is not a directory of this user alone", path);
        return false;
    }
    return true;
}

}  // namespace dwell
