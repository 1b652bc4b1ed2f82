// What OTF2's writer takes for an enter, a leave and a message, with a time stamp of rdtsc each, in
// chunks of which the best one percent stands for all; and the bytes of its archive.
//
// usage: otf2_cost DIRECTORY [CHUNKS]
//
// Prints nanoseconds of an enter or leave and of a message, and bytes of an enter or leave.
#include <otf2/otf2.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace {

constexpr int kCalls = 100;

OTF2_FlushType before_flush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) {
    return OTF2_FLUSH;
}
OTF2_TimeStamp after_flush(void*, OTF2_FileType, OTF2_LocationRef) { return __rdtsc(); }

double ns_per_tick() {
    timespec a;
    timespec b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    const uint64_t begin = __rdtsc();
    long ns = 0;
    while (ns < 20'000'000) {
        clock_gettime(CLOCK_MONOTONIC, &b);
        ns = (b.tv_sec - a.tv_sec) * 1'000'000'000L + (b.tv_nsec - a.tv_nsec);
    }
    return static_cast<double>(ns) / static_cast<double>(__rdtsc() - begin);
}

double best(std::vector<uint64_t> ticks) {
    std::sort(ticks.begin(), ticks.end());
    const size_t kept = std::max<size_t>(ticks.size() / 100, 1);
    double sum = 0;
    for (size_t i = 0; i < kept; ++i) sum += static_cast<double>(ticks[i]);
    return sum / static_cast<double>(kept);
}

// Of an archive with `chunks` chunks of calls, or of messages.
double write_chunks(const std::string& place, int chunks, bool messages) {
    const OTF2_FlushCallbacks flushes = {before_flush, after_flush};
    OTF2_Archive* const archive =
        OTF2_Archive_Open(place.c_str(), "bench", OTF2_FILEMODE_WRITE, 1024 * 1024, 4 * 1024 * 1024,
                          OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (archive == nullptr) exit(1);
    OTF2_Archive_SetFlushCallbacks(archive, &flushes, nullptr);
    OTF2_Archive_SetSerialCollectiveCallbacks(archive);
    OTF2_Archive_OpenEvtFiles(archive);
    OTF2_EvtWriter* const writer = OTF2_Archive_GetEvtWriter(archive, 0);
    std::vector<uint64_t> ticks;
    for (int chunk = 0; chunk < chunks; ++chunk) {
        const uint64_t begin = __rdtsc();
        for (int i = 0; i < kCalls; ++i) {
            if (messages) {
                OTF2_EvtWriter_MpiSend(writer, nullptr, __rdtsc(), 1, 0, 7, 8);
                continue;
            }
            OTF2_EvtWriter_Enter(writer, nullptr, __rdtsc(), 3);
            OTF2_EvtWriter_Leave(writer, nullptr, __rdtsc(), 3);
        }
        ticks.push_back(__rdtsc() - begin);
    }
    OTF2_Archive_CloseEvtWriter(archive, writer);
    OTF2_Archive_CloseEvtFiles(archive);
    OTF2_Archive_Close(archive);
    return best(ticks);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string place = argc > 1 ? argv[1] : ".";
    const int chunks = argc > 2 ? std::max(atoi(argv[2]), 1) : 3000;
    const double ns = ns_per_tick();
    printf("enter or leave %.3f\n",
           write_chunks(place + "/calls", chunks, false) * ns / kCalls / 2);
    printf("message %.3f\n", write_chunks(place + "/messages", chunks, true) * ns / kCalls);
    uintmax_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(place + "/calls")) {
        if (entry.path().extension() == ".evt") bytes += entry.file_size();
    }
    printf("bytes %.2f\n", static_cast<double>(bytes) / (2.0 * kCalls * chunks));
    return 0;
}
