// Reads checked values from objects of a JSON document, and keeps the first error as a text.
#ifndef DWELL_SUMMARIZE_FORMATS_JSON_OBJECTS_H_
#define DWELL_SUMMARIZE_FORMATS_JSON_OBJECTS_H_

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "summarize/formats/json_names.h"
#include "summarize/model/profile.h"

namespace dwell {

using Json = nlohmann::json;

// Takes values from one object. The first error is kept, and later calls leave their targets
// unchanged, so callers check once at the end.
class ObjectReader {
  public:
    ObjectReader(const Json& object, std::string place, std::string* error)
        : object_(object), place_(std::move(place)), error_(error) {
        if (!object.is_object()) fail("", "is not an object");
    }

    // A reader of the object under `key`.
    ObjectReader inside(const char* key, const Json& object) const {
        return {object, place_ + "." + key, error_};
    }

    bool good() const { return error_->empty(); }
    void fail(const std::string& key, const std::string& what) {
        if (good()) *error_ = place_ + (key.empty() ? "" : "." + key) + " " + what;
    }
    // Null when the key is missing or an error occurred before.
    const Json* find(const char* key) const {
        if (!good()) return nullptr;
        const auto found = object_.find(key);
        return found == object_.end() ? nullptr : &*found;
    }

    template <typename Value>
    void take(const char* key, Value* value) {
        const Json* json = find(key);
        if (json == nullptr) return;
        if constexpr (std::is_same_v<Value, bool>) {
            if (!json->is_boolean()) return fail(key, "is neither true nor false");
            *value = json->get<bool>();
        } else {
            take_integer(*json, key, value);
        }
    }
    // Like take, but the key must exist.
    template <typename Value>
    void need(const char* key, Value* value) {
        const Json* json = find(key);
        if (json == nullptr) return fail(key, "is missing");
        if constexpr (std::is_same_v<Value, std::string>) {
            take_string(*json, key, value);
        } else {
            take_integer(*json, key, value);
        }
    }
    void take_double(const char* key, double* value) {
        const Json* json = find(key);
        if (json == nullptr) return;
        if (!json->is_number()) return fail(key, "is not a number");
        *value = json->get<double>();
    }
    void take_node(const char* key, uint32_t* node) {
        const Json* json = find(key);
        if (json == nullptr) return fail(key, "is missing");
        if (json->is_null()) {
            *node = kNoNode;
        } else {
            take_integer(*json, key, node);
        }
    }
    template <typename Integer>
    void take_list(const char* key, std::vector<Integer>* list) {
        const Json* json = array(key);
        if (json != nullptr) take_items(*json, key, list);
    }
    template <typename Integer>
    void take_items(const Json& items, const char* key, std::vector<Integer>* list) {
        if (!items.is_array()) return fail(key, "is not a list");
        for (const Json& item : items) {
            Integer value{};
            if constexpr (std::is_same_v<Integer, std::string>) {
                take_string(item, key, &value);
            } else if constexpr (std::is_same_v<Integer, bool>) {
                if (!item.is_boolean()) return fail(key, "is neither true nor false");
                value = item.get<bool>();
            } else {
                take_integer(item, key, &value);
            }
            if (!good()) return;
            list->push_back(value);
        }
    }
    void take_slots(const char* key, uint64_t (&values)[kEventSlots]) {
        std::vector<uint64_t> list;
        take_list(key, &list);
        if (list.empty()) return;
        if (list.size() != kEventSlots) return fail(key, "has not four elements");
        std::copy(list.begin(), list.end(), values);
    }
    template <size_t kCount>
    void take_bits(const char* key, const std::array<BitName, kCount>& names, uint32_t* bits) {
        std::vector<std::string> words;
        take_list(key, &words);
        for (const std::string& word : words) {
            uint32_t found = 0;
            for (const BitName& known : names) {
                if (known.name == word) found = known.bit;
            }
            for (unsigned bit = 0; bit < 32 && found == 0; ++bit) {
                if (word == "bit_" + std::to_string(bit)) found = 1u << bit;
            }
            if (found == 0) return fail(key, "holds a word that is not known: " + word);
            *bits |= found;
        }
    }
    template <size_t kCount, typename Enum>
    void take_word(const char* key, const std::array<std::string_view, kCount>& words,
                   Enum* value) {
        std::string word;
        need(key, &word);
        for (size_t i = 0; good() && i < words.size(); ++i) {
            if (words[i] != word) continue;
            *value = static_cast<Enum>(i);
            return;
        }
        fail(key, "is a word that is not known: " + word);
    }
    // The array under `key`. For anything else the result is null and an error is kept.
    const Json* array(const char* key) {
        const Json* json = find(key);
        if (json == nullptr) return nullptr;
        if (json->is_array()) return json;
        fail(key, "is not a list");
        return nullptr;
    }

  private:
    template <typename Integer>
    void take_integer(const Json& json, const char* key, Integer* value) {
        using Limits = std::numeric_limits<Integer>;
        if (json.is_number_unsigned()) {
            const auto number = json.get<uint64_t>();
            if (number > static_cast<uint64_t>(Limits::max())) return fail(key, "is too large");
            *value = static_cast<Integer>(number);
        } else if (json.is_number_integer()) {
            const auto number = json.get<int64_t>();
            if (!std::is_signed_v<Integer> || number < static_cast<int64_t>(Limits::min())) {
                return fail(key, "is too small");
            }
            *value = static_cast<Integer>(number);
        } else {
            fail(key, "is not a whole number");
        }
    }
    void take_string(const Json& json, const char* key, std::string* value) {
        if (!json.is_string()) return fail(key, "is not a string");
        *value = json.get<std::string>();
    }

    const Json& object_;
    std::string place_;
    std::string* error_;
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_FORMATS_JSON_OBJECTS_H_
