package cuda

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
)

// CheckDevices returns what is wrong with a list for Options.Devices, whatever cards there are. The
// error wraps backend.ErrUnavailable.
func CheckDevices(list string) error {
	_, err := parseDevices(list)
	return err
}

// wanted is a part of a list of devices: numbers, or the beginning of a UUID.
type wanted struct {
	from, to int
	uuid     string
}

// isUUID reports whether a part of a list is the beginning of a UUID, of a card or of a part that MIG made.
func isUUID(part string) bool {
	kind, rest, _ := strings.Cut(part, "-")
	return (kind == "GPU" || kind == "MIG") && rest != ""
}

// parseDevices reads a list of devices. The error wraps backend.ErrUnavailable.
func parseDevices(list string) ([]wanted, error) {
	bad := func(part string) error {
		return fmt.Errorf("%w: %q in the list of GPUs %q: 0, 0,2, 0-3, GPU-UUID or MIG-UUID are possible (msm devices lists them)",
			backend.ErrUnavailable, part, list)
	}
	if list == "" {
		return nil, nil
	}
	var all []wanted
	for part := range strings.SplitSeq(list, ",") {
		part = strings.TrimSpace(part)
		if isUUID(part) {
			all = append(all, wanted{uuid: part})
			continue
		}
		first, last, ranged := strings.Cut(part, "-")
		from, err := strconv.ParseUint(first, 10, 16)
		if err != nil {
			return nil, bad(part)
		}
		to := from
		if ranged {
			if to, err = strconv.ParseUint(last, 10, 16); err != nil || to < from {
				return nil, bad(part)
			}
		}
		all = append(all, wanted{from: int(from), to: int(to)})
	}
	return all, nil
}

// choose returns the ordinals of the cards that a list names, in its order. there are all cards. An
// empty list names all of them.
func choose(list string, there []driver.Info) ([]int, error) {
	parts, err := parseDevices(list)
	if err != nil {
		return nil, err
	}
	if parts == nil {
		parts = []wanted{{from: 0, to: len(there) - 1}}
	}
	var chosen []int
	add := func(ordinal int) error {
		if slices.Contains(chosen, ordinal) {
			return fmt.Errorf("%w: GPU %d is twice in the list %q", backend.ErrUnavailable, ordinal, list)
		}
		chosen = append(chosen, ordinal)
		return nil
	}
	for _, p := range parts {
		if p.uuid == "" {
			if p.to >= len(there) {
				return nil, fmt.Errorf("%w: no CUDA device %d, there are %d (msm devices lists them)", backend.ErrUnavailable, p.to, len(there))
			}
			for i := p.from; i <= p.to; i++ {
				if err := add(i); err != nil {
					return nil, err
				}
			}
			continue
		}
		var found []int
		for i, info := range there {
			if len(info.UUID) >= len(p.uuid) && strings.EqualFold(info.UUID[:len(p.uuid)], p.uuid) {
				found = append(found, i)
			}
		}
		if len(found) != 1 {
			return nil, fmt.Errorf("%w: %d GPUs have a UUID that begins with %s (msm devices lists them)",
				backend.ErrUnavailable, len(found), p.uuid)
		}
		if err := add(found[0]); err != nil {
			return nil, err
		}
	}
	return chosen, nil
}
