// Package nvml asks NVIDIA's management library what a GPU has used. The library
// comes with the driver and is loaded when it is asked first; where it is not, and
// without the build tag cuda, nothing is known.
package nvml
