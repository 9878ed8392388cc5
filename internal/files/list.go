package files

import (
	"encoding/binary"
	"errors"
	"io/fs"
)

// An access control list as the kernel gives it: a version of 4 bytes, then entries of 8, a tag
// and rights of 2 bytes each and a user's or group's number of 4, little-endian.
const (
	listVersion = 2
	listHead    = 4
	entrySize   = 8

	ofOwner = 0x01
	ofUser  = 0x02
	ofGroup = 0x04 // the file's own
	ofNamed = 0x08 // another group
	ofMask  = 0x10 // what users, but for the owner, and groups have at most
	ofRest  = 0x20
)

var errList = errors.New("it is none that is known here")

// readList returns the rights by an access control list of all but a user and root.
func readList(b []byte, user int) (Rights, error) {
	if len(b) < listHead || binary.LittleEndian.Uint32(b) != listVersion || (len(b)-listHead)%entrySize != 0 {
		return Rights{}, errList
	}
	r := Rights{List: true}
	var named fs.FileMode
	mask := fs.FileMode(MayAll)
	for b = b[listHead:]; len(b) > 0; b = b[entrySize:] {
		tag, may := binary.LittleEndian.Uint16(b), fs.FileMode(binary.LittleEndian.Uint16(b[2:]))&MayAll
		switch number := binary.LittleEndian.Uint32(b[4:]); tag {
		case ofOwner:
		case ofUser:
			if number != 0 && int64(number) != int64(user) {
				named |= may
			}
		case ofGroup:
			r.Group = may
		case ofNamed:
			named |= may
		case ofMask:
			mask = may
		case ofRest:
			r.Rest = may
		default:
			return Rights{}, errList
		}
	}
	r.Group &= mask
	r.Rest |= named & mask
	return r, nil
}
