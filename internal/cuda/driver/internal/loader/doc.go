// Package loader lets a program that calls the CUDA driver start on a machine
// without one.
//
// It defines every cu* function that gorgonia.org/cu and package driver refer
// to, as a jump through a table. Before Open the table answers
// CUDA_ERROR_NOT_INITIALIZED, except that cuInit succeeds and does nothing:
// cu calls it while the program starts, and would end the program otherwise.
// Open loads the driver's library and fills the table. The empty archive in
// lib satisfies cu's -lcuda, so the program links no driver library and needs
// none to be built.
//
// Without the build tag cuda the package is empty.
package loader
