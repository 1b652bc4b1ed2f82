// Hand-made sites, and the process in which their probes are called.
#include "tests/unit/runtime/probes/probe_harness.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/lifecycle/services.h"

namespace dwell {

SiteTable g_table;
bool g_wanted = true;
int g_attachments = 0;

// Defined in attach.cpp in the whole library.
bool probes_wanted() { return g_wanted; }
Thread* attach_for_probe() {
    __atomic_fetch_add(&g_attachments, 1, __ATOMIC_RELAXED);
    errno = EEXIST;  // as when another rank has made the record directory
    return live_ticket() != 0 ? attach_thread() : nullptr;
}

namespace {

alignas(4096) const char kCode[4096] = {};  // stands for the program's code

uint64_t offset_in_module(uint64_t address) {
    Dl_info info;
    if (dladdr(reinterpret_cast<const void*>(address), &info) == 0) return 0;
    return address - reinterpret_cast<uint64_t>(info.dli_fbase);
}

int32_t distance(const void* from, const void* to) {
    return static_cast<int32_t>(static_cast<const char*>(to) - static_cast<const char*>(from));
}

}  // namespace

void SiteTable::fill() {
    const SiteKind kinds[kTestSites] = {
        SiteKind::kProgram, SiteKind::kProcedure, SiteKind::kLoop, SiteKind::kLoop,
        SiteKind::kLoop,    SiteKind::kProcedure, SiteKind::kLoop, SiteKind::kProcedure};
    const int enclosing[kTestSites] = {0, 0, kP, kOuter, kP, 0, kQ, 0};
    const char* const called[kTestSites] = {"", "p", "", "", "", "q", "", "r"};
    for (int i = 0; i < kTestSites; ++i) {
        rows[i] = SiteRow{};
        levels[i] = 0;
        rows[i].kind = kinds[i];
        rows[i].line = static_cast<uint32_t>(10 * i);
        if (enclosing[i] != 0) rows[i].enclosing = enclosing[i] - i;
        if (i != kUnit) rows[i].level = distance(&rows[i].level, &levels[i]);
        strcpy(names[i], called[i]);
        if (names[i][0] != '\0') rows[i].name = distance(&rows[i].name, names[i]);
    }
    module = {rows, rows + kTestSites, levels, levels + kTestSites};
}

uint64_t code(uint64_t place) { return reinterpret_cast<uint64_t>(&kCode[0]) + place; }

Step from(uint64_t place) { return {SiteKind::kCall, offset_in_module(code(place))}; }
Step at_site(int site) {
    const SiteRow* row = &g_table.rows[site];
    return {row->kind, offset_in_module(reinterpret_cast<uint64_t>(row))};
}

void Probes::start_observation(uint32_t memory_mib) {
    char name[] = "/dev/shm/dwell-unit-XXXXXX";
    directory_ = mkdtemp(name);
    path_ = directory_ + "/rank.0";
    g_process.options = Options{};
    g_process.options.callpath_depth = 1;
    g_process.options.sample_hz = 0;
    g_process.options.memory_mib = memory_mib;
    g_process.options.probe_limit = 0;
    g_process.use_tsc = has_invariant_tsc();
    g_process.start_ticks = now_ticks();
    g_process.start_mono_ns = monotonic_ns();
    g_process.call_cost_ticks = g_process.inner_cost_ticks = 0;
    g_process.probe_cost_ticks = g_process.probe_inner_ticks = g_process.probe_count_ticks = 0;
    ASSERT_TRUE(create_record_file(path_.c_str(), memory_mib));
    g_process.header->ticks_per_second = 1'000'000'000;
    void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    ASSERT_EQ(madvise(page, 4096, MADV_WIPEONFORK), 0);
    live_ = static_cast<LivePage*>(page);
    live_->on = 1;
    live_->ticket = 1;
    g_live = live_;
    find_vector_registers();
    list_services();
    t_thread = nullptr;
    g_table.fill();
    g_wanted = true;
    g_attachments = 0;
    dwell_register_sites(&g_table.module);
    ASSERT_NE(attach_thread(), nullptr);
}

void Probes::end_observation() {
    dwell_unregister_sites(&g_table.module);
    switch_sites(false);
    live_->on = 0;
    live_->ticket = 0;
    t_thread = nullptr;
    g_process.threads.store(nullptr);
    g_process.free_threads = nullptr;
    g_process.thread_count.store(0);
    munmap(g_process.cells, static_cast<size_t>(g_process.options.memory_mib) << 20);
    close_record_file();
    unlink(path_.c_str());
    rmdir(directory_.c_str());
}

void Probes::pause() {
    live_->pause_start = now_ticks();
    live_->paused = 1;
    live_->ticket = 0;
}

void Probes::resume() {
    static uint64_t tickets = 1000;
    live_->resumed_ticks = now_ticks();
    live_->paused_ticks += live_->resumed_ticks - live_->pause_start;
    live_->epoch += 1;
    live_->paused = 0;
    live_->ticket = ++tickets;
}

void Probes::reset() {
    g_process.header->reset_ticks = now_ticks();
    live_->resets += 1;
    live_->epoch += 1;
    live_->ticket += 1'000'000;
}

std::vector<const Node*> Probes::children(const Node* node) {
    std::vector<const Node*> found;
    for (CellIndex at = node->first_child; at != 0; at = cell_at<Node>(at)->next_sibling) {
        found.push_back(cell_at<Node>(at));
    }
    return found;
}

std::vector<const Node*> Probes::all_below(const Node* node) {
    std::vector<const Node*> found = {node};
    for (const Node* child : children(node)) {
        const std::vector<const Node*> below = all_below(child);
        found.insert(found.end(), below.begin(), below.end());
    }
    return found;
}

const Node* Probes::find(std::initializer_list<Step> path) { return find_from(root(), path); }

const Node* Probes::find_from(const Node* node, std::initializer_list<Step> path) {
    for (const Step& step : path) {
        const Node* next = nullptr;
        for (const Node* child : children(node)) {
            if (child->site.kind == step.kind && child->site.offset == step.offset) next = child;
        }
        if (next == nullptr) return nullptr;
        node = next;
    }
    return node;
}

namespace {

bool is_probed(const Node* node) {
    return node->site.kind == SiteKind::kProcedure || node->site.kind == SiteKind::kLoop;
}

}  // namespace

void Probes::expect_at_rest() {
    EXPECT_EQ(record().probe_depth, 0u);
    EXPECT_FALSE(thread()->in_tool);
    for (const Node* node : all_below(root())) {
        EXPECT_EQ(node->site.open, 0u);
        uint64_t inside = 0;
        for (const Node* child : children(node)) {
            if (is_probed(child)) inside += child->ticks;
            if (child->site.kind != SiteKind::kCall) continue;
            for (const Node* called : children(child)) inside += called->ticks;
        }
        if (is_probed(node) && part(node).counted == 0) {
            EXPECT_GE(node->ticks, inside);
        }
    }
}

}  // namespace dwell
