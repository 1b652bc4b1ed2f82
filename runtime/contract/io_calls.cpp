// Names and PICL event types of the I/O functions.
#include "runtime/contract/io_calls.h"

namespace dwell {

const IoCallInfo kIoCalls[kIoCallCount] = {
    {"", 0},           {"open", -201},      {"openat", -201}, {"creat", -201},   {"close", -202},
    {"read", -251},    {"pread", -251},     {"readv", -251},  {"preadv", -251},  {"preadv2", -251},
    {"write", -221},   {"pwrite", -221},    {"writev", -221}, {"pwritev", -221}, {"pwritev2", -221},
    {"fsync", -391},   {"fdatasync", -391}, {"fopen", -201},  {"fdopen", -201},  {"freopen", -201},
    {"fclose", -202},  {"fread", -251},     {"fgets", -251},  {"fwrite", -221},  {"fputs", -221},
    {"fprintf", -221}, {"vfprintf", -221},  {"fflush", -392}, {"fseek", -393},   {"fseeko", -393},
    {"getline", -251}, {"getdelim", -251},  {"printf", -221}, {"vprintf", -221}, {"puts", -221},
    {"dprintf", -221}, {"vdprintf", -221},
};

}  // namespace dwell
