// Package nvml asks NVIDIA's management library how much energy a GPU has used. The library comes
// with the driver and is loaded at the first question. Without it, or without the build tag cuda,
// nothing is known.
package nvml
