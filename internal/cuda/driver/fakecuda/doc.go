// Package fakecuda controls the fake CUDA driver of fakecuda.c from a test
// that runs on it: failures on command and counters. scripts/test-cuda-fake
// builds the fake and runs tests with it first on the library path; without
// the build tag cuda, or with a real driver, Present is false.
//
// Package driver must have been started (driver.Init) before any call.
package fakecuda
