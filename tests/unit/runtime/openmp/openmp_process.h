// Threads that act as reported by an OpenMP runtime, and the resulting nodes.
#ifndef DWELL_TESTS_UNIT_OPENMP_PROCESS_H_
#define DWELL_TESTS_UNIT_OPENMP_PROCESS_H_

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "runtime/openmp/omp_adapter.h"
#include "runtime/openmp/omp_entries.h"
#include "runtime/openmp/omp_team.h"
#include "tests/unit/support/observed_process.h"

namespace dwell {

inline void spin(uint64_t ticks) {
    const uint64_t start = now_ticks();
    while (now_ticks() - start < ticks) {
    }
}

constexpr uint64_t kLong = 100'000'000;  // ticks: far longer than anything else

// A thread that executes one task after the other while the caller waits.
class Worker {
  public:
    Worker() : thread_([this] { run(); }) {}
    ~Worker() {
        give(nullptr, true);
        thread_.join();
    }
    void operator()(std::function<void()> work) { give(std::move(work), false); }

  private:
    void give(std::function<void()> work, bool ends) {
        std::unique_lock lock(mutex_);
        work_ = std::move(work);
        ends_ = ends;
        has_work_ = true;
        changed_.notify_all();
        changed_.wait(lock, [this] { return !has_work_; });
    }
    void run() {
        std::unique_lock lock(mutex_);
        for (bool ends = false; !ends;) {
            changed_.wait(lock, [this] { return has_work_; });
            ends = ends_;
            if (work_) work_();
            has_work_ = false;
            changed_.notify_all();
        }
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    std::function<void()> work_;
    bool has_work_ = false;
    bool ends_ = false;
    std::thread thread_;
};

class OpenMp : public ObservedProcess {
  protected:
    void TearDown() override {
        EXPECT_EQ(t_thread->record->probe_depth, 0u);
        EXPECT_EQ(t_thread->omp.depth, 0u);
    }

    // The calling thread begins a region of two, after the late report of the last one's end.
    static void begin_as_second(OmpTeam* team) {
        if (t_thread != nullptr && t_thread->omp.depth != 0) {
            omp_barrier_end();
            omp_implicit_end();
        }
        omp_implicit_begin(team, 1, 2);
    }

    // A region of two threads, the other of which is `second`; it stands at the last barrier
    // afterwards.
    static void region(Worker& second, uint64_t address, const std::function<void()>& first_works,
                       const std::function<void()>& second_works) {
        OmpTeam* const team = omp_fork(address, nullptr);
        omp_implicit_begin(team, 0, 2);
        second([&] {
            begin_as_second(team);
            second_works();
            omp_barrier_begin(OmpConstruct::kImplicitBarrier, 0, true);
        });
        first_works();
        omp_barrier_begin(OmpConstruct::kImplicitBarrier, address, true);
        omp_barrier_end();
        omp_implicit_end();
        omp_join(team);
    }
    // The second thread leaves the last region and the runtime.
    static void leave(Worker& second) {
        second([] {
            omp_barrier_end();
            omp_implicit_end();
            omp_thread_end();
        });
    }
    static Thread* thread_of(Worker& worker) {
        Thread* thread = nullptr;
        worker([&thread] { thread = t_thread; });
        return thread;
    }

    static const Node* child(CellIndex parent, OmpConstruct construct, uint64_t address) {
        for (CellIndex at = cell_at<Node>(parent)->first_child; at != 0;
             at = cell_at<Node>(at)->next_sibling) {
            const Node* node = cell_at<Node>(at);
            if (node->site.kind == SiteKind::kOpenMp &&
                node->site.call == static_cast<uint16_t>(construct) &&
                node->site.offset == address) {
                return node;
            }
        }
        return nullptr;
    }
    static const Node* child(const Node* parent, OmpConstruct construct, uint64_t address) {
        return parent == nullptr ? nullptr : child(index_of(parent), construct, address);
    }
    static const OmpPart& part(const Node* node) { return *cell_at<OmpPart>(node->part); }
    static CellIndex root(const Thread* thread) { return thread->record->root; }
};

inline void nothing() {}

// No module lies at these addresses.
inline uint64_t place(uint64_t number) { return 0x1000 + number; }

}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_OPENMP_PROCESS_H_
