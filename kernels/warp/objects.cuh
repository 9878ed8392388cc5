// objects.cuh: values of any type that the 32 threads of a warp tell each other.
// Contract: that of lanes.cuh.
#pragma once
#include <type_traits>

#include "elements.cuh"

namespace pippin::warp {

// What `lane` has as a. Cost: a shuffle a word.
template <class T>
__device__ __forceinline__ T object_from(const T& a, uint32_t lane) {
  constexpr int words = sizeof(T) / 4;
  static_assert(sizeof(T) == 4 * words && std::is_trivially_copyable_v<T>);
  mp::num<words> w;
  __builtin_memcpy(w.w, &a, sizeof(T));
  w = from(w, lane);
  T r;
  __builtin_memcpy(&r, w.w, sizeof(T));
  return r;
}

}  // namespace pippin::warp
