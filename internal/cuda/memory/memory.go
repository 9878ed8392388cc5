package memory

// Two launches of one kernel reach everything that threads left on a device. For
// stacks: as many blocks as are resident at a time (Occupancy times the number
// of multiprocessors), cooperative, SharedWords 0. For shared memory: a block a
// multiprocessor with the most dynamic shared memory that a block may have,
// which SetMaxDynamicShared allows first, and SharedWords a quarter of it.

// Covering finds the kernels for stacks of at least so many bytes, which is the
// most that kernels.Entry.Stack says of those that ran before; false when no
// kernels reach that far.
func Covering(stack int) (Stack, bool) {
	var best Stack
	found := false
	for _, s := range allStack {
		if has := s.Overwrite.Stack; has >= stack && (!found || has < best.Overwrite.Stack) {
			best, found = s, true
		}
	}
	return best, found
}
