// Checks names of metrics against PAPI and finds similar ones; see metric_names.h.
#include "report/console/metric_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <sstream>
#include <utility>

#include "runtime/contract/kernel_events.h"
#include "runtime/contract/papi.h"
#include "runtime/contract/record_layout.h"

namespace dwell {
namespace {

constexpr size_t kShownNames = 4;
constexpr size_t kLongestList = 1000;

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> names;
    std::istringstream stream(list);
    for (std::string name; std::getline(stream, name, ',');) names.push_back(name);
    if (!list.empty() && list.back() == ',') names.emplace_back();
    return names;
}

// Without case and separators, which do not matter.
std::string plain(const std::string& name) {
    std::string out;
    for (const char c : name) {
        out +=
            c == '-' || c == ':' ? '_' : static_cast<char>(toupper(static_cast<unsigned char>(c)));
    }
    return out;
}

// Levenshtein distance: letters added, omitted or exchanged.
size_t distance(const std::string& a, const std::string& b) {
    std::vector<size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 1; i <= a.size(); ++i) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t exchanged = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, exchanged});
        }
    }
    return row[b.size()];
}

std::vector<std::string> all_names(const Papi& papi) {
    std::vector<std::string> names;
    std::array<char, Papi::kNameBytes> name{};
    const auto add = [&](int event) {
        if (papi.event_code_to_name(event, name.data()) == Papi::kOk)
            names.emplace_back(name.data());
    };
    int event = static_cast<int>(Papi::kPreset);
    for (int how = Papi::kFirst; papi.enum_event(&event, how) == Papi::kOk; how = Papi::kNext) {
        add(event);
    }
    for (int component = 0; component < papi.num_components(); ++component) {
        event = static_cast<int>(Papi::kNative);
        for (int how = Papi::kFirst; papi.enum_cmp_event(&event, how, component) == Papi::kOk;
             how = Papi::kNext) {
            add(event);
        }
    }
    for (const KernelEvent& known : kKernelEvents) {
        if (std::find(names.begin(), names.end(), known.name) == names.end())
            names.emplace_back(known.name);
    }
    return names;
}

}  // namespace

std::string metrics_form_error(const std::string& value) {
    const std::vector<std::string> names = split(value);
    const bool empty = std::find(names.begin(), names.end(), "") != names.end();
    const bool off =
        names.size() > 1 && std::find(names.begin(), names.end(), "off") != names.end();
    if (!empty && !off && names.size() <= kMetricLimit && value.size() <= kLongestList) return {};
    return "default, off, or up to " + std::to_string(kMetricLimit) +
           " names of PAPI's events joined by commas";
}

std::vector<std::string> near_names(const std::string& wanted,
                                    const std::vector<std::string>& names) {
    const std::string own = plain(wanted);
    std::vector<std::pair<size_t, std::string>> near;
    for (const std::string& name : names) {
        const std::string other = plain(name);
        const bool within = own.size() >= 4 && other.find(own) != std::string::npos;
        const size_t apart = within ? 1 : distance(own, other);
        if (apart <= std::max<size_t>(2, own.size() / 3)) near.emplace_back(apart, name);
    }
    std::stable_sort(near.begin(), near.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> best;
    for (const auto& [apart, name] : near) {
        if (best.size() < kShownNames) best.push_back(name);
    }
    return best;
}

std::string unknown_metric(const std::string& list) {
    if (list.empty() || list == "off" || list == "default") return {};
    void* library = Papi::open(RTLD_LAZY | RTLD_LOCAL);
    Papi papi{};
    if (library == nullptr || !papi.load(library) || !papi.init()) return {};
    for (const std::string& name : split(list)) {
        int code = 0;
        if (name == "default" || find_kernel_event(name.c_str()) != nullptr ||
            papi.event_name_to_code(name.c_str(), &code) == Papi::kOk) {
            continue;
        }
        std::string line = "--metrics: PAPI knows no event " + name;
        const std::vector<std::string> near = near_names(name, all_names(papi));
        for (size_t i = 0; i < near.size(); ++i)
            line += (i == 0 ? "; like it are " : ", ") + near[i];
        return line + (near.empty() ? "; papi_avail and papi_native_avail list them" : "");
    }
    return {};
}

}  // namespace dwell
