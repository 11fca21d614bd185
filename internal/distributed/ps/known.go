package ps

import (
	"slices"
	"sync"
)

// knownIDs remembers the ids of recently pulled rows, by variable: gradients are
// mostly for the same ids, which then need not be sorted again.
type knownIDs struct {
	mu sync.Mutex
	of map[string][]*distinct // the latest last
}

// knownLists is the number of id lists stored for a variable: lists of steps whose
// rows are prefetched come before the gradients of the current step.
const knownLists = 3

func (k *knownIDs) record(variable string, d *distinct) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil {
		k.of = map[string][]*distinct{}
	}
	list := k.of[variable]
	if len(list) == knownLists {
		list = slices.Delete(list, 0, 1)
	}
	k.of[variable] = append(list, d)
}

// distinct returns ids without repetitions.
func (k *knownIDs) distinct(variable string, ids []int64) *distinct {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, d := range k.of[variable] {
		if slices.Equal(d.all, ids) {
			return d
		}
	}
	return newDistinct(ids)
}
