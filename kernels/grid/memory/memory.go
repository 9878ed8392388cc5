package memory

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
