package eager

import (
	"errors"
	"testing"

	"github.com/goestimator/goestimator/internal/imported/queue"
	"github.com/goestimator/goestimator/tensor"
)

// TestIsolatedRoom: the queues of sessions with their own state share a limit.
func TestIsolatedRoom(t *testing.T) {
	all := NewResources()
	all.room = queue.NewRoom(300)
	put := func(r *Resources) error {
		found, err := sharing{kind: "queue", node: "q"}.find(call{env: &Env{Resources: r}}, func(name string, room *queue.Room) shared {
			return queue.New(name, queue.Spec{Types: []tensor.DType{tensor.Float32}, Capacity: 9, Room: room})
		})
		if err != nil {
			return err
		}
		return found.(*queue.Queue).Enqueue(t.Context(), queue.Element{tensor.New(tensor.Float32, 20)})
	}
	one, two := all.Isolated(), all.Isolated()
	if err := put(one); err != nil {
		t.Fatal(err)
	}
	if err := put(two); !errors.Is(err, queue.ErrLimit) {
		t.Errorf("two sessions together: got %v", err)
	}
	one.Close()
	if err := put(two); err != nil {
		t.Errorf("the other session has ended: got %v", err)
	}
}
