// Reads blocks of words; see event_spill.h.
#include "report/events/event_spill.h"

#include <cstdio>
#include <memory>

namespace dwell {
namespace {

constexpr uint32_t kMostSpillWords = 1u << 27;  // of the largest ring

}  // namespace

std::string spill_file(const std::string& directory, const std::string& name) {
    return directory + "/" + kSpillPrefix + name;
}

uint64_t read_spill(const std::string& path, const SpillTaker& take) {
    const std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(path.c_str(), "re"), fclose);
    if (!file) return 0;
    std::vector<uint64_t> words;
    long whole = 0;
    for (EventSpill head; fread(&head, sizeof head, 1, file.get()) == 1;) {
        if (head.magic != kSpillMagic || head.words > kMostSpillWords) break;
        words.resize(head.words);
        if (fread(words.data(), sizeof(uint64_t), head.words, file.get()) != head.words) break;
        take(head, words);
        whole = ftell(file.get());
    }
    fseek(file.get(), 0, SEEK_END);
    return static_cast<uint64_t>(ftell(file.get()) - whole);
}

}  // namespace dwell
