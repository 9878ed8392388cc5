// Package cuda computes on an NVIDIA GPU: it is the backend, in rooms. Package
// device is one card, package msm computes MSMs on it, and package driver is the
// CUDA driver; this package opens them, keeps bases by their ids and answers the
// contract.
//
// Without the tag cuda, or without cgo, Open fails with backend.ErrUnavailable.
package cuda
