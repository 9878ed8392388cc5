package driver

// Layout says what is where in work memory that is not there yet. The zero value
// is empty.
type Layout struct{ Size int64 }

// Region is a part of a layout, in bytes.
type Region struct{ Off, Size int64 }

// Align returns size up to the alignment of everything in device memory.
func Align(size int64) int64 {
	const align = 256
	return (size + align - 1) / align * align
}

// Take adds size bytes.
func (l *Layout) Take(size int64) Region {
	at := Region{l.Size, size}
	l.Size += Align(size)
	return at
}

// In returns the region's part of the memory that was laid out.
func (r Region) In(m Span) Span { return m.Slice(r.Off, r.Size) }
