package mpcsetup

// Part lets one program compute at most n products, until restore is called.
func Part(n int) (restore func()) {
	was := part
	part = n
	return func() { part = was }
}
