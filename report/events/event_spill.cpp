// Reads blocks of words; see event_spill.h.
#include "report/events/event_spill.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dwell {
namespace {

constexpr uint32_t kMostSpillWords = 1u << 27;  // of the largest ring

}  // namespace

std::string spill_file(const std::string& directory, const std::string& name) {
    return directory + "/" + kSpillPrefix + name;
}

// The lock is that of readers alone. Who had it before may have removed the file.
bool SpillReader::open() {
    if (file_) return true;
    file_.reset(fopen(path_.c_str(), "re"));
    if (!file_) return false;
    setvbuf(file_.get(), nullptr, _IONBF, 0);  // a thread may cut off what it wrote in part
    struct stat about;
    if (flock(fileno(file_.get()), LOCK_EX | LOCK_NB) == 0 &&
        fstat(fileno(file_.get()), &about) == 0 && about.st_nlink != 0) {
        return true;
    }
    file_.reset();
    return false;
}

uint64_t SpillReader::read(const SpillTaker& take) {
    if (!open()) return 0;
    const long begin = read_;
    std::vector<uint64_t> words;
    fseek(file_.get(), read_, SEEK_SET);
    for (EventSpill head; fread(&head, sizeof head, 1, file_.get()) == 1;) {
        if (head.magic != kSpillMagic || head.words > kMostSpillWords) break;
        words.resize(head.words);
        if (fread(words.data(), sizeof(uint64_t), head.words, file_.get()) != head.words) break;
        take(head, words);
        read_ = ftell(file_.get());
    }
    return static_cast<uint64_t>(read_ - begin);
}

uint64_t SpillReader::remove() {
    if (!file_) return 0;
    fseek(file_.get(), 0, SEEK_END);
    const long behind = ftell(file_.get()) - read_;
    unlink(path_.c_str());
    file_.reset();
    read_ = 0;
    return static_cast<uint64_t>(behind);
}

}  // namespace dwell
