// Probes in a long random sequence of events, compared with a model.
#include <map>
#include <random>

#include "tests/unit/runtime/probes/probe_harness.h"

namespace dwell {
namespace {

// A random walk of calls, loops, returns and jumps, compared with a model that knows which frames
// are gone.
class Walk {
  public:
    explicit Walk(unsigned seed) : chance_(seed) {}

    void run(int steps) {
        for (int i = 0; i < steps; ++i) step();
        while (!open_.empty()) leave();
    }
    uint64_t entries(const std::string& path) const {
        const auto found = entries_.find(path);
        return found != entries_.end() ? found->second : 0;
    }
    const std::map<std::string, uint64_t>& all() const { return entries_; }

  private:
    struct Open {
        int site;
        int depth;
        std::string path;
        bool loop;
    };

    std::string path() const { return open_.empty() ? "" : open_.back().path; }
    int depth() const { return open_.empty() ? 0 : open_.back().depth; }

    void step() {
        const unsigned what = chance_() % 16;
        if (what < 6) {
            call();
        } else if (what < 8) {
            loop();
        } else if (what < 15) {
            leave();
        } else if (!open_.empty()) {  // longjmp or an exception, to any frame
            const int to = static_cast<int>(chance_() % static_cast<unsigned>(depth()));
            while (!open_.empty() && open_.back().depth > to) open_.pop_back();
            if (to == 0) return;
            while (open_.back().loop && chance_() % 2 == 0) open_.pop_back();  // caught around it
            frames_.landed(open_.back().site, to);
        }
    }
    void call() {
        if (depth() > 40) return;
        static const int procedures[] = {kP, kQ, kR};
        const int site = procedures[chance_() % 3];
        const uint64_t place = 16 + chance_() % 3;
        const int depth = this->depth() + 1;
        std::string name(1, static_cast<char>('0' + site));
        std::string path = this->path();
        // Recursion collapses: keep the part of the path up to the procedure.
        const size_t before = path.rfind(name);
        path = before != std::string::npos ? path.substr(0, before + 1)
                                           : path + static_cast<char>('a' + place - 16) + name;
        open_.push_back({site, depth, path, false});
        entries_[path] += 1;
        frames_.enter(site, depth, place);
    }
    void loop() {
        if (open_.empty()) return;
        int site = 0;
        if (open_.back().site == kP) site = chance_() % 2 == 0 ? kOuter : kSecond;
        if (open_.back().site == kOuter) site = kInner;
        if (open_.back().site == kQ) site = kQLoop;
        if (site == 0) return;
        open_.push_back({site, depth(), path() + static_cast<char>('0' + site), true});
        entries_[path()] += 1;
        frames_.loop_enter(site, depth());
    }
    void leave() {
        if (open_.empty()) return;
        const Open top = open_.back();
        open_.pop_back();
        if (top.loop) {
            frames_.loop_leave(top.site, top.depth, 1);
        } else {
            frames_.leave(top.site, top.depth);
        }
    }

    std::mt19937 chance_;
    Frames<> frames_;
    std::vector<Open> open_;
    std::map<std::string, uint64_t> entries_;
};

TEST_F(Probes, ALongWalkByChanceAgreesWithItsModel) {
    for (unsigned seed = 1; seed <= 5; ++seed) {
        reset();
        Walk walk(seed);
        walk.run(20000);
        expect_at_rest();
        uint64_t sum = 0;
        for (const auto& [path, entries] : walk.all()) {
            const Node* node = root();
            for (const char step : path) {
                const Step next = step >= 'a' ? from(16 + static_cast<uint64_t>(step - 'a'))
                                              : at_site(step - '0');
                node = find_from(node, {next});
                ASSERT_NE(node, nullptr) << path;
            }
            EXPECT_EQ(node->count, entries) << path;
            sum += entries;
        }
        EXPECT_EQ(record().probes, sum);
        EXPECT_EQ(record().probes_dropped, 0u);
    }
}

}  // namespace
}  // namespace dwell
