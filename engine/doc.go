// Package engine answers calls on backends that may die, hang or be swapped.
//
//	e, err := pippin.New(ctx, engine.Config{Backend: "cuda", Fallbacks: []string{"cpu"}})
//	err = e.Use(ctx, "cpu") // swap; calls in flight finish where they began
//	fmt.Println(e.Stats().Degraded())
//	err = e.Shutdown(ctx)
//
// Packages msm, vector and arith compute on an Engine; a user opens it, swaps its
// backend with Use, watches it with Stats, Config.OnEvent and Config.Observer, and
// closes it. Load, MSM, OpenSession, Repeat, Alloc, Find and Observe are for those
// packages: they take bytes. pippin.New knows every backend by name; New takes
// whatever Config.Open opens.
//
// An engine repeats calls that a backend could not answer, opens a backend that
// died again and loads its bases, and goes back to the preferred one when that is
// well again. A nil Engine, or one that New did not make, refuses every call.
//
// It knows the contract, bytes and capabilities, but no curve: what it needs
// of one, to check an answer or to compute it again, comes with the bases.
//
// Every backend in the order of preference has a slot, and every slot an owner,
// a goroutine that alone opens, reloads, pings and closes, in its own time. A
// call takes the first slot that is ready, waits a while for one that is being
// repaired, and never repairs anything itself: its deadline ends the call only.
//
//	slot.go        slots and their owners
//	generation.go  one opened backend
//	call.go        the way of a call
//	decide.go      what follows a failure
//	hedge.go       calls that go on elsewhere while their backend is silent
//	msm.go         MSMs
//	session.go     memory for vectors
//	program.go     programs over it
//	observe.go     statistics and phases
package engine
