// Package device is one card as every computation needs it: its memory within a budget, its
// kernels, its streams, and turns at using them. The packages that compute (msm, vector and others)
// stand on it. It knows nothing of what they compute. A backend with several cards has several
// Devices.
//
// # Words
//
//   - A turn is the exclusive use of a card's two streams, its work memory and its
//     pinned results, by one call at a time. Calls wait for it in Device.Turn.
//   - A long turn pauses: others have the card between two of its launches. Meanwhile it
//     keeps its streams, work memory and results, which are not those of ordinary turns.
//   - Work memory is one allocation that is kept from turn to turn. A layout says where
//     its regions lie. It holds nothing from one turn to the next.
//   - Memory is what stays between turns, such as bases. It is taken in a turn and given
//     back at any time.
//   - Spare memory is memory that its owner can make again. It counts as free, and is
//     dropped when somebody needs its room. Work memory is spare between turns.
//   - The budget is the bytes that all of these share.
//
// # Secrets
//
// Whatever a call leaves on the card may reveal its scalars. Work memory, the stacks of threads and
// shared memory are overwritten once the card has had no turn for 5 ms. On a busy card they are
// overwritten at the end of a turn: 100 ms after the last time, or up to a second after it if there
// are many gigabytes, so that few calls wait for it. Memory is overwritten before it is given back,
// and pinned memory at the end of a turn.
//
// # Errors
//
// Errors are those of package driver. A lost card returns backend.ErrGone from then on, a closed
// one backend.ErrClosed.
package device
