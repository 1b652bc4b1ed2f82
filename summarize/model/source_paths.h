// Shortens paths of source files for people.
#ifndef DWELL_SUMMARIZE_MODEL_SOURCE_PATHS_H_
#define DWELL_SUMMARIZE_MODEL_SOURCE_PATHS_H_

#include <string>
#include <string_view>

namespace dwell {

// The last element of a path.
inline std::string_view base_name(std::string_view path) {
    const size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// `path` inside `folder` (unless absolute, or the folder is empty), without the "." and empty
// elements that build systems leave in paths.
inline std::string tidy_path(std::string_view path, std::string_view folder) {
    std::string whole(path);
    if (!path.starts_with('/') && !folder.empty()) whole = std::string(folder) + "/" + whole;
    std::string tidy;
    for (const char* p = whole.c_str(); *p != '\0';) {
        if (*p == '/') {
            while (p[1] == '/' || (p[1] == '.' && (p[2] == '/' || p[2] == '\0'))) {
                p += p[1] == '/' ? 1 : 2;
            }
        }
        if (*p == '\0') break;
        tidy += *p++;
    }
    return tidy.starts_with("./") ? tidy.substr(2) : tidy;
}

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MODEL_SOURCE_PATHS_H_
