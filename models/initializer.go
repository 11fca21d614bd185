package models

import (
	"hash/fnv"
	"strconv"
)

// Key derives the random key of a variable or op from the model's seed and the
// full name, so that values do not depend on the order of building.
func Key(seed int64, name string) uint64 {
	h := fnv.New64a()
	h.Write(strconv.AppendInt(nil, seed, 10))
	h.Write([]byte{0})
	h.Write([]byte(name))
	return h.Sum64()
}
