package device

import "github.com/pippin-zk/pippin/internal/cuda/driver"

// Layout and Region are the driver's. They are here so that whoever computes on a Device finds in
// this package all that it needs of memory.
type (
	Layout = driver.Layout
	Region = driver.Region
)

// Align rounds size, in bytes, up to the alignment of device memory.
func Align(size int64) int64 { return driver.Align(size) }
