package rendezvous

import (
	"fmt"
	"strconv"
	"strings"
)

// Key identifies a tensor sent from one device to another in a step.
type Key struct {
	From        string // the name of the sending device
	Incarnation uint64 // of the sending device
	To          string // the name of the tensor
	Edge        string // which tensor
	Iteration   string // "frame:iteration" of a loop, "0:0" outside of loops

	text string // of In
}

// Outside is the Iteration outside of loops.
const Outside = "0:0"

// String returns the key in TensorFlow's form; ParseKey reads it back.
func (k Key) String() string {
	if k.text != "" {
		return k.text
	}
	return k.From + ";" + fmt.Sprintf("%016x", k.Incarnation) + ";" + k.To + ";" + k.Edge + ";" + k.Iteration
}

// In returns the key for an iteration. Its text is made once, since the key is used often and does
// not change.
func (k Key) In(iteration string) Key {
	k.text, k.Iteration = "", iteration
	k.text = k.String()
	return k
}

// ParseKey reads a key.
func ParseKey(text string) (k Key, err error) {
	parts := strings.Split(text, ";")
	if len(parts) != 5 {
		return k, fmt.Errorf("rendezvous key %q: expected 5 parts between semicolons, got %d", text, len(parts))
	}
	k.Incarnation, err = strconv.ParseUint(parts[1], 16, 64)
	if err != nil {
		return k, fmt.Errorf("rendezvous key %q: expected a hexadecimal incarnation", text)
	}
	k.From, k.To, k.Edge, k.Iteration = parts[0], parts[2], parts[3], parts[4]
	return k, nil
}
