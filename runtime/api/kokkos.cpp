// Callbacks of the Kokkos tools interface (Kokkos documentation, "Profiling" and
// Kokkos_Profiling_C_Interface.h): kernels, regions, sections, copies and fences become blocks,
// allocations and events markers, with Kokkos's names.
//
// Callbacks that would make Kokkos wait for devices are declined (kokkosp_request_tool_settings):
// an asynchronous kernel is counted with the time of its launch only.
#include <string.h>

#include "runtime/probes/blocks.h"

namespace {

using dwell::BlockName;
using dwell::GivenName;
using dwell::SiteKind;

// As laid out by the interface.
struct SpaceHandle {
    char name[64];
};
struct ToolSettings {
    bool requires_global_fencing;
    bool padding[255];
};

GivenName given(const char* text) { return {text, text != nullptr ? strlen(text) : 0}; }

BlockName* block(const char* name) {
    return dwell::block_name(SiteKind::kBlock, dwell::kNodeNamed, given(name), nullptr, 0);
}

void begin_kernel(const char* name, uint64_t* number) {
    const BlockName* known = block(name);
    *number = dwell::number_of(known);
    dwell::begin_block(known);
}

void end_numbered(uint64_t number) {
    dwell::end_block(dwell::name_of(static_cast<uint32_t>(number)));
}

// The text "verb(first, second)", built on the stack.
class Composed {
  public:
    Composed(const char* verb, const char* first, size_t first_most, const char* second) {
        add(verb, kMost);
        add("(", 1);
        add(first, first_most);
        add(", ", 2);
        add(second, kMost);
        add(")", 1);
    }
    GivenName name() const { return {text_, bytes_}; }

  private:
    static constexpr size_t kMost = 300;
    void add(const char* part, size_t most) {
        if (part == nullptr) return;
        const size_t bytes = strnlen(part, most < kMost ? most : kMost);
        memcpy(text_ + bytes_, part, bytes);
        bytes_ += bytes;
    }
    char text_[4 * kMost];
    size_t bytes_ = 0;
};

void mark_memory(const char* verb, const SpaceHandle& space, const char* label, uint64_t bytes) {
    const Composed text(verb, space.name, sizeof(space.name), label);
    dwell::mark(dwell::block_name(SiteKind::kMarker, dwell::kNodeNamed, text.name(), nullptr, 0),
                bytes);
}

}  // namespace

extern "C" {

DWELL_EXPORT void kokkosp_init_library(int, uint64_t, uint32_t, void*) {}
DWELL_EXPORT void kokkosp_finalize_library() {}

DWELL_EXPORT void kokkosp_request_tool_settings(uint32_t, ToolSettings* settings) {
    settings->requires_global_fencing = false;
}

#define KERNEL(kind)                                                                       \
    DWELL_EXPORT void kokkosp_begin_##kind(const char* name, uint32_t, uint64_t* number) { \
        begin_kernel(name, number);                                                        \
    }                                                                                      \
    DWELL_EXPORT void kokkosp_end_##kind(uint64_t number) { end_numbered(number); }
KERNEL(parallel_for)
KERNEL(parallel_reduce)
KERNEL(parallel_scan)
KERNEL(fence)

DWELL_EXPORT void kokkosp_push_profile_region(const char* name) {
    dwell::begin_paired(block(name));
}
DWELL_EXPORT void kokkosp_pop_profile_region() { dwell::end_paired(); }

// Sections may overlap; sections with equal names are the same block.
DWELL_EXPORT void kokkosp_create_profile_section(const char* name, uint32_t* section) {
    *section = dwell::number_of(block(name));
}
DWELL_EXPORT void kokkosp_destroy_profile_section(uint32_t) {}
DWELL_EXPORT void kokkosp_start_profile_section(uint32_t section) {
    dwell::begin_block(dwell::name_of(section));
}
DWELL_EXPORT void kokkosp_stop_profile_section(uint32_t section) { end_numbered(section); }

DWELL_EXPORT void kokkosp_profile_event(const char* name) {
    dwell::mark(dwell::block_name(SiteKind::kMarker, dwell::kNodeNamed, given(name), nullptr, 0),
                0);
}

DWELL_EXPORT void kokkosp_allocate_data(SpaceHandle space, const char* label, const void*,
                                        uint64_t bytes) {
    mark_memory("allocate", space, label, bytes);
}
DWELL_EXPORT void kokkosp_deallocate_data(SpaceHandle space, const char* label, const void*,
                                          uint64_t bytes) {
    mark_memory("deallocate", space, label, bytes);
}

DWELL_EXPORT void kokkosp_begin_deep_copy(SpaceHandle, const char* to, const void*, SpaceHandle,
                                          const char* from, const void*, uint64_t bytes) {
    const Composed text("deep_copy", to, SIZE_MAX, from);
    dwell::begin_paired(
        dwell::block_name(SiteKind::kBlock, dwell::kNodeNamed, text.name(), nullptr, 0));
    dwell::add_volume(bytes);
}
DWELL_EXPORT void kokkosp_end_deep_copy() { dwell::end_paired(); }
}
