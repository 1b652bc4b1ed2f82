// A growable array of plain structs for code that must not throw, because it also runs inside the
// observed process. Every call that allocates returns whether the memory was there. Not
// thread-safe.
#ifndef DWELL_SUMMARIZE_MERGE_GROW_ARRAY_H_
#define DWELL_SUMMARIZE_MERGE_GROW_ARRAY_H_

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <type_traits>
#include <utility>

namespace dwell {

template <typename T>
class GrowArray {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    GrowArray() = default;
    GrowArray(const GrowArray&) = delete;
    GrowArray& operator=(const GrowArray&) = delete;
    GrowArray(GrowArray&& other) noexcept { swap(other); }
    GrowArray& operator=(GrowArray&& other) noexcept {
        swap(other);
        return *this;
    }
    ~GrowArray() { free(data_); }

    void swap(GrowArray& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

    // Makes room for `count` items in all. Returns false without memory; the array is unchanged
    // then.
    bool reserve(size_t count) {
        if (count <= capacity_) return true;
        size_t wanted = capacity_ < 16 ? 16 : capacity_ * 2;
        if (wanted < count) wanted = count;
        void* grown = realloc(data_, wanted * sizeof(T));
        if (grown == nullptr) return false;
        data_ = static_cast<T*>(grown);
        capacity_ = wanted;
        return true;
    }
    bool push(const T& item) {
        const T copy = item;  // `item` may be an element of this array
        if (!reserve(size_ + 1)) return false;
        data_[size_++] = copy;
        return true;
    }
    bool append(const T* items, size_t count) {
        if (!reserve(size_ + count)) return false;
        if (count != 0) memcpy(data_ + size_, items, count * sizeof(T));
        size_ += count;
        return true;
    }
    // Grows or shrinks to `count` items; new ones are zero bytes.
    bool resize(size_t count) {
        if (!reserve(count)) return false;
        if (count > size_)
            memset(static_cast<void*>(data_ + size_), 0, (count - size_) * sizeof(T));
        size_ = count;
        return true;
    }
    void clear() { size_ = 0; }
    // Leaves the memory to the caller, who frees it.
    void release() {
        data_ = nullptr;
        size_ = capacity_ = 0;
    }

    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T* data() { return data_; }
    const T* data() const { return data_; }
    T& operator[](size_t i) { return data_[i]; }
    const T& operator[](size_t i) const { return data_[i]; }
    T* begin() { return data_; }
    T* end() { return data_ + size_; }
    const T* begin() const { return data_; }
    const T* end() const { return data_ + size_; }

  private:
    T* data_ = nullptr;
    size_t size_ = 0;
    size_t capacity_ = 0;
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MERGE_GROW_ARRAY_H_
