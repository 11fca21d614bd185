package inputs

import "sync"

// Bounds of a tuned depth.
const (
	tunedMost  = 16       // records
	tunedBytes = 64 << 20 // of these records together, if there is no memory limit
)

// A depthTuner finds how many records Prefetch reads ahead, as tf.data's PrefetchAutotuner does. If the reader reached the depth and the
// consumer later finds no record, the reader works in bursts, and the depth doubles. When the memory limit is spent, the depth falls to
// the number of records that fit. The tuner decides when records are read, not which.
type depthTuner struct {
	mu     sync.Mutex
	depth  int
	ahead  int
	full   bool // the depth was reached since its last change
	most   int64
	freed  chan struct{} // has an element when there may be room
	record int64         // bytes of the largest record
}

func newDepthTuner(depth int, b *budget) *depthTuner {
	most := int64(tunedBytes)
	if b != nil {
		most = b.limit
	}
	return &depthTuner{depth: depth, most: most, freed: make(chan struct{}, 1)}
}

// enter waits until one more record may be ahead. It returns false if stop ends the wait.
func (t *depthTuner) enter(bytes int64, stop <-chan struct{}) bool {
	if t == nil {
		return true
	}
	for !t.entered(bytes) {
		select {
		case <-t.freed:
		case <-stop:
			return false
		}
	}
	return true
}

func (t *depthTuner) entered(bytes int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.record = max(t.record, bytes)
	if t.ahead >= t.depth {
		t.full = true
		return false
	}
	t.ahead++
	return true
}

// leave records that the consumer took a record, and whether it had to wait for it.
func (t *depthTuner) leave(waited bool) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ahead--
	if twice := 2 * t.depth; waited && t.full && twice <= tunedMost && int64(twice)*t.record <= t.most {
		t.depth, t.full = twice, false
	}
	select {
	case t.freed <- struct{}{}:
	default:
	}
}

// spent records that the reader had to wait for memory.
func (t *depthTuner) spent() {
	if t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.depth, t.full = max(1, min(t.depth, t.ahead)), false
	}
}
