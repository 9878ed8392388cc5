package mpcsetup

// Part has one program compute at most n products, until the function returned is called.
func Part(n int) (restore func()) {
	was := part
	part = n
	return func() { part = was }
}
