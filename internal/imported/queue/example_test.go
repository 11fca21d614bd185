package queue_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/imported/queue"
	"github.com/goestimator/goestimator/tensor"
)

func Example() {
	ctx := context.Background()
	q := queue.New("q", queue.Spec{Types: []tensor.DType{tensor.Int64}, Shapes: [][]int{{}}, Capacity: 2, Room: queue.NewRoom(1 << 20)})
	fmt.Println(q.Enqueue(ctx, queue.Element{tensor.Scalar(int64(7))}), q.Size())
	fmt.Println(q.Close(ctx, false))
	elements, err := q.Dequeue(ctx, 1, false)
	fmt.Println(elements[0][0].Float(0), err)
	_, err = q.Dequeue(ctx, 1, false)
	fmt.Println(err)
	// Output:
	// <nil> 1
	// <nil>
	// 7 <nil>
	// FIFOQueue 'q' is closed and has insufficient elements (requested 1, current size 0)
}
