// The enabling profile: a text file that says which sites get probes when a program is compiled and
// which of them are on when it runs (DESIGN 8, AIMS). docs/enabling-profile.md describes the
// format. Used by the compiler plugins, the compiler wrapper and libdwell.so: needs nothing beyond
// libc.
#ifndef DWELL_RUNTIME_CONTRACT_ENABLING_PROFILE_H_
#define DWELL_RUNTIME_CONTRACT_ENABLING_PROFILE_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/contract/record_layout.h"

namespace dwell {

enum class Decision : uint8_t {
    kUnsaid,  // no line matches, or the last one that does says `default`
    kOn,
    kOff,
    kCount,  // counted without time; when a program is compiled the same as kOn
};

// What a line of the profile may ask about a site. Texts may be null: a pattern never matches them.
struct SiteFacts {
    SiteKind kind;
    uint8_t flags;          // SiteRowFlags of site_table.h
    uint32_t line;          // 0 = unknown
    const char* name;       // linkage name: of a procedure, of the procedure that a loop stands in,
                            // of the procedure called; the text of a block or marker
    const char* demangled;  // of `name`; only C++ needs it, Fortran's names are understood as is
    const char* file;
};

class EnablingProfile {
  public:
    EnablingProfile() = default;
    ~EnablingProfile();
    EnablingProfile(const EnablingProfile&) = delete;
    EnablingProfile& operator=(const EnablingProfile&) = delete;

    // Replaces what was read before. False: error() says why, and the profile says nothing.
    bool read(const char* path);
    // The same for text that is in memory already; `path` is for messages.
    bool parse(const char* text, size_t bytes, const char* path);

    // "FILE:LINE: reason" or "FILE: reason" without an end of line.
    const char* error() const { return error_; }

    // The last line that matches decides. Thread-safe; no allocation.
    Decision decide(const SiteFacts& site) const;

    // True when some line has a pattern for names: only then need names be demangled.
    bool asks_for_names() const { return asks_for_names_; }

  private:
    struct Rule;

    bool parse_text(const char* path);
    void forget();

    char* text_ = nullptr;  // what the rules' patterns point into
    size_t bytes_ = 0;
    Rule* rules_ = nullptr;
    size_t rule_count_ = 0;
    bool asks_for_names_ = false;
    char error_[600] = {};
};

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_ENABLING_PROFILE_H_
